"""Words of a shell script, and the words within `${ }`.

Constructs that shells read in different ways are refused as soon as an expression is near.
"""

from __future__ import annotations

import re
from abc import abstractmethod

from crewflow.spec.shell.cursor import BARE, QUOTED, UnsureError, Use, Value
from crewflow.spec.shell.quotes import NUMBER, QuoteScanner
from crewflow.spec.shell.words import Need, Word

_PARAMETER = re.compile(r"[#!]?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_DOUBTFUL = re.compile(r"[}\\`\n]")
_PLAIN_OUTPUT = re.compile(r">\([ \t]*(?:tee|cat|logger|grep|gzip)[ \t][^|;&$`\n()]*(?:>&[12][ \t]*)?\)")
_ENDS_WORD = frozenset(" \t\n;&|<>()")
_PATTERN_OPERATORS = ("##", "#", "%%", "%")
_WORD_OPERATORS = (":-", ":=", ":?", ":+", "-", "=", "?", "+")


class WordScanner(QuoteScanner):
    """Reads words."""

    @abstractmethod
    def _lines(self) -> None:
        """Skip blanks, comments and ends of lines."""

    def _word(self, *, assigns: bool = False) -> Word:
        """One word; `assigns`: it stands where an assignment may."""
        start = self._at
        value = Value()
        unsure = splits = False
        while not self._word_ends():
            character = self._peek()
            if self._compound_piece(start, assigns=assigns):
                value.add(None)
                unsure = unsure or character == "("
                continue
            unsure = unsure or character in "*?[" or (character == "{" and self._peek(2) != "{}")
            splits = splits or character in "$`" or self._peek(3) == '"$@'
            self._piece(value)
        if self._at == start:
            raise UnsureError(start)
        authored = self._text[start : self._at]
        odd = (unsure and authored != "[") or ("$'" in authored and not value.exact)
        text = value.prefix if value.exact else None
        return Word(start, self._at, text, value.prefix, self._within(start, self._at), odd, splits)

    def _word_ends(self) -> bool:
        if self._ends():
            return True
        character = self._peek()
        if character in "<>":
            return self._peek(2) not in {"<(", ">("}
        if character == "(":
            return not self._opens_within()
        return character in _ENDS_WORD or (character == "`" and self._backquoted)

    def _opens_within(self) -> bool:
        """Whether a `(` belongs to the word before it: a list, or an extended pattern."""
        return self._at > 0 and self._text[self._at - 1] in "=?*+@!" and self._at - 1 not in self._marks

    def _compound_piece(self, start: int, *, assigns: bool) -> bool:
        """Read an expression, a process substitution, a list, a pattern or an index, if one is next."""
        character = self._peek()
        if self._at in self._marks:
            self._take(BARE)
        elif character in "<>":
            opened = self._at
            self._at += 2
            self._substituted(opened)
            if character == ">" and not _PLAIN_OUTPUT.fullmatch(self._text, opened, self._at):
                self._refuse(self._near(opened), Need.UNSURE)
        elif character == "(" and self._at == start:
            raise UnsureError(start)
        elif character == "(" and _ASSIGNED.fullmatch(self._text, start, self._at):
            self._array()
        elif character == "(":
            self._extended_pattern()
        elif character == "[" and assigns and _NAME.fullmatch(self._text, start, self._at):
            self._index()
        else:
            return False
        return True

    def _array(self) -> None:
        """`name=( ... )`: words over several lines; an index in it is computed."""
        start = self._at
        self._at += 1
        while True:
            self._lines()
            if self._ends():
                raise UnsureError(start)
            if self._peek() == ")":
                self._at += 1
                return
            if self._peek() == "[":
                self._index()
            else:
                self._word()

    def _extended_pattern(self) -> None:
        start, depth = self._at, 0
        while not self._ends():
            if self._at in self._marks:
                self._refuse(self._at, Need.UNSURE)
            character = self._peek()
            if character in "()|":
                depth += (character == "(") - (character == ")")
                self._at += 1
                if not depth:
                    return
            else:
                self._piece(Value())
        raise UnsureError(start)

    def _parameter(self, *, quoted: bool) -> None:
        """`${name...}`."""
        start = self._at
        self._at += 2
        if self._at in self._marks:
            self._refuse(self._at, Need.NAME)
        match = _PARAMETER.match(self._text, self._at)
        if not match:
            raise UnsureError(start)
        self._at = match.end()
        name = match.group().lstrip("#!")
        if match.group().startswith("!") or self._peek() == "@":
            self._computed.add(name)
        if self._peek() == "}":
            self._at += 1
            return
        if self._text[start + 2] in "#!" and match.group() not in {"#", "!"} and self._peek() != "[":
            self._operand(None, start, nested_quotes=False)
            return
        if self._at in self._marks:
            self._refuse(self._at, Need.NAME)
        if self._peek() == "[":
            self._index()
        if self._peek() == "@":
            self._computed.add(name)
        assigns = self._peek() == "=" or self._peek(2) == ":="
        self._operation(start, quoted=quoted)
        if assigns:
            self._holds(name, start + 2, self._at)

    def _operation(self, start: int, *, quoted: bool) -> None:
        rest = self._text[self._at : self._at + 2]
        word = next((item for item in _WORD_OPERATORS if rest.startswith(item)), None)
        pattern = next((item for item in _PATTERN_OPERATORS if rest.startswith(item)), None)
        if word:
            self._at += len(word)
            self._operand(QUOTED if quoted else BARE, start, nested_quotes=not quoted)
        elif pattern:
            self._at += len(pattern)
            self._operand(None if self._in_document else BARE, start, nested_quotes=True)
        elif rest.startswith(":"):
            self._at += 1
            self._offset(start)
        else:
            self._operand(None, start, nested_quotes=not quoted)

    def _offset(self, start: int) -> None:
        """`${name:from:length}`: arithmetic."""
        while not self._ends() and self._peek() != "}":
            if self._at in self._marks:
                self._take_number(NUMBER, "arithmetic")
            elif self._peek() in "'\"":
                raise UnsureError(start)
            else:
                self._computing_piece()
        self._computes(start + 2, self._at)
        self._at += 1

    def _operand(self, use: Use | None, start: int, *, nested_quotes: bool) -> None:
        """The word behind an operator, up to `}`.

        Args:
            use: how an expression is referred to; None: it is refused.
            start: where the `${` stands.
            nested_quotes: whether quotes in it are quotes in every shell.
        """
        while self._peek() != "}":
            if self._ends():
                raise UnsureError(start)
            if self._at in self._marks:
                self._take(use) if use else self._refuse(self._at, Need.UNSURE)
            elif self._peek() in "'\"" and not nested_quotes:
                self._doubtful_quotes(start)
            elif use is QUOTED:
                self._quoted_piece(Value())
            else:
                self._piece(Value())
        self._at += 1

    def _doubtful_quotes(self, start: int) -> None:
        """Quotes that only some shells read as quotes: skipped if that makes no difference here."""
        close = self._text.find(self._peek(), self._at + 1)
        if close < 0 or _DOUBTFUL.search(self._text, self._at, close) or self._within(self._at, close):
            raise UnsureError(start)
        self._may_compute(self._at, close)
        self._at = close + 1
