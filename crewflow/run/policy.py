"""What a failure does to what has not failed: which `on_failure` it meets, and how far that reaches. Pure.

The nearest policy counts. A step's own governs the rest of its tasks; once the step as a whole has failed,
that is a failure of the step, which meets the policy around it. A container whose failure may be allowed
keeps a failure to itself: what it inherits governs what is inside it alone. Under `finally` a failure only
fails its scope.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crewflow.run.events import Cause
from crewflow.run.states import TaskState
from crewflow.spec.model import OnFailure

if TYPE_CHECKING:
    from crewflow.run.standing import Level, ScopeRun, StepRun


@dataclass(frozen=True, slots=True)
class Stop:
    """Start nothing more.

    Attributes:
        state, cause: what tasks that have not started end as, and why.
        cancels: what runs is ended too.
        with_final: `finally` is dropped as well.
        now: what runs gets no time.
    """

    state: TaskState
    cause: Cause
    cancels: bool
    with_final: bool = False
    now: bool = False


@dataclass(frozen=True, slots=True)
class Met:
    """The policy that a failure meets, the step or scope that it governs, and the step that failed there."""

    policy: OnFailure
    domain: Level
    step: str

    def stop(self) -> Stop | None:
        """What is to be done now; None if nothing is, or if it has been done already."""
        if self.policy is OnFailure.STOP and not self.domain.stopping:
            return Stop(TaskState.SKIPPED, Cause("stopped", self.step, self.step), cancels=False)
        if self.policy is OnFailure.CANCEL and not self.domain.cancelling:
            return Stop(TaskState.CANCELLED, Cause("cancelled", self.step, self.step), cancels=True)
        return None


def met_in(step: StepRun, of_run: OnFailure) -> Met | None:
    """What the failure of one task of a step meets; None under `finally`."""
    own = step.planned.on_failure
    return met_around(step, of_run) if own is None else Met(own, step, step.planned.id)


def met_around(step: StepRun, of_run: OnFailure) -> Met | None:
    """What the failure of a step as a whole meets; None under `finally`."""
    while not step.planned.final:
        container = step.scope.task
        if container is None or container.task.allow_failure is not False:
            return Met(_inherited(step.scope, of_run), step.scope, step.planned.id)
        step = container.step
        if step.planned.on_failure is not None:
            return Met(step.planned.on_failure, step, step.planned.id)
    return None


def _inherited(scope: ScopeRun, of_run: OnFailure) -> OnFailure:
    while scope.task is not None:
        step = scope.task.step
        if step.planned.on_failure is not None:
            return step.planned.on_failure
        scope = step.scope
    return of_run
