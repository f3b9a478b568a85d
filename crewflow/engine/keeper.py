"""The keeper: a small process that is the parent of all workers, and proves what is gone.

    keeper = Keeper.fork()     the very first thing: before journal, lease, plan and any thread
    ... an executor asks it for workers ...
    keeper.close()             every process below it is gone, or named

It is forked before anything is open, so neither it nor a worker ever holds the lease, the journal or
the socket of another worker. It has a session of its own, adopts what its descendants orphan, and waits
on its socket. When that ends, however the engine ended, it tells every descendant to end, kills what is
left after the grace, and ends when the kernel says that it has no more children: that is the proof.

    engine --> {"fork": id} | {"end": id, "grace": s, "signal": n} | {"grace": s} | {"hold": path}
    engine <-- {"worker": id, "pid": p, "held": bool} with the worker's socket
    engine <-- {"gone": id, "status": code, "survivors": [pids]}    it and all that it left behind
    engine <-- {"no_fork": id, "error": why} | {"failed": why} | {"left": [pids]}

Where the system cannot adopt orphans (macOS), what left its parents is not found.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from crewflow.engine import frames, procs
from crewflow.errors import CrewflowError, ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_GRACE = 10.0
"""Seconds between TERM and KILL when the engine ends without having said another."""

_TICK = 0.01
_SLOWEST_TICK = 0.1


class KeeperError(CrewflowError):
    """The keeper is gone or cannot work; nothing can be run without it."""

    exit_code = ExitCode.RUN_FAILED


class Keeper:
    """The engine's end of it. Nothing here waits but `close`.

    Attributes:
        pid: of the keeper, a child of this process.
    """

    def __init__(self, pid: int, control: socket.socket) -> None:
        self.pid = pid
        self._control = control
        self._decoder = frames.Decoder()
        self._fds: list[int] = []
        self._grace = DEFAULT_GRACE
        self._closed = False

    @classmethod
    def fork(cls) -> Keeper:
        """Start a keeper."""
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            _be_keeper(theirs)
        theirs.close()
        ours.setblocking(False)  # noqa: FBT003  # its name says it
        return cls(pid, ours)

    def fileno(self) -> int:
        """Readable when `receive` has something, or the keeper is gone."""
        return self._control.fileno()

    def fork_worker(self, id_: int) -> None:
        """Ask for a worker, to be known as `id_`."""
        self._send({"fork": id_})

    def end_worker(self, id_: int, grace: float, first: int = signal.SIGTERM) -> None:
        """Have a worker and all below it ended: told by the signal `first`, killed after `grace` seconds."""
        self._send({"end": id_, "grace": grace, "signal": first})

    def set_grace(self, seconds: float) -> None:
        """How long processes get to end once the engine has ended."""
        self._grace = seconds
        self._send({"grace": seconds})

    def hold(self, path: str) -> None:
        """Have the keeper, and workers forked from now on, share the lock `path` for all their life."""
        self._send({"hold": path})

    def receive(self) -> list[tuple[frames.Frame, int]] | None:
        """What the keeper has said, each with a socket if one belongs to it, else -1; None: it is gone."""
        try:
            data, fds, _, _ = socket.recv_fds(self._control, 65_536, 16)
        except BlockingIOError:
            return []
        except ConnectionError:
            return None
        self._fds += fds
        if not data:
            return None
        return [(frame, self._fds.pop(0) if "worker" in frame else -1) for frame in self._decoder.feed(data)]

    def close(self) -> tuple[int, ...]:
        """End every process below the keeper, and it; what could not be ended is returned.

        Returns as soon as the kernel has proven that all are gone.
        """
        if self._closed:
            return ()
        self._closed = True
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)
        survivors = self._await_end()
        for fd in self._fds:
            os.close(fd)
        self._control.close()
        if not survivors:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
        return survivors

    def _await_end(self) -> tuple[int, ...]:
        self._control.setblocking(True)  # noqa: FBT003  # as above
        while (received := self.receive()) is not None:
            for frame, fd in received:
                if fd >= 0:
                    os.close(fd)
                if "left" in frame:
                    return tuple(frame["left"])
        return ()

    def _send(self, frame: frames.Frame) -> None:
        """Say something. A keeper that is gone is noticed by `receive`."""
        with contextlib.suppress(ConnectionError):
            self._control.sendall(frames.pack(frame))


def _be_keeper(control: socket.socket) -> NoReturn:
    """The life of the process that `fork` made; it never returns into the code that forked it."""
    code = 1
    try:
        _settle(control)
        _Service(control).serve()
        code = 0
    except Exception as error:  # noqa: BLE001  # the engine is told, whatever it was
        with contextlib.suppress(OSError):
            control.sendall(frames.pack({"failed": f"{type(error).__name__}: {error}"[:500]}))
    finally:
        os._exit(code)


def _settle(control: socket.socket) -> None:
    os.setsid()
    procs.adopt_orphans()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _fresh_streams()
    _close_others({control.fileno()})
    # What is alive now stays: a collection in a worker would only copy its pages.
    gc.freeze()


def _fresh_streams() -> None:
    """Standard streams that lead nowhere, and new objects for them: nothing of the caller's is flushed."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # a descriptor
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115  # as above
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115  # as above


def _close_others(keep: set[int]) -> None:
    """Close all descriptors but the standard ones and `keep`."""
    first = 3
    for fd in sorted(keep):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, max(os.sysconf("SC_OPEN_MAX"), first) if not procs.LINUX else _last_fd() + 1)


