"""Simple commands of a shell script: their words, assignments and redirections, and what they mean.

The words are judged by `shell.rules`. What a variable holds is remembered, and held against where the script
computes variables; so is what reaches the standard input of programs that read it as code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crewflow.spec.shell.cursor import UnsureError
from crewflow.spec.shell.documents import DocumentScanner, HereDocument
from crewflow.spec.shell.programs import DECLARES
from crewflow.spec.shell.rules import attributes, judge
from crewflow.spec.shell.words import Need, Verdict, Word

if TYPE_CHECKING:
    from collections.abc import Iterable

_REDIRECTION = re.compile(
    r"(?:[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})?(&>>|&>|<<<|<<-|<<|<>|<&|>&|>>|>\||<(?!\()|>(?!\())"
)
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]\n]*\])?\+?=")
_EXPANDED = re.compile(r"\$\{?[#!]?([A-Za-z_][A-Za-z0-9_]*|[0-9@*])")
FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_STARTS_CODE = frozenset(
    {"BASH_ENV", "ENV", "PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT", "PROMPT_COMMAND", "RPROMPT"}
)
_NUMBER_VARIABLES = frozenset(
    {"RANDOM", "SECONDS", "OPTIND", "LINENO", "COLUMNS", "LINES", "HISTSIZE", "SAVEHIST", "SHLVL", "TMOUT"}
)
_PLAIN_TESTS = frozenset({"sh", "dash", "bash"})
"""Shells whose `test` takes numbers only, and computes nothing."""
_ARGUMENTS = frozenset("0123456789@*")


@dataclass
class Pipeline:
    """The pipeline that is being read: where it began, and where its present command did.

    `joined`: an operator needs another command, so that the end of a line ends nothing.
    """

    start: int
    stage: int
    joined: bool = False

    def go_on(self, operator: str, at: int) -> None:
        """Take in an operator, or the end of a line, that ends at `at`."""
        if operator == "\n" and self.joined:
            return
        self.joined = operator in {"|", "|&", "&&", "||"}
        self.stage = at
        if operator not in {"|", "|&"}:
            self.start = at


@dataclass
class _Command:
    """A simple command while it is read."""

    start: int
    words: list[Word] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)  # expressions that reach its standard input
    documents: list[HereDocument] = field(default_factory=list)


class CommandScanner(DocumentScanner):
    """Reads simple commands; whoever reads structures tells it where they and pipelines began."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._pipelines: list[Pipeline] = []
        self._compound = 0  # where the last structure began
        self._readers: list[tuple[int, str]] = []  # programs that read their standard input as code
        self._assigned: dict[str, list[int]] = {}  # variable -> expressions in its value
        self._functions: set[str] = {"set"}
        self._calls: list[tuple[str, tuple[int, ...]]] = []
        self._nested: set[int] = set()  # expressions within `$( )` that ended
        self._numeric = False  # some variable is declared as a number or a reference

    def _simple(self) -> None:
        command = _Command(self._at)
        while not self._ended():
            if redirection := _REDIRECTION.match(self._text, self._at):
                self._redirect(redirection, command)
            elif self._peek() == "(":
                self._function_head(command)
                return
            else:
                self._add_word(command)
            self._blanks()
        if self._at == command.start:
            raise UnsureError(self._at)
        self._judge(command)

    def _function_head(self, command: _Command) -> None:
        match = FUNCTION.match(self._text, self._at)
        if match is None or len(command.words) != 1:
            raise UnsureError(self._at)
        name = command.words[0]
        self._refuse_within(name.start, name.end, Need.NAME)
        self._functions.add(name.text or "")
        self._at = match.end()

    def _ended(self) -> bool:
        if self._ends():
            return True
        character = self._peek()
        if character in "\n;)":
            return True
        if character == "`":
            return self._backquoted
        return character in "|&" and not self._text.startswith("&>", self._at)

    def _add_word(self, command: _Command) -> None:
        first = not command.words
        word = self._word(assigns=first)
        authored = self._text[word.start : word.end]
        if first and (name := _ASSIGNED.match(authored)):
            self._assigns(name.group(1), word)
            return
        if not first and command.words[0].text in DECLARES and (name := _ASSIGNED.match(word.prefix)):
            self._assigns(name.group(1), word)
        command.words.append(word)

    def _assigns(self, name: str, word: Word) -> None:
        """Remember the expressions in the value of a variable."""
        self._assigned.setdefault(name, []).extend(word.marks)
        if name in _STARTS_CODE:
            self._refuse_within(word.start, word.end, "startup", name)

    def _judge(self, command: _Command) -> None:
        words = command.words
        if words:
            self._refuse_within(words[0].start, words[0].end, Need.COMMAND)
        judgement = judge(words, self._language)
        for verdict in judgement.verdicts:
            self._apply(verdict)
        if words:
            self._note(words, judgement.code)
        if judgement.reads_code:
            self._reads_code(judgement.reads_code, command)
        elif not words:
            self._compound_input(command)

    def _apply(self, verdict: Verdict) -> None:
        for mark in verdict.word.marks:
            if verdict.need is not Need.INTEGER:
                self._refuse(mark, verdict.need, verdict.program)
            if mark in self._nested and verdict.program in {"[", "test"} and self._language in _PLAIN_TESTS:
                continue
            self._must_be_number(mark, self._uses[mark], Need.INTEGER, verdict.program)

    def _note(self, words: list[Word], code: tuple[Word, ...]) -> None:
        """Remember what the command says about variables: computed, run as code, declared as numbers."""
        name = words[0].text or ""
        if name == "alias":
            self._refuse(self._order[-1], "alias")
        self._numeric = self._numeric or bool(attributes(name, words[1:]))
        self._calls.append((name, tuple(mark for word in words[1:] for mark in word.marks)))
        for word in words[1:] if name == "let" else ():
            self._computes(word.start, word.end)
        for word in code:
            if word.text is None:
                self._computed.update(_EXPANDED.findall(self._text[word.start : word.end]))

    def _reads_code(self, reader: str, command: _Command) -> None:
        """Its standard input is code: its here-documents, and what is piped into it or its surroundings."""
        self._readers.append((command.start, reader))
        self._read_as_code(reader, command)
        for pipeline in self._pipelines:
            if pipeline.stage <= pipeline.start:
                continue
            self._refuse_within(pipeline.start, command.start, "stdin", reader)
            for document in self._announced:
                if document.at >= pipeline.start:
                    document.reader = reader

    def _read_as_code(self, reader: str, command: _Command) -> None:
        for mark in command.inputs[:1]:
            self._refuse(mark, "stdin", reader)
        for document in command.documents:
            document.reader = reader

    def _compound_input(self, command: _Command) -> None:
        """Files given to `{ }`, `( )`, loops: an interpreter inside may read them."""
        for at, reader in self._readers:
            if at >= self._compound:
                self._read_as_code(reader, command)

    def _redirect(self, match: re.Match[str], command: _Command) -> None:
        operator, start = match.group(1), self._at
        if command.words and command.words[-1].end == start and command.words[-1].start == start - 1:
            self._refuse_within(start - 1, start, "descriptor")
        self._at = match.end()
        self._blanks()
        if operator in {"<<", "<<-"}:
            command.documents.append(self._announce(start, strips=operator == "<<-"))
            return
        if self._ended():
            raise UnsureError(start)
        word = self._word()
        if operator in {"<&", ">&"}:
            self._refuse_within(word.start, word.end, "descriptor")
        if operator.startswith("<"):
            command.inputs.extend(word.marks)

    # What variables hold

    def _check_variables(self) -> None:
        """A variable that holds a value and is computed elsewhere in the script must hold an integer."""
        for name, marks in self._assigned.items():
            if name in self._computed or name in _NUMBER_VARIABLES or self._numeric:
                self._check_computed(name, marks)
        for argument in sorted(self._computed & _ARGUMENTS):
            for function, passed in self._calls:
                if function in self._functions:
                    self._check_computed(f"${argument}", passed)

    def _check_computed(self, name: str, marks: Iterable[int]) -> None:
        for mark in marks:
            if not self._is_integer(self._marks[mark]):
                self._refuse(mark, "computed", name)
