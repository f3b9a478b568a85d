"""What runs attempts, behind three methods: start one, wait for something, cancel one.

    dispatch --start(Attempt)--> executor --> worker process --> the step's own process
    dispatch <--wait()---------- Spawned, Ended <----------------'

The loop in `engine.dispatch` knows no more than this. `engine.pool` runs attempts in worker
processes, `engine.inline` in this one; tests use one that finishes attempts in the order they say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from crewflow.run.states import Outcome
    from crewflow.spec.model import Output


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a task, every expression in it already rendered.

    Attributes:
        kind: `script`, `command` or `python`.
        action: the script text, the words of the command, or `module:function`.
        shell: the words that come before the script (or before the file that holds it).
        arguments: keywords of a python step.
        env: what is set on top of the environment that crewflow was started with.
        cwd: absolute path of an existing folder (checked by the worker, class `start`).
        timeout: seconds, or None; `grace`: seconds between TERM and KILL.
        outputs: declared outputs; `artifacts`: id -> patterns relative to the project.
        folder: absolute path of the attempt's folder; made by whoever runs it.
        project: absolute path of the project.
    """

    task: str
    number: int
    kind: str
    action: str | tuple[str, ...]
    shell: tuple[str, ...]
    arguments: dict[str, Any]
    env: dict[str, str]
    cwd: str
    timeout: float | None
    grace: float
    outputs: tuple[Output, ...]
    artifacts: dict[str, tuple[str, ...]]
    keeps_stdout: bool
    folder: str
    project: str


@dataclass(frozen=True, slots=True)
class Spawned:
    """The attempt's process exists. `start` is its start time as the kernel counts it (clock ticks).

    A process that ends within a moment may have none: there is nothing that could be found again.
    """

    task: str
    number: int
    pid: int
    start: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The attempt is over and nothing of it lives, or `survivors` names what does.

    Attributes:
        failure: the retry class of a failed attempt (`exit`, `signal`, `start`, `timeout`, `lost`,
            `bad_output`, `crash`); None otherwise.
        exit_code: of the process; None if it never had one.
        signal: name of the signal that ended it, such as `SIGKILL`; else None.
        error: one line for people that says what failed; None if nothing did.
        outputs: declared outputs by name; `result`: see the spec; None when nothing keeps it.
        artifacts: list of {id, path, sha256, size}, paths relative to the project.
        output_bytes: size of output.log; 0 means that there is none.
        seconds: duration by the monotonic clock.
    """

    task: str
    number: int
    outcome: Outcome
    failure: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    error: str | None = None
    outputs: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    artifacts: tuple[dict[str, Any], ...] = ()
    output_bytes: int = 0
    seconds: float = 0.0
    survivors: tuple[int, ...] = ()


Event = Spawned | Ended


class Executor(Protocol):
    """Runs attempts. `capacity` is how many may be under way at once."""

    capacity: int

    def start(self, attempt: Attempt) -> None:
        """Begin an attempt; never blocks on it. Its end comes from `wait`."""
        ...

    def wait(self, timeout: float | None) -> list[Event]:
        """What has happened, at least one event unless `timeout` seconds passed or `wake` was called."""
        ...

    def cancel(self, task: str, number: int, *, now: bool, interrupt: bool = False) -> None:
        """End an attempt: TERM (INT if `interrupt`), grace, KILL; or KILL at once if `now`."""
        ...

    def close(self) -> None:
        """End every process of this executor and return when they are proven gone."""
        ...
