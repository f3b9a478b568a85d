"""Containers, the tasks of groups and calls: what they wait for, and what they end as. Pure.

    RUNNING: inputs asked ──> open, what is inside runs ──> outcome asked ──> SUCCEEDED | FAILED | CANCELLED

A container runs nothing itself. It waits for its inputs if it is a call that has some, and in the end for
what it gives, or for whether its failure is allowed, where only the run can say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.run.events import Cause
from crewflow.run.retry import is_among
from crewflow.run.standing import failures_in, first_failed
from crewflow.run.states import TaskState
from crewflow.spec.model import Kind
from crewflow.spec.template import Template

if TYPE_CHECKING:
    from crewflow.run.standing import ScopeRun, StepRun, TaskRun


def waits_for_inputs(task: TaskRun) -> bool:
    """Whether it was asked what its inputs are, and has not answered."""
    inner = task.inner
    return inner is not None and task.state is TaskState.RUNNING and not inner.is_open and not inner.in_final


def waits_for_outcome(task: TaskRun) -> bool:
    """Whether all inside has ended, and it was asked what it gives, or whether its failure is allowed."""
    inner = task.inner
    return inner is not None and task.state is TaskState.RUNNING and not inner.is_open and inner.in_final


def state_of(task: TaskRun, scope: ScopeRun) -> TaskState:
    """What a container ends as once all inside it has ended.

    It has failed too where its inputs, or what it gives, could not be had. One whose steps were all skipped
    by their own `if` has succeeded: it did all that it was to do. One that was cut short from outside has not
    done that, whatever failure of it is allowed.
    """
    states = {step.state for step in scope.steps}
    if scope.cut and task.task.allow_failure is not False and _was_cut(scope):
        return TaskState.CANCELLED
    if task.failure is not None or TaskState.FAILED in states:
        return TaskState.FAILED
    return TaskState.CANCELLED if TaskState.CANCELLED in states or _was_cut(scope) else TaskState.SUCCEEDED


def is_asked(task: TaskRun, state: TaskState) -> bool:
    """Whether only the run can say what a container ends with that is to end as this."""
    if state is TaskState.FAILED:
        return isinstance(task.task.allow_failure, Template)
    return state is TaskState.SUCCEEDED and bool(task.task.given)


def allows(task: TaskRun, scope: ScopeRun) -> bool:
    """Whether a container's failure is allowed, as far as that is known before the run.

    A list of classes must cover its own failure or, if it has none, every failure inside it.
    """
    allowed = task.task.allow_failure
    if not isinstance(allowed, tuple):
        return allowed is True
    failed = [task] if task.failure is not None else failures_in(scope)
    return all(one.failure is not None and is_among(allowed, one.failure, one.exit_code) for one in failed)


def blame(task: TaskRun, scope: ScopeRun) -> None:
    """Say of a container that failed what the first failure inside it was, unless it failed itself."""
    failed = first_failed(scope)
    if task.error is None and failed is not None:
        task.failure, task.exit_code = failed.failure, failed.exit_code
        task.error = f"`{failed.task.id}` failed" + (f": {failed.error}" if failed.error else "")


def enclosed(container: TaskRun, cause: Cause | None) -> Cause:
    """Why what is inside a container ends with it, when it ends without having been open."""
    name = container.task.id
    return Cause("enclosing", name, cause.root if cause is not None and cause.root else name)


def failed_before(step: StepRun) -> bool:
    """Whether a step stands under `finally`, maybe in a group, and something outside that has failed."""
    while not step.planned.final:
        container = step.scope.task
        if container is None or container.task.kind is Kind.CALL:
            return False
        step = container.step
    return step.scope.main_failed


def _was_cut(scope: ScopeRun) -> bool:
    """Whether something in it was not done because it was stopped; a step's own cause may hide that."""
    causes = [task.cause for step in scope.steps for task in step.tasks]
    causes += [step.cause for step in scope.steps if not step.tasks]
    return any(cause is not None and cause.kind in {"stopped", "cancelled"} for cause in causes)
