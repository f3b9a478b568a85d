"""What a process is while a python step runs in it, and how it is again afterwards.

`Before.look()` remembers, `restored()` puts back: folder, environment, time zone, umask, signals, timer,
path, arguments. `streams()` has descriptors 0, 1 and 2 lead elsewhere for a while. `mend()` is for right
after the call: it makes whole what the rest of this process needs (modules that it uses, limits), whatever
the step did to it. `grown` names what could not be put back, and what only might have been.
"""

from __future__ import annotations

import builtins
import contextlib
import fcntl
import gc
import json
import locale
import operator
import os
import resource
import select
import shutil
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY_LIMIT = 64 * 1024 * 1024
"""Bytes that a process may grow before it counts as grown."""

_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
_LIMITS = sorted({value for name, value in vars(resource).items() if name.startswith("RLIMIT_")})
_HIGH = 200  # where a function that closes some descriptors is not likely to find one

_USED = (
    builtins,
    sys,
    os,
    os.path,
    signal,
    time,
    select,
    json,
    json.encoder,
    json.decoder,
    shutil,
    fcntl,
    gc,
    resource,
    contextlib,
)
"""Modules without which this process cannot go on; `builtins` is first, so the rest can be mended with it."""

_NAMESPACES = tuple((module.__name__, vars(module)) for module in _USED)
_MAY_CHANGE = frozenset(
    {
        *("stdin", "stdout", "stderr", "path", "argv", "modules"),
        *("tzname", "timezone", "altzone", "daylight"),
        *("last_type", "last_value", "last_traceback", "last_exc", "ps1", "ps2", "__warningregistry__"),
    }
)
"""Names in them that change in the course of things, or are put back on their own."""

# What `mend` needs while nothing can be relied on, not even `builtins`.
_MISSING = object()
_all, _map, _zip, _len, _is = all, map, zip, len, operator.is_
_set_recursion_limit, _modules = sys.setrecursionlimit, sys.modules


