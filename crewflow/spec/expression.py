"""Expressions, what stands between `${{` and `}}`: read once, checked at once, evaluated on plain data.

    parse_expression(source) -> Expression           names, functions, filters and grammar are checked
    evaluate(expression, resolve, functions) -> Any  `resolve` gives the value of a path

The grammar is that of jinja2's expressions, as far as `expression_tree` lists it. Nothing is ever called
but the filters of `filters`, and no value is reached but those that `resolve` gives: `.name` is a key of an
object, never an attribute.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from crewflow.spec.expression_tokens import OUTCOMES, STATES, STATUS_FUNCTIONS, ExpressionFault
from crewflow.spec.expression_tree import (
    Binary,
    Choice,
    Comparison,
    Filter,
    Items,
    Joined,
    Literal,
    Node,
    Pairs,
    Path,
    Status,
    Subscript,
    Test,
    Unary,
    children,
    parse_tree,
)
from crewflow.spec.expression_values import (
    UNDEFINED,
    RenderError,
    bounded,
    calculate,
    compare,
    described,
    negate,
    part,
    text_form,
)
from crewflow.spec.filters import apply_filter
from crewflow.spec.suggest import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = [
    "STATUS_FUNCTIONS",
    "UNDEFINED",
    "Expression",
    "ExpressionFault",
    "PathRef",
    "RenderError",
    "check_state_words",
    "evaluate",
    "evaluate_condition",
    "parse_expression",
    "text_form",
]

Fault = tuple[str, str | None, int, int]
"""Message, hint, offset and length."""


@dataclass(frozen=True, slots=True)
class PathRef:
    """A path that an expression reads, as far as its keys are known, and where it stands."""

    keys: tuple[str | int, ...]
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression; two of the same source are the same.

    Attributes:
        source: as authored, without the space around it.
        paths: what it reads, in order of place.
        functions: the status functions that it asks.
        offset: where the source starts in the text that was parsed.
    """

    source: str
    paths: tuple[PathRef, ...] = field(compare=False)
    functions: frozenset[str] = field(compare=False)
    tree: Node = field(compare=False, repr=False)
    offset: int = field(compare=False, default=0)


def parse_expression(source: str, offset: int = 0) -> Expression:
    """Read an expression; all places count from `offset` characters before it.

    Raises:
        ExpressionFault: it cannot be read, or names something that does not exist.
    """
    stripped = source.strip()
    start = offset + (len(source) - len(source.lstrip()) if stripped else 0)
    try:
        expression = _parse(stripped)
    except ExpressionFault as fault:
        raise fault.moved(start) from None
    if not start:
        return expression
    paths = tuple(replace(path, offset=path.offset + start) for path in expression.paths)
    return replace(expression, paths=paths, offset=start)


def evaluate(
    expression: Expression,
    resolve: Callable[[tuple[str | int, ...]], Any],
    functions: Mapping[str, bool] | None = None,
) -> Any:
    """The value of an expression.

    Args:
        expression: what to evaluate.
        resolve: gives the plain value of a path; raises `KeyError` or returns `UNDEFINED` if there is none.
        functions: what each status function says here; None where they cannot be asked.

    Raises:
        RenderError: something is undefined, or an operation cannot work on its values.
    """
    return _Evaluation(expression.source, resolve, functions).value(expression.tree)


def evaluate_condition(
    expression: Expression,
    resolve: Callable[[tuple[str | int, ...]], Any],
    functions: Mapping[str, bool] | None = None,
) -> bool:
    """The value of an expression that must be true or false.

    Raises:
        RenderError: as `evaluate`, and for a value that is not a boolean.
    """
    value = evaluate(expression, resolve, functions)
    if not isinstance(value, bool):
        raise RenderError(f"`{expression.source}` is {described(value)}, and must be true or false")
    return value


def check_state_words(expression: Expression) -> list[Fault]:
    """Comparisons of a step's state or outcome with a word that it never has.

    Returns:
        Message, hint, offset and length of each.
    """
    return [
        (message, hint, literal.at[0] + expression.offset, literal.at[1])
        for path, literal in _compared(expression.tree)
        for message, hint in _state_fault(path, literal)
    ]


@lru_cache(maxsize=16_384)
def _parse(source: str) -> Expression:
    tree = parse_tree(source)
    found = sorted(_nodes(tree), key=lambda node: node.at)
    paths = tuple(PathRef(node.keys, *node.at) for node in found if isinstance(node, Path))
    functions = frozenset(node.name for node in found if isinstance(node, Status))
    return Expression(source, paths, functions, tree)


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from _nodes(child)


