"""The pure machine of a run: events in, instructions out, no I/O, no clock, no randomness.

    PENDING ──needs ended──> DECIDING ──if──> READY ──slot──> RUNNING ──> SUCCEEDED | FAILED | CANCELLED
       │                        │               ^  │             │
       └──────> SKIPPED <───────┘               │  └─> WAITING <─┘ (limit of the fan-out, retry delay)
                                                └────────┘

How to use it: make one from a plan and a number of slots; feed `GenerationBegan`; then, in a loop, start
what `next_ready` names (by feeding `AttemptStarted`) until it names nothing, and feed what happened. The
same events in the same order give the same instructions, so a journal of events is the whole state.

A container (the task of a group or a call) takes no slot: it is open while what is inside it runs, and ends
with that (`containers`). Each scope, the run and the inside of every container, begins its own `finally`, and
has its own failures; a failure is met by the nearest policy around it (`policy`).

Here is one method for each event; what follows from it stands in `course`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.run.containers import blame, enclosed, state_of, waits_for_inputs, waits_for_outcome
from crewflow.run.course import Course
from crewflow.run.events import (
    AttemptEnded,
    AttemptStarted,
    CancelRequested,
    Cause,
    ConditionDecided,
    DelayRetry,
    GenerationBegan,
    InputsGiven,
    LegsGiven,
    OutcomeGiven,
    Refused,
    RetryDue,
)
from crewflow.run.invariants import check_invariants
from crewflow.run.policy import Stop
from crewflow.run.reopen import reopen
from crewflow.run.retry import delay_before
from crewflow.run.standing import may_start
from crewflow.run.states import Outcome, RunState, TaskState

if TYPE_CHECKING:
    from collections.abc import Callable

    from crewflow.graph.plan import Plan
    from crewflow.run.events import Event, Instruction


class Machine(Course):
    """One run of a plan. Changed through `handle` alone.

    Attributes:
        generation: number of the last `GenerationBegan`; 0 before the first.
    """

    def __init__(self, plan: Plan, slots: int) -> None:
        super().__init__(plan, slots)
        self.generation = 0
        self._handlers: dict[type, Callable[..., None]] = {
            GenerationBegan: self._on_generation,
            ConditionDecided: self._on_condition,
            AttemptStarted: self._on_started,
            AttemptEnded: self._on_ended,
            RetryDue: self._on_retry_due,
            CancelRequested: self._on_cancel,
            LegsGiven: self._on_legs,
            InputsGiven: self._on_inputs,
            OutcomeGiven: self._on_outcome,
        }

    @property
    def running(self) -> int:
        """How many tasks hold a slot."""
        return self.root.running

    @property
    def any_failed(self) -> bool:
        """Whether the run will have failed."""
        return self.root.any_failed

    def handle(self, event: Event) -> list[Instruction]:
        """Take in what happened and say what is to be done about it, in order."""
        self._out = []
        self._handlers[type(event)](event)
        self._settle()
        return self._out

    def check_invariants(self) -> None:
        """Hold the counters against the tasks they count. Raises AssertionError with what differs."""
        check_invariants(self)

    # --- one method per event -------------------------------------------------------------------

    def _on_generation(self, event: GenerationBegan) -> None:
        if event.number <= self.generation:
            self._refuse(event, "this generation has begun already")
            return
        self.generation = event.number
        self.state = RunState.RUNNING
        self.cancelled = False
        self._heap.clear()
        reopen(self.root)
        self._begin(self.root)

    def _on_condition(self, event: ConditionDecided) -> None:
        task = self.tasks.get(event.task)
        if task is None or task.state is not TaskState.DECIDING or task.stands_for_legs:
            self._refuse(event, "its `if` is not being asked")
        elif event.error is not None:
            self._fail(task, event.error)
        elif event.value:
            self._make_ready(task)
        else:
            self._end(task, TaskState.SKIPPED, Cause("condition"))

    def _on_legs(self, event: LegsGiven) -> None:
        task = self.tasks.get(event.task)
        if task is None or task.state is not TaskState.DECIDING or not task.stands_for_legs:
            self._refuse(event, "its legs are not being asked for")
        elif event.error is not None:
            self._fail(task, event.error)
        elif event.legs is None:
            self._end(task, TaskState.SKIPPED, Cause("condition"))
        else:
            self._unfold(task, event.legs)

    def _on_inputs(self, event: InputsGiven) -> None:
        task = self.tasks.get(event.task)
        if task is None or task.inner is None or not waits_for_inputs(task):
            self._refuse(event, "its inputs are not being asked for")
        elif event.error is not None:
            task.failure, task.error = "start", event.error
            task.inner.in_final = True
            self._end_inside(task, TaskState.SKIPPED, enclosed(task, None))
            self._conclude(task, task.inner)
        else:
            self._begin(task.inner)

    def _on_outcome(self, event: OutcomeGiven) -> None:
        task = self.tasks.get(event.task)
        if task is None or task.inner is None or not waits_for_outcome(task):
            self._refuse(event, "its outcome is not being asked for")
            return
        state = state_of(task, task.inner)
        if event.error is not None and state is not TaskState.FAILED:
            # what it gives has no value: that is a failure, which may be allowed as any other
            task.failure, task.error = "bad_output", event.error
            self._conclude(task, task.inner)
            return
        if event.error is not None:
            blame(task, task.inner)
            task.error = f"{task.error}; {event.error}"
        self._end_container(task, task.inner, state, allowed=event.allowed and event.error is None)

    def _on_started(self, event: AttemptStarted) -> None:
        task = self.tasks.get(event.task)
        is_leaf = task is not None and task.inner is None
        if task is None or not is_leaf or not may_start(task) or event.number != task.attempts + 1:
            self._refuse(event, "it is not ready for this attempt")
            return
        if task.state is TaskState.WAITING:
            self._make_ready(task)
        self._move(task, TaskState.RUNNING)
        task.attempts = event.number
        task.tried = True
        self.root.running += 1
        for level in task.step.levels:
            level.running += 1

    def _on_ended(self, event: AttemptEnded) -> None:
        task = self.tasks.get(event.task)
        running = task is not None and task.state is TaskState.RUNNING and task.inner is None
        if task is None or not running or event.number != task.attempts:
            self._refuse(event, "no such attempt is running")
            return
        self.root.running -= 1
        self._make_room(task)
        task.outcome, task.failure = event.outcome, event.failure
        task.exit_code, task.error = event.exit_code, event.error
        if event.outcome is Outcome.SUCCEEDED:
            self._end(task, TaskState.SUCCEEDED)
        elif event.outcome is Outcome.CANCELLED:
            self._end_cancelled(task)
        elif self._may_retry(task):
            self._wait(task, "retry")
            delay = delay_before(task.task.retry, task.attempts, event.fraction)
            self._out.append(DelayRetry(task.task.id, task.attempts + 1, delay))
        else:
            self._end_failed(task, allowed=event.allowed)
        self._wake_behind(task)

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
        with_final = event.now or self.root.in_final
        cause = Cause("cancelled")
        self._stop(
            self.root, Stop(TaskState.CANCELLED, cause, cancels=True, with_final=with_final, now=event.now)
        )

    def _refuse(self, event: Event, reason: str) -> None:
        self._out.append(Refused(event, reason))