@dataclass(frozen=True, slots=True)
class Before:
    """The process as it was before a call."""

    cwd: str
    env: dict[bytes, bytes]
    umask: int
    path: tuple[list[str], list[str]]
    handlers: tuple[Any, ...]
    blocked: frozenset[int]
    fds: frozenset[int]
    threads: int
    spaces: tuple[dict[str, Any], ...]
    modules: dict[str, Any]
    finders: tuple[Any, ...]
    recursion: int
    collecting: tuple[bool, tuple[int, ...]]
    limits: tuple[tuple[int, int], ...]
    standing: tuple[Any, ...]
    argv: tuple[list[str], list[str]]
    socket_timeout: float | None
    locale: str
    damage: list[str]

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
            (sys.path, sys.path[:]),
            handlers,
            frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
            _open_fds(),
            threading.active_count(),
            tuple([space.copy() for _, space in _NAMESPACES]),
            sys.modules.copy(),
            (list(sys.meta_path), list(sys.path_hooks)),
            sys.getrecursionlimit(),
            (gc.isenabled(), gc.get_threshold()),
            tuple(map(resource.getrlimit, _LIMITS)),
            _standing(),
            (sys.argv, sys.argv[:]),
            _socket_timeout(),
            locale.setlocale(locale.LC_ALL),
            [],
        )

    def mend(self) -> None:
        """Make whole what this process goes on with; what was broken is a reason to give it up.

        To be called as soon as the step's code is done, before anything else is.
        """
        _set_recursion_limit(self.recursion)
        for (name, now), then in _zip(_NAMESPACES, self.spaces, strict=True):
            if _len(now) < _len(then) or not _all(_map(_is, then.values(), now.values())):
                self._put_back(now, then, f"`{name}` was changed")
        if len(vars(builtins)) > len(self.spaces[0]):
            self.damage.append("`builtins` was changed")
        if sys.modules is not _modules:
            sys.modules = _modules
            self.damage.append("`sys.modules` was changed")
        if len(_modules) < len(self.modules) or not all(map(_is, self.modules.values(), _modules.values())):
            self._put_back(_modules, self.modules, "loaded modules are gone")
        lists: tuple[list[Any], ...] = (sys.meta_path, sys.path_hooks)
        for finders, known in zip(lists, self.finders, strict=True):
            if any(finder not in finders for finder in known):
                finders[:] = known
                self.damage.append("modules cannot be found")
        self._mend_process()

    def _put_back(self, now: dict[str, Any], then: dict[str, Any], why: str) -> None:
        lost = {
            name: value
            for name, value in then.items()
            if now.get(name, _MISSING) is not value and name not in _MAY_CHANGE
        }
        if lost:
            now.update(lost)
            self.damage.append(why)

    def _mend_process(self) -> None:
        if tuple(map(resource.getrlimit, _LIMITS)) != self.limits:
            self.damage.append("its limits were changed")
            for kind, limit in zip(_LIMITS, self.limits, strict=True):
                with contextlib.suppress(OSError, ValueError):
                    resource.setrlimit(kind, limit)
        if _standing() != self.standing:
            self.damage.append("its user, priority or root was changed")
            with contextlib.suppress(OSError):
                os.seteuid(self.standing[1])
                os.setegid(self.standing[3])
        enabled, thresholds = self.collecting
        if gc.isenabled() != enabled:
            (gc.enable if enabled else gc.disable)()
        if gc.get_threshold() != thresholds:
            gc.set_threshold(*thresholds)

    def grown(self) -> str | None:
        """What the process has more of than before, in words; None if nothing."""
        if self.damage:
            return self.damage[0]
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
        time.tzset()  # always: the C library looks at TZ whenever it likes
        sys.path, folders = self.path
        sys.path[:] = folders
        sys.argv, words = self.argv
        sys.argv[:] = words
        if _socket_timeout() != self.socket_timeout:
            sys.modules["socket"].setdefaulttimeout(self.socket_timeout)
        if locale.setlocale(locale.LC_ALL) != self.locale:
            locale.setlocale(locale.LC_ALL, self.locale)
        try:
            os.chdir(self.cwd)
        except OSError:
            self.damage.append("its folder cannot be entered")


def _standing() -> tuple[Any, ...]:
    """As whom, how soon and where the process runs."""
    root = os.stat("/")  # not a path of ours
    return (
        os.getuid(),
        os.geteuid(),
        os.getgid(),
        os.getegid(),
        os.getgroups(),
        os.getpriority(os.PRIO_PROCESS, 0),
        os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None,
        (root.st_dev, root.st_ino),
    )


def _socket_timeout() -> float | None:
    socket = sys.modules.get("socket")
    found: float | None = socket.getdefaulttimeout() if socket else None
    return found


def set_environment(env: dict[bytes, bytes]) -> None:
    """Make the environment of this process exactly `env`."""
    if os.environb != env:
        zone = os.environb.get(b"TZ")
        for name in os.environb.keys() - env.keys():
            del os.environb[name]
        os.environb.update(env)
        if env.get(b"TZ") != zone:
            time.tzset()


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
    looks = tuple(map(_look_of, objects))
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
        if not fresh_objects and tuple(map(_look_of, objects)) != looks:
            _fresh_streams()


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
    for name in ("stdout", "stderr"):
        with contextlib.suppress(Exception):
            getattr(sys, name).flush()


def _look_of(stream: Any) -> tuple[Any, ...] | None:
    """What a step may have changed in a stream; None if it is of no use any more."""
    try:
        return None if stream.closed else (stream.encoding, stream.errors, stream.line_buffering)
    except (AttributeError, ValueError):  # none at all, or it was detached
        return None


def _fresh_streams() -> None:
    """Objects that write to the descriptors, where the ones in place are another's or of no use."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # a descriptor
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115  # as above
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115  # as above


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
