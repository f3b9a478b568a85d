"""The authored project as frozen values: what the YAML says, checked and with defaults applied.

Nothing here reads files or knows networkx. Text that may hold `${{ }}` is kept as `Text`: a plain
string, or a `Template` with its expressions parsed; only the script of a step is kept as it was written.
Positions are not stored value by value: every step knows its path in its document, and the
document finds the place of a path when a problem has to be shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from crewflow.errors import Note, Place
    from crewflow.spec.crew import Agent, Team
    from crewflow.spec.ignore import Ignore
    from crewflow.spec.schedules import Schedule
    from crewflow.spec.template import Text

DEFAULT_RETRY_WHEN = (
    "exit",
    "signal",
    "timeout",
    "idle",
    "lost",
    "transient",
    "rate_limit",
    "bad_output",
    "crash",
)

TYPE_WORDS = ("string", "integer", "number", "boolean", "array", "object")

Path = tuple[str | int, ...]
"""Where a value stands in a document: keys and list indices from the top."""


class Source(Protocol):
    """The document a value was read from, asked for places only when a problem is shown."""

    @property
    def file(self) -> str:
        """The path as shown to the user: relative to the project where possible."""
        ...

    def place(self, path: Path) -> Place:
        """Where the value at `path` is written; the nearest enclosing value if it does not exist."""
        ...

    def key_place(self, path: Path) -> Place:
        """Where the key that ends `path` is written."""
        ...

    def within(self, path: Path, offset: int, length: int) -> Place:
        """Where `length` characters from `offset` into the text at `path` are written, else all of it."""
        ...

    def use_notes(self, path: Path) -> tuple[Note, ...]:
        """Where an alias or a merge brought the value at `path` to where it is used."""
        ...

    def line_text(self, line: int) -> str | None:
        """The text of a line counted from 1, without its end; None beyond the last."""
        ...


class Kind(StrEnum):
    """What a step does."""

    SCRIPT = "script"
    COMMAND = "command"
    PYTHON = "python"
    PROMPT = "prompt"
    CALL = "call"  # of another workflow
    GROUP = "group"
    GATE = "gate"


CONTAINERS = frozenset({Kind.CALL, Kind.GROUP})
"""Kinds whose tasks hold steps of their own."""


class OnFailure(StrEnum):
    """What a run does once a task has failed for good."""

    FINISH = "finish"
    STOP = "stop"
    CANCEL = "cancel"


class Backoff(StrEnum):
    """How the delay between attempts grows."""

    FIXED = "fixed"
    LINEAR = "linear"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True, slots=True)
class Retry:
    """When a failed attempt is tried again. Delays are seconds; `when` and `unless` hold retry classes."""

    max_attempts: int = 1
    delay: float = 1.0
    backoff: Backoff = Backoff.FIXED
    max_delay: float = 300.0
    jitter: float = 0.0
    when: tuple[str, ...] = DEFAULT_RETRY_WHEN
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """A declared output of a step.

    Attributes:
        type: one of `TYPE_WORDS`.
        origin: `output`, `stdout`, `json`, `json:<pointer>` or `file:<path>`.
        default: taken when a successful attempt did not give the output; only if `has_default`.
    """

    name: str
    type: str
    origin: str = "output"
    has_default: bool = False
    default: Any = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class InputSpec:
    """A declared input of a workflow; `schema` is the JSON Schema that a given value must meet."""

    name: str
    type: str
    required: bool
    has_default: bool
    default: Any
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a step takes when it does not say. Durations are seconds; None means no limit."""

    timeout: float | None = None
    grace: float = 10.0
    shell: str | tuple[str, ...] = "sh"
    retry: Retry = field(default_factory=Retry)
    agent: str | None = None
    idle_timeout: float | None = None
    total_timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One authored unit.

    Attributes:
        path: where it stands in its document, such as `("steps", "build")`.
        final: it stands under `finally`, or inside a step that does.
        run: the script of a `SCRIPT` step, or the words of a `COMMAND` step; else None.
        python: `module:function` of a `PYTHON` step; else None.
        prompt: of a `PROMPT` step, unless it is in the file `prompt_file`.
        workflow: name of what a `CALL` step calls; else None.
        steps: those of a `GROUP`; else none.
        context: `auto`, `none`, or the steps whose results come with a prompt; None for what the role says.
        agent: that of the step itself; `default_agent`: that of `defaults`.
        condition: the text of `if` without `${{ }}`; None when absent.
        matrix: axis -> values (or a template that yields them); None when absent.
        for_each: values, or a template that yields them; None when absent.
        timeout, grace: seconds, or templates that yield a duration; timeout None means no limit.
        given: what a `GROUP` gives, by name; the outputs of other kinds are `outputs`.
        allow_failure: True, False, a tuple of retry classes, or a template that yields a boolean.
        estimate: seconds that one task is said to take; None when nothing is said.
        later: keys whose running comes later, checked and with their texts parsed.
    """

    id: str
    path: Path
    final: bool
    kind: Kind | None
    name: str
    description: str
    needs: tuple[str, ...]
    after: tuple[str, ...]
    condition: str | None
    run: Text | tuple[Text, ...] | None
    python: str | None
    prompt: Text | None
    prompt_file: str | None
    workflow: str | None
    steps: tuple[Step, ...]
    role: str | None
    agent: str | None
    default_agent: str | None
    model: str | None
    context: str | tuple[str, ...] | None
    shell: str | tuple[str, ...]
    arguments: dict[str, Any]
    env: dict[str, Text]
    cwd: Text | None
    matrix: dict[str, Any] | None
    include: tuple[dict[str, Any], ...]
    exclude: tuple[dict[str, Any], ...]
    for_each: Any
    max_parallel: int | None
    on_failure: OnFailure | None
    timeout: Any
    grace: Any
    retry: Retry
    outputs: tuple[Output, ...]
    given: dict[str, Text]
    artifacts: dict[str, tuple[Text, ...]]
    allow_failure: Any
    idempotent: bool
    priority: int | None
    estimate: float | None
    later: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Workflow:
    """One authored workflow, its names checked for shape but not yet resolved against each other.

    Attributes:
        given: the outputs that a calling workflow reads.
        secrets: name in the steps -> name where it comes from.
        later: keys whose running comes later, as in a `Step`.
    """

    name: str
    description: str
    source: Source
    inputs: dict[str, InputSpec]
    env: dict[str, Text]
    max_parallel: int | None
    on_failure: OnFailure
    steps: tuple[Step, ...]
    shipped: bool = False
    team: str | None = None
    given: dict[str, Text] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    later: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Project:
    """A project: its settings and its workflows by name.

    Attributes:
        root: absolute path of the project folder.
        shipped: further workflows that a name can mean: the user's, and those that come with crewflow.
        ignore: warnings that do not count.
        unreadable: kinds and names that a file may define which cannot be read; that has been told.
        teams, agents, schedules: what each name means here, wherever it was found.
        places: absolute paths of the folders where names are looked up, in order.
        files: the files that all this is about, as shown to the user; problems of others are not told.
    """

    root: str
    name: str
    default_workflow: str | None
    defaults: Defaults
    env: dict[str, str]
    workflows: dict[str, Workflow]
    shipped: dict[str, Workflow]
    pools: dict[str, int] = field(default_factory=dict)
    later: dict[str, Any] = field(default_factory=dict)
    ignore: tuple[Ignore, ...] = ()
    source: Source | None = None
    unreadable: frozenset[tuple[str, str]] = frozenset()
    teams: dict[str, Team] = field(default_factory=dict)
    agents: dict[str, Agent] = field(default_factory=dict)
    schedules: dict[str, Schedule] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()

    def workflow(self, name: str) -> Workflow | None:
        """The workflow that a name means here: one of the project, else one that ships with crewflow."""
        return self.workflows.get(name) or self.shipped.get(name)
