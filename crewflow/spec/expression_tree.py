"""The tree of an expression: jinja2 reads it, and only what is listed here is taken over.

jinja2's nodes are turned into the few kinds below, which hold plain values only. Whatever is not in the
table of this module cannot be written. To know the place of each node, every token is given to jinja2 on
a line of its own: a node's line is then the index of its first token. jinja2 is loaded for this alone, and
not at all for an expression that is one path or one value.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from crewflow.spec.expression_tokens import ExpressionFault, Token, TokenKind, tokenize
from crewflow.spec.filters import PARAMETERS, REQUIRED
from crewflow.spec.scalars import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jinja2 import nodes

MAX_DEPTH = 100
"""Operations within operations; keeps every walk of a tree far from the limit of the machine."""

Span = tuple[int, int]
"""Offset and length in the source."""


@dataclass(frozen=True, slots=True)
class Node:
    """The common part: where the node's first token stands."""

    at: Span


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """Text, a number, true, false or none."""

    value: Any


@dataclass(frozen=True, slots=True)
class Path(Node):
    """A name and the keys that follow it, all known when it is read."""

    keys: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Subscript(Node):
    """A part of a value that is named by a value."""

    base: Node
    key: Node


@dataclass(frozen=True, slots=True)
class Items(Node):
    """A list."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Pairs(Node):
    """An object."""

    pairs: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`not`, `-` or `+` before a value."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic, `and`, `or`."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Joined(Node):
    """Parts joined by `~` into text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`a < b <= c`: each neighbours' pair must hold."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """`a if condition else b`."""

    condition: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """A filter with its arguments by position."""

    name: str
    target: Node
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Test(Node):
    """`is none`, `is defined`."""

    name: str
    target: Node


@dataclass(frozen=True, slots=True)
class Status(Node):
    """`success()` and its like."""

    name: str


