"""The states of tasks and runs, and the sets of them that decisions are made on.

- `PENDING`: its needs have not ended.
- `WAITING`: its needs are met, and something else holds it: a retry delay, a limit of its fan-out.
- `DECIDING`: its needs have ended and its `if` is being asked.
- `READY`: it may start now and waits for a slot only.
- `RUNNING`: an attempt of it has been started and has not ended.
- `SUCCEEDED`, `FAILED`, `SKIPPED`, `CANCELLED`: terminal; they never change inside one generation.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class TaskState(StrEnum):
    """Where a task is in its life."""

    PENDING = "pending"
    WAITING = "waiting"
    DECIDING = "deciding"
    READY = "ready"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


class RunState(StrEnum):
    """Where a run is. `INTERRUPTED` is only shown by readers: it says running and nobody holds it."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class Outcome(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


TERMINAL = frozenset({TaskState.SUCCEEDED, TaskState.FAILED, TaskState.SKIPPED, TaskState.CANCELLED})
NOT_STARTED = frozenset({TaskState.PENDING, TaskState.WAITING, TaskState.DECIDING, TaskState.READY})
RUN_TERMINAL = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED})

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
