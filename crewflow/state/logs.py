"""The output of attempts, read back: bytes as they came, shown as text."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from crewflow.state.paths import RunPaths

_TAIL_BYTES: Final = 16_384
_LONGEST_LINE: Final = 400
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


def log_path(run: RunPaths, task: str, number: int) -> str:
    """Where an attempt's output is kept; no file is there if it was silent."""
    return f"{run.attempt(task, number)}/output.log"


def tail_lines(path: str, count: int) -> list[str]:
    """The last lines of a log, fit for a terminal: no control characters, none too long."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    lines = [line.rsplit("\r", 1)[-1] for line in text.replace("\r\n", "\n").split("\n")]
    shown = [_CONTROL.sub("", line)[:_LONGEST_LINE] for line in lines]
    while shown and not shown[-1].strip():
        shown.pop()
    return shown[-count:]
