"""Where each task, each step and each scope of a run stands: the machine's memory, changed by it alone.

A *scope* is the run itself, or what is inside one container: the steps of a group or of a called workflow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from crewflow.run.events import Cause
from crewflow.run.states import TERMINAL, Outcome, TaskState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crewflow.graph.plan import PlannedStep, Task

    Held = list[tuple[float, float, tuple[int, ...], "TaskRun"]]
    Level: TypeAlias = "StepRun | ScopeRun"


class TaskRun:
    """A task's part of the state. Changed by the machine alone.

    Attributes:
        index: its place in the order of the plan; tasks of an unfolded step stand in that step's place.
        inner: what is inside it, if it is a container.
        stands_for_legs: it stands for a fan-out whose legs are not known yet.
        attempts: how many have been started, in all generations.
        allowance: the number of the last attempt that may be started.
        outcome: of its last attempt, or of a container; None before one has ended.
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
        "inner",
        "outcome",
        "stands_for_legs",
        "state",
        "step",
        "tainted",
        "task",
        "tried",
        "waits_for",
    )

    def __init__(self, task: Task, step: StepRun, index: tuple[int, ...]) -> None:
        self.task = task
        self.step = step
        self.index = index
        self.inner: ScopeRun | None = None
        self.stands_for_legs = False
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
        scope: what it stands in.
        blockers: steps it needs or comes after that have not ended, and one more for `finally` itself.
        open: its tasks that have not ended.
        ended: all its tasks have ended, and it was its turn.
        state: of the whole once it has ended; PENDING before.
        tainted: a failure is in it or behind it; known once it has ended.
        cause: of the first task that has one; known once it has ended.
        stopping: nothing more starts in it; `cancelling`: and what runs in it has been told to end.
        levels: the limits that its tasks count against: its own, then those around it, the innermost first.
        running: its tasks that hold a slot, or are open; counted where it has a limit.
        held: a heap of those that wait for its `max_parallel`; may hold stale entries.
    """

    __slots__ = (
        "_blocking",
        "after",
        "blockers",
        "cancelling",
        "cause",
        "dependents",
        "ended",
        "held",
        "levels",
        "limit",
        "needs",
        "open",
        "planned",
        "running",
        "scope",
        "state",
        "stopping",
        "tainted",
        "tasks",
    )

    def __init__(self, planned: PlannedStep, scope: ScopeRun) -> None:
        self.planned = planned
        self.scope = scope
        self.tasks: list[TaskRun] = []
        self.needs: list[StepRun] = []
        self.after: list[StepRun] = []
        self.dependents: list[StepRun] = []
        self._blocking: tuple[StepRun, ...] = ()
        self.blockers = 0
        self.open = 0
        self.ended = False
        self.state = TaskState.PENDING
        self.tainted = False
        self.cause: Cause | None = None
        self.stopping = self.cancelling = False
        self.limit = planned.max_parallel
        self.levels: tuple[Level, ...] = ()
        self.running = 0
        self.held: Held = []

    def governed(self, *, with_final: bool) -> Iterable[StepRun]:  # noqa: ARG002 -- as a scope's
        """The steps that a policy on it governs: itself."""
        return (self,)

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

    def connect(self, needs: Iterable[StepRun], after: Iterable[StepRun]) -> None:
        """Say once what it waits for."""
        self.needs, self.after = list(needs), list(after)
        self._blocking = tuple(dict.fromkeys((*self.needs, *self.after)))
        for before in self._blocking:
            before.dependents.append(self)

    def blocking(self) -> tuple[StepRun, ...]:
        """The steps that must have ended before this one, each once."""
        return self._blocking


class ScopeRun:
    """The part of the state of a run, or of what is inside one container.

    Attributes:
        task: the container; None for the run itself.
        is_open: its steps may start: it is their turn.
        in_final: all outside `finally` has ended, and `finally` has begun.
        open_main, open_final: its steps outside and under `finally` that have not ended.
        main_failed: a step outside `finally` has failed for good; `any_failed`: any step has.
        stopping: nothing outside `finally` starts any more; `cancelling`: and what runs was told to end.
        cut: it was stopped from outside of it.
        limit: how many tasks inside it may run at once; None for none, and for the run, which has slots.
        running: tasks inside it, at any depth, that hold a slot; counted for the run, and where it has a
            limit.
        held: a heap of those that wait for its limit; may hold stale entries.
    """

    __slots__ = (
        "any_failed",
        "cancelling",
        "cut",
        "held",
        "in_final",
        "is_open",
        "limit",
        "main_failed",
        "open_final",
        "open_main",
        "running",
        "steps",
        "stopping",
        "task",
    )

    def __init__(self, task: TaskRun | None) -> None:
        self.task = task
        self.steps: list[StepRun] = []
        self.limit = None if task is None else task.task.slots
        self.held: Held = []
        self.clear()

    def clear(self) -> None:
        """Forget all but the steps, before what is open is counted anew."""
        self.is_open = self.in_final = False
        self.open_main = self.open_final = self.running = 0
        self.main_failed = self.any_failed = False
        self.stopping = self.cancelling = self.cut = False
        self.held.clear()

    def governed(self, *, with_final: bool) -> Iterable[StepRun]:
        """The steps that a policy on it governs: those outside `finally`, or all."""
        return [step for step in self.steps if with_final or not step.planned.final]

    def mark_failed(self, *, final: bool) -> None:
        """A step in it has failed for good, under `finally` or outside."""
        self.any_failed = True
        self.main_failed = self.main_failed or not final


def queued(task: TaskRun) -> tuple[float, float, tuple[int, ...], TaskRun]:
    """A task as an entry of a heap: by priority, then the longest path first, then the order of the plan."""
    return (-task.task.priority, -task.task.weight, task.index, task)


def limits_of(task: TaskRun) -> tuple[Level, ...]:
    """What may hold a task though it is ready: its fan-out, then what is around it, from the inside out."""
    return task.step.levels


def walk(scope: ScopeRun) -> Iterator[TaskRun]:
    """All tasks inside a scope in the order of the plan, each container before what is inside it."""
    for step in scope.steps:
        for task in step.tasks:
            yield task
            if task.inner is not None:
                yield from walk(task.inner)


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


def failures_in(scope: ScopeRun) -> Iterator[TaskRun]:
    """The tasks inside a scope that failed themselves, at any depth; a container if nothing in it did."""
    for step in scope.steps:
        for task in step.tasks:
            if task.state is TaskState.FAILED:
                inside = failures_in(task.inner) if task.inner is not None else iter(())
                yield next(inside, task)
                yield from inside


def first_failed(scope: ScopeRun) -> TaskRun | None:
    """The first of `failures_in`."""
    return next(failures_in(scope), None)


def reset_unless_kept(task: TaskRun, *, settled: bool, anew: bool) -> None:
    """Make a task pending for a new generation, unless it succeeded or its own `if` skipped it.

    Args:
        task: one of any state.
        settled: all before it is kept, so that its `if` would be answered as before.
        anew: it stands under `finally`, which every generation runs again.
    """
    by_its_if = task.state is TaskState.SKIPPED and task.cause is not None and task.cause.kind == "condition"
    if not anew and (task.state is TaskState.SUCCEEDED or (by_its_if and settled)):
        return
    if task.state in TERMINAL:
        task.allowance = task.attempts + task.task.retry.max_attempts
    elif task.state is TaskState.RUNNING and task.inner is None:
        # lost with its engine: its tries count, and it is tried again however many those were
        task.outcome, task.failure = Outcome.LOST, "lost"
        task.exit_code = task.error = None
    task.state = TaskState.PENDING
    task.cause = task.waits_for = None
    task.tainted = task.tried = False


def counts_as_task(task: TaskRun) -> bool:
    """Whether a task is one of those that people count: all but containers, unless one failed by itself."""
    if task.inner is None:
        return True
    return task.state is TaskState.FAILED and first_failed(task.inner) is None
