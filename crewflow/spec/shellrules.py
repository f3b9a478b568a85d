"""Judges the words of a command: which of them the program reads as more than data.

An expression that stands in such a word is refused, or must be an integer. What is not in the tables of
`shellprograms` gets its arguments as data. Where a rule cannot tell which argument is which, it refuses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from crewflow.spec.shellprograms import (
    ALL_CODE,
    COMPARES_NUMBERS,
    CONTAINER_TOOLS,
    DECLARES,
    FIND_COMMANDS,
    INTERPRETERS,
    JQ_ARGUMENTS,
    NAMES,
    NAMING_TESTS,
    NUMBERS,
    SHELLS,
    SSH_CODE,
    SSH_TAKES,
    WRAPPER_CODE,
    WRAPPERS,
    Interpreter,
    Operands,
    program_name,
)
from crewflow.spec.shellwords import Judgement, Need, Verdict, Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Rule = Callable[[str, Sequence[Word], str], Iterator[Verdict]]

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_NUMERIC_FORMAT: Final = re.compile(r"%[^A-Za-z%]*(?:[diouxXeEfFgGaAc]|\*)")
_REPLACES: Final = re.compile(r"-[A-Za-z]*[Ii].*|--replace.*")
_CODE_OPTION: Final = re.compile(r"-[A-Za-z]*[ceErR]|--eval|--command")
_SOMETIMES_RUN: Final = SHELLS | {"python", "perl", "ruby", "node"}


def judge(words: Sequence[Word], language: str) -> Judgement:
    """What a command does with its words, which hold neither assignments nor redirections."""
    verdicts: list[Verdict] = []
    heads = list(_heads(words, verdicts))
    for index in heads:
        verdicts += _judge_head(words[index], words[index + 1 :], language)
    readers = list(_readers(words, set(heads)))
    verdicts += (verdict for reader in readers for verdict in reader.verdicts)
    code = [word for reader in readers for word in reader.code]
    code += [word for index in heads if _name(words[index]) in ALL_CODE for word in words[index + 1 :]]
    stdin = next((reader.name for reader in readers if reader.reads_stdin), None)
    return Judgement(tuple(verdicts), tuple(code), stdin or _replaced_stdin(words))


def judge_test(arguments: Sequence[Word], name: str) -> Iterator[Verdict]:
    """`test`, `[` and `[[`: numbers are compared as arithmetic, and `-v` names a variable."""
    for index, word in enumerate(arguments):
        if not word.marks:
            continue
        before = arguments[index - 1] if index else None
        after = arguments[index + 1] if index + 1 < len(arguments) else None
        if before is not None and before.text in NAMING_TESTS:
            yield Verdict(word, Need.NAME, name)
        elif before is not None and before.marks and name != "[[":
            yield Verdict(word, Need.UNSURE, name)
        elif any(item is not None and item.text in COMPARES_NUMBERS for item in (before, after)):
            yield Verdict(word, Need.INTEGER, name)


def _name(word: Word) -> str:
    return program_name(word.text) if word.text is not None else ""


# Which words name programs


def _heads(words: Sequence[Word], verdicts: list[Verdict]) -> Iterator[int]:
    """The places of the words that certainly name a program: the first, and those behind wrappers."""
    index: int | None = 0
    while index is not None and index < len(words):
        yield index
        name = _name(words[index])
        if name == "find":
            yield from _found_heads(words, index, verdicts)
        if name in CONTAINER_TOOLS:
            _container_head(words, index, verdicts)
        index = _wrapped(name, words, index, verdicts) if name in WRAPPERS else None


def _wrapped(name: str, words: Sequence[Word], index: int, verdicts: list[Verdict]) -> int | None:
    """The place of the command that a wrapper runs, if it can be told and holds no expression."""
    takes, plain = WRAPPERS[name]
    skip, ended = 0, False
    for position in range(index + 1, len(words)):
        word = words[position]
        if skip:
            skip -= 1
        elif not ended and word.prefix.startswith("-"):
            ended = word.text == "--"
            if _wrapper_ends(name, words, position, verdicts):
                return None
            skip = int(_is(takes, word))
        elif _ASSIGNMENT.match(word.prefix) and name in {"env", "sudo", "doas"}:
            continue
        elif plain:
            plain -= 1
        elif word.marks:
            verdicts.append(Verdict(word, Need.COMMAND, name))
            return None
        else:
            return position
    return None


def _wrapper_ends(name: str, words: Sequence[Word], position: int, verdicts: list[Verdict]) -> bool:
    """Whether an option of a wrapper means that no command follows: `env -S code`, `command -v name`."""
    word = words[position]
    if name == "command" and word.text in {"-v", "-V"}:
        return True
    code = WRAPPER_CODE.get(name, "")
    if not code or not re.match(code, word.prefix):
        return False
    verdicts += (Verdict(item, Need.CODE, name) for item in words[position:] if item.marks)
    return True


def _found_heads(words: Sequence[Word], index: int, verdicts: list[Verdict]) -> Iterator[int]:
    behind = [place + 1 for place in range(index, len(words) - 1) if words[place].text in FIND_COMMANDS]
    verdicts += (Verdict(words[place], Need.COMMAND, "find") for place in behind if words[place].marks)
    yield from behind
    if behind and any("{}" in word.prefix and word.text != "{}" for word in words[behind[0] :]):
        verdicts += (Verdict(word, Need.CODE, "find") for word in words[index:] if word.marks)


def _container_head(words: Sequence[Word], index: int, verdicts: list[Verdict]) -> None:
    for before, word in zip(words[index:], words[index + 1 :], strict=False):
        if before.text == "--" and word.marks:
            verdicts.append(Verdict(word, Need.COMMAND, _name(words[index])))


# Builtins, and programs with a rule of their own


def _judge_head(head: Word, arguments: Sequence[Word], language: str) -> Iterator[Verdict]:
    name = _name(head)
    if head.text is None or head.unsure:
        yield from _unknown_program(head, arguments)
    elif name in ALL_CODE:
        yield from (Verdict(word, Need.CODE, name) for word in arguments if word.marks)
    elif name in NUMBERS:
        yield from (Verdict(word, Need.INTEGER, name) for word in arguments if word.marks)
    elif name in _RULES:
        yield from _RULES[name](name, arguments, language)


def _unknown_program(head: Word, arguments: Sequence[Word]) -> Iterator[Verdict]:
    """The program is known at run time only: what could be code for an interpreter is refused."""
    previous: Word | None = None
    for word in arguments:
        first = previous is None and head.splits
        behind_option = previous is not None and _CODE_OPTION.fullmatch(previous.text or "")
        if word.marks and (head.unsure or first or behind_option):
            yield Verdict(word, Need.UNSURE, "")
        previous = word


def _test(name: str, arguments: Sequence[Word], _language: str) -> Iterator[Verdict]:
    yield from judge_test(arguments, name)


def _source(name: str, arguments: Sequence[Word], _language: str) -> Iterator[Verdict]:
    yield from (Verdict(word, Need.CODE, name) for word in arguments[:1] if word.marks)


def _make(name: str, arguments: Sequence[Word], _language: str) -> Iterator[Verdict]:
    yield from (
        Verdict(word, Need.CODE, name) for word in arguments if word.marks and _ASSIGNMENT.match(word.prefix)
    )


def _names(name: str, arguments: Sequence[Word], _language: str) -> Iterator[Verdict]:
    for word in arguments:
        if word.leads or (word.marks and "[" in word.prefix.partition("=")[0]):
            yield Verdict(word, Need.NAME, name)


def _declares(name: str, arguments: Sequence[Word], language: str) -> Iterator[Verdict]:
    options = attributes(name, arguments)
    need = Need.NAME if "n" in options else Need.INTEGER
    if options:
        yield from (Verdict(word, need, name) for word in arguments if word.marks)
    else:
        yield from _names(name, arguments, language)


def attributes(name: str, arguments: Sequence[Word]) -> set[str]:
    """The attributes that a declaration gives and that change how values are read: `i`, `E`, `F`, `n`."""
    if name in _ATTRIBUTES:
        return {_ATTRIBUTES[name]}
    options = "".join(word.prefix for word in arguments if word.prefix[:1] in {"-", "+"})
    naming = {"n"} if name in {"declare", "typeset", "local"} else set()
    return set(options) & ({"i", "E", "F"} | naming) if name in DECLARES else set()


_ATTRIBUTES: Final = {"integer": "i", "float": "F", "nameref": "n"}


def _printf(name: str, arguments: Sequence[Word], language: str) -> Iterator[Verdict]:
    rest = list(arguments)
    if rest and rest[0].prefix.startswith("-v"):
        taken = 2 if rest[0].text == "-v" else 1
        yield from (Verdict(word, Need.NAME, name) for word in rest[:taken] if word.marks)
        rest = rest[taken:]
    if rest and rest[0].text == "--":
        rest = rest[1:]
    if not rest:
        return
    if rest[0].marks:
        yield Verdict(rest[0], Need.FORMAT, name)
    computes = rest[0].text is None or _NUMERIC_FORMAT.search(rest[0].text)
    if computes and language in {"ksh", "zsh"}:
        yield from (Verdict(word, Need.INTEGER, name) for word in rest[1:] if word.marks)


def _options_first(name: str, arguments: Sequence[Word], _language: str) -> Iterator[Verdict]:
    """`set`, `print`: what comes before `--` may be an option that names a variable."""
    for word in arguments:
        if word.text in {"--", "-"} or not (word.leads or word.prefix.startswith(("-", "+"))):
            return
        if word.leads:
            yield Verdict(word, Need.OPTION, name)


_RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(NAMES, _names),
    **dict.fromkeys(DECLARES, _declares),
    **dict.fromkeys(["test", "["], _test),
    **dict.fromkeys([".", "source"], _source),
    **dict.fromkeys(["set", "print"], _options_first),
    "printf": _printf,
    "make": _make,
}


# Interpreters


@dataclass
class _Reader:
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
    _before: int = 0
    _skip: int = 0
    _coded: bool = False
    _expecting: bool = False
    _ended: bool = False

    def read(self, arguments: Sequence[Word]) -> _Reader:
        """Take in all arguments."""
        self._before = self.rule.before
        for word in arguments:
            if not self.done:
                self._read(word)
        self.reads_stdin = self.reads_stdin or (self.rule.stdin and not self._coded and not self.done)
        return self

    def _read(self, word: Word) -> None:
        if self._skip:
            self._skip -= 1
        elif self._expecting:
            self._expected(word)
        elif word.text == "--" and not self._ended:
            self._ended = True
        elif not self._ended and (word.prefix[:1] in {"-", "+"} and word.text != "-"):
            self._option(word)
        elif _is(self.rule.code, word):
            self._expecting = self._coded = True
        else:
            self._plain(word)

    def _option(self, word: Word) -> None:
        rule = self.rule
        if _is(rule.code, word):
            self._expecting = self._coded = True
        elif _is(rule.loads, word):
            self._expecting = True
        elif word.marks and any(
            re.match(f"(?:{option})=?", word.prefix) for option in (rule.code, rule.loads) if option
        ):
            self._found(word)
        elif _is(rule.last, word):
            self.done = True
            self.reads_stdin = self.name in SHELLS
        else:
            self._skip = JQ_ARGUMENTS.get(word.prefix, 0) if self.name == "jq" else int(_is(rule.takes, word))

    def _expected(self, word: Word) -> None:
        self._found(word)
        more_options = self.name in SHELLS and word.prefix[:1] in {"-", "+"}
        self._expecting = more_options
        self.done = self._coded and not more_options and self.rule in {_SHELL_RULE, _PYTHON_RULE}

    def _plain(self, word: Word) -> None:
        if self._before:
            self._before -= 1
        elif self.rule.script and not self._coded:
            self._coded = True
            self.reads_stdin = word.text in {"-", "/dev/stdin"}
            self.done = self.rule.operands is Operands.DATA
            if self.sure or self.name in SHELLS:
                self._found(word)
        elif self.rule.operands is Operands.OPTIONS and word.leads and not self._ended:
            self.verdicts.append(Verdict(word, Need.OPTION, self.name))
        elif self.rule.operands is Operands.CODE:
            self._found(word)

    def _found(self, word: Word) -> None:
        self.code.append(word)
        if word.marks:
            self.verdicts.append(Verdict(word, Need.CODE, self.name))


_SHELL_RULE: Final = INTERPRETERS["sh"]
_PYTHON_RULE: Final = INTERPRETERS["python"]


def _readers(words: Sequence[Word], heads: set[int]) -> Iterator[_Reader]:
    """Every interpreter among the words, with what it makes of those behind it.

    What follows the code of one that certainly runs is data for it, whatever it looks like.
    """
    contained = bool(words) and _name(words[0]) in CONTAINER_TOOLS
    for index, word in enumerate(words):
        name = _name(word)
        sure = index in heads
        if name == "ssh" and sure:
            yield _ssh(words[index + 1 :])
            return
        if name in INTERPRETERS and (sure or contained or name in _SOMETIMES_RUN):
            reader = _Reader(name, INTERPRETERS[name], sure=sure).read(words[index + 1 :])
            yield reader
            if reader.done and (sure or contained):
                return


def _ssh(arguments: Sequence[Word]) -> _Reader:
    """Everything behind the host is code for the shell there; so is standard input, if that is all."""
    reader = _Reader("ssh", INTERPRETERS["sh"])
    host, skip, code_next = len(arguments), False, False
    for index, word in enumerate(arguments):
        if skip or word.prefix.startswith("-"):
            if word.marks and (code_next if skip else re.match(SSH_CODE, word.prefix)):
                reader.verdicts.append(Verdict(word, Need.CODE, "ssh"))
            code_next = not skip and _is(SSH_CODE, word)
            skip = not skip and _is(SSH_TAKES, word)
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


def _replaced_stdin(words: Sequence[Word]) -> str | None:
    """`xargs -I{} sh -c '... {} ...'` puts what it reads into the code."""
    names = [_name(word) for word in words]
    if "xargs" not in names or not any(_REPLACES.fullmatch(word.prefix) for word in words):
        return None
    return "xargs" if any(name in INTERPRETERS for name in names) else None


def _is(option: str, word: Word) -> bool:
    return bool(option) and re.fullmatch(option, word.text or "") is not None
