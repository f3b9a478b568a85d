"""Python steps: a `module:function` called in the current process, which is as before afterwards.

What cannot be put back (a thread that goes on, an open descriptor, memory, a changed module) is
named instead, and the worker that did the call is given up for a fresh one. A return value is whatever
JSON can say; what the function writes to its descriptors 1 and 2 goes to the attempt's log, as does the
traceback of what it raises. Processes that it leaves behind are ended.
"""

from __future__ import annotations

import contextlib
import contextvars
import importlib
import json
import os
import shutil
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crewflow.engine import collect, procs, restore, spawn
from crewflow.engine.artifacts import BadOutputError
from crewflow.engine.executor import Ended
from crewflow.run.states import Outcome

if TYPE_CHECKING:
    from crewflow.engine.executor import Attempt

CALL_LIMIT = 200
"""Calls after which a worker is given up."""


@dataclass(frozen=True, slots=True)
class _Result:
    """How a call went: a value, or a failure with the words for it."""

    value: Any = None
    failure: str | None = None
    exit_code: int | None = None
    error: str | None = None


class _ImportExitError(Exception):
    """A module ended its process while it was imported."""

    def __init__(self, name: str, exit_: SystemExit) -> None:
        super().__init__(f"module `{name}` ended (`sys.exit`) while it was imported")
        self.exit = exit_


class _OutOfTimeError(BaseException):
    """Raised in a function by an alarm, where there is no keeper to end its process."""


class Host:
    """The process that calls, and what it remembers between calls.

    Args:
        sheltered: the process is a worker: a keeper sees to the timeout, and ends it as a whole.
    """

    def __init__(self, *, sheltered: bool = True) -> None:
        self._sheltered = sheltered
        self._calls = 0
        self._memory = restore.resident()
        self._seen: dict[str, tuple[str, int, int]] = {}

    def stale(self, project: str) -> str | None:
        """Which module of the project was loaded here and has changed since; None if none has."""
        self._notice_modules(project)
        for name, (file, *stamp) in self._seen.items():
            if _stamp(file) != tuple(stamp):
                return name
        return None

    def forget_changed(self, project: str) -> None:
        """Have changed modules of the project loaded again, where the process cannot be given up."""
        while name := self.stale(project):
            sys.modules.pop(name, None)
            del self._seen[name]

    def call(
        self, attempt: Attempt, base: dict[bytes, bytes], spare: frozenset[int] = frozenset()
    ) -> tuple[Ended, str | None]:
        """Run a python step to its end; with why this process should not run another, if so.

        Args:
            attempt: what to call.
            base: the environment below the attempt's own.
            spare: children of this process that have nothing to do with attempts.
        """
        began = time.monotonic()
        me = os.getpid()
        before = restore.Before.look()
        try:
            spawn.fresh_folder(attempt.folder)
            env = spawn.environment(base, attempt)
            with before.restored(), restore.streams(*_logs(attempt), fresh_objects=not self._sheltered):
                result = self._call(attempt, env, me, before)
            _tidy_logs(attempt)
        except spawn.StartError as error:
            result = _Result(failure="start", error=str(error))
        survivors = _end_leftovers(attempt, spare)
        ended = _as_ended(attempt, result, began, survivors)
        self._calls += 1
        self._notice_modules(attempt.project)
        return ended, self._why_not_again(before, survivors)

    def _call(self, attempt: Attempt, env: dict[bytes, bytes], me: int, before: restore.Before) -> _Result:
        spawn.enter(attempt.cwd)
        restore.set_environment(env)
        if not str(attempt.action).startswith(_SHIPPED):
            sys.path.insert(0, attempt.project)
        if self._sheltered:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
        else:
            _set_alarm(attempt.timeout)
        try:
            return _Result(_use(attempt, before, sheltered=self._sheltered))
        except spawn.StartError:
            raise
        except _ImportExitError as error:
            code = _of_exit(error.exit).exit_code or 1
            return _Result(failure="exit", exit_code=code, error=str(error))
        except _OutOfTimeError:
            return _Result(failure="timeout", error=f"timed out after {attempt.timeout or 0:g}s")
        except SystemExit as error:
            return _of_exit(error)
        except BaseException as error:  # noqa: BLE001  # whatever a step raises is its own failure
            return _of_exception(str(attempt.action), error)
        finally:
            if os.getpid() != me:
                # A fork of the function's has come back from it: this is no worker.
                os._exit(0)

    def _notice_modules(self, project: str) -> None:
        inside = project.rstrip("/") + "/"
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name not in self._seen and isinstance(file, str) and file.startswith(inside):
                self._seen[name] = (file, *_stamp(file))

    def _why_not_again(self, before: restore.Before, survivors: tuple[int, ...]) -> str | None:
        if survivors:
            return "processes that cannot be ended"
        if self._calls >= CALL_LIMIT:
            return "enough calls"
        if restore.resident() - self._memory > restore.MEMORY_LIMIT:
            return "memory has grown"
        return before.grown()