def _last_fd() -> int:
    return max(int(name) for name in os.listdir("/proc/self/fd"))  # names only


class _Service:
    """The keeper's own side: workers, what they left behind, and the endings under way."""

    def __init__(self, control: socket.socket) -> None:
        # Slow to load, and needed by this process alone.
        import multiprocess  # noqa: PLC0415

        from crewflow.engine import worker  # noqa: PLC0415

        self._context = multiprocess.get_context("fork")
        self._run = worker.run
        self._hold = worker.hold
        self._control = control
        self._decoder = frames.Decoder()
        self._grace = DEFAULT_GRACE
        self._held: list[int] = []
        self._workers: dict[int, Any] = {}
        self._dead: dict[int, int] = {}
        self._endings: dict[int, procs.Ending] = {}
        self._orphans: procs.Ending | None = None
        self._orders: dict[str, Callable[[Any, frames.Frame], None]] = {
            "fork": self._fork,
            "end": self._end,
            "grace": self._set_grace,
            "hold": self._take_lock,
        }

    def serve(self) -> None:
        """Keep until the engine is gone, then end everything."""
        bell, ring = os.pipe()
        os.set_blocking(bell, False)
        os.set_blocking(ring, False)
        signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(bell, select.POLLIN)
        poll.register(self._control, select.POLLIN)
        while True:
            busy = self._endings or self._dead
            ready = {fd for fd, _ in poll.poll(_TICK * 1000 if busy else None)}
            if bell in ready:
                os.read(bell, 4096)
            if self._control.fileno() in ready and not self._listen():
                break
            self._see_to_it()
        self._end_everything(bell)

    def _listen(self) -> bool:
        """Obey what has come; False when nothing will any more."""
        try:
            data = self._control.recv(65_536)
            orders = self._decoder.feed(data)
        except (ConnectionError, frames.FrameError):
            return False
        for frame in orders:
            for word, value in frame.items():
                if word in self._orders:
                    self._orders[word](value, frame)
        return bool(data)

    def _fork(self, id_: int, _: frames.Frame) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            try:
                process = self._context.Process(target=self._start_worker, args=(theirs,))
                process.start()
            except OSError as error:
                self._say({"no_fork": id_, "error": error.strerror})
                return
            self._workers[id_] = process
            frame = {"worker": id_, "pid": process.pid, "held": bool(self._held)}
            with contextlib.suppress(ConnectionError):
                socket.send_fds(self._control, [frames.pack(frame)], [ours.fileno()])

    def _start_worker(self, control: socket.socket) -> None:
        _close_others({control.fileno(), *self._held})
        self._run(control, os.getppid())

    def _end(self, id_: int, frame: frames.Frame) -> None:
        ending = procs.Ending(frame["grace"], frame["signal"])
        if id_ in self._endings:
            self._endings[id_].kill_at = min(self._endings[id_].kill_at, ending.kill_at)
        elif id_ in self._workers:
            self._endings[id_] = ending

    def _set_grace(self, seconds: float, _: frames.Frame) -> None:
        self._grace = seconds

    def _take_lock(self, path: str, _: frames.Frame) -> None:
        self._held.append(self._hold(path))

    def _see_to_it(self) -> None:
        self._bury()
        if not (self._endings or self._dead):
            return
        for id_, ending in self._endings.items():
            root = self._workers[id_].pid
            below = procs.descendants([root])
            own = procs.look(root)
            ending.press([*below, own] if own else below)
        if self._dead:
            self._clear_after_the_dead()

    def _bury(self) -> None:
        """Take leave of children that have ended."""
        for id_, process in list(self._workers.items()):
            if process.exitcode is not None:
                self._note_death(id_, process.exitcode)
        for pid, status in _ended_children():
            # A worker that ended since the loop above looked at it.
            for id_, process in list(self._workers.items()):
                if process.pid == pid:
                    self._note_death(id_, os.waitstatus_to_exitcode(status))

    def _note_death(self, id_: int, code: int) -> None:
        del self._workers[id_]
        self._dead[id_] = code
        ending = self._endings.pop(id_, None) or procs.Ending(self._grace)
        if self._orphans is None:
            self._orphans = ending
        else:
            self._orphans.take_over(ending)

    def _clear_after_the_dead(self) -> None:
        """End what dead workers left, and report them once nothing is left (or can be ended)."""
        left = procs.descendants([os.getpid()], spare=[process.pid for process in self._workers.values()])
        if left and self._orphans and not self._orphans.given_up():
            self._orphans.press(left)
            return
        for id_, code in self._dead.items():
            self._say({"gone": id_, "status": code, "survivors": [proc.pid for proc in left]})
        self._dead.clear()
        self._orphans = None

    def _end_everything(self, bell: int) -> None:
        ending = procs.Ending(self._grace)
        said = False
        tick = _TICK / 4
        while not procs.reap():
            left = procs.descendants([os.getpid()])
            ending.press(left)
            if ending.given_up() and not said:
                said = True
                self._say({"left": [proc.pid for proc in left]})
            select.select([bell], [], [], tick)
            with contextlib.suppress(BlockingIOError):
                os.read(bell, 4096)
            tick = min(tick * 1.5, _SLOWEST_TICK)

    def _say(self, frame: frames.Frame) -> None:
        with contextlib.suppress(ConnectionError):
            self._control.sendall(frames.pack(frame))


def _ended_children() -> list[tuple[int, int]]:
    found = []
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found.append(ended)
    return found
