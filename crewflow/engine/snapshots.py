"""When and what to snapshot: `run.json` and `tasks.json`, derived from the machine, for readers' speed.

Written at most twice a second, less when writing takes long, so that a large run does not spend its time
on them: the pause is at least fifty times what the last writing took.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from crewflow.run.standing import counts_as_task
from crewflow.state.snapshot import write_snapshots

if TYPE_CHECKING:
    from crewflow.clock import Clock
    from crewflow.run.machine import Machine
    from crewflow.run.standing import TaskRun
    from crewflow.state.paths import RunPaths

SHORTEST_PAUSE: Final = 0.5
PAUSE_PER_COST: Final = 50


class Snapshots:
    """The snapshots of one generation."""

    def __init__(self, run: RunPaths, machine: Machine, clock: Clock) -> None:
        self._run = run
        self._machine = machine
        self._clock = clock
        self._written = 0  # the `seq` that the last ones reflect
        self._next = clock.monotonic() + SHORTEST_PAUSE

    def due(self, seq: int) -> list[float]:
        """When to write again, by the monotonic clock; empty if nothing has changed up to this `seq`."""
        return [] if seq == self._written else [self._next]

    def write_when_due(self, now: float, seq: int) -> None:
        """Write if something changed and the pause is over."""
        if seq == self._written or now < self._next:
            return
        self.write(seq)
        cost = self._clock.monotonic() - now
        self._next = now + max(SHORTEST_PAUSE, PAUSE_PER_COST * cost)

    def write(self, seq: int) -> None:
        """Write both now. Raises StateError."""
        write_snapshots(self._run, self._run_doc(seq), self._tasks_doc(seq))
        self._written = seq

    def _run_doc(self, seq: int) -> dict[str, Any]:
        machine = self._machine
        counts = Counter(str(task.state) for task in machine.tasks.values() if counts_as_task(task))
        return {
            "seq": seq,
            "run_id": self._run.run_id,
            "workflow": machine.plan.workflow,
            "state": machine.state,
            "generation": machine.generation,
            "counts": dict(counts),
            "updated": round(self._clock.wall(), 3),
        }

    def _tasks_doc(self, seq: int) -> dict[str, Any]:
        return {"seq": seq, "tasks": {name: _task_doc(task) for name, task in self._machine.tasks.items()}}


def _task_doc(task: TaskRun) -> dict[str, Any]:
    facts = {"state": task.state, "attempts": task.attempts, "outcome": task.outcome, "error": task.error}
    return {name: value for name, value in facts.items() if value is not None}
