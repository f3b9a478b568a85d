"""Who answers prompts, as frozen values: teams with their roles, and agents, which are adapters as data.

An agent says how a coding agent's command line is started and how what it prints is read. All of it is
data: a new command line is a new file, not new code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crewflow.spec.model import Defaults, Path, Source
    from crewflow.spec.origin import Origin


class Access(StrEnum):
    """What an agent may do: read, change files of the project, or anything."""

    READ_ONLY = "read_only"
    WORKSPACE_WRITE = "workspace_write"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Fallback:
    """Who takes over from a role's agent."""

    agent: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Hints:
    """When to choose a role."""

    triggers: tuple[str, ...] = ()
    use_when: tuple[str, ...] = ()
    avoid_when: tuple[str, ...] = ()
    cost: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """How many prompts share one attempt, and how many bytes they may have together."""

    max_tasks: int = 5
    max_size: int = 100_000


@dataclass(frozen=True, slots=True)
class Role:
    """What a step with a prompt asks for.

    Attributes:
        path: where it stands in its document, such as `("roles", "executor")`.
        agent: None means that of the `defaults`.
        context: `auto` or `none`.
        timeout, idle_timeout, total_timeout, wait_max: seconds; None where the role says nothing.
        usd, tokens: the budget of one task; None means no limit.
        pools: name -> slots that each task takes.
        quota: `wait`, `fail` or `fallback`; `on_denied`: `warn` or `fail`.
    """

    name: str
    path: Path
    description: str = ""
    agent: str | None = None
    model: str | None = None
    fallback: tuple[Fallback, ...] = ()
    access: Access = Access.READ_ONLY
    instructions: str = ""
    skills: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    max_turns: int | None = None
    context: str = "auto"
    timeout: float | None = None
    idle_timeout: float | None = None
    total_timeout: float | None = None
    usd: float | None = None
    tokens: int | None = None
    pools: dict[str, int] = field(default_factory=dict)
    max_parallel: int | None = None
    batch: Batch | None = None
    quota: str = "wait"
    wait_max: float = 21_600.0
    on_denied: str = "warn"
    hints: Hints = field(default_factory=Hints)


@dataclass(frozen=True, slots=True)
class Team:
    """A team; `workflow` is the one that goes with it, `defaults` those of its workflows' steps."""

    name: str
    description: str
    source: Source
    origin: Origin
    workflow: str | None
    max_parallel: int | None
    defaults: Defaults
    roles: dict[str, Role]


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a value is found in what an agent printed.

    Attributes:
        get: a pointer (RFC 6901); a part `*` is every member.
        where: pointer -> value, or a mapping with `not`; the records that are meant fulfil all.
        pick: `last`, `first`, `sum` or `join`, where several values are found.
        cumulative: it counts all of a conversation that goes on, not this attempt alone.
        of_last: of the records that are meant the last decides alone.
    """

    get: str
    where: dict[str, Any] = field(default_factory=dict)
    pick: str = "last"
    cumulative: bool = False
    of_last: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """Where the numbers of tokens are found; `numbers` has a pointer for `in`, `out` and maybe more."""

    numbers: dict[str, str]
    file: str | None = None
    where: dict[str, Any] = field(default_factory=dict)
    pick: str = "last"
    in_includes_cached: bool = False
    out_includes_reasoning: bool = True
    cumulative: bool = False


@dataclass(frozen=True, slots=True)
class Printed:
    """How to read what an agent prints.

    Attributes:
        format: `json`, `json-array`, `jsonl` or `text`.
        file: what holds it; None means stdout.
        readings: `result`, `result_else`, `structured`, `session`, `cost_usd`, `turns`, `denied`.
        errors: signs of failure, whatever the exit code.
        patterns: `session_regex`, `usage_regex`, `error_regex`, found in all that was printed.
        error_stderr_json: pointer into a JSON value on stderr.
    """

    format: str
    file: str | None = None
    readings: dict[str, Reading] = field(default_factory=dict)
    usage: Usage | None = None
    errors: tuple[Reading, ...] = ()
    patterns: dict[str, str] = field(default_factory=dict)
    error_stderr_json: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A class of failures: known by its text (`match`), or by a group of exit codes (`exit`)."""

    name: str
    match: str | None = None
    exit: str | None = None
    reset: str | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """An adapter.

    Attributes:
        builtin: the agent is a part of crewflow; then there is no program and nothing below.
        install: the command that installs `bin`.
        flags: words by what they are for, in the order in which they are emitted.
        access: words by access level; a level that is missing cannot be had.
        env_access: variables by access level.
        exit: exit codes by group; `ok` are those of success.
        grace: seconds; `memory`: bytes of one attempt, None where nobody knows.
    """

    name: str
    description: str
    source: Source
    origin: Origin
    bin: str | None
    builtin: str | None
    install: str | None
    argv: tuple[str, ...]
    flags: dict[str, tuple[str, ...]]
    access: dict[Access, tuple[str, ...]]
    env_access: dict[Access, dict[str, str]]
    prompt_via: str
    prompt_argv: tuple[str, ...]
    output: Printed | None
    exit: dict[str, tuple[int, ...]]
    failures: tuple[Failure, ...]
    env: dict[str, str]
    env_pass: tuple[str, ...]
    grace: float
    memory: int | None
