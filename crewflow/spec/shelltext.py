"""Words of a shell script: quotes, and the substitutions within each other.

For each expression it decides which quotes make a reference to a variable exact in its place. It refuses
the places where nothing is replaced, where the value would be computed, and those that shells read in
different ways.
"""

from __future__ import annotations

import re
from abc import abstractmethod

from crewflow.spec.shellcursor import BARE, QUOTED, Cursor, UnsureError, Use, Value
from crewflow.spec.shellwords import Need, Word

NUMBER = Use("(${", "})")
PLAIN_NUMBER = Use("${", "}")

_PARAMETER = re.compile(r"[#!]?(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_DOUBTFUL = re.compile(r"[}\\`\n]")
_ENDS_WORD = frozenset(" \t\n;&|<>()")
_PATTERN_OPERATORS = ("##", "#", "%%", "%")
_WORD_OPERATORS = (":-", ":=", ":?", ":+", "-", "=", "?", "+")


class WordScanner(Cursor):
    """Reads words. What stands within `$( )` is read by whoever knows commands: `_commands_within`."""

    _backquoted = False
    _in_document = False

    @abstractmethod
    def _commands_within(self, close: str, start: int) -> None:
        """Read commands up to `close`, which is consumed; what was opened stands at `start`."""

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
        if self._at >= len(self._text):
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
            self._use(self._at, BARE)
            self._at += 1
        elif character in "<>":
            self._at += 2
            self._substituted(self._at - 2)
        elif character == "(" and self._at > start:
            if not self._opens_array(start):
                self._extended_pattern()
            else:
                self._array()
        elif character == "(":
            raise UnsureError(start)
        elif character == "[" and assigns and _NAME.fullmatch(self._text, start, self._at):
            self._index("]")
        else:
            return False
        return True

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
        if marks := self._within(self._at, end):
            self._refuse(marks[0], "single quotes")
        value = self._text[self._at + 1 : end]
        self._at = end + 1
        return value

    def _ansi(self) -> str | None:
        start = self._at
        self._at += 2
        while self._at < len(self._text) and self._peek() != "'":
            self._at += 2 if self._peek() == "\\" else 1
        if self._at >= len(self._text):
            raise UnsureError(start)
        if marks := self._within(start, self._at):
            self._refuse(marks[0], "single quotes")
        value = self._text[start + 2 : self._at]
        self._at += 1
        return None if "\\" in value or self._language in {"sh", "dash"} else value

    def _double(self, value: Value) -> None:
        start = self._at
        self._at += 1
        while self._at < len(self._text):
            if self._at in self._marks:
                self._use(self._at, QUOTED)
                self._at += 1
                value.add(None)
            elif self._peek() == '"':
                self._at += 1
                return
            else:
                self._quoted_piece(value)
        raise UnsureError(start)

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

    def _opens_array(self, start: int) -> bool:
        return bool(_ASSIGNED.fullmatch(self._text, start, self._at))

    def _array(self) -> None:
        """`name=( ... )`: words over several lines; an index in it is computed."""
        start = self._at
        self._at += 1
        while True:
            self._lines()
            if self._at >= len(self._text):
                raise UnsureError(start)
            if self._peek() == ")":
                self._at += 1
                return
            if self._peek() == "[":
                self._index("]")
                continue
            self._word()

    def _index(self, close: str) -> None:
        """`[ ... ]` behind a variable's name: arithmetic, or a key."""
        start = self._at
        self._at += 1
        while self._at < len(self._text) and self._peek() != close:
            if self._at in self._marks:
                self._number(self._at, Use("${", "}", number=True), "index")
                self._at += 1
            elif self._peek() in "\n":
                raise UnsureError(start)
            else:
                self._computing_piece()
        self._at += 1
        self._computes(start, self._at)

    def _extended_pattern(self) -> None:
        start, depth = self._at, 0
        while self._at < len(self._text):
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

    # Expansions

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
        if self._language in {"zsh"} and self._peek() == "[":
            close = self._text.find("]", self._at)
            if marks := self._within(self._at, close):
                self._refuse(marks[0], "index")
        return None

    def _localized(self, start: int) -> None:
        self._at += 1
        self._double(Value())
        if marks := self._within(start, self._at):
            self._refuse(marks[0], "localized")

    def _old_arithmetic(self, start: int) -> None:
        close = self._text.find("]", start)
        if close < 0:
            raise UnsureError(start)
        if marks := self._within(start, close):
            self._refuse(marks[0], Need.UNSURE)
        self._at = close + 1

    def _dollar_parenthesis(self, start: int) -> None:
        if self._text.startswith("((", start + 1) and self._arithmetic(start + 3):
            return
        self._at = start + 2
        self._substituted(start)

    def _substituted(self, start: int) -> None:
        """Commands up to `)`; here-documents of theirs must end within."""
        documents, self._documents = self._documents, []
        in_document, self._in_document = self._in_document, False
        self._closed(frozenset({")"}), start)
        if self._documents:
            raise UnsureError(start)
        self._documents, self._in_document = documents, in_document

    def _backquote(self, *, quoted: bool) -> None:
        start = self._at
        end = start + 1
        while end < len(self._text) and self._text[end] != "`":
            end += 2 if self._text[end] == "\\" else 1
        if end >= len(self._text):
            raise UnsureError(start)
        marks = self._within(start, end)
        if not marks:
            self._at = end + 1
            return
        if quoted or "\\" in self._text[start:end]:
            self._refuse(marks[0], "backquotes")
        self._at = start + 1
        self._backquoted = True
        documents, self._documents = self._documents, []
        self._closed(frozenset({"`"}), start)
        if self._documents:
            raise UnsureError(start)
        self._documents = documents
        self._backquoted = False

    def _arithmetic(self, start: int) -> bool:
        """Arithmetic up to `))`, from behind the `((`; False, and back, if it is none."""
        self._at = start
        depth = 0
        numbers: list[int] = []
        while self._at < len(self._text):
            if self._at in self._marks:
                numbers.append(self._at)
                self._at += 1
                continue
            character = self._peek()
            if character == ")" and not depth:
                break
            if character in "()":
                depth += 1 if character == "(" else -1
                self._at += 1
            elif character == "'":
                raise UnsureError(start)
            else:
                self._computing_piece()
        if self._peek(2) != "))":
            if self._within(start, self._at):
                self._refuse(self._near(start), Need.UNSURE)
            return False
        for mark in numbers:
            self._number(mark, NUMBER, "arithmetic")
        self._computes(start, self._at)
        self._at += 2
        return True

    def _computing_piece(self) -> None:
        """A piece of arithmetic; what commands in it print is computed, so no value may go into them."""
        start = self._at
        if self._peek() not in {"$", "`"}:
            self._at += 2 if self._peek() == "\\" else 1
            return
        self._quoted_piece(Value())
        if marks := self._within(start, self._at):
            self._refuse(marks[0], "nested arithmetic")

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
        if self._peek() == "}":
            self._at += 1
            return
        if self._text[start + 2] in "#!" and match.group() not in {"#", "!"} and self._peek() != "[":
            self._operand(None, start, nested_quotes=False)
            return
        if self._at in self._marks:
            self._refuse(self._at, Need.NAME)
        if self._peek() == "[":
            self._index("]")
        self._operation(start, quoted=quoted)

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
        while self._at < len(self._text) and self._peek() != "}":
            if self._at in self._marks:
                self._number(self._at, NUMBER, "arithmetic")
                self._at += 1
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
        while self._at < len(self._text):
            if self._at in self._marks:
                if use is None:
                    self._refuse(self._at, Need.UNSURE)
                self._use(self._at, use)
                self._at += 1
                continue
            character = self._peek()
            if character == "}":
                self._at += 1
                return
            if character in "'\"" and not nested_quotes:
                raise UnsureError(start)
            if use is QUOTED and character not in "'\"":
                self._quoted_piece(Value())
            else:
                self._piece(Value())
        raise UnsureError(start)

