"""The only code that writes state: replace a file, create a file, append to a log, hold a lock.

Each operation says what it guarantees and has one commit point, marked in its body: before that line
nothing happened, after it all of it did, whatever is killed or loses power in between.

    replace_file   readers see the old content or the new one
    create_file    readers see nothing or all of it; of several that try, one succeeds
    Log            bytes added at the end of a file; durable after `sync`
    publish_folder a folder appears complete under its name, or not at all
    try_lock       one holder among all processes; ends with its holder, however that ends
    hold_alive     many holders; `wait_alone` tells when the last one is gone

What is written is for the owner alone (0600, 0700), whatever the umask. No file is opened through a
symbolic link, and none is replaced or created in a folder that is one. Every failure of the system is a
`StateError` that has the path.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import random
import secrets
import shutil
import stat
import time
from typing import TYPE_CHECKING, Self

from crewflow.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from filelock import UnixFileLock

FILE_MODE = 0o600
FOLDER_MODE = 0o700

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PASSING = frozenset({errno.EPERM, errno.EBUSY, errno.EACCES, errno.ENOENT, errno.EEXIST})
_RETRY_WAITS = (0.002, 0.01, 0.04)
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
_NO_LOCKS = frozenset({errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL})

_WORDS = {
    errno.ENOSPC: "no space left on the device",
    errno.EDQUOT: "no space left: the disk quota is used up",
    errno.EFBIG: "no space left: the file size limit is reached",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOENT: "no such file or folder",
    errno.ENOTDIR: "a file is in the place of a folder",
    errno.EISDIR: "a folder is in the place of a file",
    errno.EEXIST: "the name is taken",
    errno.ENOTEMPTY: "the name is taken",
    errno.ELOOP: "a symbolic link is in its place",
    errno.EIO: "the device reports an input/output error",
    errno.EMFILE: "too many open files",
    errno.ENFILE: "too many open files",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EBADF: "it was closed, by an earlier failure or on purpose",
}
_HINTS = {
    errno.ENOSPC: "free some space, then `crewflow resume`",
    errno.EDQUOT: "free some space, then `crewflow resume`",
    errno.ELOOP: "remove the link: state is never written through one",
}


def read_file(path: str, *, start: int = 0) -> bytes | None:
    """The content of a file of the state from byte `start` on, or None where there is no file.

    Raises:
        StateError: it is a symbolic link or a folder, or cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _explain(error, "read", path) from error
    with _explained("read", path), open(descriptor, "rb") as file:
        file.seek(start)
        return file.read()


def replace_file(path: str, data: bytes, *, sync: bool = True) -> None:
    """Give a file new content; readers see the old content or the new one, never a mixture.

    A file that exists keeps its mode. With `sync` the new content survives a loss of power once this
    returns; without it, a loss of power may bring back the old content (or, on file systems that order
    nothing, an empty file): for what can be derived again.

    Raises:
        StateError: the target is a symbolic link or a folder, or the system refuses; the old content stands.
    """
    with _explained("write", path), _folder_of(path) as (folder, name):
        waits = list(_RETRY_WAITS)
        while not _replace(folder, name, data, sync=sync, last_try=not waits):
            time.sleep(waits.pop(0) * (1 + random.random()))  # noqa: S311  # jitter, not a secret


def create_file(path: str, data: bytes) -> bool:
    """Make a file that must not exist yet; False, and nothing changed, when its name is taken.

    Readers see no file or all of it. It survives a loss of power once this returns True.

    Raises:
        StateError: the system refuses; also on file systems without hard links, which cannot do this.
    """
    with _explained("write", path), _folder_of(path) as (folder, name):
        temp = _write_temp(folder, data, FILE_MODE, sync=True)
        try:
            os.link(temp, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)  # commit point
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno in _NO_LINKS:
                raise StateError(f"cannot create `{path}`: the file system has no hard links") from error
            raise
        finally:
            os.unlink(temp, dir_fd=folder)
        _sync(folder)
    return True


def make_folder(path: str) -> None:
    """Make a folder and the missing ones above it, each 0700; one that is there already is left as it is.

    Commit point: `mkdir`. Not synced: see `fsync_folder`.

    Raises:
        StateError: something else is in its place (also a symbolic link), or the system refuses.
    """
    with _explained("create", path):
        try:
            _make_folder(path)
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                raise NotADirectoryError(errno.ENOTDIR, "") from None


def publish_folder(made: str, path: str) -> None:
    """Give a complete folder its final name, in the same parent; both are synced.

    Raises:
        StateError: the name is taken by a folder with content or by a file, or the system refuses.
    """
    fsync_folder(made)
    with _explained("create", path):
        os.rename(made, path)  # commit point
    fsync_folder(os.path.dirname(path))


