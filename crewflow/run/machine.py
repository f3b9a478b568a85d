"""The pure machine of a run: events in, instructions out, no I/O, no clock, no randomness.

    PENDING ──needs ended──> DECIDING ──if──> READY ──slot──> RUNNING ──> SUCCEEDED | FAILED | CANCELLED
       │                        │               ^  │             │
       └──────> SKIPPED <───────┘               │  └─> WAITING <─┘ (limit of the fan-out, retry delay)
                                                └────────┘

How to use it: make one from a plan and a number of slots; feed `GenerationBegan`; then, in a loop, start
what `next_ready` names (by feeding `AttemptStarted`) until it names nothing, and feed what happened. The
same events in the same order give the same instructions, so a journal of events is the whole state.

What one event costs does not depend on how many tasks the run has, but for the one event that cancels or
stops the run: steps count their unended tasks and the steps before them, and the ready ones are a heap.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from crewflow.graph.plan import Condition
from crewflow.run.events import (
    AskCondition,
    AttemptEnded,
    AttemptStarted,
    CancelAttempt,
    CancelRequested,
    Cause,
    ConditionDecided,
    DelayRetry,
    GenerationBegan,
    Refused,
    RetryDue,
    RunEnded,
    TaskEnded,
)
from crewflow.run.retry import delay_before, is_retried
from crewflow.run.standing import (
    StepRun,
    TaskRun,
    hindrance_of,
    may_start,
    queued,
    reset_unless_kept,
    stopped_state,
)
from crewflow.run.states import NOT_STARTED, TERMINAL, Outcome, RunState, TaskState
from crewflow.spec.model import OnFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crewflow.graph.plan import Plan
    from crewflow.run.events import Event, Instruction

TRANSITIONS: Final[dict[TaskState, frozenset[TaskState]]] = {
    TaskState.PENDING: frozenset(
        {TaskState.DECIDING, TaskState.READY, TaskState.SKIPPED, TaskState.CANCELLED},
    ),
    TaskState.DECIDING: frozenset(
        {TaskState.READY, TaskState.SKIPPED, TaskState.FAILED, TaskState.CANCELLED},
    ),
    TaskState.READY: frozenset(
        {TaskState.RUNNING, TaskState.WAITING, TaskState.FAILED, TaskState.SKIPPED, TaskState.CANCELLED},
    ),
    TaskState.WAITING: frozenset(
        {TaskState.READY, TaskState.FAILED, TaskState.SKIPPED, TaskState.CANCELLED},
    ),
    TaskState.RUNNING: frozenset(
        {TaskState.WAITING, TaskState.SUCCEEDED, TaskState.FAILED, TaskState.CANCELLED},
    ),
}
"""Every change of a task's state inside one generation; terminal states have no row."""


class IllegalTransitionError(Exception):
    """A bug: the machine was about to make a change that `TRANSITIONS` does not hold."""


