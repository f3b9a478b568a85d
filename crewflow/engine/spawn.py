"""From an `Attempt` to a running process: its folder, words, environment, program, and the spawn.

Everything that can be said before the process exists is said here, as a `StartError` whose text is
for people. The process gets a session of its own, all signals at their defaults, none blocked,
/dev/null as its stdin, and of crewflow's descriptors none but the ends of its output.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crewflow.engine.executor import Attempt

ARGUMENT_LIMIT = 131_000
"""Bytes of one argument or environment entry; Linux allows 131,071 and a NUL."""

SCRIPT_LIMIT = 100_000
"""Bytes of a script beyond which it is run from a file."""

_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
_NO_SIGNALS: tuple[int, ...] = ()
_TAKES_TEXT = re.compile(rb"-[a-z]*c").fullmatch
_STDIN = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)


class StartError(Exception):
    """The attempt cannot be started; the text says why, in words for people."""


def fresh_folder(folder: str) -> None:
    """Make the folder of an attempt, empty: nothing of an earlier try is left in it.

    Raises:
        StartError: it cannot be made.
    """
    try:
        _make_folder(folder)
    except OSError as error:
        raise StartError(f"the folder of the attempt cannot be made: {words(error)}: `{folder}`") from error


def _make_folder(folder: str) -> None:
    # the task's own folder is new in most attempts, so it is made first and not found missing first
    task = os.path.dirname(folder)
    _refuse_link(os.path.dirname(task))
    _make_private(task)
    _refuse_link(task)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        shutil.rmtree(folder)
        os.mkdir(folder, 0o700)


def _refuse_link(folder: str) -> None:
    if os.path.islink(folder):
        raise OSError(errno.ELOOP, "a symbolic link stands in its place", folder)


def _make_private(folder: str) -> None:
    """Make a folder and those above it that are missing, for nobody else to read."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        _make_private(os.path.dirname(folder))
        with contextlib.suppress(FileExistsError):  # another worker was faster
            os.mkdir(folder, 0o700)


def caller_environment() -> dict[bytes, bytes]:
    """What crewflow was started with, as a process gets it."""
    return dict(os.environb)


def environment(base: dict[bytes, bytes], attempt: Attempt) -> dict[bytes, bytes]:
    """`base` with what the attempt sets on top.

    Raises:
        StartError: a name or a value cannot be passed.
    """
    env = base.copy()
    for name, value in attempt.env.items():
        if not name or "=" in name:
            raise StartError(f"`{name}` cannot be the name of an environment variable")
        # The kernel counts the name and the `=` too.
        env[_bytes(name, f"the name `{name}`")] = _bytes(
            value, f"the environment variable `{name}`", ARGUMENT_LIMIT - len(name)
        )
    env[b"CREWFLOW_OUTPUT"] = os.fsencode(output_file(attempt))
    return env


def output_file(attempt: Attempt) -> str:
    """The path that `$CREWFLOW_OUTPUT` names."""
    return f"{attempt.folder}/outputs"


def arguments(attempt: Attempt) -> list[bytes]:
    """The argument list of a script or command; a long script is written into the attempt's folder.

    Raises:
        StartError: an argument cannot be passed.
    """
    if isinstance(attempt.action, str):
        return _script_arguments(attempt.shell, attempt.action, attempt.folder)
    if not attempt.action:
        raise StartError("the command is empty")
    return [_bytes(word, f"argument {number}") for number, word in enumerate(attempt.action)]


def _script_arguments(shell: tuple[str, ...], script: str, folder: str) -> list[bytes]:
    before = [os.fsencode(word) for word in shell]
    text = _bytes(script, "the script", limit=None)
    if len(text) <= SCRIPT_LIMIT:
        return [*before, text]
    # Only a shell that is asked by `-c` to take text is known to take a file without it.
    if not before or not _TAKES_TEXT(before[-1]):
        return [*before, _bytes(script, "the script")]
    return [*before[:-1], *_without_c(before[-1]), _script_file(folder, text)]


def _without_c(word: bytes) -> list[bytes]:
    rest = word.replace(b"c", b"")
    return [rest] if rest != b"-" else []


def _script_file(folder: str, text: bytes) -> bytes:
    path = os.fsencode(f"{folder}/script")
    with open(path, "xb") as file:  # the path is bytes
        file.write(text)
    return path


def _bytes(text: str, what: str, limit: int | None = ARGUMENT_LIMIT) -> bytes:
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise StartError(f"{what} is not valid text") from None
    if b"\0" in data:
        raise StartError(f"{what} holds a NUL byte, which no process can be given; pass it by `artifacts`")
    if limit is not None and len(data) > limit:
        raise StartError(
            f"{what} has {len(data):,} bytes, more than a process can be given; pass it by `artifacts`"
        )
    return data


def spawn(attempt: Attempt, argv: list[bytes], env: dict[bytes, bytes], out: int, err: int) -> int:
    """Start the process, its output going to the descriptors `out` and `err`; its pid.

    Raises:
        StartError: the folder, the program or the system does not let it start.
    """
    before = os.getcwd()
    if attempt.cwd != before:
        enter(attempt.cwd)
    try:
        return _spawn(argv, env, out, err)
    finally:
        if attempt.cwd != before:
            os.chdir(before)


def enter(folder: str) -> None:
    """Go into the folder that a step runs in.

    Raises:
        StartError: it is none, or not to be entered.
    """
    try:
        os.chdir(folder)
    except OSError as error:
        raise StartError(f"`cwd` cannot be entered: {words(error)}: `{folder}`") from error


def _spawn(argv: list[bytes], env: dict[bytes, bytes], out: int, err: int) -> int:
    program = _find(argv[0], env.get(b"PATH", os.fsencode(os.defpath)))
    actions = (_STDIN, (os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, err, 2))
    try:
        return os.posix_spawn(
            program, argv, env, file_actions=actions, setsid=True, setsigdef=_SIGNALS, setsigmask=_NO_SIGNALS
        )
    except OSError as error:
        raise StartError(_spawn_fault(error, argv[0])) from error


def _find(program: bytes, path: bytes) -> bytes:
    """Where the program is, by the step's PATH and from its folder.

    Raises:
        StartError: there is none, or none that may be executed.
    """
    if b"/" in program:
        candidates: Sequence[bytes] = (program,)
    else:
        candidates = [(folder or b".") + b"/" + program for folder in path.split(b":")]
    for candidate in candidates:
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    shown = os.fsdecode(program)
    if any(os.path.isfile(candidate) for candidate in candidates):
        raise StartError(f"`{shown}` is not executable")
    if any(os.path.isdir(candidate) for candidate in candidates):
        raise StartError(f"`{shown}` is a folder, no program")
    raise StartError(f"program `{shown}` was not found")


def _spawn_fault(error: OSError, program: bytes) -> str:
    shown = f"`{os.fsdecode(program)}`"
    if error.errno == errno.ENOEXEC:
        return f"{shown} is no program and has no `#!` line"
    if error.errno == errno.ENOENT:
        return f"{shown} needs an interpreter that was not found; see its `#!` line"
    if error.errno == errno.E2BIG:
        return f"{shown} was given more arguments and environment than the system allows; pass by `artifacts`"
    return f"{shown} could not be started: {words(error)}"


def words(error: OSError) -> str:
    """What the system says, in lower case and without paths and numbers."""
    return (error.strerror or str(error)).lower()
