"""One attempt of a script or command, as a child of the current process.

    attempt = begin(...)                    the process exists, or the attempt has ended already
    while attempt.ended is None:
        attempt.turn(limit, watch)          waits for something of it to happen, and sees to it
    attempt.ended                           nothing of the attempt lives, or `survivors` names what does

The process is over when the kernel says that no child is left: the current process has adopted all
orphans (`procs.adopt_orphans`), so whatever the attempt started is below it. An attempt that ended by
itself and left processes behind has them ended, and named in its log. Reading stops when all are gone,
whoever else still holds the pipe. Output goes to disk as it comes; files are made at the first byte.
"""

from __future__ import annotations

import os
import select
import signal
import time
from typing import TYPE_CHECKING

from crewflow.engine import collect, procs, spawn
from crewflow.engine.artifacts import BadOutputError
from crewflow.engine.executor import Ended, Spawned
from crewflow.run.states import Outcome

if TYPE_CHECKING:
    from collections.abc import Collection

    from crewflow.engine.executor import Attempt

_CHUNK = 65_536
_TICK = 0.02
_IDLE_TURN = 10.0  # seconds; orphans that end in a quiet attempt are taken leave of this often
_DRAIN = 0.5  # seconds that reading goes on at most once all processes are gone


class Sink:
    """A file that is made at its first byte. A full disk loses output, not the attempt."""

    __slots__ = ("_fd", "_path", "fault", "size")

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1
        self.size = 0
        self.fault: OSError | None = None

    def write(self, data: bytes) -> None:
        """Append all of it."""
        try:
            if self._fd < 0:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
                self._fd = os.open(self._path, flags, 0o600)
            while data:
                written = os.write(self._fd, data)
                self.size += written
                data = data[written:]
        except OSError as error:
            self.fault = self.fault or error

    def close(self) -> None:
        """Nothing more will come."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def begin(attempt: Attempt, base: dict[bytes, bytes], spare: frozenset[int] = frozenset()) -> Running:
    """Start the attempt's process; one that cannot start has `ended` at once, with class `start`.

    Args:
        attempt: what to run.
        base: the environment below the attempt's own.
        spare: children of this process that have nothing to do with attempts.
    """
    running = Running(attempt, spare)
    try:
        spawn.fresh_folder(attempt.folder)
        running.start(base)
    except spawn.StartError as error:
        running.refuse(str(error))
    except OSError as error:
        running.refuse(f"the system does not let it start: {spawn.words(error)}")
    return running


class Running:
    """An attempt under way. Made by `begin`.

    Attributes:
        pid: of its process; 0 if it never started.
        ended: how it ended, once it has.
    """

    __slots__ = (
        "_attempt",
        "_began",
        "_cause",
        "_ending",
        "_linger_until",
        "_log",
        "_named",
        "_pidfd",
        "_pipes",
        "_poll",
        "_spare",
        "_status",
        "_stdout",
        "_timeout_at",
        "ended",
        "pid",
    )

    def __init__(self, attempt: Attempt, spare: frozenset[int]) -> None:
        self._attempt = attempt
        self._spare = spare
        self._began = time.monotonic()
        self._timeout_at = self._began + attempt.timeout if attempt.timeout is not None else None
        self._poll = select.poll()
        self._pipes: dict[int, tuple[Sink, ...]] = {}
        self._log = Sink(f"{attempt.folder}/output.log")
        self._stdout = Sink(f"{attempt.folder}/stdout.log")
        self._pidfd = -1
        self._status: int | None = None
        self._cause: str | None = None
        self._ending: procs.Ending | None = None
        self._linger_until: float | None = None
        self._named: set[int] = set()
        self.pid = 0
        self.ended: Ended | None = None

    def start(self, base: dict[bytes, bytes]) -> None:
        """Spawn the process (only `begin` calls this).

        Raises:
            StartError: it cannot be started.
        """
        argv = spawn.arguments(self._attempt)
        env = spawn.environment(base, self._attempt)
        if collect.reads_stdout(self._attempt):
            writers = (self._pipe(self._log, self._stdout), self._pipe(self._log))
        else:
            writers = (self._pipe(self._log),) * 2
        try:
            self.pid = spawn.spawn(self._attempt, argv, env, *writers)
        finally:
            for writer in set(writers):
                os.close(writer)
        self._pidfd = procs.open_pidfd(self.pid)
        if self._pidfd >= 0:
            self._poll.register(self._pidfd, select.POLLIN)

    def _pipe(self, *sinks: Sink) -> int:
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        self._poll.register(reader, select.POLLIN)
        self._pipes[reader] = sinks
        return writer

    def refuse(self, why: str) -> None:
        """End an attempt that could not be started (only `begin` calls this)."""
        self._close()
        task, number = self._attempt.task, self._attempt.number
        self.ended = Ended(task, number, Outcome.FAILED, "start", error=why)

    def spawned(self) -> Spawned:
        """The facts by which its process can be found again."""
        return Spawned(self._attempt.task, self._attempt.number, self.pid, procs.start_time(self.pid))

    def cancel(self, *, now: bool, interrupt: bool) -> None:
        """Begin to end it; its end comes from `turn`. An attempt that is being ended is hurried on."""
        if self._status is None and self._cause is None:
            self._cause = "cancel"
        first = signal.SIGINT if interrupt else signal.SIGTERM
        self._end(0.0 if now else self._attempt.grace, first)
        if now and self._ending:
            self._ending.hurry()
            self._press()

    def turn(self, limit: float | None, watch: int = -1) -> bool:
        """Wait until something happens, at most `limit` seconds, and see to it.

        Args:
            limit: None for no limit.
            watch: another descriptor whose readiness ends the wait, -1 for none.

        Returns:
            Whether `watch` is readable.
        """
        if watch >= 0:
            self._poll.register(watch, select.POLLIN)
        ready = {fd for fd, _ in self._poll.poll(self._patience(limit))}
        if watch >= 0:
            self._poll.unregister(watch)
        for fd in ready & self._pipes.keys():
            self._read(fd)
        if self._pidfd in ready or self._is_due():
            self._see_to_it()
        return watch in ready

    def _patience(self, limit: float | None) -> float:
        """Milliseconds until something is to be done without anything having happened."""
        seconds = _IDLE_TURN if limit is None else min(limit, _IDLE_TURN)
        if self._ending or self._linger_until is not None or self._pidfd < 0:
            seconds = min(seconds, _TICK)
        elif self._timeout_at is not None:
            seconds = min(seconds, max(0.0, self._timeout_at - time.monotonic()) + 0.001)
        return seconds * 1000

    def _is_due(self) -> bool:
        if self._ending or self._linger_until is not None or self._pidfd < 0:
            return True
        now = time.monotonic()
        return (self._timeout_at is not None and now >= self._timeout_at) or now >= self._began + _IDLE_TURN

    def _see_to_it(self) -> None:
        alone = self._reap()
        if self._status is not None and alone:
            self._finish(())
        elif self._ending:
            self._press()
        elif self._status is not None:
            self._end_leftovers()
        elif self._timeout_at is not None and time.monotonic() >= self._timeout_at:
            self._cause = "timeout"
            self._end(self._attempt.grace, signal.SIGTERM)

    def _reap(self) -> bool:
        """Take leave of ended children; whether none is left."""
        if self._spare:
            return self._reap_beside_others()
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            self._note(pid, status)

    def _reap_beside_others(self) -> bool:
        alone = True
        for child in procs.children_of_this() - self._spare:
            pid, status = os.waitpid(child, os.WNOHANG)
            self._note(pid, status)
            alone = alone and pid != 0
        return alone

    def _note(self, pid: int, status: int) -> None:
        if pid == self.pid and self._status is None:
            self._status = status
            self._let_go_of_pidfd()

    def _end(self, grace: float, first: int) -> None:
        if self._ending or self.ended:
            return
        self._ending = procs.Ending(grace, first)
        self._press(telling=True)

    def _press(self, *, telling: bool = False) -> None:
        """Signal what is left; give up on what KILL did not end."""
        ending = self._ending
        if ending is None:
            return
        # The group is asked for as long as its leader is not reaped: its id cannot be another's before.
        if self._status is None and (telling or time.monotonic() >= ending.kill_at):
            ending.tell_group(self.pid)
        targets = procs.descendants([os.getpid()], self._spare)
        ending.press(targets, told_group=self.pid if telling else 0)
        self._name_leftovers(targets)
        if ending.given_up():
            self._finish(tuple(proc.pid for proc in targets))

    def _end_leftovers(self) -> None:
        """The process has ended, and something that it started has not."""
        now = time.monotonic()
        if self._linger_until is None:
            self._linger_until = now + procs.LINGER
        elif now >= self._linger_until:
            self._end(min(procs.LEFTOVER_GRACE, self._attempt.grace), signal.SIGTERM)

    def _name_leftovers(self, targets: Collection[procs.Proc]) -> None:
        for proc in targets:
            inside = proc.group == self.pid and self._cause is not None
            if proc.pid != self.pid and not inside and proc.pid not in self._named:
                self._named.add(proc.pid)
                self._log.write(procs.leftover_text([proc]).encode())

    def _read(self, fd: int) -> bool:
        """Take what is there; whether more may come without waiting."""
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._poll.unregister(fd)
            del self._pipes[fd]
            os.close(fd)
            return False
        for sink in self._pipes[fd]:
            sink.write(data)
        return True

    def _let_go_of_pidfd(self) -> None:
        if self._pidfd >= 0:
            self._poll.unregister(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1

    def _finish(self, survivors: tuple[int, ...]) -> None:
        until = time.monotonic() + _DRAIN
        for fd in list(self._pipes):
            while self._read(fd) and time.monotonic() < until:
                pass
        self._close()
        self.ended = self._judge(survivors)

    def _close(self) -> None:
        for fd in self._pipes:
            os.close(fd)
        self._pipes.clear()
        self._let_go_of_pidfd()
        self._log.close()
        self._stdout.close()

    def _judge(self, survivors: tuple[int, ...]) -> Ended:
        attempt = self._attempt
        code = None if self._status is None else os.waitstatus_to_exitcode(self._status)
        outcome, failure, error = verdict(self._cause, code, attempt.timeout)
        kept = collect.Kept()
        if outcome is Outcome.SUCCEEDED:
            try:
                kept = collect.collect(attempt, self._stdout.fault)
            except BadOutputError as fault:
                outcome, failure, error = Outcome.FAILED, "bad_output", str(fault)
        return Ended(
            attempt.task,
            attempt.number,
            outcome,
            failure,
            exit_code=code if code is not None and code >= 0 else None,
            signal=procs.signal_name(-code) if code is not None and code < 0 else None,
            error=error,
            outputs=kept.outputs,
            result=collect.end_of_stdout(attempt) if attempt.keeps_stdout else None,
            artifacts=kept.artifacts,
            output_bytes=self._log.size,
            seconds=time.monotonic() - self._began,
            survivors=survivors,
        )


def verdict(
    cause: str | None, code: int | None, timeout: float | None
) -> tuple[Outcome, str | None, str | None]:
    """What became of a process: outcome, retry class, and the words for people.

    Args:
        cause: why it was ended, if it was: `cancel` or `timeout`.
        code: its exit code; the number of the signal that ended it, negative; None if it still lives.
        timeout: seconds that it had.
    """
    if cause == "cancel":
        return Outcome.CANCELLED, None, "cancelled"
    if cause == "timeout":
        return Outcome.FAILED, "timeout", f"timed out after {timeout or 0:g}s"
    if code == 0:
        return Outcome.SUCCEEDED, None, None
    if code is not None and code < 0:
        return Outcome.FAILED, "signal", f"killed by {procs.signal_name(-code)}"
    return Outcome.FAILED, "exit", exit_text(code)


def exit_text(code: int | None) -> str:
    """What an exit code other than 0 is called, with what shells mean by it."""
    meaning = {126: " (found, but could not be executed)", 127: " (command not found)"}
    return f"exit code {code}{meaning.get(code or 0, '')}"
