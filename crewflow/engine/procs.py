"""What the system says of processes, and the one way to end them.

`Ending` ends processes step by step and never blocks: whoever uses it asks for the processes that
are left, hands them over, and does so again until none is. Every process is told once (INT or TERM,
and CONT for the stopped ones) and killed once its time is over. A process is known by its pid and
its start time together, so a pid that was given away again is never signalled.

Linux lets a process adopt what its descendants orphan (`adopt_orphans`), which is how nothing can
slip away. Elsewhere only what kept its parents is found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

KILL_PATIENCE = 5.0
"""Seconds after KILL until a process that is still there is given up and named a survivor."""

LINGER = 0.1
"""Seconds that leftovers of an ended process get to end by themselves (the `tee` of a pipeline, say)."""

LEFTOVER_GRACE = 1.0
"""Seconds between TERM and KILL for leftovers; less if the attempt's grace is less."""

LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Proc:
    """A process as it was when looked at. `start` is in clock ticks since the machine started."""

    pid: int
    parent: int
    group: int
    start: int
    state: str
    name: str


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def signal_when_parent_ends(number: int) -> None:
    """Have the kernel send signal `number` to this process when the one that forked it is gone."""
    _prctl(_PR_SET_PDEATHSIG, number)


def _prctl(option: int, value: int) -> None:
    if not LINUX:
        return
    import ctypes  # noqa: PLC0415  # the engine process never needs it, and it is slow to load

    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def open_pidfd(pid: int) -> int:
    """A descriptor that is readable once the process has ended; -1 where there is none to be had."""
    if not hasattr(os, "pidfd_open"):
        return -1
    try:
        return os.pidfd_open(pid)
    except OSError:
        return -1


def start_time(pid: int) -> int:
    """When the process started, in clock ticks; 0 if it is gone or the system does not say."""
    proc = look(pid)
    return proc.start if proc else 0


def look(pid: int) -> Proc | None:
    """One process, or None if there is no such one (any more)."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # hot: no Path
            text = file.read(1024)
    except OSError:
        return None
    # The name may hold spaces and brackets; nothing after it does.
    head, _, tail = text.rpartition(b")")
    fields = tail.split()
    name = head.partition(b"(")[2].decode(errors="replace")
    return Proc(pid, int(fields[1]), int(fields[2]), int(fields[19]), fields[0].decode(), name)


def processes() -> dict[int, Proc]:
    """All processes that can be seen, by pid."""
    if not LINUX:
        return _processes_by_psutil()
    found = (look(int(name)) for name in os.listdir("/proc") if name.isdigit())  # hot
    return {proc.pid: proc for proc in found if proc}


def _processes_by_psutil() -> dict[int, Proc]:
    import psutil  # noqa: PLC0415  # slow to load, needed elsewhere than on Linux only

    found = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            state = "Z" if process.status() == psutil.STATUS_ZOMBIE else "S"
            group = os.getpgid(process.pid)
            start = int(process.create_time() * 100)
            found[process.pid] = Proc(process.pid, process.ppid(), group, start, state, process.name())
    return found


def descendants(roots: Iterable[int], spare: Iterable[int] = ()) -> list[Proc]:
    """What lives below the processes `roots`, without `spare` and what is below those."""
    children: dict[int, list[Proc]] = {}
    for proc in processes().values():
        children.setdefault(proc.parent, []).append(proc)
    spared = set(spare)
    found: list[Proc] = []
    below = list(roots)
    while below:
        new = [proc for proc in children.get(below.pop(), ()) if proc.pid not in spared]
        found += new
        below += [proc.pid for proc in new]
    return [proc for proc in found if proc.state not in "ZX"]


def children_of_this() -> frozenset[int]:
    """Pids of the direct children of this process, ended ones that nobody waited for included."""
    me = os.getpid()
    return frozenset(proc.pid for proc in processes().values() if proc.parent == me)


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; `signal 40` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Ending:
    """The ending of some processes: told once, killed after `grace` seconds.

    Attributes:
        kill_at: instant on the monotonic clock from which on everything still there is killed.
    """

    __slots__ = ("_first", "_told", "kill_at")

    def __init__(self, grace: float, first: int = signal.SIGTERM) -> None:
        self.kill_at = time.monotonic() + grace
        self._first = first
        self._told: set[tuple[int, int]] = set()

    def hurry(self) -> None:
        """Leave no more grace."""
        self.kill_at = min(self.kill_at, time.monotonic())

    def tell_group(self, group: int) -> None:
        """Tell a whole process group at once, however fast it forks."""
        killing = time.monotonic() >= self.kill_at
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL if killing else self._first)
            os.killpg(group, signal.SIGCONT)

    def press(self, targets: Iterable[Proc], told_group: int = 0) -> None:
        """Signal those of `targets` that are due; `told_group` has been told already."""
        if time.monotonic() >= self.kill_at:
            for proc in targets:
                send(proc, signal.SIGKILL)
            return
        for proc in targets:
            if (proc.pid, proc.start) in self._told:
                continue
            self._told.add((proc.pid, proc.start))
            if proc.group != told_group:
                send(proc, self._first)
                send(proc, signal.SIGCONT)

    def given_up(self) -> bool:
        """KILL was long ago: what is still there cannot be ended."""
        return time.monotonic() >= self.kill_at + KILL_PATIENCE

    def take_over(self, other: Ending) -> None:
        """Go on where `other` is: nobody it told is told again, nor loses the grace it was given."""
        self._told |= other._told
        self.kill_at = max(self.kill_at, other.kill_at)


def send(proc: Proc, number: int) -> None:
    """Signal this very process, not one that got its pid since."""
    pidfd = open_pidfd(proc.pid)
    try:
        if LINUX and start_time(proc.pid) != proc.start:
            return
        with contextlib.suppress(OSError):
            if pidfd >= 0:
                signal.pidfd_send_signal(pidfd, number)
            else:
                os.kill(proc.pid, number)
    finally:
        if pidfd >= 0:
            os.close(pidfd)


def end_all_descendants(grace: float) -> None:
    """End everything below this process and return when the kernel says that there is no child left."""
    ending = Ending(grace)
    pause = 0.002
    while not reap():
        ending.press(descendants([os.getpid()]))
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def leftover_text(left: Iterable[Proc]) -> str:
    """What the log of an attempt says of processes that it left behind."""
    return "".join(f"crewflow: ended leftover process {proc.pid} ({proc.name})\n" for proc in left)


def reap() -> bool:
    """Take leave of children that have ended; whether there is no child at all any more."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            return False
