"""Text with `${{ }}` in it: parsed once, rendered with values, folded where values are known.

A `Text` is a plain string, or a `Template` whose expressions are parsed. A value that was rendered is text
and is never looked at again. `$${{` is a literal `${{`. Values of YAML that may hold templates at their
leaves are called trees.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crewflow.spec.expression import (
    UNDEFINED,
    Expression,
    ExpressionFault,
    RenderError,
    evaluate,
    parse_expression,
    text_form,
)
from crewflow.spec.scalars import resolve as resolve_scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Resolve = Callable[[tuple[str | int, ...]], Any]

__all__ = [
    "UNDEFINED",
    "Placed",
    "RenderError",
    "Template",
    "Text",
    "expressions",
    "fold",
    "from_plain",
    "parse_text",
    "render",
    "render_text",
    "render_tree",
    "split_text",
    "text_form",
    "to_plain",
]

OPENING = "${{"
_STOPS = re.compile(r"""['"{}]""")
_TEMPLATE_KEY = "$template"
_NUMBER_KEY = "$number"


@dataclass(frozen=True, slots=True)
class Template:
    """Text and expressions in turn; there is at least one expression, and no empty text."""

    parts: tuple[str | Expression, ...]

    @property
    def whole(self) -> Expression | None:
        """The expression of a text that is nothing else, and therefore keeps the type of its value."""
        first = self.parts[0]
        return first if len(self.parts) == 1 and isinstance(first, Expression) else None


Text = str | Template


@dataclass(frozen=True, slots=True)
class Placed:
    """An expression and where its `${{ }}` stands in the text, in characters."""

    expression: Expression
    offset: int
    length: int


def parse_text(text: str) -> Text:
    """The text with its expressions parsed; plain text stays plain.

    Raises:
        ExpressionFault: an expression is faulty or not closed; places count from the start of `text`.
    """
    if OPENING not in text:
        return text
    parts = [part.expression if isinstance(part, Placed) else part for part in split_text(text)]
    return _joined(parts)


def split_text(text: str) -> list[str | Placed]:
    """The pieces of a text in order, with their places.

    Raises:
        ExpressionFault: as `parse_text`.
    """
    parts: list[str | Placed] = []
    done = 0
    while (start := text.find(OPENING, done)) >= 0:
        if start > done and text[start - 1] == "$":
            parts.append(text[done : start - 1] + OPENING)
            done = start + len(OPENING)
            continue
        end = _end(text, start)
        expression = parse_expression(text[start + len(OPENING) : end - 2], start + len(OPENING))
        parts += [text[done:start], Placed(expression, start, end - start)]
        done = end
    parts.append(text[done:])
    return parts


def render(text: Text, resolve: Resolve, functions: Mapping[str, bool] | None = None) -> Any:
    """The value of a text: of any type where it is one expression, else text.

    Raises:
        RenderError: an expression has no value, or one without a text form.
    """
    if isinstance(text, str):
        return text
    if text.whole is not None:
        return evaluate(text.whole, resolve, functions)
    return render_text(text, resolve, functions)


def render_text(text: Text, resolve: Resolve, functions: Mapping[str, bool] | None = None) -> str:
    """The value of a text, as text.

    Raises:
        RenderError: an expression has no value, or one without a text form.
    """
    if isinstance(text, str):
        return text
    return "".join(
        part if isinstance(part, str) else _text_of(part, evaluate(part, resolve, functions))
        for part in text.parts
    )


def render_tree(value: Any, resolve: Resolve) -> Any:
    """A copy of a tree with every template rendered.

    Raises:
        RenderError: as `render`.
    """
    return _map_tree(value, lambda text: render(text, resolve))


def expressions(value: Any) -> Iterator[Expression]:
    """All expressions of a text or tree, in order."""
    if isinstance(value, Template):
        yield from (part for part in value.parts if isinstance(part, Expression))
    elif isinstance(value, dict):
        for item in value.values():
            yield from expressions(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from expressions(item)


def fold(value: Any, resolve: Resolve, is_static: Callable[[tuple[str | int, ...]], bool]) -> Any:
    """A text or tree with the value in place of every expression that reads only static paths.

    Expressions that ask a status function stay.

    Raises:
        RenderError: such an expression has no value, or one without a text form within text.
    """

    def known(expression: Expression) -> bool:
        return not expression.functions and all(is_static(path.keys) for path in expression.paths)

    def folded(template: Template) -> Any:
        if template.whole is not None:
            return evaluate(template.whole, resolve) if known(template.whole) else template
        return _joined(
            _text_of(part, evaluate(part, resolve)) if isinstance(part, Expression) and known(part) else part
            for part in template.parts
        )

    return _map_tree(value, folded)


def to_plain(value: Any) -> Any:
    """The JSON form of a text or tree, from which `from_plain` makes an equal one.

    A template is `{"$template": [text, {"expr": source}, ...]}`, a number with a spelling of its own is
    `{"$number": text}`; a key of an object that starts with `$` gets another one.
    """
    if isinstance(value, Template):
        return {
            _TEMPLATE_KEY: [
                {"expr": part.source} if isinstance(part, Expression) else part for part in value.parts
            ]
        }
    if isinstance(value, dict):
        return {f"${key}" if key.startswith("$") else key: to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    spelled = getattr(value, "text", None)
    return value if spelled is None else {_NUMBER_KEY: spelled}


def from_plain(value: Any) -> Any:
    """The text or tree that `to_plain` wrote; lists and tuples come back as lists."""
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _TEMPLATE_KEY in value:
        parts = value[_TEMPLATE_KEY]
        return Template(
            tuple(part if isinstance(part, str) else parse_expression(part["expr"]) for part in parts)
        )
    if _NUMBER_KEY in value:
        return resolve_scalar(value[_NUMBER_KEY])
    return {
        key.removeprefix("$") if key.startswith("$") else key: from_plain(item) for key, item in value.items()
    }


def _end(text: str, start: int) -> int:
    """Behind the `}}` that closes the `${{` at `start`; quoted text and objects may hold others."""
    depth, position = 0, start + len(OPENING)
    while found := _STOPS.search(text, position):
        position = found.end()
        match found.group():
            case "{":
                depth += 1
            case "}" if depth:
                depth -= 1
            case "}" if text.startswith("}", position):
                return position + 1
            case "'" | '"':
                position = _after_quote(text, found.start())
    raise ExpressionFault(
        "`${{` is not closed", "close it with `}}`; a literal `${{` is written `$${{`", start, 3
    )


def _after_quote(text: str, opened: int) -> int:
    quote, position = text[opened], opened + 1
    while position < len(text):
        if text[position] == quote:
            return position + 1
        position += 2 if text[position] == "\\" else 1
    message = "a quote within `${{ }}` is not closed"
    raise ExpressionFault(message, "text stands in `'` or `\"`, the same at both ends", opened, 1)


def _joined(parts: Iterable[str | Expression]) -> Text:
    """The parts as one text: neighbouring strings are one, and a text without expressions is a string."""
    merged: list[str | Expression] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    if all(isinstance(part, str) for part in merged):
        return "".join(part for part in merged if isinstance(part, str))
    return Template(tuple(merged))


def _text_of(expression: Expression, value: Any) -> str:
    if value is None:
        raise RenderError(f"`{expression.source}` is null, which has no text; give one with `| default('')`")
    return text_form(value)


def _map_tree(value: Any, change: Callable[[Template], Any]) -> Any:
    if isinstance(value, Template):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_tree(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_map_tree(item, change) for item in value]
    return tuple(_map_tree(item, change) for item in value) if isinstance(value, tuple) else value
