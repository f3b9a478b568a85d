"""Quotes and substitutions of a shell script, within each other.

For each expression it decides which quotes make a reference to a variable exact in its place. It refuses
the places where nothing is replaced and where the value would be computed.
"""

from __future__ import annotations

import re
from abc import abstractmethod

from crewflow.spec.shell.cursor import QUOTED, Cursor, UnsureError, Use, Value
from crewflow.spec.shell.words import Need

NUMBER = Use("(${", "})")
PLAIN_NUMBER = Use("${", "}")

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")


class QuoteScanner(Cursor):
    """Reads the pieces that words are made of.

    What stands within `$( )` is read by whoever knows commands, `${ }` by whoever knows words.
    """

    _backquoted = False
    _in_document = False

    @abstractmethod
    def _commands_within(self, close: str, start: int) -> None:
        """Read commands up to `close`, which is consumed; what was opened stands at `start`."""

    @abstractmethod
    def _parameter(self, *, quoted: bool) -> None:
        """Read `${...}`."""

    def _piece(self, value: Value) -> None:
        """The next piece of an unquoted word."""
        match self._peek():
            case "\\":
                value.add(self._escape())
            case "'":
                value.add(self._single())
            case '"':
                self._double(value)
            case "$":
                self._dollar(value, quoted=False)
            case "`":
                self._backquote(quoted=False)
                value.add(None)
            case character:
                self._at += 1
                value.add(character)

    def _quoted_piece(self, value: Value) -> None:
        """The next piece within double quotes or a here-document."""
        match self._peek():
            case "\\":
                kept = self._text[self._at + 1 : self._at + 2] not in {"$", "`", '"', "\\", "\n"}
                value.add("\\" if kept else "")
                value.add(self._escape())
            case "$":
                self._dollar(value, quoted=True)
            case "`":
                self._backquote(quoted=True)
                value.add(None)
            case character:
                self._at += 1
                value.add(character)

    def _escape(self) -> str:
        if self._at + 1 in self._marks:
            self._refuse(self._at + 1, "escape")
        escaped = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        return "" if escaped == "\n" else escaped

    def _single(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise UnsureError(self._at)
        self._refuse_within(self._at, end, "single quotes")
        value = self._text[self._at + 1 : end]
        self._at = end + 1
        return value

    def _ansi(self) -> str | None:
        start = self._at
        self._at += 2
        while not self._ends() and self._peek() != "'":
            self._at += 2 if self._peek() == "\\" else 1
        if self._ends():
            raise UnsureError(start)
        self._refuse_within(start, self._at, "single quotes")
        value = self._text[start + 2 : self._at]
        self._at += 1
        return None if "\\" in value or self._language in {"sh", "dash"} else value

    def _double(self, value: Value) -> None:
        start = self._at
        self._at += 1
        while not self._ends():
            if self._at in self._marks:
                self._take(QUOTED)
                value.add(None)
            elif self._peek() == '"':
                self._at += 1
                return
            else:
                self._quoted_piece(value)
        raise UnsureError(start)

    def _localized(self, start: int) -> None:
        self._at += 1
        self._double(Value())
        self._refuse_within(start, self._at, "localized")

    def _dollar(self, value: Value, *, quoted: bool) -> None:
        start = self._at
        match self._text[start + 1 : start + 2]:
            case "(":
                self._dollar_parenthesis(start)
            case "{":
                self._parameter(quoted=quoted)
            case "'" if not quoted:
                value.add(self._ansi())
                return
            case '"' if not quoted:
                self._localized(start)
            case "[" if self._language not in {"sh", "dash"}:
                self._old_arithmetic(start)
            case "\\":
                raise UnsureError(start)
            case _:
                value.add(self._plain_variable(start))
                return
        value.add(None)

    def _plain_variable(self, start: int) -> str | None:
        match = _VARIABLE.match(self._text, start + 1)
        if not match:
            self._at = start + 1
            return "$"
        self._at = match.end()
        if self._language == "zsh" and self._peek() == "[":
            self._refuse_within(self._at, self._text.find("]", self._at), "index")
        return None

    def _old_arithmetic(self, start: int) -> None:
        close = self._text.find("]", start)
        if close < 0:
            raise UnsureError(start)
        self._refuse_within(start, close, Need.UNSURE)
        self._computes(start, close)
        self._at = close + 1

    def _dollar_parenthesis(self, start: int) -> None:
        if self._text.startswith("((", start + 1) and self._arithmetic(start + 3):
            return
        self._at = start + 2
        self._substituted(start)

    def _substituted(self, start: int) -> None:
        in_document, self._in_document = self._in_document, False
        self._commands_within(")", start)
        self._in_document = in_document

    def _backquote(self, *, quoted: bool) -> None:
        start = self._at
        end = start + 1
        while end < len(self._text) and self._text[end] != "`":
            end += 2 if self._text[end] == "\\" else 1
        if end >= len(self._text):
            raise UnsureError(start)
        if not self._within(start, end):
            self._may_compute(start, end)
            self._at = end + 1
            return
        if quoted or "\\" in self._text[start:end]:
            self._refuse_within(start, end, "backquotes")
        self._at = start + 1
        self._backquoted = True
        self._commands_within("`", start)
        self._backquoted = False
        if self._at != end + 1:
            raise UnsureError(start)

    def _arithmetic(self, start: int) -> bool:
        """Arithmetic up to `))`, from behind the `((`; False if it is none, and then there is no telling."""
        self._at = start
        depth = 0
        while not self._ends() and (depth or self._peek() != ")"):
            if self._at in self._marks:
                self._at += 1
            elif self._peek() == "'":
                raise UnsureError(start)
            else:
                depth += {"(": 1, ")": -1}.get(self._peek(), 0)
                self._computing_piece()
        if self._peek(2) != "))":
            self._refuse_within(start, self._at, Need.UNSURE)
            return False
        for mark in self._within(start, self._at):
            self._must_be_number(mark, NUMBER, "arithmetic")
        self._computes(start, self._at)
        self._at += 2
        return True

    def _computing_piece(self) -> None:
        """A piece of arithmetic; what commands in it print is computed, so no value may go into them."""
        start = self._at
        match self._peek():
            case "'":
                self._single()
            case '"':
                self._double(Value())
            case "$" | "`":
                self._quoted_piece(Value())
            case "\\":
                self._escape()
            case _:
                self._at += 1
        self._refuse_within(start, self._at, "nested arithmetic")

    def _index(self) -> None:
        """`[ ... ]` behind a variable's name: arithmetic, or a key."""
        start = self._at
        self._at += 1
        while not self._ends() and self._peek() != "]":
            if self._at in self._marks:
                self._take_number(PLAIN_NUMBER, "index")
            elif self._peek() == "\n":
                raise UnsureError(start)
            else:
                self._computing_piece()
        self._at += 1
        self._computes(start, self._at)
