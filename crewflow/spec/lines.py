"""The text of one file and its lines: bytes become text here, and indices become places.

A line ends with LF, CR LF or CR, as in editors. Other characters that some tools take for line ends
(U+0085, U+2028, U+2029) and characters that YAML forbids are refused, with their place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from crewflow.errors import Place, Problem

MAX_BYTES = 10_000_000
MAX_DEPTH = 100
MAX_DOCUMENTS = 1_000
MAX_FAULTS = 1_000
"""So many are told of a text, and of a document by its schema; nobody reads more."""

_GOOD_BYTES = bytes([0x09, 0x0A, 0x0D, *range(0x20, 0x7F)])
_BAD_CHARACTER = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_LINE_END = re.compile(r"\r\n|\r|\n")
_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


class Lines:
    """The text of a file, without a byte order mark, and where its lines begin."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._asked: tuple[int, str] = (0, "")  # the line asked for last: many faults may share a long one

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE_END.finditer(self.text))]

    def place(self, start: int, end: int) -> Place:
        """The place of the characters from `start` up to `end`, cut at the end of the first line."""
        line = bisect_right(self._starts, start)
        column = start - self._starts[line - 1]
        width = min(end - start, len((self.line_text(line) or "").rstrip()) - column)
        return Place(self.file, line, column + 1, max(width, 0))

    def line_start(self, line: int) -> int:
        """The index of the first character of a line counted from 1."""
        return self._starts[line - 1]

    def line_text(self, line: int) -> str | None:
        """The text of a line counted from 1, without its end; None if there is no such line."""
        if not 1 <= line <= len(self._starts):
            return None
        if line != self._asked[0]:
            start = self._starts[line - 1]
            match = _LINE_END.search(self.text, start)
            self._asked = line, self.text[start : match.start() if match else len(self.text)]
        return self._asked[1]

    def problem(self, rule: str, start: int, end: int, message: str, hint: str | None = None) -> Problem:
        """A problem with the characters from `start` up to `end`."""
        place = self.place(start, end)
        return Problem(rule, place, message, hint, source_line=self.line_text(place.line))


def decode(file: str, data: bytes) -> Lines | Problem:
    """The file's text, or the one problem that keeps it from being read at all."""
    if len(data) > MAX_BYTES:
        hint = f"at most {MAX_BYTES // 1_000_000} MB are read"
        return _nowhere("CF011", file, "the file is too large", hint)
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _nowhere("CF004", file, f"the file is {name}", "save it as UTF-8")
    try:
        lines = Lines(file, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return _not_utf8(file, data, error.start)
    return lines if not data.translate(None, _GOOD_BYTES) else _bad_character(lines) or lines


def _nowhere(rule: str, file: str, message: str, hint: str) -> Problem:
    return Problem(rule, Place(file, 1, 1, 0), message, hint)


def _not_utf8(file: str, data: bytes, start: int) -> Problem:
    # The line is shown with a mark in place of each byte that is no text.
    lines = Lines(file, data.decode("utf-8", "replace").removeprefix("\ufeff"))
    index = len(data[:start].decode("utf-8-sig"))
    hint = "save the file as UTF-8, or write the character as an escape in double quotes"
    return lines.problem("CF004", index, index + 1, f"the byte 0x{data[start]:02X} is not UTF-8 text", hint)


def _bad_character(lines: Lines) -> Problem | None:
    match = _BAD_CHARACTER.search(lines.text)
    if match is None:
        return None
    code = ord(match.group())
    message = f"the character U+{code:04X} may not stand in a YAML file"
    hint = f'remove it, or write it as "\\u{code:04x}" in double quotes'
    return lines.problem("CF004", match.start(), match.end(), message, hint)
