"""Where each task and each step of a run stands: the machine's memory, changed by the machine alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.run.events import Cause
from crewflow.run.states import TERMINAL, Outcome, TaskState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.graph.plan import PlannedStep, Task


class TaskRun:
    """A task's part of the state. Changed by the machine alone.

    Attributes:
        attempts: how many have been started, in all generations.
        allowance: the number of the last attempt that may be started.
        outcome: of its last attempt; None before one has ended.
        failure, exit_code, error: of its last failed attempt, or why its `if` has no value.
        cause: why it was skipped, cancelled, or failed with attempts left; else None.
        tainted: it was skipped because of a failure behind it.
        tried: an attempt of it has been started in this generation.
        waits_for: `retry` or `limit` while WAITING; else None.
    """

    __slots__ = (
        "allowance",
        "attempts",
        "cause",
        "error",
        "exit_code",
        "failure",
        "index",
        "outcome",
        "state",
        "step",
        "tainted",
        "task",
        "tried",
        "waits_for",
    )

    def __init__(self, task: Task, step: StepRun, index: int) -> None:
        self.task = task
        self.step = step
        self.index = index
        self.state = TaskState.PENDING
        self.attempts = 0
        self.allowance = task.retry.max_attempts
        self.outcome: Outcome | None = None
        self.failure: str | None = None
        self.exit_code: int | None = None
        self.error: str | None = None
        self.cause: Cause | None = None
        self.tainted = False
        self.tried = False
        self.waits_for: str | None = None


class StepRun:
    """A step's part of the state: what its dependents wait for.

    Attributes:
        blockers: steps it needs or comes after that have not ended, and one more for `finally` itself.
        open: its tasks that have not ended.
        ended: all its tasks have ended, and it was its turn.
        state: of the whole once it has ended; PENDING before.
        tainted: a failure is in it or behind it; known once it has ended.
        cause: of the first task that has one; known once it has ended.
        running: its tasks that hold a slot.
        held: a heap of those that wait for its `max_parallel`; may hold stale entries.
    """

    __slots__ = (
        "after",
        "blockers",
        "cause",
        "dependents",
        "ended",
        "held",
        "needs",
        "open",
        "planned",
        "running",
        "state",
        "tainted",
        "tasks",
    )

    def __init__(self, planned: PlannedStep) -> None:
        self.planned = planned
        self.tasks: list[TaskRun] = []
        self.needs: list[StepRun] = []
        self.after: list[StepRun] = []
        self.dependents: list[StepRun] = []
        self.blockers = 0
        self.open = 0
        self.ended = False
        self.state = TaskState.PENDING
        self.tainted = False
        self.cause: Cause | None = None
        self.running = 0
        self.held: list[tuple[float, int, TaskRun]] = []

    def conclude(self) -> None:
        """All has ended: failed or cancelled if one task is, skipped if all are, else succeeded.

        Kept as values, since every dependent asks for them and a fan-out may have 10,000 legs.
        """
        self.ended = True
        self.state = self._conclusion()
        self.tainted = any(task.state is TaskState.FAILED or task.tainted for task in self.tasks)
        self.cause = next((task.cause for task in self.tasks if task.cause), None)

    def conclude_empty(self, state: TaskState, cause: Cause | None, *, tainted: bool) -> None:
        """It has no tasks whose ends could say what became of it."""
        self.ended = True
        self.state, self.cause, self.tainted = state, cause, tainted

    def _conclusion(self) -> TaskState:
        states = {task.state for task in self.tasks}
        for state in (TaskState.FAILED, TaskState.CANCELLED):
            if state in states:
                return state
        return TaskState.SKIPPED if states == {TaskState.SKIPPED} else TaskState.SUCCEEDED

    def blocking(self) -> Iterator[StepRun]:
        """The steps that must have ended before this one, each once."""
        seen = set()
        for step in (*self.needs, *self.after):
            if id(step) not in seen:
                seen.add(id(step))
                yield step


def queued(task: TaskRun) -> tuple[float, int, TaskRun]:
    """A task as an entry of a heap: the longest path first, then the order of the plan."""
    return (-task.task.weight, task.index, task)


def may_start(task: TaskRun) -> bool:
    """It is ready; or its delay has passed, which no journal tells: in a replay the start itself does."""
    return task.state is TaskState.READY or task.waits_for == "retry"


def hindrance_of(step: StepRun) -> Cause | None:
    """The first need that did not succeed, as a cause; None if all did."""
    for need in step.needs:
        state = need.state
        if state is TaskState.FAILED:
            return Cause("need_failed", need.planned.id, need.planned.id)
        if state is TaskState.CANCELLED:
            return Cause("need_cancelled", need.planned.id, need.planned.id)
        if state is TaskState.SKIPPED:
            root = need.cause.root if need.cause is not None and need.cause.root else need.planned.id
            return Cause("need_skipped", need.planned.id, root)
    return None


def stopped_state(task: TaskRun, state: TaskState) -> TaskState:
    """A task that waits for its next attempt has failed already, unless the run is cancelled.

    Not asked by what it waits for: after its delay that is a slot, and a replay knows of no delays.
    """
    if task.tried and state is TaskState.SKIPPED:
        return TaskState.FAILED
    return state


def reset_unless_kept(task: TaskRun, *, settled: bool) -> None:
    """Make a task pending for a new generation, unless it succeeded or its own `if` skipped it.

    Args:
        task: one of any state.
        settled: all before it is kept, so that its `if` would be answered as before.
    """
    final = task.step.planned.final
    if task.state is TaskState.SUCCEEDED and not final:
        return
    by_its_if = task.state is TaskState.SKIPPED and task.cause is not None and task.cause.kind == "condition"
    if by_its_if and settled and not final:
        return
    if task.state in TERMINAL:
        task.allowance = task.attempts + task.task.retry.max_attempts
    elif task.state is TaskState.RUNNING:
        # lost with its engine: its tries count, and it is tried again however many those were
        task.outcome, task.failure = Outcome.LOST, "lost"
        task.exit_code = task.error = None
    task.state = TaskState.PENDING
    task.cause = task.waits_for = None
    task.tainted = task.tried = False
