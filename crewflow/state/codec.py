"""Events of the machine as records of the journal, and back.

Records that are no events (`attempt.spawned`, `task.skipped`, ...) are told to people and tools; a replay
passes them by, since the machine comes to the same by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from crewflow.graph.fanout import Leg
from crewflow.run.events import (
    AttemptEnded,
    AttemptStarted,
    CancelRequested,
    ConditionDecided,
    GenerationBegan,
    InputsGiven,
    LegsGiven,
    OutcomeGiven,
)
from crewflow.run.states import Outcome
from crewflow.state.records import GENERATION

if TYPE_CHECKING:
    from collections.abc import Callable

    from crewflow.run.events import Event

CONDITION: Final = "condition.decided"
STARTED: Final = "attempt.started"
SPAWNED: Final = "attempt.spawned"
ENDED: Final = "attempt.ended"
LOST: Final = "attempt.lost"
CANCEL: Final = "cancel.requested"
TASK_ENDED: Final = "task.ended"
RETRYING: Final = "task.retrying"
REFUSED: Final = "event.refused"
RUN_ENDED: Final = "run.ended"
UNFOLDED: Final = "fan_out.unfolded"
INPUTS: Final = "inputs.given"
OUTCOME: Final = "outcome.given"


def from_record(record: dict[str, Any]) -> Event | None:
    """The event that a record tells of; None for records that are no events of the machine."""
    make = _READERS.get(record["type"])
    return make(record) if make is not None else None


def _condition(record: dict[str, Any]) -> Event:
    return ConditionDecided(record["task"], record["value"], record.get("error"))


def _started(record: dict[str, Any]) -> Event:
    return AttemptStarted(record["task"], record["attempt"])


def _ended(record: dict[str, Any]) -> Event:
    return AttemptEnded(
        task=record["task"],
        number=record["attempt"],
        outcome=Outcome(record["outcome"]),
        failure=record.get("failure"),
        exit_code=record.get("exit_code"),
        error=record.get("error"),
        allowed=record.get("allowed", False),
        fraction=record.get("fraction", 0.5),
    )


def _cancel(record: dict[str, Any]) -> Event:
    return CancelRequested(record["reason"], record["now"])


def _unfolded(record: dict[str, Any]) -> Event:
    legs = record.get("legs")
    given = None if legs is None else tuple(Leg(leg["label"], leg["context"]) for leg in legs)
    return LegsGiven(record["task"], given, record.get("error"))


def _inputs(record: dict[str, Any]) -> Event:
    return InputsGiven(record["task"], record.get("error"))


def _outcome(record: dict[str, Any]) -> Event:
    return OutcomeGiven(record["task"], record.get("allowed", False), record.get("error"))


def _generation(record: dict[str, Any]) -> Event:
    return GenerationBegan(record["generation"])


_READERS: Final[dict[str, Callable[[dict[str, Any]], Event]]] = {
    GENERATION: _generation,
    CONDITION: _condition,
    STARTED: _started,
    ENDED: _ended,
    CANCEL: _cancel,
    UNFOLDED: _unfolded,
    INPUTS: _inputs,
    OUTCOME: _outcome,
}
