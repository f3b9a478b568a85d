"""Where text goes: data to stdout, talk to stderr; colour only where a person looks and wants it.

Nobody needs to listen: what is said to a closed stderr is dropped, and a run goes on all the same. Data is
what the command was asked for: what cannot be written is an `OutputError`; a reader that has gone is a
`ReaderGoneError`, for that is no fault.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from typing import Any, NoReturn, TextIO

from crewflow.errors import StateError

SCHEMA_VERSION = 1
"""Of the JSON documents that commands print; raised when a member changes its meaning."""

_CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}
_CONTROL = re.compile(r"\x1b\[[0-9;]*m|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class OutputError(StateError):
    """What was to be printed could not be written."""


class ReaderGoneError(Exception):
    """Whoever read the output has gone, `head` say: there is no use in printing more."""


@dataclass(frozen=True, slots=True)
class Console:
    """How a command speaks.

    Attributes:
        as_json: data is one JSON document instead of text.
        quiet: only what failed and the last word; `verbose`: starts too.
        color: `auto`, `always` or `never`.
    """

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    color: str = "auto"

    def data(self, text: str) -> None:
        """Print what the command was asked for. Raises OutputError, ReaderGoneError."""
        write_data(printable(text, sys.stdout).encode(sys.stdout.encoding, "replace") + b"\n")

    def document(self, document: dict[str, Any]) -> None:
        """Print the one JSON document of a command. Raises OutputError, ReaderGoneError."""
        self.data(json.dumps({"schema_version": SCHEMA_VERSION, **document}, indent=2, ensure_ascii=True))

    def talk(self, text: str) -> None:
        """Say something to the person at the terminal, if there is one."""
        try:
            sys.stderr.write(printable(text, sys.stderr) + "\n")
            sys.stderr.flush()
        except OSError:
            silence(sys.stderr)

    def paint(self, text: str, style: str, stream: TextIO) -> str:
        """The text in a colour, if the stream shows colours."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.has_color(stream) else text

    def has_color(self, stream: TextIO) -> bool:
        """Whether colours are shown: by the option, by `NO_COLOR`, or because a terminal is there."""
        if self.color != "auto":
            return self.color == "always"
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return False
        return stream.isatty()


def printable(text: str, stream: TextIO) -> str:
    """The text as the stream can take it: what its encoding lacks, and what steers terminals, is escaped.

    Colours pass, since they do no harm and are ours most of the time.
    """
    encoding = stream.encoding or "utf-8"
    plain = _CONTROL.sub(_escape, text) if not text.isprintable() else text
    return plain.encode(encoding, "backslashreplace").decode(encoding)


def write_data(data: bytes) -> None:
    """Write bytes to stdout. Raises OutputError, ReaderGoneError."""
    try:
        sys.stdout.buffer.write(data)
    except OSError as error:
        _fail(error)


def flush() -> None:
    """Write out what is buffered, so that a full disk is noticed. Raises OutputError, ReaderGoneError."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _fail(error)


def silence(stream: TextIO) -> None:
    """Let go of a stream that cannot be written to, with what is buffered for it."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def open_missing_streams() -> None:
    """Put /dev/null in the place of standard streams that are closed.

    Else the next file that is opened, a journal say, would get the number of one, and what is printed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))


def _fail(error: OSError) -> NoReturn:
    silence(sys.stdout)
    if isinstance(error, BrokenPipeError):
        raise ReaderGoneError from error
    raise OutputError(f"cannot write the output: {(error.strerror or 'unknown reason').lower()}") from error


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    return found if len(found) > 1 else found.encode("unicode_escape").decode("ascii")
