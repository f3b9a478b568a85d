"""Reads a shell script far enough to know, for each expression in it, in which place it stands.

    scan(text, marks, language, is_integer) -> {place: (before, after, as number)}

`text` has one character, of no meaning, at each place in `marks`. The scanner follows the grammar of sh,
bash, ksh and zsh: quotes, substitutions within each other, here-documents, `case`, arithmetic, `[[ ]]`. For
each place it finds the quotes that make a reference to a variable exact there, or refuses. A construct that
it does not know, or that shells read in different ways, is refused as soon as an expression is near it: it
is never guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from crewflow.spec.shellfaults import fault_of
from crewflow.spec.shellrules import attributes, judge, judge_test
from crewflow.spec.shellwords import Need, Verdict, Word

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


_SEPARATOR = re.compile(r";;&|;;|;&|;\||&&|\|\||\|&|;|\||&(?!>)")
_REDIRECTION = re.compile(
    r"(?:[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})?(&>>|&>|<<<|<<-|<<|<>|<&|>&|>>|>\||<(?!\()|>(?!\())"
)
_RESERVED = re.compile(
    r"(if|then|elif|else|fi|do|done|while|until|for|select|case|esac|in|function|time|coproc|\[\[|[{}!])"
    r"(?=[\s;&|()<>]|\Z)"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]\n]*\])?\+?=")
_EXPANDED = re.compile(r"\$\{?[#!]?([A-Za-z_][A-Za-z0-9_]*)")
_CONDITION_END = re.compile(r"\]\](?=[\s;&|()<>]|\Z)")
_CONDITION_OPERATOR = re.compile(r"&&|\|\||[()<>]")
_FOR_IN = re.compile(r"in(?=[\s;])")
_CASE_IN = re.compile(r"in(?=\s)")
_CASE_END = re.compile(r"esac(?=[\s;&|)<>]|\Z)")
_COMPUTES = re.compile(r"\(\(|\$\[|-(?:eq|ne|lt|le|gt|ge)\b|\b(?:eval|let|declare|typeset)\b")
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_ENDS_WORD = frozenset(" \t\n;&|<>()")
_STARTS_CODE = frozenset(
    {"BASH_ENV", "ENV", "PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT", "PROMPT_COMMAND", "RPROMPT"}
)
_NUMBER_VARIABLES = frozenset(
    {"RANDOM", "SECONDS", "OPTIND", "LINENO", "COLUMNS", "LINES", "HISTSIZE", "SAVEHIST", "SHLVL", "TMOUT"}
)
_SKIPPED_WORDS = frozenset({"then", "elif", "else", "do", "!", "time", "coproc"})
_LOOPS = {"if": "fi", "while": "done", "until": "done", "{": "}"}
_MAX_NESTING = 60


@dataclass
class _HereDocument:
    """A here-document that was announced, and whose body begins at the next line."""

    at: int
    delimiter: str
    strips: bool
    quoted: bool
    reader: str | None = None  # the program that reads it as code


@dataclass
class _Pipeline:
    """Where the pipeline began that is being read, and where its present command did."""

    start: int
    stage: int


@dataclass
class _Command:
    """A simple command while it is read."""

    words: list[Word] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)  # expressions that reach its standard input
    documents: list[_HereDocument] = field(default_factory=list)


class _Scanner(WordScanner):
    """Reads commands; one pass over one script."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class _Scanner:
    """One pass over one script; `_at` is where it stands."""

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
        self._documents: list[_HereDocument] = []
        self._pipelines: list[_Pipeline] = []
        self._compound = 0
        self._readers: list[tuple[int, str]] = []
        self._backquoted = False
        self._in_document = False
        self._assigned: dict[str, list[int]] = {}
        self._computed: set[str] = set()
        self._numeric = False
        self._depth = 0

    def scan(self) -> dict[int, Use]:
        try:
            self._list(frozenset())
            if self._at < len(self._text):
                raise UnsureError(self._at)
            self._here_documents()
        except UnsureError as error:
            if not self._pipelines or self._pipelines[0].start <= self._order[-1]:
                self._refuse(self._near(error.at), Need.UNSURE)
            # No expression is near; but what is left unread could compute the variables that hold values.
            if _COMPUTES.search(self._text, self._pipelines[0].start):
                self._computes(self._pipelines[0].start, len(self._text))
        self._check_variables()
        return self._uses

    def _list(self, ends: frozenset[str]) -> str:
        """Commands up to one of `ends`, which is consumed and returned; empty at the end of the text."""
        self._depth += 1
        if self._depth > _LINES_MAX_NESTING:
            raise UnsureError(self._at)
        pipeline = _Pipeline(self._at, self._at)
        self._pipelines.append(pipeline)
        end = self._commands(ends, pipeline)
        self._pipelines.pop()
        self._depth -= 1
        return end

    def _commands(self, ends: frozenset[str], pipeline: _Pipeline) -> str:
        joined = False
        while True:
            self._blanks()
            if self._at >= len(self._text):
                return ""
            if self._peek() == "\n":
                self._newline()
                if not joined:
                    pipeline.start = pipeline.stage = self._at
                continue
            if (closer := self._peek()) in {")", "`"}:
                if closer not in ends:
                    raise UnsureError(self._at)
                self._at += 1
                return closer
            separator = _SEPARATOR.match(self._text, self._at)
            if separator:
                self._at = separator.end()
                if separator.group() in {";;", ";&", ";;&", ";|"}:
                    if ";;" not in ends:
                        raise UnsureError(separator.start())
                    return ";;"
                joined = separator.group() in {"|", "|&", "&&", "||"}
                pipeline.stage = self._at
                if separator.group() not in {"|", "|&"}:
                    pipeline.start = self._at
                continue
            joined = False
            if end := self._command(ends):
                return end

    def _peek(self, length: int = 1) -> str:
        return self._text[self._at : self._at + length]

    def _newline(self) -> None:
        self._at += 1
        self._here_documents()

    def _blanks(self) -> None:
        """Skip blanks and a comment."""
        if match := _BLANKS.match(self._text, self._at):
            self._at = match.end()
        if self._peek() == "#" and self._at not in self._marks:
            end = self._text.find("\n", self._at)
            end = len(self._text) if end < 0 else end
            for mark in self._within(self._at, end):
                self._use(mark, COMMENT)
            self._at = end

    def _lines(self) -> None:
        """Skip blanks, comments and ends of lines."""
        while True:
            self._blanks()
            if self._peek() != "\n":
                return
            self._newline()

    def _command(self, ends: frozenset[str]) -> str | None:
        if self._peek() == "(":
            self._compound = self._at
            self._parenthesis()
            return None
        reserved = _RESERVED.match(self._text, self._at)
        word = reserved.group(1) if reserved else ""
        if not reserved or word == "in":
            self._simple()
            return None
        start, self._at = self._at, reserved.end()
        if word in ends:
            return word
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
                self._blanks()
                self._plain_name()
                if match := _FUNCTION.match(self._text, self._at):
                    self._at = match.end()
            case _ if word in _LOOPS:
                self._closed(frozenset({_LOOPS[word]}), start)
            case _:
                raise UnsureError(start)

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

    def _parenthesis(self) -> None:
        start = self._at
        if self._peek(2) == "((" and self._arithmetic(start + 2):
            return
        self._at = start + 1
        self._closed(frozenset({")"}), start)

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
            return
        self._at = match.end()
        while True:
            self._blanks()
            if self._at >= len(self._text) or self._peek() in "\n;":
                return
            word = self._word()
            self._assigned.setdefault(name, []).extend(word.marks)

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
        while True:
            self._lines()
            if self._at >= len(self._text):
                raise UnsureError(start)
            if _CONDITION_END.match(self._text, self._at):
                self._at += 2
                break
            if operator := _CONDITION_OPERATOR.match(self._text, self._at):
                self._at = operator.end()
                words.append(Word(operator.start(), operator.end(), operator.group(), operator.group()))
                continue
            words.append(self._regular() if words and words[-1].text == "=~" else self._word())
        for verdict in judge_test(words, "[["):
            self._apply(verdict)
        for left, right in zip(words, words[1:], strict=False):
            if left.text in {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}:
                self._computes(right.start, right.end)
            if right.text in {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}:
                self._computes(left.start, left.end)

    def _regular(self) -> Word:
        """The right side of `=~`: parentheses and bars belong to it."""
        start, depth = self._at, 0
        while self._at < len(self._text):
            character = self._peek()
            if self._at in self._marks:
                if self._language == "zsh":
                    self._refuse(self._at, Need.UNSURE)
                self._use(self._at, BARE)
                self._at += 1
            elif character in " \t\n" and not depth:
                break
            elif character in "()|<>;&":
                depth += (character == "(") - (character == ")")
                self._at += 1
            else:
                self._piece(Value())
        return Word(start, self._at, None, "", self._within(start, self._at))

    # Simple commands

    def _simple(self) -> None:
        command = _Command()
        start = self._at
        while not self._ended():
            if redirection := _REDIRECTION.match(self._text, self._at):
                self._redirect(redirection, command)
            elif self._peek() == "(":
                if len(command.words) == 1 and (match := _FUNCTION.match(self._text, self._at)):
                    if command.words[0].marks:
                        self._refuse(command.words[0].marks[0], Need.NAME)
                    self._at = match.end()
                    return
                raise UnsureError(self._at)
            else:
                self._add_word(command)
            self._blanks()
        if self._at == start:
            raise UnsureError(start)
        self._judge(command, start)

    def _ended(self) -> bool:
        if self._at >= len(self._text):
            return True
        character = self._peek()
        if character in "\n;)":
            return True
        if character == "`":
            return self._backquoted
        return character in "|&" and not self._text.startswith("&>", self._at)

    def _add_word(self, command: _Command) -> None:
        word = self._word(assigns=not command.words)
        if not command.words and self._assigns(word):
            return
        if command.words and command.words[0].text in {"declare", "typeset", "local", "export", "readonly"}:
            self._assigns(word)
        command.words.append(word)

    def _assigns(self, word: Word) -> bool:
        """Whether the word is an assignment; notes what its variable may hold."""
        name = _NAME.match(self._text, word.start)
        if name is None:
            return False
        behind = name.end()
        if self._text[behind : behind + 1] == "[":
            behind = self._text.find("]", behind) + 1
        if not _EQUALS.match(self._text, behind):
            return False
        if word.marks:
            self._assigned.setdefault(name.group(), []).extend(word.marks)
            if name.group() in _STARTS_CODE:
                self._refuse(word.marks[0], "startup", name.group())
        return True

    def _judge(self, command: _Command, start: int) -> None:
        words = command.words
        if words and words[0].marks:
            self._refuse(words[0].marks[0], Need.COMMAND)
        judgement = judge(words, self._language)
        for verdict in judgement.verdicts:
            self._apply(verdict)
        if words:
            self._note(words, judgement.code)
        if judgement.reads_code:
            self._reads_code(judgement.reads_code, command, start)
        elif not words:
            self._compound_input(command)

    def _apply(self, verdict: Verdict) -> None:
        for mark in verdict.word.marks:
            if verdict.need is not Need.INTEGER:
                self._refuse(mark, verdict.need, verdict.program)
            if self._uses.get(mark) not in {BARE, QUOTED}:
                self._refuse(mark, Need.UNSURE)
            plain = self._uses[mark]
            self._number(mark, Use(plain.before, plain.after, number=True), Need.INTEGER, verdict.program)

    def _note(self, words: list[Word], code: tuple[Word, ...]) -> None:
        """Remember what the command says about variables: computed, run as code, declared as numbers."""
        name = words[0].text or ""
        if name == "alias":
            self._refuse(self._order[-1], "alias")
        self._numeric = self._numeric or bool(attributes(name, words[1:]))
        for word in words[1:] if name == "let" else ():
            self._computes(word.start, word.end)
        for word in code:
            if word.text is None:
                self._computed.update(_EXPANDED.findall(self._text[word.start : word.end]))

    def _computes(self, start: int, end: int) -> None:
        self._computed.update(_NAME.findall(self._text[start:end]))

    def _reads_code(self, reader: str, command: _Command, start: int) -> None:
        """Its standard input is code: its here-documents, and what is piped into it or its surroundings."""
        self._readers.append((start, reader))
        for mark in command.inputs:
            self._refuse(mark, "stdin", reader)
        for document in command.documents:
            document.reader = reader
        for pipeline in self._pipelines:
            if pipeline.stage <= pipeline.start:
                continue
            for mark in self._within(pipeline.start, pipeline.stage):
                self._refuse(mark, "stdin", reader)
            for document in self._documents:
                if pipeline.start <= document.at < pipeline.stage:
                    document.reader = reader

    def _compound_input(self, command: _Command) -> None:
        """Files given to `{ }`, `( )`, loops: an interpreter inside may read them."""
        reader = next((name for at, name in self._readers if at >= self._compound), None)
        if reader is None:
            return
        for mark in command.inputs:
            self._refuse(mark, "stdin", reader)
        for document in command.documents:
            document.reader = reader

    def _redirect(self, match: re.Match[str], command: _Command) -> None:
        operator, start = match.group(1), self._at
        if (
            command.words
            and command.words[-1].end == start
            and self._text[start - 1 : start]
            and (start - 1) in self._marks
        ):
            if command.words[-1].end - command.words[-1].start == 1:
                self._refuse(start - 1, "descriptor")
        self._at = match.end()
        self._blanks()
        if operator in {"<<", "<<-"}:
            self._announce(operator, command, start)
            return
        if self._ended():
            raise UnsureError(start)
        word = self._word()
        if operator in {"<&", ">&"} and word.marks:
            self._refuse(word.marks[0], "descriptor")
        if operator.startswith("<"):
            command.inputs += word.marks

    def _announce(self, operator: str, command: _Command, at: int) -> None:
        start = self._at
        while self._at < len(self._text) and self._peek() not in _ENDS_WORD:
            if self._at in self._marks:
                self._refuse(self._at, "delimiter")
            if self._peek() in {"$", "`"}:
                raise UnsureError(self._at)
            if self._peek() in {"'", '"'}:
                closed = self._text.find(self._peek(), self._at + 1)
                if closed < 0 or "\n" in self._text[self._at : closed]:
                    raise UnsureError(self._at)
                self._at = closed
            elif self._peek() == "\\":
                self._at += 1
            self._at += 1
        authored = self._text[start : self._at]
        if self._within(start, self._at):
            self._refuse(self._near(start), "delimiter")
        delimiter = re.sub(r"\\(.)|['\"]", lambda found: found.group(1) or "", authored)
        if not authored:
            raise UnsureError(start)
        document = _HereDocument(at, delimiter, operator == "<<-", delimiter != authored)
        command.documents.append(document)
        self._documents.append(document)

    def _here_documents(self) -> None:
        """The bodies of the announced here-documents, which begin here."""
        documents, self._documents = self._documents, []
        for document in documents:
            start = self._at
            body, after = self._body(document)
            marks = self._within(start, body)
            if marks and document.reader:
                self._refuse(marks[0], "stdin", document.reader)
            if marks and document.quoted:
                self._refuse(marks[0], "quoted document", document.delimiter)
            if marks:
                self._document_text(body)
            self._at = after

    def _body(self, document: _HereDocument) -> tuple[int, int]:
        """Where the body ends, and where the line behind its delimiter begins."""
        at = self._at
        while at <= len(self._text):
            end = self._text.find("\n", at)
            end = len(self._text) if end < 0 else end
            line = self._text[at:end]
            if (line.lstrip("\t") if document.strips else line) == document.delimiter:
                if not document.quoted and self._text[:at].endswith("\\\n"):
                    raise UnsureError(at)
                return at, min(end + 1, len(self._text))
            at = end + 1
        raise UnsureError(document.at)

    def _document_text(self, end: int) -> None:
        outer, self._in_document = self._in_document, True
        while self._at < end:
            if self._at in self._marks:
                self._use(self._at, QUOTED)
                self._at += 1
            elif self._peek() == '"':
                self._at += 1
            else:
                self._quoted_piece(Value())
        self._in_document = outer
        if self._at > end:
            raise UnsureError(end)

    def _check_variables(self) -> None:
        """A variable that holds a value and is computed elsewhere in the script must hold an integer."""
        for name, marks in self._assigned.items():
            computed = name in self._computed or name in _NUMBER_VARIABLES or self._numeric
            for mark in marks if computed else ():
                if mark in self._uses and not self._is_integer(self._marks[mark]):
                    self._refuse(mark, "computed", name)
