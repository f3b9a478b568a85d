"""Messages between engine, keeper and workers: a length, then one JSON object of at most 4 KiB.

    4 bytes, big-endian | that many bytes of JSON

A frame is small enough to be sent whole into an empty socket, so no end ever waits for the other.
What is larger goes into a file, and the frame says so. What a process sends that is no frame, a
`Decoder` refuses at the first byte that shows it, however much would follow.
"""

from __future__ import annotations

import json
import struct
from typing import Any

from crewflow.engine.executor import Attempt, Ended
from crewflow.run.states import Outcome
from crewflow.spec.model import Output

LIMIT = 4096
"""Bytes of JSON in a frame."""

ATTEMPT_FILE = "attempt.json"
RESULT_FILE = "result.json"
"""Names in an attempt's folder of what does not fit a frame."""

_HEAD = struct.Struct(">I")
_dump = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode

Frame = dict[str, Any]


class FrameError(Exception):
    """The bytes are no frame, or the message is too large to be one."""


def pack(frame: Frame) -> bytes:
    """The bytes of a frame.

    Raises:
        FrameError: it is larger than `LIMIT`.
    """
    body = _dump(frame).encode()
    if len(body) > LIMIT:
        raise FrameError(f"{len(body)} bytes")
    return _HEAD.pack(len(body)) + body


def attempt_to_json(attempt: Attempt) -> list[Any]:
    """An attempt as JSON; its fields in order."""
    return [
        attempt.task,
        attempt.number,
        attempt.kind,
        attempt.action,
        attempt.shell,
        attempt.arguments,
        attempt.env,
        attempt.cwd,
        attempt.timeout,
        attempt.grace,
        [[out.name, out.type, out.origin, out.has_default, out.default] for out in attempt.outputs],
        attempt.artifacts,
        attempt.keeps_stdout,
        attempt.folder,
        attempt.project,
    ]


def attempt_from_json(fields: list[Any]) -> Attempt:
    """The attempt that `attempt_to_json` was given."""
    task, number, kind, action, shell, arguments, env, cwd, timeout, grace, outputs, artifacts, *rest = fields
    return Attempt(
        task,
        number,
        kind,
        action if isinstance(action, str) else tuple(action),
        tuple(shell),
        arguments,
        env,
        cwd,
        timeout,
        grace,
        tuple(Output(*fields) for fields in outputs),
        {id_: tuple(patterns) for id_, patterns in artifacts.items()},
        *rest,
    )


def ended_to_json(ended: Ended) -> list[Any]:
    """How an attempt ended, as JSON: its fields in order, without task and number."""
    return [
        ended.outcome,
        ended.failure,
        ended.exit_code,
        ended.signal,
        ended.error,
        ended.outputs,
        ended.result,
        ended.artifacts,
        ended.output_bytes,
        ended.seconds,
        ended.survivors,
    ]


def ended_from_json(attempt: Attempt, fields: Any) -> Ended:
    """The end of `attempt` that `ended_to_json` was given, by a process that may have gone wrong.

    Raises:
        FrameError: it is nothing of the kind.
    """
    try:
        outcome, failure, code, name, error, outputs, result, artifacts, size, seconds, survivors = fields
        checked = (
            Outcome(outcome),
            dict(outputs),
            tuple(artifacts),
            int(size),
            float(seconds),
            tuple(survivors),
        )
    except (ValueError, TypeError) as fault:
        raise FrameError("no end of an attempt") from fault
    outcome, outputs, artifacts, size, seconds, survivors = checked
    return Ended(
        attempt.task,
        attempt.number,
        outcome,
        failure,
        code,
        name,
        error,
        outputs,
        result,
        artifacts,
        size,
        seconds,
        survivors,
    )


class Decoder:
    """Turns the bytes of a socket, in whatever pieces they come, into frames."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    @property
    def halfway(self) -> bool:
        """A frame has begun and not ended."""
        return bool(self._rest)

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that `data` completes.

        Raises:
            FrameError: what came is no frame; nothing that follows can be trusted.
        """
        data = self._rest + data
        frames = []
        while len(data) >= _HEAD.size:
            (length,) = _HEAD.unpack_from(data)
            if length > LIMIT:
                raise FrameError(f"a length of {length}")
            end = _HEAD.size + length
            if len(data) < end:
                break
            frames.append(_parse(data[_HEAD.size : end]))
            data = data[end:]
        self._rest = data
        return frames


def _parse(body: bytes) -> Frame:
    try:
        frame = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FrameError("no JSON") from error
    if not isinstance(frame, dict):
        raise FrameError("no JSON object")
    return frame