_SHIPPED = f"{__package__.partition('.')[0]}."
"""Functions that come with crewflow do not take a module of the project's for the one they ask for."""


def _set_alarm(timeout: float | None) -> None:
    def ring(_number: int, _frame: object) -> None:
        raise _OutOfTimeError

    if timeout is not None:
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, timeout)


# A call of these begins no frame of Python, so what a step left to run at each of them does not run.
_stop_trace, _stop_profile = sys.settrace, sys.setprofile


def _use(attempt: Attempt, before: restore.Before, *, sheltered: bool) -> Any:
    """What the function returns; this process is able to say so, whatever the step did to it.

    Raises:
        StartError: there is no such module or function.
        _ImportExitError: there is no telling, since its module ended.
    """
    # Nothing that it sets for "this context" (the precision of `decimal`, say) is there for another.
    context = contextvars.Context()
    try:
        try:
            function = context.run(_load, str(attempt.action))
        except SystemExit as error:
            raise _ImportExitError(str(attempt.action).partition(":")[0], error) from error
        return context.run(function, **attempt.arguments)
    finally:
        if sheltered:  # elsewhere it may be a debugger
            _stop_trace(None)
            _stop_profile(None)
        before.mend()


def _load(action: str) -> Any:
    """The function that `module:function` names.

    Raises:
        StartError: there is no such module or function.
    """
    name, _, path = action.partition(":")
    importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise spawn.StartError(f"module `{error.name}` of `{action}` was not found") from error
        raise
    for part in path.split("."):
        if not hasattr(found, part):
            raise spawn.StartError(f"module `{name}` has no function `{path}`")
        found = getattr(found, part)
    if not callable(found):
        raise spawn.StartError(f"`{action}` is not a function")
    return found


def _of_exit(error: SystemExit) -> _Result:
    """What `sys.exit` means, as Python has it: None is 0, a number itself, anything else a message and 1."""
    if error.code is None or error.code == 0:
        return _Result()
    if isinstance(error.code, int):
        code = error.code & 0xFF
        return _Result(failure="exit", exit_code=code, error=f"exit code {code}") if code else _Result()
    with contextlib.suppress(Exception):
        print(error.code, file=sys.stderr)  # noqa: T201  # into the attempt's log
    return _Result(failure="exit", exit_code=1, error="exit code 1")


def _of_exception(action: str, error: BaseException) -> _Result:
    lines = traceback.format_exception(error)
    with contextlib.suppress(Exception):
        os.write(2, "".join(_without_own_frames(error, lines)).encode("utf-8", "backslashreplace"))
    said = traceback.format_exception_only(error)[-1].strip()
    first = said.splitlines()[0][:300] if said else ""
    return _Result(failure="exit", exit_code=1, error=f"`{action}` raised {first}")


def _without_own_frames(error: BaseException, lines: list[str]) -> list[str]:
    """A traceback that begins in the step's code: what called it is no help to its author."""
    own = 0
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename != __file__:
            break
        own += 1
    if error.__cause__ or error.__context__:
        return lines
    return [lines[0], *lines[1 + own :]]


