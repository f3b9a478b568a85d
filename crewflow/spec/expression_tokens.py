"""The words of an expression: cut into tokens, each with its place, and checked against what there is.

A dotted path is one token: `steps.my-step.outputs.x-y` is a name with three keys, whatever `-` means
elsewhere. Unknown names and the spellings of other tools are found here, where their place is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from crewflow.spec.scalars import ScalarFault, resolve
from crewflow.spec.suggest import did_you_mean, nearest

ROOTS = ("inputs", "env", "matrix", "item", "item_index", "run", "attempt", "steps")
STATUS_FUNCTIONS = ("success", "failure", "always", "cancelled")
FILTERS = (
    "default",
    "from_json",
    "to_json",
    "length",
    "join",
    "split",
    "lower",
    "upper",
    "trim",
    "first",
    "last",
    "sort",
    "unique",
    "replace",
    "basename",
    "dirname",
)
TESTS = ("none", "defined")
STATES = ("pending", "waiting", "ready", "running", "succeeded", "failed", "skipped", "cancelled")
OUTCOMES = ("succeeded", "failed", "cancelled", "lost", "rejected", "skipped")

MAX_LENGTH = 20_000
"""Characters of one expression."""

MAX_NESTING = 30
"""Brackets within brackets."""

_AHEAD = 80
_CONSTANTS: dict[str, Any] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "none": None,
    "None": None,
}
_OPERATOR_WORDS = frozenset({"and", "or", "not", "in", "is", "if", "else"})
_OPERATORS = frozenset(
    [
        "==",
        "!=",
        "<=",
        ">=",
        "//",
        "<",
        ">",
        "+",
        "-",
        "*",
        "/",
        "%",
        "~",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "|",
    ]
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "\n": "", "/": "/"}

_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?!\w))
    | (?P<name>[^\W\d][\w-]*(?:\.\w[\w-]*)*)
    | (?P<member>\.\w[\w-]*)
    | (?P<operator>===|!==|==|!=|<=|>=|//|\*\*|&&|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)

_FOREIGN_OPERATORS = {
    "&&": "write `and`",
    "||": "write `or`",
    "!": "write `not`",
    "===": "write `==`",
    "!==": "write `!=`",
    "=": "to compare, write `==`",
    "&": "write `and`; to join text, write `~`",
    "?": "write `a if condition else b`",
    "**": "multiply with `*`",
    "$": "inside `${{ }}` names are written without `$`",
    "`": "text stands in `'` or `\"`",
    ".": "a `.` is followed by a name; write `['key']` for any other key",
    "'": "the text is not closed",
    '"': "the text is not closed",
}
_FOREIGN_FUNCTIONS = {
    "contains": "write `'x' in y`",
    "fromJSON": "write `x | from_json`",
    "fromJson": "write `x | from_json`",
    "toJSON": "write `x | to_json`",
    "toJson": "write `x | to_json`",
    "format": "join text with `~`, or write it with several `${{ }}`",
    "startsWith": "let a step compare, and read its output",
    "endsWith": "let a step compare, and read its output",
    "hashFiles": "let a step make the hash, and read its output",
    "len": "write `x | length`",
    "canceled": "did you mean `cancelled`?",
    "succeeded": "did you mean `success`?",
    "failed": "did you mean `failure`?",
    "range": "write the values into the file, or let a step make them",
    "int": "declare the input or output as `integer`",
    "str": "join text with `~`",
}
_FOREIGN_FILTERS = {
    "tojson": "to_json",
    "fromjson": "from_json",
    "d": "default",
    "count": "length",
    "len": "length",
    "size": "length",
    "strip": "trim",
    "downcase": "lower",
    "upcase": "upper",
    "uniq": "unique",
}
_FOREIGN_ROOTS = {
    "github": "there are `run`, `inputs` and `env`",
    "needs": "write `steps.<id>.outputs.<name>`",
    "tasks": "write `steps.<id>.outputs.<name>`",
    "jobs": "write `steps.<id>.outputs.<name>`",
    "job": "write `steps.<id>.state`",
    "vars": "write `inputs.<name>` or `env.<name>`",
    "workflow": "write `inputs.<name>`, or `run.workflow` for the name",
    "params": "write `inputs.<name>`",
    "parameters": "write `inputs.<name>`",
    "secrets": "secrets are given to steps as environment variables, not to expressions",
    "runner": "there are `run` and `env`",
    "strategy": "write `matrix.<axis>` or `item`",
    "loop": "write `item` or `item_index`",
    "null": "write `none`",
    "nil": "write `none`",
    "undefined": "write `x is defined`",
    "TRUE": "write `true`",
    "FALSE": "write `false`",
}


class ExpressionFault(Exception):  # noqa: N818  # a fault of the text, collected and shown like any other
    """What is wrong in an expression or in text with expressions.

    Attributes:
        hint: what to write instead, or None.
        offset, length: where, in characters of the text that was given.
    """

    def __init__(self, message: str, hint: str | None, offset: int, length: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.offset = offset
        self.length = length

    def moved(self, by: int) -> ExpressionFault:
        """The same fault, counted from `by` characters earlier."""
        return ExpressionFault(self.message, self.hint, self.offset + by, self.length)


class TokenKind(StrEnum):
    """What a token is."""

    VALUE = "value"  # text, a number, true, false, none
    PATH = "path"
    MEMBER = "member"  # `.name` after a bracket
    STATUS = "status"
    FILTER = "filter"
    TEST = "test"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its text as authored, where it starts, and the value or keys that it stands for."""

    kind: TokenKind
    text: str
    offset: int
    value: Any = None

    def fault(self, message: str, hint: str | None = None) -> ExpressionFault:
        """A fault that underlines this token."""
        return ExpressionFault(message, hint, self.offset, len(self.text))