def parse_tree(source: str) -> Node:
    """The tree of an expression; offsets count from the start of `source`.

    Raises:
        ExpressionFault: the expression cannot be read, or holds what expressions may not hold.
    """
    tokens = tokenize(source)
    if not tokens:
        raise ExpressionFault(
            "the expression is empty", "write a name between `${{` and `}}`", 0, max(len(source), 1)
        )
    if len(tokens) == 1 and (leaf := _leaf(tokens[0])) is not None:
        return leaf
    return _Converter(tokens).convert(_jinja_tree(tokens), 0)


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below, in order."""
    for part in fields(node):
        yield from _nodes_in(getattr(node, part.name))


def _nodes_in(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes_in(item)


def _leaf(token: Token) -> Node | None:
    at = (token.offset, len(token.text))
    if token.kind is TokenKind.PATH:
        return Path(at, token.value)
    return Literal(at, token.value) if token.kind is TokenKind.VALUE else None


def _jinja_tree(tokens: list[Token]) -> nodes.Node:
    from jinja2 import TemplateSyntaxError  # noqa: PLC0415  # most expressions never need jinja2
    from jinja2.parser import Parser  # noqa: PLC0415  # as above
    from jinja2.sandbox import SandboxedEnvironment  # noqa: PLC0415  # as above

    lines = "\n".join(_for_jinja(token) for token in tokens)
    try:
        parser = Parser(SandboxedEnvironment(), lines, state="variable")
        tree = parser.parse_expression()
        rest = parser.stream.current
    except TemplateSyntaxError as error:
        raise _syntax_fault(tokens, error.lineno) from None
    except RecursionError:
        raise tokens[0].fault("the expression is nested too deeply", "let a step compute it") from None
    if not parser.stream.eos:
        raise _syntax_fault(tokens, rest.lineno)
    return tree


def _for_jinja(token: Token) -> str:
    match token.kind:
        case TokenKind.VALUE:
            return "0"
        case TokenKind.PATH:
            return "path"
        case TokenKind.MEMBER:
            return "[0]"
        case _:
            return token.text


def _syntax_fault(tokens: list[Token], line: int) -> ExpressionFault:
    token = tokens[min(line, len(tokens)) - 1]
    unclosed = _unclosed(tokens)
    if unclosed is not None:
        return unclosed.fault(f"`{unclosed.text}` is not closed")
    if token is tokens[-1] and token.kind is TokenKind.OPERATOR and token.text not in {")", "]", "}"}:
        return token.fault(f"the expression ends after `{token.text}`")
    return token.fault(f"`{token.text}` does not belong here")


def _unclosed(tokens: list[Token]) -> Token | None:
    opened: list[Token] = []
    for token in tokens:
        if token.kind is not TokenKind.OPERATOR:
            continue
        if token.text in {"(", "[", "{"}:
            opened.append(token)
        elif token.text in {")", "]", "}"} and opened:
            opened.pop()
    return opened[-1] if opened else None


class _Converter:
    """Turns jinja2's nodes into ours; `_KINDS` is the whole list of what may be written."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens

    def convert(self, node: nodes.Node, depth: int) -> Node:
        token = self._tokens[min(node.lineno, len(self._tokens)) - 1]
        if depth > MAX_DEPTH:
            raise token.fault("the expression is nested too deeply", "let a step compute it")
        kind = type(node).__name__
        convert = _KINDS.get(kind)
        if convert is None:
            raise token.fault(*_REFUSED.get(kind, (f"`{token.text}` does not belong here", None)))
        return convert(self, node, token, depth + 1)

    def value(self, _node: Any, token: Token, _depth: int) -> Node:
        return Literal(_span(token), token.value)

    def name(self, _node: Any, token: Token, _depth: int) -> Node:
        if token.kind is not TokenKind.PATH:
            raise token.fault(f"`{token.text}` does not belong here")
        return Path(_span(token), token.value)

    def subscript(self, node: Any, token: Token, depth: int) -> Node:
        base = self.convert(node.node, depth)
        key = self.convert(node.arg, depth)
        if isinstance(base, Path) and isinstance(key, Literal) and _is_key(key.value):
            length = key.at[0] + key.at[1] - base.at[0] + (token.text == "[")
            return Path((base.at[0], length), (*base.keys, key.value))
        return Subscript(_span(token), base, key)

    def items(self, node: Any, token: Token, depth: int) -> Node:
        return Items(_span(token), tuple(self.convert(item, depth) for item in node.items))

    def pairs(self, node: Any, token: Token, depth: int) -> Node:
        pairs = [(self.convert(pair.key, depth), self.convert(pair.value, depth)) for pair in node.items]
        return Pairs(_span(token), tuple(pairs))

    def unary(self, node: Any, token: Token, depth: int) -> Node:
        operator = _UNARY[type(node).__name__]
        operand = self.convert(node.node, depth)
        if operator == "-" and isinstance(operand, Literal) and _is_number(operand.value):
            return Literal(_span(token), _negative(operand.value))
        return Unary(_span(token), operator, operand)

    def binary(self, node: Any, token: Token, depth: int) -> Node:
        operator = _BINARY[type(node).__name__]
        return Binary(_span(token), operator, self.convert(node.left, depth), self.convert(node.right, depth))

    def joined(self, node: Any, token: Token, depth: int) -> Node:
        return Joined(_span(token), tuple(self.convert(part, depth) for part in node.nodes))

    def comparison(self, node: Any, token: Token, depth: int) -> Node:
        rest = [(_COMPARISONS[operand.op], self.convert(operand.expr, depth)) for operand in node.ops]
        return Comparison(_span(token), self.convert(node.expr, depth), tuple(rest))

    def choice(self, node: Any, token: Token, depth: int) -> Node:
        if node.expr2 is None:
            raise token.fault("`if` has no `else`", "write `a if condition else b`")
        parts = [self.convert(part, depth) for part in (node.test, node.expr1, node.expr2)]
        return Choice(_span(token), *parts)

    def filter(self, node: Any, token: Token, depth: int) -> Node:
        if node.node is None or node.dyn_args or node.dyn_kwargs:
            raise token.fault(f"`{token.text}` does not belong here")
        arguments = self._arguments(node, token, depth)
        return Filter(_span(token), node.name, self.convert(node.node, depth), arguments)

    def _arguments(self, node: Any, token: Token, depth: int) -> tuple[Node, ...]:
        parameters = PARAMETERS[node.name]
        if node.kwargs:
            raise token.fault(
                f"the arguments of `{node.name}` have no names", "write the values alone, in order"
            )
        if not REQUIRED[node.name] <= len(node.args) <= len(parameters):
            shown = ", ".join(parameters[: REQUIRED[node.name] or None])
            raise token.fault(
                f"`{node.name}` has other arguments",
                f"write `{node.name}({shown})`" if shown else f"write `{node.name}`",
            )
        return tuple(self.convert(argument, depth) for argument in node.args)

    def test(self, node: Any, token: Token, depth: int) -> Node:
        if node.args or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise token.fault(f"`is {node.name}` has no arguments")
        return Test(_span(token), node.name, self.convert(node.node, depth))

    def status(self, node: Any, _token: Token, _depth: int) -> Node:
        token = self._tokens[min(node.node.lineno, len(self._tokens)) - 1]
        if token.kind is not TokenKind.STATUS:
            raise token.fault(f"`{token.text}` cannot be called")
        if node.args or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise token.fault(f"`{token.text}()` has no arguments", f"write `{token.text}()`")
        return Status(_span(token), token.text)


_UNARY = {"Not": "not", "Neg": "-", "Pos": "+"}
_BINARY = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "FloorDiv": "//",
    "Mod": "%",
    "And": "and",
    "Or": "or",
}
_COMPARISONS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "lteq": "<=",
    "gt": ">",
    "gteq": ">=",
    "in": "in",
    "notin": "not in",
}
_KINDS: dict[str, Callable[[_Converter, Any, Token, int], Node]] = {
    "Const": _Converter.value,
    "Name": _Converter.name,
    "Getitem": _Converter.subscript,
    "List": _Converter.items,
    "Dict": _Converter.pairs,
    **dict.fromkeys(_UNARY, _Converter.unary),
    **dict.fromkeys(_BINARY, _Converter.binary),
    "Concat": _Converter.joined,
    "Compare": _Converter.comparison,
    "CondExpr": _Converter.choice,
    "Filter": _Converter.filter,
    "Test": _Converter.test,
    "Call": _Converter.status,
}
_REFUSED: dict[str, tuple[str, str | None]] = {
    "Slice": ("a part of a list cannot be cut out", "take one element, `x[0]`, or use `first` and `last`"),
    "Pow": ("there is no `**`", "multiply with `*`"),
    "Tuple": ("values stand side by side", "write a list as `[a, b]`"),
}


def _span(token: Token) -> Span:
    return token.offset, len(token.text)


def _is_key(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _negative(value: Any) -> Any:
    text = getattr(value, "text", None)
    return -value if text is None else resolve(f"-{text}")
