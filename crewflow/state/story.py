"""What became of a run, task by task: the machine's states, joined with what the records tell beside them.

Fed the same records live and from disk, so that the summary of `apply` and a later `status` agree.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from crewflow.run.standing import counts_as_task, walk
from crewflow.run.states import RunState, TaskState
from crewflow.state import codec
from crewflow.state.records import GENERATION

if TYPE_CHECKING:
    from crewflow.run.machine import Machine
    from crewflow.run.standing import TaskRun
    from crewflow.state.paths import RunPaths


class TaskStory:
    """A task as it is told.

    Attributes:
        ended: the record of its last attempt's end; None before there is one.
        started: when its last attempt began, seconds since 1970; None before.
        retry_at: when its next attempt is due; only while it waits for that.
    """

    __slots__ = ("ended", "retry_at", "run", "started")

    def __init__(self, run: TaskRun) -> None:
        self.run = run
        self.ended: dict[str, Any] | None = None
        self.started: float | None = None
        self.retry_at: float | None = None

    @property
    def id(self) -> str:
        """The task's id."""
        return self.run.task.id

    @property
    def state(self) -> TaskState:
        """The task's state."""
        return self.run.state

    @property
    def seconds(self) -> float | None:
        """How long its last attempt took; None while there is no end."""
        return self.ended.get("seconds") if self.ended else None

    @property
    def error(self) -> str | None:
        """What failed, in one line."""
        return self.run.error

    @property
    def output_bytes(self) -> int:
        """The size of its last attempt's log."""
        return int(self.ended.get("output_bytes", 0)) if self.ended else 0

    @property
    def artifacts(self) -> list[dict[str, Any]]:
        """The artifacts of its last attempt."""
        return list(self.ended.get("artifacts", ())) if self.ended else []


class Story:
    """A run as it is told.

    Attributes:
        began, ended: seconds since 1970; None where that has not happened.
        taken_up: when its last generation began.
        cancelled_by: what asked for the last cancel; None if nothing did.
        held: somebody had the run's lease when its story was begun.
    """

    def __init__(self, run: RunPaths, machine: Machine, *, held: bool) -> None:
        self.run = run
        self.machine = machine
        self.held = held
        self._tasks: dict[str, TaskStory] = {}
        self.began: float | None = None
        self.ended: float | None = None
        self.taken_up: float | None = None
        self.seq = 0
        self.cancelled_by: str | None = None
        self._seers = {
            GENERATION: self._see_generation,
            codec.STARTED: self._see_started,
            codec.ENDED: self._see_ended,
            codec.RETRYING: self._see_retrying,
            codec.CANCEL: self._see_cancel,
            codec.RUN_ENDED: self._see_run_ended,
        }

    @property
    def tasks(self) -> dict[str, TaskStory]:
        """The tasks that there are now, each behind the container it stands in."""
        return {task.task.id: self._of(task.task.id) for task in walk(self.machine.root)}

    def see(self, record: dict[str, Any]) -> None:
        """Take note of a record, before the machine is told."""
        self.seq = record.get("seq", self.seq)
        seer = self._seers.get(record["type"])
        if seer is not None:
            seer(record)

    def seconds(self) -> float | None:
        """How long its last generation took; None while that goes on."""
        if self.ended is None or self.taken_up is None:
            return None
        return max(0.0, self.ended - self.taken_up)

    def counts(self) -> dict[str, int]:
        """How many tasks are in each state that occurs, in the order of the states: see `counts_as_task`."""
        counted = Counter(task.state for task in self.machine.tasks.values() if counts_as_task(task))
        return {str(state): counted[state] for state in TaskState if counted[state]}

    def artifacts(self) -> list[dict[str, Any]]:
        """All artifacts, in the order of the tasks; a path stands once, with every name it has as `ids`."""
        found: dict[str, dict[str, Any]] = {}
        for task in self.tasks.values():
            for artifact in task.artifacts if task.state is TaskState.SUCCEEDED else ():
                facts = {name: value for name, value in artifact.items() if name != "id"}
                ids = [*found.get(artifact["path"], {}).get("ids", ()), artifact["id"]]
                found[artifact["path"]] = {"task": task.id, "ids": list(dict.fromkeys(ids)), **facts}
        return list(found.values())

    def shown_state(self) -> RunState:
        """The run's state for a reader: one that runs and is held by nobody is interrupted."""
        state = self.machine.state
        return RunState.INTERRUPTED if state is RunState.RUNNING and not self.held else state

    def _see_generation(self, record: dict[str, Any]) -> None:
        self.began = self.began or record["ts"]
        self.taken_up = record["ts"]
        self.ended = None
        self.cancelled_by = None

    def _see_started(self, record: dict[str, Any]) -> None:
        task = self._of(record["task"])
        task.started, task.ended, task.retry_at = record["ts"], None, None

    def _see_ended(self, record: dict[str, Any]) -> None:
        self._of(record["task"]).ended = record

    def _see_retrying(self, record: dict[str, Any]) -> None:
        self._of(record["task"]).retry_at = record["ts"] + record["seconds"]

    def _see_cancel(self, record: dict[str, Any]) -> None:
        self.cancelled_by = record["reason"]

    def _see_run_ended(self, record: dict[str, Any]) -> None:
        self.ended = record["ts"]

    def _of(self, name: str) -> TaskStory:
        if name not in self._tasks or self._tasks[name].run is not self.machine.tasks[name]:
            self._tasks[name] = TaskStory(self.machine.tasks[name])
        return self._tasks[name]
