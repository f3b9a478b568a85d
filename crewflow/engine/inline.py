"""The executor `inline`: one attempt at a time, in this very process.

For debugging and for tests: a python step can be stepped through, and a breakpoint works. Scripts and
commands run as they do in a worker. A function's timeout is an alarm signal and ends only what lets
itself be interrupted; one that ends the process ends crewflow.
"""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

from crewflow.engine import attempt as attempts
from crewflow.engine import callables, procs, spawn
from crewflow.engine.executor import Ended
from crewflow.run.states import Outcome

if TYPE_CHECKING:
    from crewflow.engine.executor import Attempt, Event


class InlineExecutor:
    """Runs attempts in this process; see `Executor`.

    Attributes:
        capacity: 1.
    """

    capacity = 1

    def __init__(self, wake_fd: int | None = None) -> None:
        procs.adopt_orphans()
        self._wake_fd = -1 if wake_fd is None else wake_fd
        self._base = spawn.caller_environment()
        self._host = callables.Host(sheltered=False)
        self._queue: list[Attempt] = []
        self._running: tuple[Attempt, attempts.Running] | None = None
        self._events: list[Event] = []

    def start(self, attempt: Attempt) -> None:
        """Begin an attempt; a python step is called by `wait`. See `Executor`."""
        self._queue.append(attempt)
        self._advance()

    def wait(self, timeout: float | None) -> list[Event]:
        """What has happened; see `Executor`."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self._events:
            left = None if until is None else max(0.0, until - time.monotonic())
            if self._turn(left) or left == 0.0:
                break
        events, self._events = self._events, []
        self._advance()
        return events

    def cancel(self, task: str, number: int, *, now: bool, interrupt: bool = False) -> None:
        """End an attempt; see `Executor`. A function that runs cannot be reached."""
        for attempt in self._queue:
            if (attempt.task, attempt.number) == (task, number):
                self._queue.remove(attempt)
                self._events.append(_cancelled(attempt))
                return
        if self._running and (self._running[0].task, self._running[0].number) == (task, number):
            self._running[1].cancel(now=now, interrupt=interrupt)

    def close(self) -> None:
        """End what runs and return when it is gone; see `Executor`."""
        self._queue.clear()
        if self._running:
            attempt, running = self._running
            self.cancel(attempt.task, attempt.number, now=False)
            while running.ended is None:
                running.turn(None)
            self._running = None

    def _advance(self) -> None:
        """Begin the next attempt, unless it is a function: those are called while somebody waits."""
        if self._running or not self._queue or self._queue[0].kind == "python":
            return
        attempt = self._queue.pop(0)
        running = attempts.begin(attempt, self._base, procs.children_of_this())
        if running.ended is None:
            self._running = attempt, running
            self._events.append(running.spawned())
        else:
            self._events.append(running.ended)

    def _turn(self, limit: float | None) -> bool:
        if self._running is None and self._queue:
            self._call(self._queue.pop(0))
            return False
        if self._running is None:
            return self._rest(limit)
        _, running = self._running
        woken = running.turn(limit, self._wake_fd)
        if running.ended is not None:
            self._events.append(running.ended)
            self._running = None
        return woken

    def _rest(self, limit: float | None) -> bool:
        """Nothing runs: only the caller can be heard."""
        fds = [self._wake_fd] if self._wake_fd >= 0 else []
        return bool(select.select(fds, [], [], limit)[0])

    def _call(self, attempt: Attempt) -> None:
        self._host.forget_changed(attempt.project)
        ended, _ = self._host.call(attempt, self._base, procs.children_of_this())
        self._events.append(ended)


def _cancelled(attempt: Attempt) -> Ended:
    return Ended(attempt.task, attempt.number, Outcome.CANCELLED, error="cancelled")