class _Evaluation:
    """One walk over a tree. `value` must have a value; `maybe` may also return `UNDEFINED`."""

    def __init__(
        self,
        source: str,
        resolve: Callable[[tuple[str | int, ...]], Any],
        functions: Mapping[str, bool] | None,
    ) -> None:
        self._source = source
        self._resolve = resolve
        self._functions = functions

    def value(self, node: Node) -> Any:
        value = self.maybe(node)
        if value is UNDEFINED:
            raise RenderError(f"`{self._shown(node)}` is not defined")
        return value

    def maybe(self, node: Node) -> Any:
        return _EVALUATE[type(node)](self, node)

    def _shown(self, node: Node) -> str:
        if isinstance(node, Path):
            return self._source[node.at[0] : node.at[0] + node.at[1]]
        return self._source

    def literal(self, node: Literal) -> Any:
        return node.value

    def path(self, node: Path) -> Any:
        try:
            return self._resolve(node.keys)
        except KeyError:
            return UNDEFINED

    def subscript(self, node: Subscript) -> Any:
        base, key = self.maybe(node.base), self.value(node.key)
        return base if base is UNDEFINED else part(base, key)

    def items(self, node: Items) -> list[Any]:
        return [self.value(item) for item in node.items]

    def pairs(self, node: Pairs) -> dict[str, Any]:
        return {self._key(key): self.value(value) for key, value in node.pairs}

    def _key(self, node: Node) -> str:
        key = self.value(node)
        if not isinstance(key, str):
            raise RenderError(f"the key of an object is text, not {described(key)}")
        return key

    def unary(self, node: Unary) -> Any:
        operand = self.value(node.operand)
        if node.operator == "not":
            return not operand
        return negate(operand) if node.operator == "-" else negate(negate(operand))

    def binary(self, node: Binary) -> Any:
        left = self.value(node.left)
        match node.operator:
            case "and":
                return self.value(node.right) if left else left
            case "or":
                return left or self.value(node.right)
            case _:
                return calculate(node.operator, left, self.value(node.right))

    def joined(self, node: Joined) -> str:
        return bounded(*(text_form(self.value(item)) for item in node.parts))

    def comparison(self, node: Comparison) -> bool:
        left = self.value(node.first)
        for word, operand in node.rest:
            right = self.value(operand)
            if not compare(word, left, right):
                return False
            left = right
        return True

    def choice(self, node: Choice) -> Any:
        return self.value(node.then if self.value(node.condition) else node.otherwise)

    def filter(self, node: Filter) -> Any:
        if node.name == "default":
            return self._default(node)
        value = self.value(node.target)
        return apply_filter(node.name, value, [self.value(argument) for argument in node.arguments])

    def _default(self, node: Filter) -> Any:
        value = self.maybe(node.target)
        also_if_empty = len(node.arguments) > 1 and self.value(node.arguments[1]) is True
        missing = value is UNDEFINED or value is None or (also_if_empty and not value)
        return self.value(node.arguments[0]) if missing else value

    def test(self, node: Test) -> bool:
        if node.name == "defined":
            return self.maybe(node.target) is not UNDEFINED
        return self.value(node.target) is None

    def status(self, node: Status) -> bool:
        if self._functions is None or node.name not in self._functions:
            raise RenderError(f"`{node.name}()` can only be asked in `if`")
        return self._functions[node.name]


_EVALUATE: dict[type[Node], Callable[[_Evaluation, Any], Any]] = {
    Literal: _Evaluation.literal,
    Path: _Evaluation.path,
    Subscript: _Evaluation.subscript,
    Items: _Evaluation.items,
    Pairs: _Evaluation.pairs,
    Unary: _Evaluation.unary,
    Binary: _Evaluation.binary,
    Joined: _Evaluation.joined,
    Comparison: _Evaluation.comparison,
    Choice: _Evaluation.choice,
    Filter: _Evaluation.filter,
    Test: _Evaluation.test,
    Status: _Evaluation.status,
}

_RUN_STATES = ("pending", "running", "waiting", "succeeded", "failed", "cancelled")
_WORDS = {"state": STATES, "outcome": OUTCOMES}
_OTHER_WORDS = {
    "success": "succeeded",
    "successful": "succeeded",
    "ok": "succeeded",
    "done": "succeeded",
    "completed": "succeeded",
    "passed": "succeeded",
    "failure": "failed",
    "error": "failed",
    "errored": "failed",
    "timed_out": "failed",
    "timeout": "failed",
    "canceled": "cancelled",
    "aborted": "cancelled",
    "in_progress": "running",
    "queued": "ready",
}


def _compared(tree: Node) -> Iterator[tuple[Path, Literal]]:
    for node in _nodes(tree):
        if not isinstance(node, Comparison):
            continue
        left = node.first
        for word, right in node.rest:
            yield from _pairs(word, left, right)
            left = right


def _pairs(word: str, left: Node, right: Node) -> Iterator[tuple[Path, Literal]]:
    if word in {"in", "not in"}:
        candidates = [(left, item) for item in right.items] if isinstance(right, Items) else []
    else:
        candidates = [(left, right), (right, left)]
    for path, literal in candidates:
        if isinstance(path, Path) and isinstance(literal, Literal):
            yield path, literal


def _state_fault(path: Path, literal: Literal) -> Iterator[tuple[str, str | None]]:
    known = _known_words(path.keys)
    if not known or literal.value in known:
        return
    name, word = path.keys[-1], literal.value
    if not isinstance(word, str):
        yield f"`{name}` is text, and never {described(word)}", f"it is one of {_listed(known)}"
    elif name == "state" and path.keys[0] == "steps" and word in OUTCOMES:
        yield f"no state is `{word}`", f"that is an outcome: compare `{_dotted(path.keys[:-1])}.outcome`"
    elif name == "outcome" and word in STATES:
        yield f"no outcome is `{word}`", f"that is a state: compare `{_dotted(path.keys[:-1])}.state`"
    else:
        meant = _OTHER_WORDS.get(word) or nearest(word, known)
        hint = f"did you mean `{meant}`?" if meant else f"it is one of {_listed(known)}"
        yield f"no {name} is `{word}`", hint


def _known_words(keys: tuple[str | int, ...]) -> tuple[str, ...]:
    if keys == ("run", "state"):
        return _RUN_STATES
    step_word = keys[0] == "steps" and len(keys) == 3  # noqa: PLR2004  # steps, its id, the word
    return _WORDS.get(str(keys[2]), ()) if step_word else ()


def _dotted(keys: tuple[str | int, ...]) -> str:
    return ".".join(map(str, keys))


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)