def tokenize(source: str) -> list[Token]:
    """The tokens of an expression, every name in them known.

    Raises:
        ExpressionFault: an unknown name, function or filter, another tool's spelling, text without end.
    """
    if len(source) > MAX_LENGTH:
        raise ExpressionFault(f"an expression has at most {MAX_LENGTH:,} characters", None, 0, 1)
    tokens: list[Token] = []
    for match in _TOKEN.finditer(source):
        if match.lastgroup != "space":
            tokens.append(_token(match, source, tokens))
    _check_nesting(tokens)
    return tokens


def _token(match: re.Match[str], source: str, before: list[Token]) -> Token:
    text, offset = match.group(), match.start()
    token = Token(TokenKind.OPERATOR, text, offset)
    match match.lastgroup:
        case "text":
            return _text(token, before)
        case "number":
            return _number(token)
        case "name":
            return _name(token, before, source[match.end() : match.end() + _AHEAD].lstrip())
        case "member":
            return _member(token, before, source[match.end() : match.end() + _AHEAD].lstrip())
        case _:
            return _operator(token, before)


def _text(token: Token, before: list[Token]) -> Token:
    if before and before[-1].kind is TokenKind.VALUE:
        raise token.fault("two values stand side by side", "join text with `~`")
    return Token(TokenKind.VALUE, token.text, token.offset, _ESCAPE.sub(_unescaped, token.text[1:-1]))


def _unescaped(match: re.Match[str]) -> str:
    code = match.group(1) or match.group(2)
    if code:
        return chr(int(code, 16))
    return _ESCAPES.get(match.group(3), match.group(0))


def _number(token: Token) -> Token:
    try:
        value = resolve(token.text)
    except ScalarFault as fault:
        raise token.fault(fault.message) from None
    if isinstance(value, str):
        raise token.fault(f"`{token.text}` is no number", "quote it to mean text")
    return Token(TokenKind.VALUE, token.text, token.offset, value)


def _name(token: Token, before: list[Token], following: str) -> Token:
    text = token.text
    previous = before[-1].text if before else ""
    if previous == "|":
        return _filter(token)
    if previous == "is" or (previous == "not" and len(before) > 1 and before[-2].text == "is"):
        return _test(token)
    if text in _OPERATOR_WORDS:
        return token
    if text in _CONSTANTS:
        return Token(TokenKind.VALUE, text, token.offset, _CONSTANTS[text])
    if previous in {"(", ","} and following.startswith("=") and not following.startswith("=="):
        raise token.fault("arguments have no names", "write the values alone, in order")
    return _function(token) if following.startswith("(") else _path(token)


