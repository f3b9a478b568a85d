"""When things happened in a run, by its records: what began, was decided, ended, and what ran meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crewflow.run.standing import walk
from crewflow.state import codec
from crewflow.state.records import GENERATION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crewflow.run.standing import StepRun, TaskRun

Record = dict[str, Any]


@dataclass(slots=True)
class Try:
    """One attempt: when it began, the record of its end, when the next was due; what is not known is None.

    Attributes:
        lost_at: when its engine was found to be gone.
    """

    number: int
    started: float
    ended: Record | None = None
    lost_at: float | None = None
    retry_in: float | None = None

    def runs_at(self, moment: float) -> bool:
        """Whether it was under way."""
        end = self.ended["ts"] if self.ended else self.lost_at
        return self.started <= moment and (end is None or moment < end)


class Chronicle:
    """Times of a run, seconds since 1970.

    Attributes:
        began: of the newest generation.
        tries: of each task, of all generations.
        ends: when each task ended; `decided`, `unfolded`, `inputs`: the records of these by task.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self.began = 0.0
        self.tries: dict[str, list[Try]] = {}
        self.ends: dict[str, float] = {}
        self.decided: dict[str, Record] = {}
        self.unfolded: dict[str, Record] = {}
        self.inputs: dict[str, Record] = {}
        tellers: dict[str, Callable[[Record], None]] = {
            GENERATION: self._began,
            codec.STARTED: self._started,
            codec.ENDED: self._ended,
            codec.LOST: self._lost,
            codec.RETRYING: self._retrying,
            codec.TASK_ENDED: self._task_ended,
            codec.CONDITION: lambda record: self.decided.update({record["task"]: record}),
            codec.UNFOLDED: lambda record: self.unfolded.update({record["task"]: record}),
            codec.INPUTS: lambda record: self.inputs.update({record["task"]: record}),
        }
        for record in records:
            if record["type"] in tellers:
                tellers[record["type"]](record)

    def ready_at(self, task: TaskRun) -> float:
        """When nothing but a limit or a slot held a task, as far as records tell."""
        name, step = task.task.id, task.step
        times = [self.began, *(self.end_of(before) for before in step.blocking())]
        times += [record["ts"] for record in (self.decided.get(name),) if record]
        times += [record["ts"] for record in (self.unfolded.get(step.planned.id),) if record]
        if step.planned.final:
            times += [self.end_of(one) for one in step.scope.steps if not one.planned.final]
        container = step.scope.task
        if container is not None:
            asked = self.inputs.get(container.task.id)
            times += [asked["ts"] if asked else 0.0, self.ready_at(container)]
        return max(times)

    def end_of(self, step: StepRun) -> float:
        """When the last task of a step ended; 0 if none has."""
        return max((self.ends.get(task.task.id, 0.0) for task in step.tasks), default=0.0)

    def running(self, tasks: Iterable[TaskRun], moment: float) -> int:
        """How many of these ran at a moment; a container ran if something in it did."""
        return sum(1 for task in tasks if self._ran(task, moment))

    def _ran(self, task: TaskRun, moment: float) -> bool:
        if task.inner is not None:
            return any(self._ran(one, moment) for one in walk(task.inner) if one.inner is None)
        return any(one.runs_at(moment) for one in self.tries.get(task.task.id, ()))

    def _began(self, record: Record) -> None:
        self.began = record["ts"]

    def _started(self, record: Record) -> None:
        self.tries.setdefault(record["task"], []).append(Try(record["attempt"], record["ts"]))

    def _ended(self, record: Record) -> None:
        self.ends[record["task"]] = record["ts"]
        for one in self.tries.get(record["task"], ())[-1:]:
            one.ended = record

    def _lost(self, record: Record) -> None:
        for one in self.tries.get(record["task"], ())[-1:]:
            one.lost_at = record["ts"]

    def _retrying(self, record: Record) -> None:
        for one in self.tries.get(record["task"], ())[-1:]:
            one.retry_in = record["seconds"]

    def _task_ended(self, record: Record) -> None:
        self.ends[record["task"]] = record["ts"]
