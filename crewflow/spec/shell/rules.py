"""Judges the words of a command: which of them the program reads as more than data.

An expression that stands in such a word is refused, or must be an integer. What is not in the tables of
`shell.programs` gets its arguments as data. Where a rule cannot tell which argument is which, it refuses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from crewflow.spec.shell.interpreters import SOMETIMES_RUN, find_readers, is_input, is_option, name_of
from crewflow.spec.shell.programs import (
    ALL_CODE,
    COMPARES_NUMBERS,
    CONTAINER_TOOLS,
    DECLARES,
    FIND_COMMANDS,
    INTERPRETERS,
    NAMES,
    NAMING_TESTS,
    NUMBERS,
    WRAPPER_CODE,
    WRAPPERS,
)
from crewflow.spec.shell.words import Judgement, Need, Verdict, Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Rule = Callable[[str, Sequence[Word], str], Iterator[Verdict]]

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_NUMERIC_FORMAT: Final = re.compile(r"%[^A-Za-z%]*(?:[diouxXeEfFgGaAc]|\*)")
_GIT_SETTING: Final = re.compile(
    r"(?i)^(?:-c)?[a-z]+\..*(?:command|editor|pager|helper|textconv|hookspath|program|proxy|askpass|fsmonitor)"
    r"|^(?:alias|filter|difftool|mergetool|diff|merge|pager|include|includeif)\."
)
_SOURCES: Final = frozenset({".", "source", "run-parts"})
_DASH: Final = re.compile(r"-|-[A-Za-z]*f-|--(?:make)?file=-")
_REPLACES: Final = re.compile(r"-[A-Za-z]*[Ii].*|--replace.*")


def judge(words: Sequence[Word], language: str) -> Judgement:
    """What a command does with its words, which hold neither assignments nor redirections."""
    verdicts: list[Verdict] = []
    heads = list(_heads(words, verdicts))
    for index in heads:
        verdicts += _judge_head(words[index], words[index + 1 :], language)
    readers = list(find_readers(words, set(heads)))
    verdicts += (verdict for reader in readers for verdict in reader.verdicts)
    code = [word for reader in readers for word in reader.code]
    code += [word for index in heads if name_of(words[index]) in ALL_CODE for word in words[index + 1 :]]
    code += [words[index] for index in heads]
    code += [
        word
        for index in heads
        if name_of(words[index]) == "make"
        for word in words[index + 1 :]
        if word.text is None and _ASSIGNMENT.match(word.prefix)
    ]
    code += [word for index in heads if name_of(words[index]) in _SOURCES for word in words[index + 1 :]]
    stdin = next((reader.name for reader in readers if reader.reads_stdin), None)
    stdin = stdin or _replaced_stdin(words) or _input_as_code(words, heads)
    return Judgement(tuple(verdicts), tuple(code), stdin)


def _input_as_code(words: Sequence[Word], heads: Sequence[int]) -> str | None:
    """The program, beside interpreters, that reads standard input or an open file as code."""
    for index in heads:
        head, rest = words[index], words[index + 1 :]
        name = name_of(head)
        if head.text is None or head.unsure:
            return "the command"
        if name in {".", "source"} and (any(map(is_input, rest)) or rest[:1] == []):
            return name
        if name == "make" and any(is_input(word) or _DASH.fullmatch(word.prefix) for word in rest):
            return name
        if name == "parallel":
            return name
        if name == "exec" and all(word.prefix.startswith("-") for word in rest):
            return name
    return None


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


# Which words name programs


def _heads(words: Sequence[Word], verdicts: list[Verdict]) -> Iterator[int]:
    """The places of the words that certainly name a program: the first, and those behind wrappers."""
    index: int | None = 0
    while index is not None and index < len(words):
        yield index
        name = name_of(words[index])
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
            skip = int(is_option(takes, word))
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
            verdicts.append(Verdict(word, Need.COMMAND, name_of(words[index])))


# Builtins, and programs with a rule of their own


def _judge_head(head: Word, arguments: Sequence[Word], language: str) -> Iterator[Verdict]:
    name = name_of(head)
    if head.text is None or head.unsure:
        yield from (Verdict(word, Need.UNSURE, "") for word in arguments if word.marks)
    elif name in ALL_CODE:
        yield from (Verdict(word, Need.CODE, name) for word in arguments if word.marks)
    elif name in NUMBERS:
        yield from (Verdict(word, Need.INTEGER, name) for word in arguments if word.marks)
    elif name in _RULES:
        yield from _RULES[name](name, arguments, language)


def _test(name: str, arguments: Sequence[Word], _language: str) -> Iterator[Verdict]:
    yield from judge_test(arguments, name)


def _source(name: str, arguments: Sequence[Word], _language: str) -> Iterator[Verdict]:
    yield from (Verdict(word, Need.CODE, name) for word in _up_to_first(arguments) if word.marks)


def _up_to_first(arguments: Sequence[Word]) -> Iterator[Word]:
    """All words that may be the first when the program gets them."""
    for word in arguments:
        yield word
        if not word.may_vanish:
            return


def _make(name: str, arguments: Sequence[Word], _language: str) -> Iterator[Verdict]:
    yield from (
        Verdict(word, Need.CODE, name) for word in arguments if word.marks and _ASSIGNMENT.match(word.prefix)
    )


def _git(name: str, arguments: Sequence[Word], _language: str) -> Iterator[Verdict]:
    """Settings that name programs: `git -c core.pager=...`, `git config alias.x ...`."""
    settings = [word for word in arguments if _GIT_SETTING.search(word.prefix)]
    # `-c core.fsmonitor=false` is whole; a name without its value takes one of the words behind it
    whole = all(word.text is not None and "=" in word.text for word in settings)
    suspects = [word for word in settings if word.marks] if whole else arguments
    yield from (Verdict(word, Need.CODE, name) for word in suspects if word.marks)


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
    yield from (Verdict(word, Need.FORMAT, name) for word in _up_to_first(rest) if word.marks)
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
    "git": _git,
}


def _replaced_stdin(words: Sequence[Word]) -> str | None:
    """`xargs -I{} sh -c '... {} ...'` puts what it reads into the code."""
    names = [name_of(word) for word in words]
    if "xargs" not in names:
        return None
    if any(name in SOMETIMES_RUN for name in names):
        return "xargs"
    if not any(_REPLACES.fullmatch(word.prefix) for word in words):
        return None
    return "xargs" if any(name in INTERPRETERS for name in names) else None
