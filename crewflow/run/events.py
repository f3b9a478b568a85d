"""What happens to a run (events, the facts a journal keeps) and what it asks for (instructions).

Events go into `Machine.handle`, instructions come out. Nothing here has a time or a process in it:
the engine stamps, renders and starts; the machine decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crewflow.graph.fanout import Leg
    from crewflow.run.states import Outcome, RunState, TaskState

# --- events -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GenerationBegan:
    """A holder took the run up. In the first generation all is new; later ones try again what is not done."""

    number: int


@dataclass(frozen=True, slots=True)
class ConditionDecided:
    """A task's `if` was asked. `error` says why it has no value; the task then fails."""

    task: str
    value: bool
    error: str | None = None


@dataclass(frozen=True, slots=True)
class AttemptStarted:
    """An attempt took a slot."""

    task: str
    number: int


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """An attempt gave its slot back.

    Attributes:
        failure: retry class of a failed or lost attempt; else None.
        allowed: the failure counts as success (`allow_failure`).
        fraction: where in the range of the retry jitter the next delay lands, 0 to 1.
    """

    task: str
    number: int
    outcome: Outcome
    failure: str | None = None
    exit_code: int | None = None
    error: str | None = None
    allowed: bool = False
    fraction: float = 0.5


@dataclass(frozen=True, slots=True)
class RetryDue:
    """The delay before a task's next attempt has passed."""

    task: str


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """Someone wants the run to end: politely, or `now`, which also drops `finally`."""

    reason: str
    now: bool = False


@dataclass(frozen=True, slots=True)
class LegsGiven:
    """A fan-out was asked for its legs.

    Attributes:
        task: what stands for them; it is called as the step.
        legs: in order; None if the step's `if`, which asks for no leg, says no.
        error: why there are none to be had; the step then fails.
    """

    task: str
    legs: tuple[Leg, ...] | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class InputsGiven:
    """A call was asked for its inputs. `error` says why they do not fit; it then fails."""

    task: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class OutcomeGiven:
    """A container was asked what it gives, or whether its failure is allowed.

    Attributes:
        allowed: its failure counts as success.
        error: why what it gives has no value; it then fails.
    """

    task: str
    allowed: bool = False
    error: str | None = None


Event = (
    GenerationBegan
    | ConditionDecided
    | AttemptStarted
    | AttemptEnded
    | RetryDue
    | CancelRequested
    | LegsGiven
    | InputsGiven
    | OutcomeGiven
)

# --- instructions -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a task was skipped, cancelled, or not tried again.

    Attributes:
        kind: `need_failed`, `need_skipped`, `need_cancelled`, `condition`, `stopped`, `cancelled`,
            `enclosing` (the container around it ended without having been open).
        step: the need, or for `on_failure` the failed step, that was looked at; None where none was.
        root: the step where it began; the same as `step` if that is where.
    """

    kind: str
    step: str | None = None
    root: str | None = None


@dataclass(frozen=True, slots=True)
class AskCondition:
    """Evaluate the task's `if` with these answers of the status functions; answer `ConditionDecided`."""

    task: str
    success: bool
    failure: bool
    cancelled: bool


@dataclass(frozen=True, slots=True)
class AskLegs:
    """Evaluate a fan-out's values, after its `if` where that asks for no leg; answer `LegsGiven`."""

    task: str
    success: bool
    failure: bool
    cancelled: bool


@dataclass(frozen=True, slots=True)
class AskInputs:
    """Evaluate the inputs of a call; answer `InputsGiven`."""

    task: str


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """Evaluate what a container gives, or whether its failure is allowed; answer `OutcomeGiven`."""

    task: str
    failed: bool


@dataclass(frozen=True, slots=True)
class DelayRetry:
    """Answer `RetryDue` after so many seconds."""

    task: str
    number: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CancelAttempt:
    """End a running attempt: with its grace, or `now`."""

    task: str
    number: int
    now: bool


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """A task reached a terminal state."""

    task: str
    state: TaskState
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class RunEnded:
    """Nothing is left to do."""

    state: RunState


@dataclass(frozen=True, slots=True)
class Refused:
    """An event that the state does not allow, a late or doubled result say; nothing changed."""

    event: Event
    reason: str


Instruction = (
    AskCondition
    | AskLegs
    | AskInputs
    | AskOutcome
    | DelayRetry
    | CancelAttempt
    | TaskEnded
    | RunEnded
    | Refused
)