def remove_folder(path: str) -> None:
    """Remove a folder with all that is in it, never through a symbolic link.

    There is no commit point, a kill leaves a part: it is for folders that nobody looks at any more.
    """
    with _explained("remove", path), contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)


def fsync_folder(path: str) -> None:
    """Make the names in a folder survive a loss of power.

    Raises:
        StateError: there is no such folder, or the device refuses.
    """
    _sync_path(path, os.O_DIRECTORY)


def sync_file(path: str) -> None:
    """Make what a file holds survive a loss of power, whoever wrote it.

    Raises:
        StateError: there is no such file, or the device refuses.
    """
    _sync_path(path, 0)


def cut_tail(path: str, size: int, aside: str) -> None:
    """Cut a log back to `size` bytes and keep what stood after them in the file `aside`.

    What stays is durable before it is relied on. Done again after a crash, it ends the same.

    Raises:
        StateError: the system refuses.
    """
    with _explained("cut", path):
        log = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            length = os.fstat(log).st_size
            if length > size:
                replace_file(aside, os.pread(log, length - size, size))
                os.ftruncate(log, size)  # commit point
            _sync(log)
        finally:
            os.close(log)


class Log:
    """A file that only grows, with one writer.

    Calling sequence: `create` or `open_end`, then `append` and `sync` in any order, then `close`.
    After a failure of `append` or `sync` the log is closed for good: what the file holds is then known
    only by reading it, and a second `fsync` would report success for bytes that are lost.
    """

    __slots__ = ("_descriptor", "path")

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def create(cls, path: str) -> Self:
        """Make an empty log that must not exist yet.

        Raises:
            StateError: its name is taken, or the system refuses.
        """
        with _explained("create", path):
            descriptor = os.open(path, _NEW | os.O_APPEND, FILE_MODE)  # commit point
            os.fchmod(descriptor, FILE_MODE)
        return cls(path, descriptor)

    @classmethod
    def open_end(cls, path: str, size: int) -> Self:
        """Open a log that is known to be `size` bytes long.

        Raises:
            StateError: it has another size, so someone else wrote to it; or the system refuses.
        """
        with _explained("open", path):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        log = cls(path, descriptor)
        length = os.fstat(descriptor).st_size
        if length != size:
            log.close()
            raise StateError(f"`{path}` has {length} bytes instead of {size}: another process wrote to it")
        return log

    def append(self, data: bytes) -> None:
        """Add bytes at the end. Once this returns they survive the death of this process.

        A kill in between may leave the first part of them: the reader tells by their content.

        Raises:
            StateError: the system refuses; the log is closed for good.
        """
        try:
            written = os.write(self._descriptor, data)  # commit point: the last byte of it
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except OSError as error:
            self.close()
            raise _explain(error, "write", self.path) from error

    def sync(self) -> None:
        """Make all that was appended survive a loss of power.

        Raises:
            StateError: the device refuses; the log is closed for good.
        """
        if self._descriptor < 0:
            raise _explain(OSError(errno.EBADF, ""), "sync", self.path)
        try:
            # macOS has no fdatasync.
            _sync(self._descriptor, getattr(os, "fdatasync", os.fsync))  # commit point
        except OSError as error:
            self.close()
            raise _explain(error, "sync", self.path) from error

    def close(self) -> None:
        """Let go of the file; does not sync. May be called again."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(descriptor)


class Lock:
    """A lock that is held. It ends with `release`, with this object or with this process.

    Forked children do not hold it, and programs that are executed do not inherit it.
    """

    __slots__ = ("_lock", "path")

    def __init__(self, path: str, lock: UnixFileLock) -> None:
        self.path = path
        self._lock = lock

    def release(self) -> None:
        """Let go. The file stays, so that all contenders mean the same one. May be called again."""
        self._lock.release()


def try_lock(path: str, *, wait: float = 0.0) -> Lock | None:
    """Take the lock of a file, made when missing; None when another holder kept it for `wait` seconds.

    Commit point: the system's `flock`.

    Raises:
        StateError: a symbolic link or folder is in its place, the file system has no locks, or the
            system refuses.
    """
    # Loading it takes 40 ms, which the commands that only read do not pay.
    import filelock  # noqa: PLC0415  # see above

    with _explained("lock", path):
        lock = filelock.UnixFileLock(
            path, mode=FILE_MODE, thread_local=False, fallback_to_soft=False, preserve_lock_file=True
        )
        try:
            lock.acquire(timeout=wait, poll_interval=0.02)
        except filelock.Timeout:
            return None
    return Lock(path, lock)


def is_locked(path: str) -> bool:
    """Whether someone holds the lock of a file; creates nothing and keeps no contender from it.

    Where the kernel does not list the holder (none, or one in another container), a shared lock is tried
    for some microseconds; `try_lock` with any `wait` outlasts that.

    Raises:
        StateError: a symbolic link is in its place, or the system refuses.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _explain(error, "look at the lock", path) from error
    try:
        return _is_listed(os.fstat(descriptor)) or not _try_flock(path, descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def hold_alive(path: str) -> int:
    """Join those who hold a file's shared lock; the descriptor holds it until it and its copies are closed.

    It is inherited by forks and closed by `exec`.

    Raises:
        StateError: the system refuses.
    """
    with _explained("lock", path):
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, FILE_MODE)
        os.fchmod(descriptor, FILE_MODE)
        # Whoever waits to be alone holds it for an instant only.
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # commit point
    return descriptor


