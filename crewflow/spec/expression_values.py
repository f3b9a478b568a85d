"""What values mean in expressions: their text, their names for people, comparison and arithmetic.

Values are those of JSON: text, numbers (which may remember how they were spelled), booleans, null, lists
and objects; and `UNDEFINED` for what does not exist. No operation here calls a method that a value brings
along, and none makes text of more than `MAX_TEXT` characters or numbers of more than `MAX_BITS` bits.
"""

from __future__ import annotations

import json
import math
import operator
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_TEXT = 1 << 20
"""Characters of text that an expression may make; values that it only passes on may be longer."""

MAX_BITS = 1024
"""Bits of an integer that arithmetic may make."""

_SHOWN = 60
_PLAIN_FLOATS = 1e21


class RenderError(Exception):
    """An expression has no usable value: something undefined, null in text, a wrong type."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Undefined(Enum):
    """The type of `UNDEFINED`."""

    UNDEFINED = "undefined"


UNDEFINED: Final = Undefined.UNDEFINED
"""What a resolver may return for a path that does not exist, instead of raising `KeyError`."""


def text_form(value: Any) -> str:
    """The text of a value: text as it is, true and false, numbers as written, the rest as compact JSON.

    Raises:
        RenderError: the value is null or undefined.
    """
    if isinstance(value, str):
        return value
    if value is None:
        raise RenderError("null has no text; give one with `| default('')`")
    if value is UNDEFINED:
        raise RenderError("the value is not defined; give one with `| default('')`")
    return json_form(value)


def json_form(value: Any) -> str:
    """A value as compact JSON, numbers as written where JSON can write them so.

    Raises:
        RenderError: nested too deeply, or not a value of JSON.
    """
    try:
        return _json(value)
    except RecursionError:
        raise RenderError("the value is nested too deeply") from None


def kind(value: Any) -> str:
    """What a value is, in words for people, with its article."""
    return next((words for types, words in _KINDS if isinstance(value, types)), "something else")


def described(value: Any) -> str:
    """A value for a message: what it is and, where short, how it reads."""
    if value is None or value is UNDEFINED:
        return kind(value)
    text = json_form(value)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return f"{kind(value)}, `{shown}`"


def is_number(value: Any) -> bool:
    """Whether arithmetic may use it; booleans are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal; `true` is not 1, and text is never a number."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)


def compare(word: str, left: Any, right: Any) -> bool:
    """`left word right` for the words of comparison.

    Raises:
        RenderError: the two cannot be ordered, or nothing can be in the right one.
    """
    match word:
        case "==":
            return same(left, right)
        case "!=":
            return not same(left, right)
        case "in":
            return _contains(right, left)
        case "not in":
            return not _contains(right, left)
    if not (is_number(left) and is_number(right)) and not (isinstance(left, str) and isinstance(right, str)):
        raise RenderError(f"`{word}` cannot compare {described(left)} with {described(right)}")
    return bool(_ORDER[word](left, right))


def calculate(word: str, left: Any, right: Any) -> Any:
    """`left word right` for `+ - * / // %`; `+` also joins two texts or two lists.

    Raises:
        RenderError: other values, division by zero, a result that is too large.
    """
    if word == "+" and isinstance(left, str) and isinstance(right, str):
        return bounded(left, right)
    if word == "+" and isinstance(left, list) and isinstance(right, list):
        return [*left, *right]
    if not (is_number(left) and is_number(right)):
        advice = "; join text with `~`" if isinstance(left, str) or isinstance(right, str) else ""
        raise RenderError(f"`{word}` needs two numbers, not {described(left)} and {described(right)}{advice}")
    return _number(word, _unspelled(left), _unspelled(right))


def negate(value: Any) -> Any:
    """`-value`.

    Raises:
        RenderError: it is no number.
    """
    if not is_number(value):
        raise RenderError(f"`-` needs a number, not {described(value)}")
    return -value


def part(base: Any, key: Any) -> Any:
    """The element of a list or object, or `UNDEFINED`.

    Raises:
        RenderError: `base` has no parts, or `key` cannot name one.
    """
    if isinstance(base, dict):
        name = str(key) if isinstance(key, int) and key not in base and not isinstance(key, bool) else key
        if not isinstance(name, str):
            raise RenderError(f"the key of an object is text, not {described(key)}")
        return base.get(name, UNDEFINED)
    if isinstance(base, list | tuple):
        if not isinstance(key, int) or isinstance(key, bool):
            raise RenderError(f"the place in a list is a whole number, not {described(key)}")
        return base[key] if -len(base) <= key < len(base) else UNDEFINED
    raise RenderError(f"{described(base)}, has no parts")


def bounded(*parts: str) -> str:
    """The parts as one text.

    Raises:
        RenderError: it would be longer than `MAX_TEXT`.
    """
    check_length(sum(map(len, parts)))
    return "".join(parts)


def check_length(length: int) -> None:
    """Raise `RenderError` where text of that length may not be made."""
    if length > MAX_TEXT:
        raise RenderError(
            f"the text would be longer than {MAX_TEXT:,} characters; pass large values as files"
        )


_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((NoneType,), "null"),
    ((Undefined,), "undefined"),
    ((bool,), "a boolean"),
    ((int, float), "a number"),
    ((str,), "text"),
    ((list, tuple), "a list"),
    ((dict,), "an object"),
)
_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


def _json(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return _number_text(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_json, value))}]"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(str(key), ensure_ascii=False)}:{_json(item)}" for key, item in value.items())
        return f"{{{','.join(pairs)}}}"
    raise RenderError("the value is undefined" if value is UNDEFINED else "the value has no text")


def _number_text(value: float) -> str:
    spelled = getattr(value, "text", None)
    if isinstance(spelled, str):
        return spelled
    text = repr(value)
    if "e" not in text or abs(value) >= _PLAIN_FLOATS:
        return text
    return str(int(value)) if value == int(value) else format(Decimal(text), "f")


def _unspelled(value: Any) -> Any:
    return int(value) if isinstance(value, int) else float(value)


def _number(word: str, left: Any, right: Any) -> Any:
    try:
        result = _ARITHMETIC[word](left, right)
    except ZeroDivisionError:
        raise RenderError(f"`{word}` divides by zero") from None
    except OverflowError:
        raise RenderError(f"the result of `{word}` is too large") from None
    too_large = result.bit_length() > MAX_BITS if isinstance(result, int) else not math.isfinite(result)
    if too_large:
        raise RenderError(f"the result of `{word}` is too large")
    return result


def _contains(container: Any, value: Any) -> bool:
    if isinstance(container, str) and isinstance(value, str):
        return value in container
    if isinstance(container, list | tuple):
        return any(same(value, item) for item in container)
    if isinstance(container, dict) and isinstance(value, str):
        return value in container
    raise RenderError(f"`in` cannot look for {described(value)} in {described(container)}")