class Machine:
    """One run of a plan. Changed through `handle` alone.

    Attributes:
        tasks, steps: by id, in the plan's order.
        generation: number of the last `GenerationBegan`; 0 before the first.
        running: how many tasks hold a slot.
        state: of the run.
    """

    def __init__(self, plan: Plan, slots: int) -> None:
        self.plan = plan
        self.slots = slots
        self.steps: dict[str, StepRun] = {step.id: StepRun(step) for step in plan.steps}
        self.tasks: dict[str, TaskRun] = {}
        for index, task in enumerate(plan.tasks):
            step = self.steps[task.step]
            step.tasks.append(TaskRun(task, step, index))
            self.tasks[task.id] = step.tasks[-1]
        self._link()
        self.state = RunState.PENDING
        self.generation = 0
        self.running = 0
        self.any_failed = False
        self._main_failed = False  # outside `finally`
        self.cancelled = False
        self._stopping = False  # nothing outside `finally` starts any more
        self._dropping_final = False  # nor inside
        self._in_final = False
        self._open_main = 0  # steps outside `finally` that have not ended
        self._open_final = 0
        self._heap: list[tuple[float, int, TaskRun]] = []  # may hold stale entries of tasks no longer ready
        self._ended_steps: deque[StepRun] = deque()  # ended, their dependents not told yet
        self._out: list[Instruction] = []
        self._handlers: dict[type, Callable[..., None]] = {
            GenerationBegan: self._on_generation,
            ConditionDecided: self._on_condition,
            AttemptStarted: self._on_started,
            AttemptEnded: self._on_ended,
            RetryDue: self._on_retry_due,
            CancelRequested: self._on_cancel,
        }

    def handle(self, event: Event) -> list[Instruction]:
        """Take in what happened and say what is to be done about it, in order."""
        self._out = []
        self._handlers[type(event)](event)
        self._settle()
        return self._out

    def next_ready(self) -> str | None:
        """The task to start now: the ready one with the longest path behind it, if a slot is free.

        The caller starts it and feeds `AttemptStarted`; a task is named once.
        """
        while self._heap and self.running < self.slots:
            task = heappop(self._heap)[2]
            if task.state is not TaskState.READY:
                continue
            limit = task.step.planned.max_parallel
            if limit is not None and task.step.running >= limit:
                self._wait(task, "limit")
                heappush(task.step.held, queued(task))
                continue
            return task.task.id
        return None

    # --- one method per event -------------------------------------------------------------------

    def _on_generation(self, event: GenerationBegan) -> None:
        if event.number <= self.generation:
            self._refuse(event, "this generation has begun already")
            return
        self.generation = event.number
        self.state = RunState.RUNNING
        self._reopen()
        for step in self.steps.values():
            if step.blockers == 0 and not step.ended:
                self._unblock(step)

    def _on_condition(self, event: ConditionDecided) -> None:
        task = self.tasks.get(event.task)
        if task is None or task.state is not TaskState.DECIDING:
            self._refuse(event, "its `if` is not being asked")
        elif event.error is not None:
            task.failure, task.exit_code, task.error = "start", None, event.error
            self._end(task, TaskState.FAILED)
            self._after_failure(task)
        elif event.value:
            self._make_ready(task)
        else:
            self._end(task, TaskState.SKIPPED, Cause("condition"))

    def _on_started(self, event: AttemptStarted) -> None:
        task = self.tasks.get(event.task)
        if task is None or not may_start(task) or event.number != task.attempts + 1:
            self._refuse(event, "it is not ready for this attempt")
            return
        if task.state is TaskState.WAITING:
            self._make_ready(task)
        self._move(task, TaskState.RUNNING)
        task.attempts = event.number
        task.tried = True
        task.step.running += 1
        self.running += 1

    def _on_ended(self, event: AttemptEnded) -> None:
        task = self.tasks.get(event.task)
        if task is None or task.state is not TaskState.RUNNING or event.number != task.attempts:
            self._refuse(event, "no such attempt is running")
            return
        self._give_back_slot(task)
        task.outcome, task.failure = event.outcome, event.failure
        task.exit_code, task.error = event.exit_code, event.error
        if event.outcome is Outcome.SUCCEEDED:
            self._end(task, TaskState.SUCCEEDED)
        elif event.outcome is Outcome.CANCELLED:
            self.any_failed = self.any_failed or not self.cancelled
            self._end(task, TaskState.CANCELLED, Cause("cancelled"))
        elif self._may_retry(task):
            self._wait(task, "retry")
            delay = delay_before(task.task.retry, task.attempts, event.fraction)
            self._out.append(DelayRetry(task.task.id, task.attempts + 1, delay))
        elif event.allowed:
            self._end(task, TaskState.SUCCEEDED)
        else:
            self._end(task, TaskState.FAILED)
            self._after_failure(task)

    def _on_retry_due(self, event: RetryDue) -> None:
        task = self.tasks.get(event.task)
        if task is None or task.waits_for != "retry":
            self._refuse(event, "it does not wait for a retry")
            return
        self._make_ready(task)

    def _on_cancel(self, event: CancelRequested) -> None:
        if self.state is not RunState.RUNNING:
            self._refuse(event, "the run is not running")
            return
        self.cancelled = True
        with_final = event.now or self._in_final
        self._dropping_final = self._dropping_final or with_final
        self._stop(TaskState.CANCELLED, Cause("cancelled"), with_final=with_final)
        self._cancel_running(now=event.now, with_final=with_final)

    # --- what the events have in common -----------------------------------------------------------

    def _unblock(self, step: StepRun) -> None:
        """All that the step waits for has ended: decide each of its tasks."""
        hindrance = hindrance_of(step)
        # what is in its `after` is seen by `failure()`, and is no reason to be skipped
        tainted = any(need.tainted for need in step.needs)
        failure = any(before.tainted for before in step.blocking())
        if not step.tasks:
            state = TaskState.SKIPPED if hindrance else TaskState.SUCCEEDED
            step.conclude_empty(state, hindrance, tainted=tainted)
            self._close(step)
            return
        for task in step.tasks:
            if task.state is TaskState.PENDING:
                self._decide(task, hindrance, tainted=tainted, failure=failure)

    def _decide(self, task: TaskRun, hindrance: Cause | None, *, tainted: bool, failure: bool) -> None:
        condition = task.task.condition
        if hindrance is not None and condition is not Condition.STATUS:
            task.tainted = tainted
            self._end(task, TaskState.SKIPPED, hindrance)
        elif condition is Condition.SUCCESS:
            self._make_ready(task)
        else:
            self._move(task, TaskState.DECIDING)
            # inside `finally` not of its unordered neighbours: that would depend on who was faster
            failed = failure or (task.step.planned.final and self._main_failed)
            self._out.append(AskCondition(task.task.id, hindrance is None, failed, self.cancelled))

    def _after_failure(self, task: TaskRun) -> None:
        """Let the run's failure policy take hold; a failure inside `finally` only fails the run."""
        self.any_failed = True
        self._main_failed = self._main_failed or not task.step.planned.final
        policy = self.plan.on_failure
        if policy is OnFailure.FINISH or task.step.planned.final or self._stopping:
            return
        step = task.step.planned.id
        if policy is OnFailure.STOP:
            self._stop(TaskState.SKIPPED, Cause("stopped", step, step), with_final=False)
            return
        self.cancelled = True
        self._stop(TaskState.CANCELLED, Cause("cancelled", step, step), with_final=False)
        self._cancel_running(now=False, with_final=False)

    def _stop(self, state: TaskState, cause: Cause, *, with_final: bool) -> None:
        """Start nothing more: end what has not started. The one place that looks at every task."""
        self._stopping = True
        for step in self.steps.values():
            if step.planned.final and not with_final:
                continue
            for task in step.tasks:
                if task.state in NOT_STARTED:
                    self._end(task, stopped_state(task, state), cause)
            if not step.tasks and not step.ended:
                step.conclude_empty(state, cause, tainted=False)
                self._close(step)

    def _cancel_running(self, *, now: bool, with_final: bool) -> None:
        for task in self.tasks.values():
            if task.state is TaskState.RUNNING and (with_final or not task.step.planned.final):
                self._out.append(CancelAttempt(task.task.id, task.attempts, now))

    def _may_retry(self, task: TaskRun) -> bool:
        closed = self._dropping_final if task.step.planned.final else self._stopping
        return (
            not closed
            and task.attempts < task.allowance
            and (task.task.idempotent or task.outcome is not Outcome.LOST)
            and task.failure is not None
            and is_retried(task.task.retry, task.failure, task.exit_code)
        )

    def _give_back_slot(self, task: TaskRun) -> None:
        self.running -= 1
        task.step.running -= 1
        while task.step.held:
            held = heappop(task.step.held)[2]
            if held.waits_for == "limit":
                self._make_ready(held)
                return

    def _make_ready(self, task: TaskRun) -> None:
        self._move(task, TaskState.READY)
        task.waits_for = None
        heappush(self._heap, queued(task))

    def _wait(self, task: TaskRun, reason: str) -> None:
        self._move(task, TaskState.WAITING)
        task.waits_for = reason

    def _end(self, task: TaskRun, state: TaskState, cause: Cause | None = None) -> None:
        self._move(task, state)
        task.waits_for = None
        task.cause = cause
        task.step.open -= 1
        self._out.append(TaskEnded(task.task.id, state, cause))
        if task.step.open == 0:
            task.step.conclude()
            self._close(task.step)

    def _close(self, step: StepRun) -> None:
        self._ended_steps.append(step)
        if step.planned.final:
            self._open_final -= 1
        else:
            self._open_main -= 1

    def _settle(self) -> None:
        """Tell dependents, begin `finally`, end the run. A loop, so that no chain is too long for it."""
        self._begin_final_when_due()
        while self._ended_steps:
            self._release(self._ended_steps.popleft().dependents)
            self._begin_final_when_due()
        if self.state is RunState.RUNNING and self._open_main == 0 and self._open_final == 0:
            self.state = self._final_state()
            self._out.append(RunEnded(self.state))

    def _release(self, steps: list[StepRun]) -> None:
        for step in steps:
            step.blockers -= 1
            if step.blockers == 0 and not step.ended:
                self._unblock(step)

    def _begin_final_when_due(self) -> None:
        if self.state is RunState.RUNNING and self._open_main == 0 and not self._in_final:
            self._in_final = True
            self._release([step for step in self.steps.values() if step.planned.final])

    def _final_state(self) -> RunState:
        if self.cancelled:
            return RunState.CANCELLED
        return RunState.FAILED if self.any_failed else RunState.SUCCEEDED

    def _move(self, task: TaskRun, to: TaskState) -> None:
        if to not in TRANSITIONS.get(task.state, frozenset()):
            raise IllegalTransitionError(_story(task, to))
        task.state = to

    def _refuse(self, event: Event, reason: str) -> None:
        self._out.append(Refused(event, reason))

    # --- generations ------------------------------------------------------------------------------

    def _link(self) -> None:
        for step in self.steps.values():
            step.open = len(step.tasks)
            step.needs = [self.steps[name] for name in step.planned.needs]
            step.after = [self.steps[name] for name in step.planned.after]
        for step in self.steps.values():
            for before in step.blocking():
                before.dependents.append(step)

    def _reopen(self) -> None:
        """Keep what succeeded, make the rest pending, and count anew.

        A task that its own `if` skipped is kept too, as long as all before it is kept: asked again, it
        would give the same answer.
        """
        self.cancelled = self._stopping = self._dropping_final = self._in_final = False
        self.running = 0
        self._heap.clear()
        for step in self._topological():
            step.held.clear()
            step.running = 0
            settled = all(before.ended for before in step.blocking())
            for task in step.tasks:
                reset_unless_kept(task, settled=settled)
            step.open = sum(task.state not in TERMINAL for task in step.tasks)
            step.state, step.cause, step.tainted, step.ended = TaskState.PENDING, None, False, False
            if step.tasks and step.open == 0:
                step.conclude()
            step.blockers = sum(not before.ended for before in step.blocking()) + step.planned.final
        self.any_failed = self._main_failed = False
        self._open_main = sum(not step.ended for step in self.steps.values() if not step.planned.final)
        self._open_final = sum(not step.ended for step in self.steps.values() if step.planned.final)

    def _topological(self) -> Iterator[StepRun]:
        waiting = {id(step): sum(1 for _ in step.blocking()) for step in self.steps.values()}
        free = deque(step for step in self.steps.values() if waiting[id(step)] == 0)
        while free:
            step = free.popleft()
            yield step
            for dependent in step.dependents:
                waiting[id(dependent)] -= 1
                if waiting[id(dependent)] == 0:
                    free.append(dependent)

    # --- for tests ----------------------------------------------------------------------------------

    def check_invariants(self) -> None:
        """Hold the counters against the tasks they count. Raises AssertionError with what differs."""
        running = [task for task in self.tasks.values() if task.state is TaskState.RUNNING]
        _agree("running", self.running, len(running))
        _agree("within slots", self.running <= self.slots, expected=True)
        for step in self.steps.values():
            name = step.planned.id
            _agree(f"{name} open", step.open, sum(t.state not in TERMINAL for t in step.tasks))
            _agree(f"{name} running", step.running, sum(t.state is TaskState.RUNNING for t in step.tasks))
            waiting = sum(entry[2].waits_for == "limit" for entry in step.held)
            _agree(f"{name} held", waiting, sum(t.waits_for == "limit" for t in step.tasks))
            # one that succeeded in a former generation may stand behind one that is tried again
            began = any(t.state in _UNDER_WAY for t in step.tasks)
            unblocked = all(before.ended for before in step.blocking())
            _agree(f"{name} began only when its turn came", began and not unblocked, expected=False)
        busy = self.state is RunState.RUNNING and self.generation > 0
        moving = any(t.state in _UNDER_WAY for t in self.tasks.values())
        _agree("something can go on", busy and not moving, expected=False)


_UNDER_WAY = frozenset({TaskState.DECIDING, TaskState.READY, TaskState.WAITING, TaskState.RUNNING})


def _story(task: TaskRun, to: TaskState) -> str:
    so_far = f"{task.attempts} attempts, the last {task.outcome}, cause {task.cause}"
    return f"task {task.task.id}: {task.state} -> {to} after {so_far}"


def _agree(what: str, counted: int, expected: int) -> None:
    if counted != expected:
        message = f"{what}: {counted}, expected {expected}"
        raise AssertionError(message)