def wait_alone(path: str, seconds: float) -> bool:
    """Whether nobody holds the file's shared lock, now or within so many seconds.

    Raises:
        StateError: the system refuses.
    """
    with _explained("lock", path):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            return _poll_alone(path, descriptor, time.monotonic() + seconds)
        finally:
            os.close(descriptor)


def _poll_alone(path: str, descriptor: int, deadline: float) -> bool:
    while not _try_flock(path, descriptor, fcntl.LOCK_EX):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.005)
    return True


def _try_flock(path: str, descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise _explain(error, "lock", path) from error
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True


def _is_listed(status: os.stat_result) -> bool:
    """Whether the kernel lists a writer: `1: FLOCK ADVISORY WRITE <pid> <major>:<minor>:<inode> 0 EOF`."""
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        with open("/proc/locks", encoding="ascii") as file:
            return any(line.split()[1:6:2] == ["FLOCK", "WRITE", place] for line in file)
    except OSError:
        return False


@contextlib.contextmanager
def _folder_of(path: str) -> Iterator[tuple[int, str]]:
    """The folder of a path as a descriptor, so that all steps meet the same folder, and the name in it."""
    parent, name = os.path.split(path)
    folder = os.open(parent or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield folder, name
    finally:
        os.close(folder)


def _replace(folder: int, name: str, data: bytes, *, sync: bool, last_try: bool) -> bool:
    """Whether it is done; False when the failure may pass and this was not the last try."""
    mode = _mode_to_keep(folder, name)
    temp = _write_temp(folder, data, mode, sync=sync)
    try:
        os.rename(temp, name, src_dir_fd=folder, dst_dir_fd=folder)  # commit point
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temp, dir_fd=folder)
        # Network file systems and scanners hold a file for a moment and report it in these ways.
        if last_try or error.errno not in _PASSING:
            raise
        return False
    if sync:
        _sync(folder)
    return True


def _mode_to_keep(folder: int, name: str) -> int:
    try:
        mode = os.lstat(name, dir_fd=folder).st_mode
    except FileNotFoundError:
        return FILE_MODE
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "")
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "")
    return stat.S_IMODE(mode)


def _write_temp(folder: int, data: bytes, mode: int, *, sync: bool) -> str:
    name = f".tmp-{secrets.token_hex(12)}"
    descriptor = os.open(name, _NEW, FILE_MODE, dir_fd=folder)
    try:
        os.fchmod(descriptor, mode)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if sync:
            _sync(descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)
    return name


def _make_folder(path: str) -> None:
    try:
        os.mkdir(path, FOLDER_MODE)
    except FileNotFoundError:
        make_folder(os.path.dirname(path))
        os.mkdir(path, FOLDER_MODE)
    os.chmod(path, FOLDER_MODE)


def _sync_path(path: str, flags: int) -> None:
    with _explained("sync", path):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags)
        try:
            _sync(descriptor)
        finally:
            os.close(descriptor)


def _sync(descriptor: int, call: Callable[[int], None] | None = None) -> None:
    try:
        (call or os.fsync)(descriptor)
    except OSError as error:
        # Some file systems have nothing to sync and say so; that is no failure.
        if error.errno not in {errno.EINVAL, errno.EOPNOTSUPP}:
            raise


@contextlib.contextmanager
def _explained(verb: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _explain(error, verb, path) from error


def _explain(error: OSError, verb: str, path: str) -> StateError:
    if verb == "lock" and error.errno in _NO_LOCKS:
        words = "the file system has no locks"
    else:
        words = _WORDS.get(error.errno or 0, (error.strerror or "unknown error").lower())
    return StateError(f"cannot {verb} `{path}`: {words}", hint=_HINTS.get(error.errno or 0))
