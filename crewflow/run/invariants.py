"""What must hold of a machine between two events, for tests: its counters against what they count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.run.standing import walk
from crewflow.run.states import TERMINAL, RunState, TaskState

if TYPE_CHECKING:
    from crewflow.run.machine import Machine
    from crewflow.run.standing import ScopeRun, StepRun, TaskRun

_UNDER_WAY = frozenset({TaskState.DECIDING, TaskState.READY, TaskState.WAITING, TaskState.RUNNING})


def check_invariants(machine: Machine) -> None:
    """Raises AssertionError with what differs."""
    leaves = [task for task in machine.tasks.values() if task.inner is None]
    running = [task for task in leaves if task.state is TaskState.RUNNING]
    _agree("running", machine.running, len(running))
    _agree("within slots", machine.running <= machine.slots, expected=True)
    for step in machine.steps.values():
        _check_step(step)
        for task in step.tasks:
            if task.inner is not None:
                _check_container(task, task.inner)
    busy = machine.state is RunState.RUNNING and machine.generation > 0
    # an open container does nothing itself, and one that is held waits for an open one
    deciding = any(task.state is TaskState.DECIDING for task in machine.tasks.values())
    moving = deciding or any(task.state in _UNDER_WAY for task in leaves)
    asking = any(task.inner is not None and _is_asked(task, task.inner) for task in machine.tasks.values())
    _agree("something can go on", busy and not moving and not asking, expected=False)


def _check_step(step: StepRun) -> None:
    name = step.planned.id
    _agree(f"{name} open", step.open, sum(task.state not in TERMINAL for task in step.tasks))
    if step.limit is not None:
        _agree(f"{name} running", step.running, sum(task.state is TaskState.RUNNING for task in step.tasks))
        _agree(f"{name} within its limit", step.running <= step.limit, expected=True)
    # one that succeeded in a former generation may stand behind one that is tried again
    began = any(task.state in _UNDER_WAY for task in step.tasks)
    unblocked = all(before.ended for before in step.blocking())
    _agree(f"{name} began only when its turn came", began and not unblocked, expected=False)


def _check_container(task: TaskRun, scope: ScopeRun) -> None:
    name = task.task.id
    if scope.limit is not None:
        running = sum(one.state is TaskState.RUNNING for one in walk(scope) if one.inner is None)
        _agree(f"running in {name}", scope.running, running)
        _agree(f"{name} within its limit", scope.running <= scope.limit, expected=True)
    began = any(one.state in _UNDER_WAY for one in walk(scope))
    _agree(f"{name} is open while something in it goes on", began and not scope.is_open, expected=False)
    closed = task.state in TERMINAL and any(one.state not in TERMINAL for one in walk(scope))
    _agree(f"{name} ended after all that is in it", closed, expected=False)


def _is_asked(task: TaskRun, scope: ScopeRun) -> bool:
    """Whether the container waits for its inputs, or for what it gives."""
    return task.state is TaskState.RUNNING and not scope.is_open


def _agree(what: str, counted: int, expected: int) -> None:
    if counted != expected:
        message = f"{what}: {counted}, expected {expected}"
        raise AssertionError(message)
