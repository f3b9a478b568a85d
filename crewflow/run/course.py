"""What follows from what, once the machine was told: whose turn it is, what an end does, what a failure does.

`Machine` is this, with a method for each event. What one event costs does not depend on how many tasks the
run has, but for the one event that cancels or stops the run: steps count their unended tasks and the steps
before them, and the ready ones are a heap.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from crewflow.graph.plan import Condition
from crewflow.run.containers import (
    allows,
    blame,
    enclosed,
    failed_before,
    is_asked,
    state_of,
    waits_for_inputs,
)
from crewflow.run.events import (
    AskCondition,
    AskInputs,
    AskLegs,
    AskOutcome,
    CancelAttempt,
    Cause,
    RunEnded,
    TaskEnded,
)
from crewflow.run.policy import met_around, met_in
from crewflow.run.retry import is_retried
from crewflow.run.roster import Roster
from crewflow.run.standing import hindrance_of, queued, stopped_state
from crewflow.run.states import NOT_STARTED, TRANSITIONS, Outcome, RunState, TaskState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crewflow.graph.fanout import Leg
    from crewflow.graph.plan import Plan
    from crewflow.run.events import Instruction
    from crewflow.run.policy import Met, Stop
    from crewflow.run.standing import Level, ScopeRun, StepRun, TaskRun


class IllegalTransitionError(Exception):
    """A bug: the machine was about to make a change that `TRANSITIONS` does not hold."""


class Course:
    """The course of one run of a plan.

    Attributes:
        tasks, steps: by id, in the plan's order; those of an unfolded step come behind.
        root: the scope of the run itself.
        state: of the run.
        cancelled: it ends as cancelled, because of a request or of `on_failure: cancel`.
    """

    def __init__(self, plan: Plan, slots: int) -> None:
        self.plan = plan
        self.slots = slots
        self._roster = Roster(plan)
        self.steps = self._roster.steps
        self.tasks = self._roster.tasks
        self.root = self._roster.root
        self.state = RunState.PENDING
        self.cancelled = False
        self._heap: list[tuple[float, float, tuple[int, ...], TaskRun]] = []  # may hold stale entries
        self._ended_steps: deque[StepRun] = deque()  # ended, their dependents not told yet
        self._moved_scopes: deque[ScopeRun] = deque()  # begun, or all outside `finally` has ended
        self._out: list[Instruction] = []

    def next_ready(self) -> str | None:
        """The task to start now: the ready one with the longest path behind it, if a slot is free.

        The caller starts it and feeds `AttemptStarted`; a task is named once.
        """
        while self._heap and self.root.running < self.slots:
            task = heappop(self._heap)[-1]
            if task.state is TaskState.READY and not self._is_held(task):
                return task.task.id
        return None

    # --- whose turn it is -------------------------------------------------------------------------

    def _begin(self, scope: ScopeRun) -> None:
        """It is a scope's turn: begin the steps that wait for nothing."""
        scope.is_open = True
        self._moved_scopes.append(scope)
        for step in scope.steps:
            if step.blockers == 0 and not step.ended:
                self._unblock(step)

    def _unblock(self, step: StepRun) -> None:
        """All that the step waits for has ended: decide each of its tasks."""
        hindrance = hindrance_of(step)
        # what is in its `after` is seen by `failure()`, and is no reason to be skipped
        tainted = any(need.tainted for need in step.needs)
        failure = any(before.tainted for before in step.blocking())
        if not step.tasks:
            state = TaskState.SKIPPED if hindrance else TaskState.SUCCEEDED
            self._close_empty(step, state, hindrance, tainted=tainted)
            return
        for task in step.tasks:
            if task.state is TaskState.PENDING:
                self._decide(task, hindrance, tainted=tainted, failure=failure)

    def _decide(self, task: TaskRun, hindrance: Cause | None, *, tainted: bool, failure: bool) -> None:
        condition = task.task.condition
        if hindrance is not None and condition is not Condition.STATUS:
            task.tainted = tainted
            self._end(task, TaskState.SKIPPED, hindrance)
        elif condition is Condition.SUCCESS and not task.stands_for_legs:
            self._make_ready(task)
        else:
            self._move(task, TaskState.DECIDING)
            # inside `finally` not of its unordered neighbours: that would depend on who was faster
            failed = failure or failed_before(task.step)
            ask = AskLegs if task.stands_for_legs else AskCondition
            self._out.append(ask(task.task.id, hindrance is None, failed, self.cancelled))

    def _unfold(self, task: TaskRun, legs: Iterable[Leg]) -> None:
        """Put the legs in the place of what stood for them, and decide each."""
        self._roster.unfold(task, legs)
        self._unblock(task.step)

    def _make_ready(self, task: TaskRun) -> None:
        self._move(task, TaskState.READY)
        task.waits_for = None
        if task.inner is None:
            heappush(self._heap, queued(task))
        elif not self._is_held(task):
            self._open(task)

    def _open(self, task: TaskRun) -> None:
        """Let what is inside a container begin, once its inputs are known."""
        self._move(task, TaskState.RUNNING)
        for level in task.step.levels:
            level.running += 1
        task.outcome = task.failure = task.exit_code = task.error = None
        if task.task.declared:
            self._out.append(AskInputs(task.task.id))
        elif task.inner is not None:
            self._begin(task.inner)

    def _is_held(self, task: TaskRun) -> bool:
        """Whether a limit keeps a ready task waiting; another that is held further out may take its turn."""
        levels = task.step.levels
        for depth, level in enumerate(levels):
            if not _has_room(level):
                self._wait(task, "limit")
                heappush(level.held, queued(task))
                for outer in levels[depth + 1 :]:
                    self._wake(outer)
                return True
        return False

    def _make_room(self, task: TaskRun) -> None:
        for level in task.step.levels:
            level.running -= 1

    def _wake_behind(self, task: TaskRun) -> None:
        """A task has given up its place, or its claim to one: let others have it."""
        for level in task.step.levels:
            if level.held:
                self._wake(level)

    def _wake(self, level: Level) -> None:
        """Make the first task ready again that a limit holds, if that has room now."""
        while level.held and _has_room(level):
            held = heappop(level.held)[-1]
            if held.waits_for == "limit":
                self._make_ready(held)
                return

    def _wait(self, task: TaskRun, reason: str) -> None:
        self._move(task, TaskState.WAITING)
        task.waits_for = reason

    def _may_retry(self, task: TaskRun) -> bool:
        return (
            not task.step.stopping
            and task.attempts < task.allowance
            and (task.task.idempotent or task.outcome is not Outcome.LOST)
            and task.failure is not None
            and is_retried(task.task.retry, task.failure, task.exit_code)
        )

    # --- what a failure does, and a cancel ----------------------------------------------------------

    def _fail(self, task: TaskRun, error: str) -> None:
        """A task fails before it has an attempt."""
        task.failure, task.exit_code, task.error = "start", None, error
        self._end_failed(task, allowed=False)

    def _end_failed(self, task: TaskRun, *, allowed: bool) -> None:
        if allowed:
            self._end(task, TaskState.SUCCEEDED)
            return
        self._end(task, TaskState.FAILED)
        step = task.step
        step.scope.mark_failed(final=step.planned.final)
        self._apply(met_in(step, self.plan.on_failure))

    def _end_cancelled(self, task: TaskRun) -> None:
        """What was cancelled on its own, and not with the run, is a failure of what is around it."""
        if not self.cancelled:
            task.step.scope.mark_failed(final=task.step.planned.final)
        self._end(task, TaskState.CANCELLED, Cause("cancelled"))

    def _apply(self, met: Met | None) -> None:
        stop = met.stop() if met is not None else None
        if met is not None and stop is not None:
            self.cancelled = self.cancelled or (stop.cancels and met.domain is self.root)
            self._stop(met.domain, stop)

    def _stop(self, domain: Level, stop: Stop) -> None:
        """Start nothing more in a step or a scope. With `_cancel` the one place that looks at every task."""
        self._close_down(domain, stop)
        if stop.cancels:
            self._cancel(domain, stop)

    def _close_down(self, domain: Level, stop: Stop) -> None:
        _mark(domain, stop)
        for step in domain.governed(with_final=stop.with_final):
            _mark(step, stop)
            for task in step.tasks:
                self._stop_task(task, stop)
            if not step.tasks and not step.ended:
                self._close_empty(step, stop.state, stop.cause, tainted=False)

    def _stop_task(self, task: TaskRun, stop: Stop) -> None:
        if task.state in NOT_STARTED:
            self._end(task, stopped_state(task, stop.state), stop.cause)
        elif waits_for_inputs(task):
            self._end_inside(task, stop.state, enclosed(task, stop.cause))
            self._make_room(task)
            self._end(task, TaskState.CANCELLED, stop.cause)
        elif task.inner is not None and task.state is TaskState.RUNNING:
            task.inner.cut = True
            self._close_down(task.inner, stop)

    def _cancel(self, domain: Level, stop: Stop) -> None:
        for step in domain.governed(with_final=stop.with_final):
            for task in step.tasks:
                if task.state is not TaskState.RUNNING:
                    continue
                if task.inner is not None:
                    self._cancel(task.inner, stop)
                else:
                    self._out.append(CancelAttempt(task.task.id, task.attempts, stop.now))

    # --- what an end does -------------------------------------------------------------------------

    def _end(self, task: TaskRun, state: TaskState, cause: Cause | None = None) -> None:
        if task.state is not TaskState.RUNNING:
            self._end_claims(task, state, cause)
        self._move(task, state)
        task.waits_for = None
        task.cause = cause
        step = task.step
        step.open -= 1
        self._out.append(TaskEnded(task.task.id, state, cause))
        if step.open == 0:
            step.conclude()
            self._close(step)
            if step.planned.on_failure is not None and step.state is TaskState.FAILED:
                self._apply(met_around(step, self.plan.on_failure))

    def _end_claims(self, task: TaskRun, state: TaskState, cause: Cause | None) -> None:
        """A task ends without having started: so does all that is in it, and its place in a queue."""
        if task.inner is not None:
            inner_state = TaskState.CANCELLED if state is TaskState.CANCELLED else TaskState.SKIPPED
            self._end_inside(task, inner_state, enclosed(task, cause))
        elif task.step.levels and (task.state is TaskState.READY or task.waits_for == "limit"):
            task.waits_for = None
            self._wake_behind(task)

    def _end_inside(self, container: TaskRun, state: TaskState, cause: Cause) -> None:
        """End all that is inside a container which ends without having been open."""
        for step in container.inner.steps if container.inner is not None else ():
            for task in step.tasks:
                if task.state in NOT_STARTED:
                    task.tainted = container.tainted
                    self._end(task, state, cause)
            if not step.tasks and not step.ended:
                self._close_empty(step, state, cause, tainted=container.tainted)

    def _close_empty(self, step: StepRun, state: TaskState, cause: Cause | None, *, tainted: bool) -> None:
        """End a step that has no tasks whose ends could say what became of it."""
        step.conclude_empty(state, cause, tainted=tainted)
        self._close(step)

    def _close(self, step: StepRun) -> None:
        scope = step.scope
        self._ended_steps.append(step)
        if step.planned.final:
            scope.open_final -= 1
        else:
            scope.open_main -= 1
        if scope.open_main == 0:
            self._moved_scopes.append(scope)

    def _settle(self) -> None:
        """Tell dependents, begin each `finally`, end containers and the run. A loop: no chain is too long."""
        while self._ended_steps or self._moved_scopes:
            while self._ended_steps:
                self._release(self._ended_steps.popleft().dependents)
            if self._moved_scopes:
                self._settle_scope(self._moved_scopes.popleft())

    def _settle_scope(self, scope: ScopeRun) -> None:
        if not scope.is_open or scope.open_main > 0:
            return
        if not scope.in_final:
            scope.in_final = True
            self._moved_scopes.append(scope)
            self._release([step for step in scope.steps if step.planned.final])
        elif scope.open_final == 0:
            scope.is_open = False
            if scope.task is None:
                self._end_run()
            else:
                self._conclude(scope.task, scope)

    def _release(self, steps: Iterable[StepRun]) -> None:
        for step in steps:
            step.blockers -= 1
            if step.blockers == 0 and not step.ended:
                self._unblock(step)

    def _conclude(self, task: TaskRun, scope: ScopeRun) -> None:
        """All in a container has ended: so has the container, once it is known what it gives."""
        state = state_of(task, scope)
        if is_asked(task, state):
            self._out.append(AskOutcome(task.task.id, state is TaskState.FAILED))
        else:
            self._end_container(task, scope, state, allowed=allows(task, scope))

    def _end_container(self, task: TaskRun, scope: ScopeRun, state: TaskState, *, allowed: bool) -> None:
        self._make_room(task)
        if state is TaskState.FAILED:
            blame(task, scope)
            task.outcome = Outcome.FAILED
            self._end_failed(task, allowed=allowed)
        elif state is TaskState.CANCELLED:
            task.outcome = Outcome.CANCELLED
            self._end_cancelled(task)
        else:
            task.outcome = Outcome.SUCCEEDED
            self._end(task, state)
        self._wake_behind(task)

    def _end_run(self) -> None:
        if self.cancelled:
            self.state = RunState.CANCELLED
        else:
            self.state = RunState.FAILED if self.root.any_failed else RunState.SUCCEEDED
        self._out.append(RunEnded(self.state))

    def _move(self, task: TaskRun, to: TaskState) -> None:
        if to not in TRANSITIONS.get(task.state, frozenset()):
            raise IllegalTransitionError(_story(task, to))
        task.state = to


def _has_room(level: Level) -> bool:
    return level.limit is None or level.running < level.limit


def _mark(level: Level, stop: Stop) -> None:
    level.stopping = True
    level.cancelling = level.cancelling or stop.cancels


def _story(task: TaskRun, to: TaskState) -> str:
    so_far = f"{task.attempts} attempts, the last {task.outcome}, cause {task.cause}"
    return f"task {task.task.id}: {task.state} -> {to} after {so_far}"
