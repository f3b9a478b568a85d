"""Where text goes: data to stdout, talk to stderr; colour only where a person looks and wants it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import Any, TextIO

SCHEMA_VERSION = 1
"""Of the JSON documents that commands print; raised when a member changes its meaning."""

_CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


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
        """Print what the command was asked for."""
        sys.stdout.write(printable(text, sys.stdout) + "\n")

    def document(self, document: dict[str, Any]) -> None:
        """Print the one JSON document of a command."""
        self.data(json.dumps({"schema_version": SCHEMA_VERSION, **document}, indent=2, ensure_ascii=True))

    def talk(self, text: str) -> None:
        """Say something to the person at the terminal."""
        sys.stderr.write(printable(text, sys.stderr) + "\n")

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
    """The text as the stream can take it: what its encoding lacks is shown as an escape."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def flush() -> None:
    """Write out what is buffered, so that a full disk is noticed. Raises OSError."""
    sys.stdout.flush()
    sys.stderr.flush()
