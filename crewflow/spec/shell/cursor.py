"""The place in a shell script where the scanner stands, and what it may say about expressions there.

`text` has one character, of no meaning, at each place in `marks`; those characters are the expressions.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from crewflow.spec.shell.faults import fault_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crewflow.spec.template import Placed

_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
_COMPUTING = re.compile(r"\(\(|\[|\$\{!|@P|-(?:eq|ne|lt|le|gt|ge)\b|\b(?:eval|let|declare|typeset|local)\b")
_EXPANDED = re.compile(r"\$\{?[#!]?([A-Za-z_][A-Za-z0-9_]*|[0-9@*])")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|(?<=\$)[0-9@*]|(?<=\$\{)[0-9@*]")


@dataclass(frozen=True, slots=True)
class Use:
    """What stands around the reference to the variable, and whether it carries the value as a number.

    `before` None: the expression stands in a comment and stays as it is.
    """

    before: str | None
    after: str = ""
    number: bool = False


BARE = Use('"${', '}"')
QUOTED = Use("${", "}")
COMMENT = Use(None)


@dataclass
class Value:
    """What a word comes to after quote removal, as far as it is known from its start."""

    prefix: str = ""
    exact: bool = True

    def add(self, piece: str | None) -> None:
        """Add the next piece; None is one that the shell computes."""
        self.exact = self.exact and piece is not None
        if self.exact and piece:
            self.prefix += piece


class UnsureError(Exception):
    """The text at `at` could not be read."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class Cursor:
    """Goes through one script.

    `_uses` says of each expression how it is referred to, `_computed` which variables (`1` for `$1`) are
    computed or run as code somewhere in the script.
    """

    def __init__(
        self, text: str, marks: Mapping[int, Placed], language: str, is_integer: Callable[[Placed], bool]
    ) -> None:
        self._text = text
        self._marks = marks
        self._order = sorted(marks)
        self._language = language
        self._is_integer = is_integer
        self._at = 0
        self._uses: dict[int, Use] = {}
        self._computed: set[str] = set()
        self._assigned: dict[str, list[int]] = {}  # variable -> expressions in its value
        self._sources: dict[str, list[str]] = {}  # variable -> texts that its value is made of

    def _ends(self) -> bool:
        return self._at >= len(self._text)

    def _peek(self, length: int = 1) -> str:
        return self._text[self._at : self._at + length]

    def _blanks(self) -> None:
        """Skip blanks and a comment."""
        if match := _BLANKS.match(self._text, self._at):
            self._at = match.end()
        if self._peek() == "#":
            end = self._text.find("\n", self._at)
            end = len(self._text) if end < 0 else end
            self._uses.update(dict.fromkeys(self._within(self._at, end), COMMENT))
            self._at = end

    def _take(self, use: Use) -> None:
        """The expression that is next is referred to in this way."""
        self._uses[self._at] = use
        self._at += 1

    def _take_number(self, use: Use, place: str) -> None:
        """The expression that is next must be an integer here."""
        self._must_be_number(self._at, use, place)
        self._at += 1

    def _must_be_number(self, mark: int, use: Use, place: str, program: str = "") -> None:
        if not self._is_integer(self._marks[mark]):
            self._refuse(mark, place, program)
        self._uses[mark] = Use(use.before, use.after, number=True)

    def _refuse(self, mark: int, place: str, program: str = "") -> NoReturn:
        raise fault_of(place, program, self._marks[mark])

    def _refuse_within(self, start: int, end: int, place: str, program: str = "") -> None:
        for mark in self._within(start, end)[:1]:
            self._refuse(mark, place, program)

    def _within(self, start: int, end: int) -> tuple[int, ...]:
        return tuple(self._order[bisect_left(self._order, start) : bisect_left(self._order, end)])

    def _near(self, at: int) -> int:
        return next((mark for mark in self._order if mark >= at), self._order[-1])

    def _computes(self, start: int, end: int) -> None:
        self._computed.update(_IDENTIFIER.findall(self._text[start:end]))

    def _expands(self, start: int, end: int) -> None:
        """The variables that are expanded here become code."""
        self._computed.update(_EXPANDED.findall(self._text, start, end))

    def _holds(self, name: str, start: int, end: int) -> None:
        """The value of a variable is made of this text."""
        self._assigned.setdefault(name, []).extend(self._within(start, end))
        self._sources.setdefault(name, []).append(self._text[start:end])

    def _may_compute(self, start: int, end: int) -> None:
        """Of a part that is not read word by word: if it computes at all, it may compute any name in it."""
        if _COMPUTING.search(self._text, start, end):
            self._computes(start, end)
