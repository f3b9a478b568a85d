"""The executor `local`: attempts in worker processes, which a keeper forks as they are needed.

    start --> an idle worker, or one that is asked of the keeper (never more than wanted or `capacity`)
    wait <-- sockets of workers: how attempts go and end
         <-- the keeper: workers that came, and those that are gone with all that they left behind
         <-- `wake_fd`: the caller's own; it reads what is in it

A worker that dies, or sends what is no frame, is the outcome of the attempt it held and of nothing
else: the attempt is `lost`, reported once the keeper has proven that nothing of it lives, and another
worker takes the place. When too many go without one attempt having ended well in between, the
executor says so and stops. A callable's timeout and cancel end its worker; a script's are its worker's.
"""

from __future__ import annotations

import select
import signal
import socket
import time
from collections import deque
from typing import TYPE_CHECKING

from crewflow.engine import frames, roster
from crewflow.engine.keeper import KeeperError
from crewflow.engine.roster import Worker
from crewflow.run.states import Outcome

if TYPE_CHECKING:
    from crewflow.engine.executor import Attempt, Event
    from crewflow.engine.keeper import Keeper

LOSS_LIMIT = 20
"""Workers that may go, one after the other, without an attempt having ended properly in between."""

_FRAME_PATIENCE = 5.0  # seconds from the beginning of a frame to its end
_WATCHDOG = 30.0  # seconds that a worker may be late with an end that is overdue
_DEATH_PATIENCE = 1.0  # seconds from the end of a worker's socket to that of its process


