"""Simple commands of a shell script: their words, assignments and redirections, and what they mean.

The words are judged by `shell.rules`. What a variable holds is remembered, and held against where the script
computes variables; so is what reaches the standard input of programs that read it as code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crewflow.spec.shell.cursor import COMMENT, UnsureError
from crewflow.spec.shell.documents import DocumentScanner, HereDocument
from crewflow.spec.shell.interpreters import is_plain_code, name_of
from crewflow.spec.shell.programs import ALL_CODE, COMPARES_NUMBERS, DECLARES, NAMES, SHELLS, WRAPPERS
from crewflow.spec.shell.rules import attributes, judge
from crewflow.spec.shell.words import Need, Verdict, Word

if TYPE_CHECKING:
    from collections.abc import Iterable

_REDIRECTION = re.compile(
    r"(?:[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})?(&>>|&>|<<<|<<-|<<|<>|<&|>&|>>|>\||<(?!\()|>(?!\())"
)
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]\n]*\])?\+?=")
FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_STARTS_CODE = frozenset(
    {
        *("BASH_ENV", "ENV", "PS0", "PS1", "PS2", "PS3"),
        *("PS4", "PROMPT", "PROMPT_COMMAND", "RPROMPT", "GIT_SSH_COMMAND", "GIT_SSH"),
        *(
            "GIT_EDITOR",
            "EDITOR",
            "GIT_SEQUENCE_EDITOR",
            "GIT_EXTERNAL_DIFF",
            "GIT_PROXY_COMMAND",
            "GIT_ASKPASS",
        ),
        *("SSH_ASKPASS", "SUDO_ASKPASS", "VISUAL", "PAGER", "GIT_PAGER", "MANPAGER"),
        *("BROWSER", "SHELL", "BASHOPTS", "FPATH", "CDPATH", "LESSOPEN"),
        *("LESSCLOSE", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PERL5OPT", "PERL5LIB"),
        *("RUBYOPT", "RUBYLIB", "NODE_OPTIONS", "NODE_PATH", "LD_PRELOAD", "LD_LIBRARY_PATH"),
        *("LD_AUDIT", "IFS", "PATH", "SHELLOPTS", "RSYNC_RSH", "TAR_OPTIONS"),
        *("MAKEFLAGS", "JAVA_TOOL_OPTIONS", "ZDOTDIR", "FCEDIT"),
    }
)
_NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|(?<=\$)[0-9@*]|(?<=\$\{)[0-9@*]")
_SUBSTITUTION = re.compile(r"\$\((?!\()|`|[<>]\(")
_COMPUTES = re.compile(
    r"\(\(|\$\[|\$\{!|@P|[A-Za-z0-9_]\[|-(?:eq|ne|lt|le|gt|ge)\b"
    r"|\b(?:let|declare|typeset|local|read|printf -v)\b"
)
_RUNNERS = frozenset({*SHELLS, *ALL_CODE, *WRAPPERS})
_WRITERS = frozenset({"tee", "cp", "mv", "ln", "install", "dd", "sponge"})
_ENVIRONMENTS = frozenset({"env", "sudo", "doas", "systemd-run", "exec", "command"})
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
    read: list[tuple[int, int]] = field(default_factory=list)  # words behind `<`
    written: list[str] = field(default_factory=list)  # words behind `>`
    piped: int | None = None  # where the pipeline began that it reads from
    begin: int = 0
    end: int = 0


class CommandScanner(DocumentScanner):
    """Reads simple commands; whoever reads structures tells it where they and pipelines began."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._pipelines: list[Pipeline] = []
        self._compound = 0  # where the last structure began
        self._readers: list[tuple[int, str]] = []  # programs that read their standard input as code
        self._functions: set[str] = {"set"}
        self._calls: list[tuple[str, tuple[int, ...]]] = []
        self._commands: list[_Command] = []
        self._printers: list[tuple[int, int, str]] = []  # what prints code, and its reader
        self._code: list[tuple[int, int]] = []  # what is code, or names it
        self._foreign: set[str] = {"_"}  # variables whose values come from elsewhere
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
        piped = [pipeline.start for pipeline in self._pipelines if pipeline.stage > pipeline.start]
        command.piped = min(piped, default=None)
        surrounding = command.start if command.words else min(self._compound, command.start)
        command.begin = min([surrounding, *piped])
        command.end = self._at
        self._commands.append(command)
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
        self._holds(name, word.start, word.end)
        if name in _STARTS_CODE:
            self._expands(word.start, word.end)
            self._refuse_within(word.start, word.end, "startup", name)

    def _judge(self, command: _Command) -> None:
        words = command.words
        if words:
            self._refuse_within(words[0].start, words[0].end, Need.COMMAND)
        if any(name_of(word) in _ENVIRONMENTS for word in words):
            for word in words:
                if (name := _ASSIGNED.match(word.prefix)) and name.group(1) in _STARTS_CODE:
                    self._refuse_within(word.start, word.end, "startup", name.group(1))
                    self._expands(word.start, word.end)
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
        shell = any(name_of(word) in SHELLS or name_of(word) in ALL_CODE for word in words)
        for word in code:
            self._code.append((word.start, word.end))
            if word.text is None:
                self._expands(word.start, word.end)
            if shell:
                self._may_run(word)
                self._check_arguments(word, words)
        self._note_names(words)

    def _may_run(self, word: Word) -> None:
        """Code for a shell, also in single quotes, may compute whatever it names."""
        if not is_plain_code(word):
            self._computes(word.start, word.end)
        self._may_compute(word.start, word.end)

    def _check_arguments(self, code: Word, words: list[Word]) -> None:
        """What is given to code for a shell that computes, or runs code, could be run."""
        text = self._text[code.start : code.end]
        if name_of(code) in _RUNNERS or (code.text is None and not re.search(r"[\s;]", text)):
            return
        if is_plain_code(code) and not _COMPUTES.search(text):
            return
        for word in words:
            self._expands(word.start, word.end)
            for mark in word.marks:
                if not self._is_integer(self._marks[mark]):
                    self._refuse(mark, Need.UNSURE)

    def _note_names(self, words: list[Word]) -> None:
        """Remember the variables that builtins give values to, and those that name variables."""
        for index, word in enumerate(words):
            name = name_of(word)
            if name in NAMES or name in DECLARES or name in {"printf", "test", "["}:
                for argument in words[index + 1 :]:
                    before = words[words.index(argument) - 1].text or ""
                    if name in NAMES or name in DECLARES or before in {"-v", "-R"}:
                        named = self._text[argument.start : argument.end].partition("=")[0]
                        self._expands(argument.start, argument.start + len(named))
                    if before in COMPARES_NUMBERS and self._language in {"ksh", "zsh"}:
                        self._computes(argument.start, argument.end)
            if name in NAMES or (name == "printf" and any(item.prefix[:2] == "-v" for item in words)):
                self._foreign |= {"REPLY", "MAPFILE", "OPTARG", "reply"}
                for argument in words[index + 1 :]:
                    self._foreign.update(_NAMES.findall(self._text[argument.start : argument.end]))

    def _reads_code(self, reader: str, command: _Command) -> None:
        """Its standard input is code: its here-documents, and what is piped into it or its surroundings."""
        self._readers.append((command.start, reader))
        self._read_as_code(reader, command)
        for pipeline in self._pipelines:
            if pipeline.stage <= pipeline.start:
                continue
            self._refuse_within(pipeline.start, command.start, "stdin", reader)
            self._expands(pipeline.start, command.start)
            self._printed(pipeline.start, command.start, reader)
            for document in self._announced:
                if document.at >= pipeline.start:
                    document.reader = reader

    def _printed(self, start: int, end: int, reader: str) -> None:
        """What this text prints, or the file that it names, becomes code."""
        self._code.append((start, end))
        self._printers.append((start, end, reader))

    def _read_as_code(self, reader: str, command: _Command) -> None:
        for mark in command.inputs[:1]:
            self._refuse(mark, "stdin", reader)
        for start, end in command.read:
            self._expands(start, end)
            self._printed(start, end, reader)
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
            command.read.append((word.start, word.end))
        if ">" in operator:
            command.written.append(self._text[word.start : word.end])

    # What variables hold

    def _check_variables(self) -> None:
        """A variable that holds a value and is computed elsewhere in the script must hold an integer."""
        self._check_function_input()
        self._close_computed()
        for name, marks in self._assigned.items():
            if name in self._computed or name in _NUMBER_VARIABLES or self._numeric:
                self._check_computed(name, marks)
        for argument in sorted(self._computed & _ARGUMENTS):
            for function, passed in self._calls:
                if function in self._functions:
                    self._check_computed(f"${argument}", passed)
        for name in sorted(self._computed):
            if name in self._foreign or (name not in _STARTS_CODE and self._is_printed(name)):
                self._refuse_any("computed", name)
        for name in sorted({*self._sources, *self._foreign} - {"_"}) if self._numeric else ():
            if name in self._foreign or self._is_printed(name) or self._functions - {"set"}:
                self._refuse_any("computed", name)
        self._check_printers()
        self._check_files()

    def _is_printed(self, name: str) -> bool:
        return any(_SUBSTITUTION.search(source) for source in self._sources.get(name, ()))

    def _close_computed(self) -> None:
        """What a computed variable is made of is computed too; functions may be given it as arguments."""
        for command in self._commands:
            head = command.words[0].text if command.words else "-"
            if head is None or head in self._functions:
                text = self._text[command.words[0].end : command.end]
                self._sources.setdefault("@", []).append(text)
        waiting = list(self._computed)
        while waiting:
            name = waiting.pop()
            found = {"@"} if name in _ARGUMENTS else set()
            for source in self._sources.get(name, ()):
                found.update(_NAMES.findall(source))
            waiting += found - self._computed
            self._computed |= found

    def _check_function_input(self) -> None:
        """A program within a function may read the function's standard input as code."""
        functions = self._functions - {"set"}
        if not functions or not self._readers:
            return
        reader = self._readers[0][1]
        for command in self._commands:
            if command.words and command.words[0].text not in functions:
                continue
            spans = [*command.read, *(item.body for item in command.documents if not item.quoted)]
            if command.piped is not None:
                spans.append((command.piped, command.start))
            for start, end in spans:
                self._refuse_within(start, end, "stdin", reader)
                self._expands(start, end)
                self._printed(start, end, reader)

    def _check_printers(self) -> None:
        """Functions, whose output may be anything, do not print code."""
        for start, end, reader in self._printers:
            if self._calls_function(self._text[start:end]):
                self._refuse_any("stdin", reader)

    def _calls_function(self, text: str) -> bool:
        functions = self._functions - {"set"}
        return any(item in functions for item in re.split(r"[\s;&|()<>{}`\"']+", text))

    def _check_files(self) -> None:
        """No value is written to a file that the script runs."""
        run = [self._text[start:end] for start, end in self._code]
        run.append("Makefile makefile GNUmakefile .bashrc .profile .bash_profile .zshrc .zshenv .gitconfig")
        run += [source for name in self._computed for source in self._sources.get(name, ())]
        run_text = re.sub(r"[\"'{}\\]", "", "\n".join(run))
        for command in self._commands:
            names = list(command.written)
            if any(name_of(word) in _WRITERS for word in command.words):
                names += [self._text[word.start : word.end] for word in command.words[1:]]
            if not names or not self._may_write_value(command):
                continue
            for name in names:
                plain = re.sub(r"[\"'{}\\]", "", name)
                base = plain.rpartition("/")[2].rpartition("=")[2]
                if (
                    base
                    and not base.isdigit()
                    and not plain.startswith(("/dev/", "-"))
                    and (re.search(rf"(?<![\w.-]){re.escape(base)}(?![\w-])", run_text))
                ):
                    self._refuse_any("file", base)

    def _may_write_value(self, command: _Command) -> bool:
        spans = [(command.begin, command.end)]
        spans += [item.body for item in command.documents if not item.quoted]
        spans += [
            item.body
            for item in self._announced
            if command.begin <= item.at < command.end and not item.quoted
        ]
        for start, end in spans:
            text = self._text[start:end]
            if self._within(start, end) or re.search(r"[$`]", text) or self._calls_function(text):
                return True
        return any(name_of(word) in _WRITERS - {"tee"} for word in command.words)

    def _refuse_any(self, place: str, program: str) -> None:
        """Refuse the script if it holds any value, as it may go where this is."""
        for mark in self._order:
            if not self._is_integer(self._marks[mark]) and self._uses.get(mark) is not COMMENT:
                self._refuse(mark, place, program)

    def _check_computed(self, name: str, marks: Iterable[int]) -> None:
        for mark in marks:
            if not self._is_integer(self._marks[mark]):
                self._refuse(mark, "computed", name)
