"""A worker: runs one attempt after the other and reports each, until its socket ends.

    engine --> {"run": attempt} | {"run_file": path} | {"hold": path}
    engine --> {"cancel": number, "now": bool, "interrupt": bool}
    engine <-- {"spawned": [pid, start]}     of a process that lives longer than a moment
    engine <-- {"ended": fields, "retire": why | null} | {"ended_file": .., "retire": ..} | {"stale": why}

What does not fit a frame is a file in the attempt's folder: `attempt.json` there, `result.json` back.
A worker is a child of the keeper, in a session of its own, and adopts what its attempts orphan. When its
socket ends it goes, or, in the middle of an attempt, waits for the keeper to end it and all below it.
When the keeper is gone it ends everything below it, since nobody else is left to do so, and goes.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from crewflow.engine import attempt as attempts
from crewflow.engine import callables, frames, procs, spawn
from crewflow.run.states import Outcome

if TYPE_CHECKING:
    import socket

    from crewflow.engine.executor import Attempt, Ended

MOMENT = 0.002
"""Seconds until a process is reported as spawned; one that ended sooner needs not be found again."""

ORPHAN_GRACE = 2.0
"""Seconds between TERM and KILL when the keeper is gone."""

KEEPER_GONE = getattr(signal, "SIGRTMAX", signal.SIGUSR2)
"""What the kernel sends when the keeper ends; a signal that no step is likely to use."""


def run(control: socket.socket, keeper: int) -> NoReturn:
    """Be a worker. The process is a fresh fork of the keeper, whose pid is `keeper`."""
    os.setsid()
    os.chdir("/")  # a step may remove the folder that crewflow was started in
    _set_signals()
    procs.adopt_orphans()
    procs.signal_when_parent_ends(KEEPER_GONE)
    if os.getppid() != keeper:  # it ended before it could be watched
        os._exit(1)
    with contextlib.suppress(EOFError, ConnectionError):
        _Worker(control).serve()
    os._exit(0)


def _set_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGQUIT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(KEEPER_GONE, _end_as_orphan)


def _end_as_orphan(*_: object) -> None:
    procs.end_all_descendants(ORPHAN_GRACE)
    os._exit(1)


class _Worker:
    __slots__ = ("_base", "_control", "_decoder", "_host", "_orders")

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._decoder = frames.Decoder()
        self._orders: list[frames.Frame] = []
        self._base = spawn.caller_environment()
        self._host = callables.Host()

    def serve(self) -> None:
        """Do what the engine says until it says no more."""
        while True:
            while not self._orders:
                self._receive()
            self._obey(self._orders.pop(0))

    def _receive(self) -> None:
        data = self._control.recv(65_536)
        if not data:
            raise EOFError
        self._orders += self._decoder.feed(data)

    def _obey(self, order: frames.Frame) -> None:
        if "run" in order:
            self._run(frames.attempt_from_json(order["run"]))
        elif "run_file" in order:
            path = Path(order["run_file"])
            self._run(frames.attempt_from_json(json.loads(path.read_bytes())))
        elif "hold" in order:
            hold(order["hold"])

    def _run(self, attempt: Attempt) -> None:
        if attempt.kind == "python":
            self._call(attempt)
        else:
            self._tell(attempt, self._follow(attempt), None)

    def _call(self, attempt: Attempt) -> None:
        stale = self._host.stale(attempt.project)
        if stale:
            self._send({"stale": stale})
            os._exit(0)
        ended, retire = self._host.call(attempt, self._base)
        self._tell(attempt, ended, retire)
        if retire:
            os._exit(0)

    def _follow(self, attempt: Attempt) -> Ended:
        """Run a script or command to its end, obeying what concerns it meanwhile."""
        running = attempts.begin(attempt, self._base)
        tell_at: float | None = time.monotonic() + MOMENT
        while running.ended is None:
            tell_at = self._attend(attempt, running, tell_at)
        return running.ended

    def _attend(self, attempt: Attempt, running: attempts.Running, tell_at: float | None) -> float | None:
        """One turn of an attempt; `tell_at` is when to report its process, None once that is done."""
        if running.turn(None if tell_at is None else MOMENT, self._control.fileno()):
            self._listen(attempt, running)
        if tell_at is None or running.ended or time.monotonic() < tell_at:
            return tell_at
        spawned = running.spawned()
        self._send({"spawned": [spawned.pid, spawned.start]})
        return None

    def _listen(self, attempt: Attempt, running: attempts.Running) -> None:
        try:
            self._receive()
        except (EOFError, ConnectionError):
            # Not by itself: were the keeper killed too, nobody would end what it leaves.
            while True:
                signal.pause()
        for order in self._orders:
            if order.get("cancel") == attempt.number:
                running.cancel(now=order["now"], interrupt=order["interrupt"])
        self._orders = [order for order in self._orders if "cancel" not in order]

    def _tell(self, attempt: Attempt, ended: Ended, retire: str | None) -> None:
        fields = frames.ended_to_json(ended)
        try:
            data = frames.pack({"ended": fields, "retire": retire})
        except frames.FrameError:
            data = _by_file(attempt, ended, fields, retire)
        self._control.sendall(data)

    def _send(self, frame: frames.Frame) -> None:
        self._control.sendall(frames.pack(frame))


def _by_file(attempt: Attempt, ended: Ended, fields: list[Any], retire: str | None) -> bytes:
    try:
        Path(attempt.folder, frames.RESULT_FILE).write_bytes(json.dumps(fields).encode())
    except OSError as error:
        why = f"its result could not be kept: {spawn.words(error)}"
        poor = replace(
            ended,
            outcome=Outcome.FAILED,
            failure="bad_output",
            error=why,
            outputs={},
            result=None,
            artifacts=(),
        )
        return frames.pack({"ended": frames.ended_to_json(poor), "retire": retire})
    return frames.pack({"ended_file": True, "retire": retire})


def hold(path: str) -> int:
    """Share the lock that says that processes of a run live, until this process ends."""
    from crewflow import durable  # noqa: PLC0415  # not every process holds one

    return durable.hold_alive(path)
