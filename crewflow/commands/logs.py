"""`crewflow logs`: the output of a run: of one task as bytes, of all with the task before each line.

For a container its tasks are shown. They come in the order in which they started. What is shown is the last
attempt of each; with `-f` every attempt, since they are shown as they come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewflow.commands.following import turns
from crewflow.commands.project import choose_run
from crewflow.commands.tasks import find_task
from crewflow.errors import ExitCode
from crewflow.report.console import flush, write_data
from crewflow.run.standing import walk
from crewflow.state import codec
from crewflow.state.logs import log_path
from crewflow.state.replay import tell_story

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.report.console import Console
    from crewflow.state.paths import RunPaths


def run(console: Console, folder: str, *, reference: str | None, task: str | None, follow: bool) -> int:
    """Print logs; with `-f` go on until the run has ended."""
    paths = choose_run(folder, reference)
    wanted = None if task is None else _wanted(paths, task)
    if console.as_json:
        logs = _all(paths, wanted, follow=follow)
        console.document({"run": paths.run_id, "logs": [log.as_data() for log in logs]})
    elif follow:
        _follow(paths, wanted)
    else:
        for log in _all(paths, wanted, follow=False):
            log.copy_new()
            log.end()
    return int(ExitCode.DONE)


def _wanted(paths: RunPaths, task: str) -> frozenset[str]:
    """The task that is meant; of a container the tasks in it."""
    story = tell_story(paths)
    name = find_task(story, task)
    inner = story.machine.tasks[name].inner
    return frozenset({name} if inner is None else (one.task.id for one in walk(inner)))


def _all(paths: RunPaths, wanted: frozenset[str] | None, *, follow: bool) -> list[_Log]:
    """The last attempt of each task that has started; with `follow` every one, once the run has ended."""
    logs: dict[tuple[str, int], _Log] = {}
    for records in turns(paths, until_end=follow):
        for record in _about(records, wanted, codec.STARTED):
            task, attempt = record["task"], record["attempt"]
            if not follow:
                logs.pop((task, attempt - 1), None)
            logs[task, attempt] = _Log(paths, task, attempt, prefixed=_is_many(wanted))
    return list(logs.values())


def _follow(paths: RunPaths, wanted: frozenset[str] | None) -> None:
    """Copy what comes, and look no more at attempts that have ended."""
    logs: dict[tuple[str, int], _Log] = {}
    for records in turns(paths, until_end=True):
        for record in _about(records, wanted, codec.STARTED, codec.ENDED):
            key = record["task"], record["attempt"]
            if record["type"] == codec.STARTED:
                logs[key] = _Log(paths, *key, prefixed=_is_many(wanted))
            elif key in logs:
                logs[key].copy_new()
                logs.pop(key).end()
        for log in logs.values():
            log.copy_new()
        flush()
    for log in logs.values():
        log.end()


def _about(
    records: list[dict[str, Any]], wanted: frozenset[str] | None, *kinds: str
) -> Iterator[dict[str, Any]]:
    return (r for r in records if r["type"] in kinds and (wanted is None or r["task"] in wanted))


def _is_many(wanted: frozenset[str] | None) -> bool:
    return wanted is None or len(wanted) > 1


class _Log:
    """One attempt's log, copied to stdout as it grows; whole lines only where lines have a prefix."""

    def __init__(self, paths: RunPaths, task: str, attempt: int, *, prefixed: bool) -> None:
        self._task = task
        self._attempt = attempt
        self._path = log_path(paths, task, attempt)
        self._prefix = f"{task} | ".encode() if prefixed else b""
        self._offset = 0
        self._rest = b""

    def as_data(self) -> dict[str, Any]:
        """The whole of it, as text; bytes that are none are replaced."""
        text = b"".join(self._new()).decode("utf-8", "replace")
        return {"task": self._task, "attempt": self._attempt, "path": self._path, "text": text}

    def copy_new(self) -> None:
        """Print what has come since the last time."""
        for chunk in self._new():
            self._write(chunk)

    def end(self) -> None:
        """Print a last line that has no end of its own."""
        if self._rest:
            write_data(self._prefix + self._rest + b"\n")
            self._rest = b""

    def _new(self) -> Iterator[bytes]:
        try:
            file = open(self._path, "rb")  # noqa: SIM115  (closed below; a silent attempt has no file)
        except FileNotFoundError:
            return
        with file:
            file.seek(self._offset)
            while chunk := file.read(1 << 20):
                self._offset += len(chunk)
                yield chunk

    def _write(self, chunk: bytes) -> None:
        if not self._prefix:
            write_data(chunk)
            return
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        write_data(b"".join(self._prefix + line + b"\n" for line in lines))