def _filter(token: Token) -> Token:
    name = token.text
    if name in FILTERS:
        return Token(TokenKind.FILTER, name, token.offset, name)
    meant = _FOREIGN_FILTERS.get(name)
    hint = f"did you mean `{meant}`?" if meant else did_you_mean(name, FILTERS)
    raise token.fault(f"unknown filter `{name}`", hint or f"filters are {_listed(FILTERS)}")


def _test(token: Token) -> Token:
    if token.text == "not":
        return token
    if token.text in TESTS:
        return Token(TokenKind.TEST, token.text, token.offset, token.text)
    raise token.fault(
        f"unknown test `is {token.text}`", "there are `is none` and `is defined`; to compare, write `==`"
    )


def _function(token: Token) -> Token:
    name = token.text
    if name in STATUS_FUNCTIONS:
        return Token(TokenKind.STATUS, name, token.offset, name)
    last = name.rpartition(".")[2]
    if "." in name:
        hint = (
            f"write `x | {last}`"
            if last in FILTERS
            else "`.name` is a key, and nothing of a value can be called"
        )
        raise token.fault(f"`{name}` cannot be called", hint)
    known = _FOREIGN_FUNCTIONS.get(name) or (f"write `x | {name}`" if name in FILTERS else None)
    hint = known or did_you_mean(name, STATUS_FUNCTIONS) or f"functions are {_listed(STATUS_FUNCTIONS)}"
    raise token.fault(f"unknown function `{name}()`", hint)


def _path(token: Token) -> Token:
    root, *rest = token.text.split(".")
    if root not in ROOTS:
        raise token.fault(f"unknown name `{root}`", _root_hint(root, alone=not rest))
    return Token(TokenKind.PATH, token.text, token.offset, (root, *map(_key, rest)))


def _root_hint(root: str, *, alone: bool) -> str:
    if root in _FOREIGN_ROOTS:
        return _FOREIGN_ROOTS[root]
    if alone and root in STATUS_FUNCTIONS:
        return f"write `{root}()`"
    if alone and root in {*STATES, *OUTCOMES}:
        return f"to mean the text, quote it: `'{root}'`"
    head = root.partition("-")[0]
    if head in ROOTS:
        return f"`-` belongs to the name; to subtract, write `{head} - ...`"
    meant = nearest(root, ROOTS)
    if meant is not None:
        return f"did you mean `{meant}`?"
    return f"names are {_listed(ROOTS)}; quote text: `'{root}'`"


def _key(text: str) -> str | int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text  # noqa: PLR2004  # an index


def _member(token: Token, before: list[Token], following: str) -> Token:
    if not before or not (before[-1].kind is TokenKind.MEMBER or before[-1].text in {")", "]", "}"}):
        raise token.fault(f"`{token.text}` belongs to nothing", _FOREIGN_OPERATORS["."])
    if following.startswith("("):
        raise token.fault(
            f"`{token.text}` cannot be called", "`.name` is a key, and nothing of a value can be called"
        )
    return Token(TokenKind.MEMBER, token.text, token.offset, _key(token.text[1:]))


def _operator(token: Token, before: list[Token]) -> Token:
    text = token.text
    if text == "{" and before and before[-1].text == "{" and before[-1].offset == token.offset - 1:
        raise token.fault("`{{` within `${{ }}`", "write the name alone: `${{ inputs.goal }}`")
    if text in _OPERATORS:
        return token
    shown = "a quote" if text in {"'", '"', "`"} else f"`{text}`"
    raise token.fault(f"{shown} does not belong here", _FOREIGN_OPERATORS.get(text))


def _check_nesting(tokens: list[Token]) -> None:
    depth = 0
    for token in tokens:
        depth += (token.text in {"(", "[", "{"}) - (token.text in {")", "]", "}"})
        if depth > MAX_NESTING and token.kind is TokenKind.OPERATOR:
            raise token.fault("the expression is nested too deeply", "let a step compute it")


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
