"""Reads a shell script far enough to know, for each expression in it, in which place it stands.

    scan(text, marks, language, is_integer) -> {place: how the expression is referred to}

`text` has one character, of no meaning, at each place in `marks`. The scanner follows the grammar of sh,
bash, ksh and zsh: quotes, substitutions within each other, here-documents, `case`, arithmetic, `[[ ]]`. For
each place it finds the quotes that make a reference to a variable exact there, or refuses. A construct that
it does not know, or that shells read in different ways, is refused as soon as an expression is near it: it
is never guessed.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from crewflow.spec.shell.cursor import BARE, UnsureError, Use, Value
from crewflow.spec.shell.programs import COMPARES_NUMBERS, NAMING_TESTS
from crewflow.spec.shell.rules import judge_test
from crewflow.spec.shell.simple import FUNCTION, CommandScanner, Pipeline
from crewflow.spec.shell.words import Need, Word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crewflow.spec.template import Placed


def scan(
    text: str, marks: Mapping[int, Placed], language: str, is_integer: Callable[[Placed], bool]
) -> dict[int, Use]:
    """How each expression is to be referred to.

    Raises:
        ExpressionFault: an expression stands where it could not work or would be read as code.
    """
    return _Scanner(text, marks, language, is_integer).scan()


_OPERATOR = re.compile(r";;&|;;|;&|;\||&&|\|\||\|&|;|\||&(?!>)")
_RESERVED = re.compile(
    r"(if|then|elif|else|fi|do|done|while|until|for|select|case|esac|in|function|time|coproc|\[\[|[{}!])"
    r"(?=[\s;&|()<>]|\Z)"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONDITION_END = re.compile(r"\]\](?=[\s;&|()<>]|\Z)")
_CONDITION_OPERATOR = re.compile(r"&&|\|\||[()<>]")
_FOR_IN = re.compile(r"in(?=[\s;])")
_CASE_IN = re.compile(r"in(?=\s)")
_CASE_END = re.compile(r"esac(?=[\s;&|)<>]|\Z)")
_SKIPPED_WORDS = frozenset({"then", "elif", "else", "do", "!", "time"})
_LOOPS = {"if": "fi", "while": "done", "until": "done", "{": "}"}
_CASE_OPERATORS = frozenset({";;", ";&", ";;&", ";|"})
_MAX_NESTING = 60


class _Scanner(CommandScanner):
    """Reads commands; one pass over one script."""

    def scan(self) -> dict[int, Use]:
        """Read the whole script; what is left unread behind the last expression cannot change its place."""
        try:
            self._list(frozenset())
            self._here_documents()
        except UnsureError as error:
            start = self._pipelines[0].start if self._pipelines else 0
            if start <= self._order[-1]:
                self._refuse(self._near(error.at), Need.UNSURE)
            self._may_compute(start, len(self._text))
        self._check_variables()
        return self._uses

    # Lists of commands

    def _list(self, ends: frozenset[str]) -> str:
        """Commands up to one of `ends`, which is consumed and returned; empty at the end of the text."""
        if len(self._pipelines) >= _MAX_NESTING:
            raise UnsureError(self._at)
        pipeline = Pipeline(self._at, self._at)
        self._pipelines.append(pipeline)
        end = None
        while end is None:
            end = self._next_in_list(ends, pipeline)
        self._pipelines.pop()
        return end

    def _next_in_list(self, ends: frozenset[str], pipeline: Pipeline) -> str | None:
        """Read the end of a line, an operator or a command; returns the end of the list if it was that."""
        self._blanks()
        if self._ends():
            return ""
        match self._peek():
            case "\n":
                self._newline()
                pipeline.go_on("\n", self._at)
            case ")" | "`" as closer if closer == ")" or self._backquoted:
                if closer not in ends:
                    raise UnsureError(self._at)
                self._at += 1
                return closer
            case _ if operator := _OPERATOR.match(self._text, self._at):
                self._at = operator.end()
                if operator.group() in _CASE_OPERATORS:
                    return self._case_operator(ends)
                pipeline.go_on(operator.group(), self._at)
            case _:
                pipeline.joined = False
                return self._command(ends)
        return None

    def _case_operator(self, ends: frozenset[str]) -> str:
        if ";;" not in ends:
            raise UnsureError(self._at)
        return ";;"

    def _newline(self) -> None:
        self._at += 1
        self._here_documents()

    def _lines(self) -> None:
        while True:
            self._blanks()
            if self._peek() != "\n":
                return
            self._newline()

    def _commands_within(self, close: str, start: int) -> None:
        """Commands up to `close`; here-documents that they announce must end within."""
        pending, self._pending = self._pending, []
        self._closed(frozenset({close}), start)
        if self._pending:
            raise UnsureError(start)
        self._pending = pending
        self._nested.update(self._within(start, self._at))

    def _command(self, ends: frozenset[str]) -> str | None:
        if self._peek() == "(":
            self._compound = self._parenthesis()
            return None
        reserved = _RESERVED.match(self._text, self._at)
        word = reserved.group(1) if reserved else ""
        if not reserved or word == "in":
            self._simple()
            return None
        start, self._at = self._at, reserved.end()
        if word in ends:
            return word
        if word == "coproc":
            self._refuse(self._near(start), Need.UNSURE)
        if word in _SKIPPED_WORDS:
            self._skipped(word)
            return None
        self._structure(word, start)
        self._compound = start
        return None

    def _skipped(self, word: str) -> None:
        self._blanks()
        if word == "time" and self._peek(3) == "-p ":
            self._at += 3

    def _structure(self, word: str, start: int) -> None:
        match word:
            case "case":
                self._case()
            case "for" | "select":
                self._for()
            case "[[":
                self._condition()
            case "function":
                self._function()
            case _ if word in _LOOPS:
                self._closed(frozenset({_LOOPS[word]}), start)
            case _:
                raise UnsureError(start)

    def _function(self) -> None:
        self._blanks()
        self._functions.add(self._plain_name())
        if match := FUNCTION.match(self._text, self._at):
            self._at = match.end()

    def _closed(self, ends: frozenset[str], start: int) -> str:
        end = self._list(ends)
        if not end:
            raise UnsureError(start)
        return end

    def _plain_name(self) -> str:
        match = _NAME.match(self._text, self._at)
        if self._at in self._marks or (match and match.end() in self._marks):
            self._refuse(self._near(self._at), Need.NAME)
        if not match:
            raise UnsureError(self._at)
        self._at = match.end()
        return match.group()

    def _parenthesis(self) -> int:
        start = self._at
        if self._peek(2) != "((" or not self._arithmetic(start + 2):
            self._at = start + 1
            self._closed(frozenset({")"}), start)
        return start

    def _for(self) -> None:
        start = self._at
        self._blanks()
        if self._peek(2) == "((":
            if not self._arithmetic(self._at + 2):
                raise UnsureError(start)
        else:
            self._for_words()
        self._closed(frozenset({"done"}), start)

    def _for_words(self) -> None:
        name = self._plain_name()
        self._lines()
        if not (match := _FOR_IN.match(self._text, self._at)):
            self._sources.setdefault(name, []).append("$@")
            return
        self._at = match.end()
        while True:
            self._blanks()
            if self._ends() or self._peek() in "\n;":
                return
            word = self._word()
            self._holds(name, word.start, word.end)

    def _case(self) -> None:
        start = self._at
        self._blanks()
        self._word()
        self._lines()
        if not (match := _CASE_IN.match(self._text, self._at)):
            raise UnsureError(start)
        self._at = match.end()
        while True:
            self._lines()
            if match := _CASE_END.match(self._text, self._at):
                self._at = match.end()
                return
            self._case_pattern()
            if self._closed(frozenset({"esac", ";;"}), start) == "esac":
                return

    def _case_pattern(self) -> None:
        if self._peek() == "(":
            self._at += 1
        while True:
            self._blanks()
            self._word()
            self._blanks()
            closer = self._peek()
            self._at += 1
            if closer == ")":
                return
            if closer != "|":
                raise UnsureError(self._at - 1)

    def _condition(self) -> None:
        """`[[ ... ]]`; its operators are kept among the words."""
        words: list[Word] = []
        start = self._at
        while not _CONDITION_END.match(self._text, self._at):
            words.append(self._condition_word(words))
            self._lines()
            if self._ends():
                raise UnsureError(start)
        self._at += 2
        for verdict in judge_test(words, "[["):
            self._apply(verdict)
        for left, right in pairwise(words):
            if COMPARES_NUMBERS & {left.text, right.text}:
                self._computes(left.start, right.end)
            if left.text in NAMING_TESTS:
                self._expands(right.start, right.end)

    def _condition_word(self, words: list[Word]) -> Word:
        self._lines()
        if operator := _CONDITION_OPERATOR.match(self._text, self._at):
            self._at = operator.end()
            return Word(operator.start(), operator.end(), operator.group(), operator.group())
        return self._regular() if words and words[-1].text == "=~" else self._word()

    def _regular(self) -> Word:
        """The right side of `=~`: parentheses and bars belong to it."""
        start, depth = self._at, 0
        while not self._ends() and (depth or self._peek() not in " \t\n"):
            if self._at in self._marks:
                if self._language == "zsh":
                    self._refuse(self._at, Need.UNSURE)
                self._take(BARE)
            elif self._peek() in "()|<>;&":
                depth += {"(": 1, ")": -1}.get(self._peek(), 0)
                self._at += 1
            else:
                self._piece(Value())
        return Word(start, self._at, None, "", self._within(start, self._at))
