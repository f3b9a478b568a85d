"""From a journal back to the state of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewflow import durable
from crewflow.errors import StateError
from crewflow.graph.plan import from_bytes
from crewflow.run.machine import Machine
from crewflow.run.states import RUN_TERMINAL
from crewflow.state import codec
from crewflow.state.journal import read_journal
from crewflow.state.lease import holder
from crewflow.state.records import GENERATION
from crewflow.state.results import bring_back
from crewflow.state.runs import load_plan_bytes, plan_hash
from crewflow.state.snapshot import read_run_snapshot
from crewflow.state.story import Story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crewflow.graph.plan import Plan
    from crewflow.state.journal import Reading
    from crewflow.state.paths import RunPaths
    from crewflow.state.records import Record


def replay(
    machine: Machine, records: Iterable[dict[str, Any]], take: Callable[[dict[str, Any]], None]
) -> None:
    """Bring a machine to where the records end; `take` is given each record before the machine is."""
    for record in records:
        take(record)
        event = codec.from_record(record)
        if event is not None:
            machine.handle(event)


def _whole(record: Record, run: RunPaths) -> Record:
    """The record with what decides which tasks there are; large results are left where they are."""
    return bring_back(record, run) if record["type"] == codec.UNFOLDED else record


def recorded_plan(run: RunPaths, reading: Reading) -> tuple[Plan, str]:
    """The plan of a run and its hash, as the journal has it.

    A run whose engine died before the first record has nothing but its plan, which is then taken as it is.

    Raises:
        StateError: it is missing, is not the one that was recorded, or is of another format.
    """
    _refuse_shortened(run, reading)
    begun = next((record for record in reading.records if record["type"] == GENERATION), None)
    expected = begun["plan"] if begun else plan_hash(durable.read_file(run.plan()) or b"")
    data = load_plan_bytes(run, expected)
    try:
        return from_bytes(data), expected
    except ValueError:
        raise StateError(
            f"`{run.plan()}` is no plan that this version reads",
            hint="use the version of crewflow that wrote it",
        ) from None


def _refuse_shortened(run: RunPaths, reading: Reading) -> None:
    """Refuse a journal that ends before the end of its run, which is synced before it is snapshotted."""
    seen = read_run_snapshot(run) or {}
    ended = seen.get("state") in RUN_TERMINAL and seen.get("generation") == reading.generations
    if ended and isinstance(seen.get("seq"), int) and seen["seq"] > reading.last_seq:
        raise StateError(
            f"the journal of run `{run.run_id}` is damaged: {seen['seq']} records were on disk, and "
            f"{reading.last_seq} can be read",
            hint="nothing was changed; restore it from a copy, or start again with `crewflow apply`",
        )


def tell_story(run: RunPaths) -> Story:
    """What became of a run so far, from its files alone. Raises StateError if they are damaged."""
    # Asked before the journal is read: a run may end, and be let go of, in between.
    held = holder(run) is not None
    reading = read_journal(run)
    plan, _ = recorded_plan(run, reading)
    machine = Machine(plan, slots=1)
    story = Story(run, machine, held=held)
    replay(machine, (_whole(record, run) for record in reading.records), story.see)
    return story