class LocalExecutor:
    """Runs attempts in worker processes of `keeper`; see `Executor`.

    Attributes:
        capacity: how many attempts may be under way at once.
    """

    def __init__(self, keeper: Keeper, capacity: int, wake_fd: int | None = None) -> None:
        self.capacity = capacity
        self._keeper = keeper
        self._wake_fd = wake_fd
        self._lock: str | None = None
        self._next_id = 1
        self._workers: dict[int, Worker] = {}
        self._by_fd: dict[int, Worker] = {}
        self._idle: list[Worker] = []
        self._queue: deque[Attempt] = deque()
        self._events: list[Event] = []
        self._losses = 0
        self._grace = 0.0
        self._fault: str | None = None
        self._poll = select.poll()
        self._poll.register(keeper.fileno(), select.POLLIN)
        if wake_fd is not None:
            self._poll.register(wake_fd, select.POLLIN)
        self.warm(1)

    def warm(self, count: int) -> None:
        """Have workers forked before they are needed; never more than `capacity`."""
        while len(self._staying()) < min(count, self.capacity):
            self._hire()

    def hold(self, path: str) -> None:
        """Have keeper and workers share the lock `path` before they run another attempt."""
        self._lock = path
        self._keeper.hold(path)
        for worker in self._workers.values():
            self._tell_lock(worker)

    def start(self, attempt: Attempt) -> None:
        """Begin an attempt; see `Executor`.

        Raises:
            KeeperError: nothing can be started any more.
        """
        self._check()
        if attempt.grace > self._grace:
            # were the engine killed, the keeper would give everything the longest grace that was asked for
            self._grace = attempt.grace
            self._keeper.set_grace(self._grace)
        self._queue.append(attempt)
        self._staff()

    def wait(self, timeout: float | None) -> list[Event]:
        """What has happened; see `Executor`.

        Raises:
            KeeperError: nothing more will happen.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while not self._events:
            self._check()
            left = None if until is None else max(0.0, until - time.monotonic())
            woken = self._turn(left)
            if woken or left == 0.0:
                break
        events, self._events = self._events, []
        return events

    def cancel(self, task: str, number: int, *, now: bool, interrupt: bool = False) -> None:
        """End an attempt; see `Executor`. One that is not under way is none of its business."""
        for attempt in self._queue:
            if (attempt.task, attempt.number) == (task, number):
                self._queue.remove(attempt)
                self._events.append(roster.never_ran(attempt, Outcome.CANCELLED, None, "cancelled"))
                return
        for worker in self._workers.values():
            held = worker.attempt
            if held and (held.task, held.number) == (task, number):
                self._cancel(worker, held, now=now, interrupt=interrupt)

    def close(self) -> None:
        """End every process; see `Executor`.

        Raises:
            KeeperError: something is left that cannot be ended; it is named.
        """
        for worker in list(self._workers.values()):
            self._forget(worker)
        survivors = self._keeper.close()
        if survivors:
            raise KeeperError(f"processes that cannot be ended: {', '.join(map(str, survivors))}")

    # How workers come and get work.

    def _check(self) -> None:
        if self._fault and not self._events:
            raise KeeperError(self._fault, hint="run `crewflow resume` to go on with the run")

    def _staying(self) -> list[Worker]:
        return [worker for worker in self._workers.values() if worker.going is None]

    def _staff(self) -> None:
        """Give what waits to the idle, and have as many workers as there is work for."""
        while self._queue and self._idle:
            self._assign(self._idle.pop(), self._queue.popleft())
        if not self._queue:
            return
        staying = self._staying()
        busy = sum(worker.attempt is not None for worker in staying)
        wanted = min(self.capacity, busy + len(self._queue))
        for _ in range(wanted - len(staying)):
            self._hire()

    def _hire(self) -> None:
        worker = Worker(self._next_id)
        self._next_id += 1
        self._workers[worker.id] = worker
        self._keeper.fork_worker(worker.id)

    def _assign(self, worker: Worker, attempt: Attempt) -> None:
        try:
            order = roster.order(attempt)
        except OSError as error:
            why = f"the folder of the attempt cannot be written: {(error.strerror or '').lower()}"
            self._events.append(roster.never_ran(attempt, Outcome.FAILED, "start", why))
            self._idle.append(worker)
            return
        worker.attempt = attempt
        worker.began = time.monotonic()
        if attempt.timeout is not None:
            # A script's worker sees to its timeout itself, and is only watched.
            slack = 0.0 if attempt.kind == "python" else attempt.grace + _WATCHDOG
            worker.deadline = worker.began + attempt.timeout + slack
        self._send(worker, order)

    def _send(self, worker: Worker, data: bytes) -> None:
        """Say something to a worker; its socket has room for a frame, or it is broken."""
        try:
            whole = worker.control is not None and worker.control.send(data) == len(data)
        except OSError:
            whole = False
        if not whole:
            self._end(worker, "broken")

    def _tell_lock(self, worker: Worker) -> None:
        if worker.control is not None and self._lock is not None:
            self._send(worker, frames.pack({"hold": self._lock}))

    # What is waited for.

    def _turn(self, limit: float | None) -> bool:
        """See to what happens next; whether the caller's own descriptor is readable."""
        now = time.monotonic()
        dues = [due for worker in self._workers.values() if (due := _due(worker)) is not None]
        if dues:
            limit = max(0.0, min(dues) - now) if limit is None else min(limit, max(0.0, min(dues) - now))
        woken = False
        # A millisecond more: the kernel's clock and ours need not round alike.
        for fd, _ in self._poll.poll(None if limit is None else limit * 1000 + (limit > 0)):
            if fd == self._wake_fd:
                woken = True
            elif fd == self._keeper.fileno():
                self._hear_keeper()
            elif fd in self._by_fd:
                self._hear(self._by_fd[fd])
        if dues:
            self._see_to_overdue()
        self._staff()
        return woken

    def _see_to_overdue(self) -> None:
        now = time.monotonic()
        for worker in list(self._workers.values()):
            due = _due(worker)
            if due is None or now < due:
                continue
            attempt = worker.attempt
            if worker.going == "gone" and not roster.lives(worker.pid):
                worker.deadline = None  # the keeper is clearing up behind it
            elif worker.going is None and attempt and attempt.kind == "python" and not worker.halfway_since:
                self._end(worker, "timeout", attempt.grace)
            else:
                self._end(worker, "broken")

    def _cancel(self, worker: Worker, attempt: Attempt, *, now: bool, interrupt: bool) -> None:
        grace = 0.0 if now else attempt.grace
        if attempt.kind == "python":
            self._end(worker, "cancel", grace, signal.SIGINT if interrupt else signal.SIGTERM)
            return
        worker.deadline = time.monotonic() + grace + _WATCHDOG
        self._send(worker, frames.pack({"cancel": attempt.number, "now": now, "interrupt": interrupt}))

    def _end(self, worker: Worker, why: str, grace: float = 0.0, first: int = signal.SIGTERM) -> None:
        """Have the keeper end a worker; what becomes of its attempt is known when it is gone."""
        worker.going = why if worker.going in {None, "gone"} else worker.going
        worker.deadline = worker.halfway_since = None
        if worker in self._idle:
            self._idle.remove(worker)
        if why == "broken":
            self._hear_no_more(worker)
        self._keeper.end_worker(worker.id, grace, first)

    # What workers say.

    def _hear(self, worker: Worker) -> None:
        try:
            data = worker.control.recv(65_536) if worker.control else b""
            said = worker.decoder.feed(data)
            for frame in said:
                self._take(worker, frame)
        except BlockingIOError:
            return
        except frames.FrameError:
            self._end(worker, "broken")
            return
        except OSError:
            data = b""
        if not data:
            self._see_off(worker)
        elif not worker.decoder.halfway:
            worker.halfway_since = None
        elif worker.halfway_since is None:
            worker.halfway_since = time.monotonic()

    def _see_off(self, worker: Worker) -> None:
        """A worker will say no more: the keeper is about to report it, or else it is broken."""
        self._hear_no_more(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        if worker.going is None:
            worker.going = "gone"
            worker.halfway_since = None
            worker.deadline = time.monotonic() + _DEATH_PATIENCE

    def _take(self, worker: Worker, frame: frames.Frame) -> None:
        """What a worker says of its attempt.

        Raises:
            FrameError: it is nothing that a worker says, or not now.
        """
        attempt = worker.attempt
        if attempt is None or worker.verdict is not None:
            raise frames.FrameError("out of turn")
        if "spawned" in frame:
            self._events.append(roster.spawned(attempt, frame["spawned"]))
        elif "stale" in frame:
            worker.attempt, worker.going = None, "stale"
            self._queue.appendleft(attempt)
        else:
            self._take_end(worker, attempt, frame)

    def _take_end(self, worker: Worker, attempt: Attempt, frame: frames.Frame) -> None:
        fields = frame.get("ended")
        if "ended_file" in frame:
            fields = roster.read_result(attempt)
        ended = frames.ended_from_json(attempt, fields)
        if worker.going is not None:
            # It was to be ended meanwhile: that is what became of it, and it is not waited for.
            self._keeper.end_worker(worker.id, 0.0)
            return
        self._losses = 0
        worker.deadline = None
        if frame.get("retire"):
            # It goes by itself; something of the attempt may live in it until it is gone.
            worker.going, worker.verdict = "retire", ended
            return
        worker.attempt = None
        self._idle.append(worker)
        self._events.append(ended)

    # What the keeper says.

    def _hear_keeper(self) -> None:
        said = self._keeper.receive()
        if said is None:
            self._be_alone()
            return
        for frame, fd in said:
            if "worker" in frame:
                self._welcome(frame, fd)
            elif "gone" in frame:
                self._bury(frame)
            elif "no_fork" in frame:
                self._do_without(frame)
            elif "failed" in frame:
                self._fault = f"the keeper failed: {frame['failed']}"

    def _welcome(self, frame: frames.Frame, fd: int) -> None:
        worker = self._workers[frame["worker"]]
        worker.pid = frame["pid"]
        worker.control = socket.socket(fileno=fd)
        worker.control.setblocking(False)  # noqa: FBT003  # its name says it
        self._by_fd[fd] = worker
        self._poll.register(fd, select.POLLIN)
        if not frame["held"]:
            self._tell_lock(worker)
        if worker.going is None:
            self._idle.append(worker)

    def _do_without(self, frame: frames.Frame) -> None:
        """No further worker can be had: make do with those there are."""
        del self._workers[frame["no_fork"]]
        self.capacity = max(1, len(self._staying()))
        if not self._workers:
            self._fault = f"no worker process could be started: {frame['error'].lower()}"
            self._lose_all(())

    def _bury(self, frame: frames.Frame) -> None:
        """A worker is gone with all that it left, or `survivors` names what is left."""
        worker = self._workers.get(frame["gone"])
        if worker is None:
            return
        if worker.control is not None and worker.control.fileno() in self._by_fd:
            self._hear(worker)  # what it said last
        survivors = tuple(frame["survivors"])
        attempt = worker.attempt
        if worker.going in {None, "gone", "broken"}:
            self._count_loss()
        if worker.verdict is not None:
            self._events.append(roster.with_survivors(worker.verdict, survivors))
        elif attempt is not None:
            self._events.append(roster.taken_along(worker, attempt, frame["status"], survivors))
        self._forget(worker)

    def _count_loss(self) -> None:
        self._losses += 1
        if self._losses > LOSS_LIMIT:
            self._fault = (
                f"{self._losses} worker processes ended one after the other without finishing an attempt"
            )

    def _be_alone(self) -> None:
        """The keeper is gone. Workers end what they run and go; those that do not are killed."""
        for worker in list(self._by_fd.values()):
            self._hear(worker)
        self._fault = "the keeper of the worker processes was ended from outside"
        self._poll.unregister(self._keeper.fileno())
        self._lose_all(roster.await_workers([worker for worker in self._workers.values() if worker.pid]))

    def _lose_all(self, survivors: tuple[int, ...]) -> None:
        """No attempt that is under way has an end that could still be learnt."""
        for worker in list(self._workers.values()):
            if worker.verdict is not None:
                self._events.append(worker.verdict)
            elif worker.attempt is not None:
                self._events.append(roster.taken_along(worker, worker.attempt, None, survivors))
            self._forget(worker)
        while self._queue:
            attempt = self._queue.popleft()
            self._events.append(
                roster.never_ran(attempt, Outcome.LOST, "lost", "it never got a worker process")
            )

    def _hear_no_more(self, worker: Worker) -> None:
        if worker.control is not None and worker.control.fileno() in self._by_fd:
            del self._by_fd[worker.control.fileno()]
            self._poll.unregister(worker.control)

    def _forget(self, worker: Worker) -> None:
        self._hear_no_more(worker)
        if worker.control is not None:
            worker.control.close()
        if worker in self._idle:
            self._idle.remove(worker)
        del self._workers[worker.id]


def _due(worker: Worker) -> float | None:
    """When something must be done about a worker that said nothing."""
    if worker.halfway_since is not None:
        return worker.halfway_since + _FRAME_PATIENCE
    return worker.deadline
