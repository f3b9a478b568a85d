"""What interpreters make of their arguments: which are code, and whether standard input is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from crewflow.spec.shell.programs import (
    CONTAINER_TOOLS,
    INTERPRETERS,
    JQ_ARGUMENTS,
    SHELLS,
    SSH_CODE,
    SSH_TAKES,
    Interpreter,
    Operands,
    program_name,
)
from crewflow.spec.shell.words import Need, Verdict, Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SOMETIMES_RUN: Final = SHELLS | {"python", "perl", "ruby", "node"}
_SHELL_RULE: Final = INTERPRETERS["sh"]
_PYTHON_RULE: Final = INTERPRETERS["python"]
_CLUSTER: Final = r"-(?=[A-Za-z]*[oO])[A-Za-z]*c[A-Za-z]*"
_MODULES: Final = frozenset({"timeit", "pdb", "profile", "cProfile", "trace", "runpy", "code", "bdb"})
_INPUTS: Final = re.compile(r"/dev/(?:stdin|fd\b)|/proc/.*/fd\b")
_COMPUTED_NAME: Final = re.compile(
    r"(?:^|[;&|(){}!\n`]|\b(?:then|do|else|if|while|until|exec|command|sudo|env)\b)[ \t]*[\"']?\$(?!\(\()"
)
_RUN_INPUT: Final = frozenset({"eval", ".", "source", "xargs", "exec", "parallel", "$SHELL", "$BASH"})


@dataclass
class Reader:
    """Goes through the arguments of an interpreter.

    With `sure` False the program's name may be a mere argument; then only what follows an option for code,
    or the name of a shell, is taken for code.

    Attributes:
        code: the words that are code.
        reads_stdin: standard input is code.
        done: all further words are data.
    """

    name: str
    rule: Interpreter
    sure: bool = True
    verdicts: list[Verdict] = field(default_factory=list)
    code: list[Word] = field(default_factory=list)
    reads_stdin: bool = False
    done: bool = False
    unclear: bool = False  # which of the further words are code cannot be told
    _module: bool = False
    _before: int = 0
    _skip: int = 0
    _coded: bool = False
    _expecting: bool = False
    _ended: bool = False

    def read(self, arguments: Sequence[Word]) -> Reader:
        """Take in all arguments."""
        self._before = self.rule.before
        for word in arguments:
            if not self.done:
                self._read(word)
        self.reads_stdin = self.reads_stdin or (self.rule.stdin and not self._coded and not self.done)
        return self

    def _read(self, word: Word) -> None:
        self.reads_stdin = self.reads_stdin or is_input(word)
        if self._module:
            self._module = False
            self.unclear = word.text is None or word.text in _MODULES
            self.done = not self.unclear
        elif self.unclear:
            self._found(word)
        elif self._skip:
            self._skip -= 1
        elif self._expecting:
            self._expected(word)
        elif word.text == "--" and not self._ended:
            self._ended = True
        elif not self._ended and (word.prefix[:1] in {"-", "+"} and word.text != "-"):
            self._option(word)
        elif is_option(self.rule.code, word):
            self._expecting = self._coded = True
        else:
            self._plain(word)

    def _option(self, word: Word) -> None:
        rule = self.rule
        self.reads_stdin = self.reads_stdin or (word.prefix.endswith("-") and word.prefix.strip("-") != "")
        if self.name in SHELLS and is_option(_CLUSTER, word):
            self.unclear = self._coded = True
        elif self.rule is _PYTHON_RULE and is_option(rule.last, word):
            self._module = self._coded = True
        elif is_option(rule.code, word):
            self._expecting = self._coded = True
        elif is_option(rule.loads, word):
            self._expecting = True
        elif word.text is None and any(
            re.match(f"(?:{option})=?", word.prefix) for option in (rule.code, rule.loads) if option
        ):
            self._found(word)
        elif is_option(rule.last, word):
            self.done = True
            self.reads_stdin = self.name in SHELLS
        else:
            self._skip = (
                JQ_ARGUMENTS.get(word.prefix, 0) if self.name == "jq" else int(is_option(rule.takes, word))
            )

    def _expected(self, word: Word) -> None:
        self._found(word)
        more_options = self.name in SHELLS and word.prefix[:1] in {"-", "+"}
        self._expecting = more_options or word.may_vanish
        self.done = self._coded and not self._expecting and self.rule in {_SHELL_RULE, _PYTHON_RULE}

    def _plain(self, word: Word) -> None:
        if self._before:
            self._before -= 1
        elif self.rule.script and not self._coded and word.may_vanish:
            return  # it may be options, or nothing, and the code be the next word
        elif self.rule.script and not self._coded:
            self._coded = True
            self.reads_stdin = self.reads_stdin or word.text == "-"
            self.done = self.rule.operands is Operands.DATA
            if self.sure or self.name in SHELLS:
                self._found(word)
        elif self.rule.operands is Operands.OPTIONS and word.leads and not self._ended:
            self.verdicts.append(Verdict(word, Need.OPTION, self.name))
        elif self.rule.operands is Operands.CODE:
            self._found(word)

    def _found(self, word: Word) -> None:
        self.code.append(word)
        self.reads_stdin = self.reads_stdin or word.text == "-"
        if self.name in SHELLS and not is_plain_code(word):
            self.reads_stdin = True
        if word.marks:
            self.verdicts.append(Verdict(word, Need.CODE, self.name))


def find_readers(words: Sequence[Word], heads: set[int]) -> Iterator[Reader]:
    """Every interpreter among the words, with what it makes of those behind it.

    What follows the code of one that certainly runs is data for it, whatever it looks like.
    """
    contained = bool(words) and name_of(words[0]) in CONTAINER_TOOLS
    for index, word in enumerate(words):
        name = name_of(word)
        sure = index in heads
        if name == "ssh" and sure:
            yield _ssh(words[index + 1 :])
            return
        if name in INTERPRETERS and (sure or contained or name in SOMETIMES_RUN):
            reader = Reader(name, INTERPRETERS[name], sure=sure).read(words[index + 1 :])
            yield reader
            if reader.done and (sure or contained):
                return


def _ssh(arguments: Sequence[Word]) -> Reader:
    """Everything behind the host is code for the shell there; so is standard input, if that is all."""
    reader = Reader("ssh", INTERPRETERS["sh"])
    host, skip, code_next = len(arguments), False, False
    for index, word in enumerate(arguments):
        if skip or word.prefix.startswith("-"):
            if word.marks and (code_next if skip else re.match(SSH_CODE, word.prefix)):
                reader.verdicts.append(Verdict(word, Need.CODE, "ssh"))
            code_next = not skip and is_option(SSH_CODE, word)
            skip = not skip and is_option(SSH_TAKES, word)
            continue
        if word.leads:
            reader.verdicts.append(Verdict(word, Need.CODE, "ssh"))
        host = index
        break
    command = arguments[host + 1 :]
    reader.code = list(command)
    reader.verdicts += (Verdict(word, Need.CODE, "ssh") for word in command if word.marks)
    parts = " ".join(word.text or "sh" for word in command).split()
    reader.reads_stdin = not command or any(program_name(part) in INTERPRETERS for part in parts)
    return reader


def is_input(word: Word) -> bool:
    """Whether a word names an open file, such as standard input."""
    return _INPUTS.search(word.prefix) is not None


def is_plain_code(word: Word) -> bool:
    """Whether code for a shell certainly runs nothing that would read standard input as code."""
    if word.text is None or _COMPUTED_NAME.search(word.text):
        return False
    parts = re.findall(r"[^\s;&|()<>{}'\"`]+", word.text)
    return not any(part in _RUN_INPUT or program_name(part) in INTERPRETERS for part in parts)


def is_option(option: str, word: Word) -> bool:
    """Whether a word is certainly one of the options; no pattern matches none."""
    return bool(option) and re.fullmatch(option, word.text or "") is not None


def name_of(word: Word) -> str:
    """The name of a program as the tables know it; empty if the shell computes it."""
    return program_name(word.text) if word.text is not None else ""
