"""What a process is while a python step runs in it, and how it is again afterwards.

`Before.look()` remembers, `restored()` puts back: folder, environment, umask, signals, timer, path.
`streams()` has descriptors 0, 1 and 2 lead elsewhere for a while. What cannot be put back, `grown` names.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY_LIMIT = 64 * 1024 * 1024
"""Bytes that a process may grow before it counts as grown."""

_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
_HIGH = 200  # where a function that closes some descriptors is not likely to find one


@dataclass(frozen=True, slots=True)
class Before:
    """The process as it was before a call."""

    cwd: str
    env: dict[bytes, bytes]
    umask: int
    path: list[str]
    handlers: tuple[Any, ...]
    blocked: frozenset[int]
    fds: frozenset[int]
    threads: int

    @staticmethod
    def look() -> Before:
        """How it is now."""
        umask = os.umask(0o077)
        os.umask(umask)
        handlers = tuple(signal.getsignal(number) for number in _SIGNALS)
        return Before(
            os.getcwd(),  # a text
            dict(os.environb),
            umask,
            sys.path[:],
            handlers,
            frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
            _open_fds(),
            threading.active_count(),
        )

    def grown(self) -> str | None:
        """What the process has more of than before, in words; None if nothing."""
        if threading.active_count() > self.threads:
            return "a thread goes on"
        if _open_fds() - self.fds:
            gc.collect()
        if _open_fds() - self.fds:
            return "files are left open"
        return None

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        """Put back whatever the body of the `with` changes."""
        try:
            yield
        finally:
            self._restore()

    def _restore(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.blocked)
        for number, handler in zip(_SIGNALS, self.handlers, strict=True):
            if signal.getsignal(number) is not handler and handler is not None:
                signal.signal(number, handler)
        os.umask(self.umask)
        set_environment(self.env)
        sys.path[:] = self.path
        os.chdir(self.cwd)


def set_environment(env: dict[bytes, bytes]) -> None:
    """Make the environment of this process exactly `env`."""
    if os.environb != env:
        for name in os.environb.keys() - env.keys():
            del os.environb[name]
        os.environb.update(env)


@contextlib.contextmanager
def streams(out: int, err: int, *, fresh_objects: bool) -> Iterator[None]:
    """Descriptors 1 and 2 are `out` and `err` (which are closed), 0 is /dev/null, for a while.

    Args:
        fresh_objects: `sys.stdout` and its like may lead elsewhere than to the descriptors (a
            debugger, a test) and are replaced for that while too.
    """
    null = os.open(os.devnull, os.O_RDONLY)
    saved = [_dup_high(fd) for fd in range(3)]
    objects = (sys.stdin, sys.stdout, sys.stderr)
    _flush()
    if fresh_objects:
        _fresh_streams()
    for fd, number in ((null, 0), (out, 1), (err, 2)):
        os.dup2(fd, number)
        os.close(fd)
    try:
        yield
    finally:
        _flush()
        sys.stdin, sys.stdout, sys.stderr = objects
        for number, fd in enumerate(saved):
            _put_back(fd, number)


def _dup_high(fd: int) -> int:
    """A copy of a descriptor, out of the way; -1 if it is not open."""
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except OSError:
        return -1


def _put_back(fd: int, number: int) -> None:
    try:
        os.dup2(fd, number)
        os.close(fd)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        if null != number:
            os.dup2(null, number)
            os.close(null)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _fresh_streams() -> None:
    """Objects that write to the descriptors, where the ones in place may be a debugger's or a test's."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # a descriptor
    sys.stdout = open(1, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115  # as above
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115  # as above


def _open_fds() -> frozenset[int]:
    try:
        names = os.listdir("/proc/self/fd")  # names only
    except OSError:
        return frozenset()
    # The listing's own descriptor is closed by now.
    return frozenset(fd for fd in map(int, names) if _is_open(fd))


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def resident() -> int:
    """Bytes of memory that the process occupies; 0 where the system does not say."""
    try:
        text = Path("/proc/self/statm").read_text(encoding="ascii")
    except OSError:
        return 0
    return int(text.split()[1]) * os.sysconf("SC_PAGESIZE")
