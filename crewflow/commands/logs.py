"""`crewflow logs`: the output of a run: of one task as bytes, of all with the task before each line."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from crewflow.commands.following import turns
from crewflow.commands.project import choose_run
from crewflow.errors import ExitCode, UsageError
from crewflow.report.console import flush
from crewflow.spec.suggest import nearest
from crewflow.state import codec
from crewflow.state.logs import log_path
from crewflow.state.replay import tell_story

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crewflow.report.console import Console
    from crewflow.state.paths import RunPaths


def run(console: Console, folder: str, *, reference: str | None, task: str | None, follow: bool) -> int:
    """Print logs; with `-f` go on until the run has ended."""
    del console
    paths = choose_run(folder, reference)
    wanted = None if task is None else _find_task(paths, task)
    logs: dict[str, _Log] = {}
    for records in turns(paths, until_end=follow):
        for record in records:
            if record["type"] == codec.STARTED and wanted in {None, record["task"]}:
                logs[record["task"]] = _Log(paths, record["task"], record["attempt"], prefixed=wanted is None)
        for log in logs.values():
            log.copy_new()
        flush()
    _end(logs.values())
    return int(ExitCode.DONE)


def _find_task(paths: RunPaths, wanted: str) -> str:
    """The id of a task; `test:3.11` is another way to write `test[3.11]`."""
    step, colon, leg = wanted.partition(":")
    known = tell_story(paths).tasks
    for name in (wanted, f"{step}[{leg}]" if colon else wanted):
        if name in known:
            return name
    guess = nearest(wanted, known)
    hint = f"did you mean `{guess}`?" if guess else f"see `crewflow status {paths.run_id}`"
    raise UsageError(f"run `{paths.run_id}` has no task `{wanted}`", hint=hint)


class _Log:
    """One attempt's log, copied to stdout as it grows; whole lines only where lines have a prefix."""

    def __init__(self, paths: RunPaths, task: str, attempt: int, *, prefixed: bool) -> None:
        self._path = log_path(paths, task, attempt)
        self._prefix = f"{task} | ".encode() if prefixed else b""
        self._offset = 0
        self._rest = b""

    def copy_new(self) -> None:
        """Print what has come since the last time."""
        if not os.path.exists(self._path):
            return
        with open(self._path, "rb") as file:
            file.seek(self._offset)
            while chunk := file.read(1 << 20):
                self._offset += len(chunk)
                self._write(chunk)

    def end(self) -> None:
        """Print a last line that has no end of its own."""
        if self._rest:
            sys.stdout.buffer.write(self._prefix + self._rest + b"\n")
            self._rest = b""

    def _write(self, chunk: bytes) -> None:
        if not self._prefix:
            sys.stdout.buffer.write(chunk)
            return
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        sys.stdout.buffer.writelines(self._prefix + line + b"\n" for line in lines)


def _end(logs: Iterable[_Log]) -> None:
    for log in logs:
        log.end()
    flush()
