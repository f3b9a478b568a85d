"""A new generation: keep what succeeded, make the rest pending, and count anew."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from crewflow.run.standing import reset_unless_kept
from crewflow.run.states import TERMINAL, TaskState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.run.standing import ScopeRun, StepRun, TaskRun


def reopen(scope: ScopeRun, *, settled: bool = True, anew: bool = False) -> None:
    """Make a scope ready to begin, or to begin again.

    A task that its own `if` skipped is kept too, as long as all before it is kept: asked again, it would
    give the same answer. A container that is kept keeps all that is inside it.

    Args:
        scope: the run, or what is inside a container that has not begun or did not succeed.
        settled: all before the container is kept.
        anew: it stands under `finally`, which every generation runs again from its beginning.
    """
    scope.clear()
    for step in _topological(scope):
        before_is_kept = settled and all(before.ended for before in step.blocking())
        for task in step.tasks:
            _reset(task, settled=before_is_kept, anew=anew or step.planned.final)
        _count(step)
    scope.open_main = sum(not step.ended for step in scope.steps if not step.planned.final)
    scope.open_final = sum(not step.ended for step in scope.steps if step.planned.final)


def _reset(task: TaskRun, *, settled: bool, anew: bool) -> None:
    reset_unless_kept(task, settled=settled, anew=anew)
    if task.inner is not None and task.state is TaskState.PENDING:
        reopen(task.inner, settled=settled, anew=anew)


def _count(step: StepRun) -> None:
    step.held.clear()
    step.running = 0
    step.stopping = step.cancelling = False
    step.open = sum(task.state not in TERMINAL for task in step.tasks)
    step.state, step.cause, step.tainted, step.ended = TaskState.PENDING, None, False, False
    if step.tasks and step.open == 0:
        step.conclude()
    step.blockers = sum(not before.ended for before in step.blocking()) + step.planned.final


def _topological(scope: ScopeRun) -> Iterator[StepRun]:
    waiting = {id(step): len(step.blocking()) for step in scope.steps}
    free = deque(step for step in scope.steps if waiting[id(step)] == 0)
    while free:
        step = free.popleft()
        yield step
        for dependent in step.dependents:
            waiting[id(dependent)] -= 1
            if waiting[id(dependent)] == 0:
                free.append(dependent)
