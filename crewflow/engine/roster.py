"""One worker as the engine knows it, what is sent to it, and how attempts end that it takes along."""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from crewflow.engine import frames, procs
from crewflow.engine.executor import Ended, Spawned
from crewflow.engine.frames import ATTEMPT_FILE, RESULT_FILE
from crewflow.engine.procs import signal_name
from crewflow.run.states import Outcome

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable

    from crewflow.engine.executor import Attempt

RESULT_LIMIT = 128 * 1024 * 1024
"""Bytes of a result file; outputs have 1 MiB each at most."""

_TICK = 0.01
_ORPHAN_PATIENCE = 10.0  # seconds that workers get to end what they run when the keeper is gone


@dataclass(slots=True, eq=False)
class Worker:
    """One worker.

    Attributes:
        attempt: what it holds, until its end is reported.
        deadline: when something must be done about it if it says nothing, on the monotonic clock.
        halfway_since: when it began a frame that it has not ended.
        going: why it will not serve again: `timeout`, `cancel`, `broken`, `gone`, `retire`, `stale`.
        verdict: the end of its attempt, held back until the worker is gone.
    """

    id: int
    pid: int = 0
    control: socket.socket | None = None
    decoder: frames.Decoder = field(default_factory=frames.Decoder)
    attempt: Attempt | None = None
    began: float = 0.0
    deadline: float | None = None
    halfway_since: float | None = None
    going: str | None = None
    verdict: Ended | None = None


def order(attempt: Attempt) -> bytes:
    """The frame that gives an attempt to a worker; a large attempt goes by a file in its folder.

    Raises:
        OSError: the folder cannot be written.
    """
    fields = frames.attempt_to_json(attempt)
    try:
        return frames.pack({"run": fields})
    except frames.FrameError:
        Path(attempt.folder).mkdir(parents=True, exist_ok=True)
        path = Path(attempt.folder, ATTEMPT_FILE)
        path.unlink(missing_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(fd, "w", encoding="utf-8") as file:  # a descriptor
            json.dump(fields, file)
        return frames.pack({"run_file": str(path)})


def read_result(attempt: Attempt) -> object:
    """The result that did not fit a frame.

    Raises:
        FrameError: there is none.
    """
    try:
        with Path(attempt.folder, RESULT_FILE).open("rb") as file:
            return json.loads(file.read(RESULT_LIMIT))
    except (OSError, ValueError) as error:
        raise frames.FrameError("no result file") from error


def spawned(attempt: Attempt, fact: object) -> Spawned:
    """What a worker says of an attempt's process.

    Raises:
        FrameError: it says something else.
    """
    match fact:
        case [int(pid), int(start)]:
            return Spawned(attempt.task, attempt.number, pid, start)
    raise frames.FrameError("no pid and start")


def taken_along(worker: Worker, attempt: Attempt, status: int | None, survivors: tuple[int, ...]) -> Ended:
    """The end of an attempt whose worker went with it, for whatever reason."""
    name = signal_name(-status) if status is not None and status < 0 else None
    outcome, failure, error = {
        "cancel": (Outcome.CANCELLED, None, "cancelled"),
        "timeout": (Outcome.FAILED, "timeout", f"timed out after {attempt.timeout or 0:g}s"),
    }.get(worker.going or "", (Outcome.LOST, "lost", _loss_text(worker, status, name)))
    return Ended(
        attempt.task,
        attempt.number,
        outcome,
        failure,
        signal=name,
        error=error,
        output_bytes=_size_of_log(attempt),
        seconds=time.monotonic() - worker.began,
        survivors=survivors,
    )


def _loss_text(worker: Worker, status: int | None, name: str | None) -> str:
    if status is None:
        return "the worker process that ran it was ended together with its keeper"
    if worker.going == "broken":
        return "the worker process that ran it said what makes no sense, or nothing, and was ended"
    if name:
        return f"the worker process that ran it was killed by {name}"
    return f"the worker process that ran it ended with exit code {status}"


def never_ran(attempt: Attempt, outcome: Outcome, failure: str | None, error: str) -> Ended:
    """The end of an attempt of which no process ever existed."""
    return Ended(attempt.task, attempt.number, outcome, failure, error=error)


def with_survivors(ended: Ended, survivors: tuple[int, ...]) -> Ended:
    """An end to which it belongs that some processes could not be ended."""
    return replace(ended, survivors=ended.survivors + survivors) if survivors else ended


def _size_of_log(attempt: Attempt) -> int:
    with contextlib.suppress(OSError):
        return Path(attempt.folder, "output.log").stat().st_size
    return 0


def await_workers(workers: Iterable[Worker]) -> tuple[int, ...]:
    """Wait until workers without a keeper have ended, and kill those that do not; what is left."""
    ending = procs.Ending(_ORPHAN_PATIENCE)
    left = [proc for worker in workers if (proc := procs.look(worker.pid)) and lives(proc.pid)]
    while left and not ending.given_up():
        if time.monotonic() >= ending.kill_at:
            ending.press([*procs.descendants([proc.pid for proc in left]), *left])
        time.sleep(_TICK)
        left = [proc for proc in left if lives(proc.pid)]
    return tuple(proc.pid for proc in left)


def lives(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    proc = procs.look(pid)
    return proc is not None and proc.state not in "ZX"