def _as_ended(attempt: Attempt, result: _Result, began: float, survivors: tuple[int, ...]) -> Ended:
    failure, error, code = result.failure, result.error, result.exit_code
    kept, value = collect.Kept(), None
    if failure is None:
        code = 0
        try:
            value = _plain(result.value)
            kept = collect.collect(attempt, None, value)
        except BadOutputError as fault:
            failure, error, value = "bad_output", str(fault), None
        except OSError as fault:  # of a process that may do less than before, by the step's own doing
            failure, error, value = "bad_output", f"its outputs cannot be read: {spawn.words(fault)}", None
    return Ended(
        attempt.task,
        attempt.number,
        Outcome.SUCCEEDED if failure is None else Outcome.FAILED,
        failure,
        exit_code=code,
        error=error,
        outputs=kept.outputs,
        result=value,
        artifacts=kept.artifacts,
        output_bytes=_size(attempt),
        seconds=time.monotonic() - began,
        survivors=survivors,
    )


def _plain(value: Any) -> Any:
    """A return value as JSON gives it back.

    Raises:
        BadOutputError: JSON cannot say it, or it is too large.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise BadOutputError(f"the function returned what JSON cannot say: {_why(error)}") from error
    if size > collect.VALUE_LIMIT:
        raise BadOutputError("the function returned more than 1 MiB; pass it by `artifacts`")
    return json.loads(text)


def _why(error: Exception) -> str:
    return str(error).replace("Object of type ", "a value of type ")[:200] or "it is nested too deeply"


def _end_leftovers(attempt: Attempt, spare: frozenset[int]) -> tuple[int, ...]:
    """End the processes that a call left behind; those that cannot be ended."""
    if not spare and procs.reap():
        return ()
    ending: procs.Ending | None = None
    named: set[int] = set()
    until = time.monotonic() + procs.LINGER
    while left := procs.descendants([os.getpid()], spare):
        if time.monotonic() >= until:
            ending = ending or procs.Ending(min(attempt.grace, procs.LEFTOVER_GRACE))
            ending.press(left)
            _name(attempt, [proc for proc in left if proc.pid not in named])
            named |= {proc.pid for proc in left}
            if ending.given_up():
                return tuple(proc.pid for proc in left)
        time.sleep(0.01)
        for child in procs.children_of_this() - spare:
            os.waitpid(child, os.WNOHANG)
    return ()


def _name(attempt: Attempt, left: list[procs.Proc]) -> None:
    with contextlib.suppress(OSError), Path(attempt.folder, "output.log").open("a", encoding="utf-8") as log:
        log.write(procs.leftover_text(left))


def _logs(attempt: Attempt) -> tuple[int, int]:
    """Descriptors for stdout and stderr; they are apart only where an output is read from stdout."""
    apart = any(collect.is_of_stdout(output.origin) for output in attempt.outputs)
    err = _open_log(attempt, "output.log")
    return (_open_log(attempt, "stdout.log") if apart else os.dup(err)), err


def _open_log(attempt: Attempt, name: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(f"{attempt.folder}/{name}", flags, 0o600)
    except OSError as error:
        raise spawn.StartError(f"`{name}` cannot be written: {spawn.words(error)}") from error


def _tidy_logs(attempt: Attempt) -> None:
    """Both streams in `output.log`; no log of a silent step."""
    log, out = Path(attempt.folder, "output.log"), Path(attempt.folder, "stdout.log")
    with contextlib.suppress(OSError):
        if out.exists():
            with out.open("rb") as source, log.open("ab") as target:
                shutil.copyfileobj(source, target)
        if log.stat().st_size == 0:
            log.unlink()


def _size(attempt: Attempt) -> int:
    with contextlib.suppress(OSError):
        return Path(attempt.folder, "output.log").stat().st_size
    return 0


def _stamp(file: str) -> tuple[int, int]:
    try:
        found = Path(file).stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)
