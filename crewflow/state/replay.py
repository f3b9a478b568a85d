"""From a journal back to the state of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewflow.errors import StateError
from crewflow.graph.plan import from_bytes
from crewflow.run.machine import Machine
from crewflow.state import codec
from crewflow.state.journal import read_journal
from crewflow.state.records import GENERATION
from crewflow.state.runs import load_plan_bytes
from crewflow.state.story import Story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crewflow.state.journal import Reading
    from crewflow.state.paths import RunPaths


def replay(
    machine: Machine, records: Iterable[dict[str, Any]], take: Callable[[dict[str, Any]], None]
) -> None:
    """Bring a machine to where the records end; `take` is given each record before the machine is."""
    for record in records:
        take(record)
        event = codec.from_record(record)
        if event is not None:
            machine.handle(event)


def recorded_plan_hash(run: RunPaths, reading: Reading) -> str:
    """The hash of the plan as the journal has it. Raises StateError if no generation was recorded."""
    for record in reading.records:
        if record["type"] == GENERATION:
            return str(record["plan"])
    raise StateError(
        f"run `{run.run_id}` has no journal: it ended before its first record",
        hint="start again with `crewflow apply`",
    )


def tell_story(run: RunPaths) -> Story:
    """What became of a run so far, from its files alone. Raises StateError if they are damaged."""
    reading = read_journal(run)
    plan = from_bytes(load_plan_bytes(run, recorded_plan_hash(run, reading)))
    machine = Machine(plan, slots=1)
    story = Story(run, machine)
    replay(machine, reading.records, story.see)
    return story
