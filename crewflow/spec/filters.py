"""The filters of expressions. Each takes a value that exists (but `default`) and returns a new one.

What a filter cannot work on is a `RenderError` that names the filter and the value. `default` decides on
what does not exist and is therefore part of the evaluation; here are its parameters only.
"""

from __future__ import annotations

import json
import posixpath
from typing import TYPE_CHECKING, Any, NoReturn

from crewflow.spec.expression_values import (
    UNDEFINED,
    RenderError,
    bounded,
    check_length,
    described,
    is_number,
    json_form,
    same,
    text_form,
)
from crewflow.spec.scalars import ScalarFault, resolve

if TYPE_CHECKING:
    from collections.abc import Callable

PARAMETERS: dict[str, tuple[str, ...]] = {
    "default": ("value", "also_if_empty"),
    "from_json": (),
    "to_json": (),
    "length": (),
    "join": ("separator",),
    "split": ("separator",),
    "lower": (),
    "upper": (),
    "trim": ("characters",),
    "first": (),
    "last": (),
    "sort": ("reverse",),
    "unique": (),
    "replace": ("old", "new"),
    "basename": (),
    "dirname": (),
}
"""The arguments of each filter, in order."""

REQUIRED: dict[str, int] = {**dict.fromkeys(PARAMETERS, 0), "default": 1, "replace": 2}
"""How many of them must be given."""


def apply_filter(name: str, value: Any, arguments: list[Any]) -> Any:
    """What the filter makes of a value; `UNDEFINED` for the first or last of an empty list.

    Raises:
        RenderError: the filter cannot work on this value or with these arguments.
    """
    return _FUNCTIONS[name](value, *arguments)


def _refuse(name: str, wanted: str, value: Any) -> NoReturn:
    raise RenderError(f"`{name}` needs {wanted}, not {described(value)}")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        _refuse(name, "text", value)
    return value


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        _refuse(name, "a list", value)
    return list(value)


def _from_json(value: Any) -> Any:
    text = _text("from_json", value)
    try:
        return json.loads(text, parse_int=_spelled, parse_float=_spelled, parse_constant=_no_number)
    except (ValueError, ScalarFault):
        _refuse("from_json", "JSON", value)
    except RecursionError:
        raise RenderError("the JSON for `from_json` is nested too deeply") from None


def _spelled(text: str) -> Any:
    return resolve(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


def _to_json(value: Any) -> str:
    text = json_form(value)
    check_length(len(text))
    return text


def _length(value: Any) -> int:
    if not isinstance(value, str | list | tuple | dict):
        _refuse("length", "text, a list or an object", value)
    return len(value)


def _join(value: Any, separator: Any = "") -> str:
    parts = [text_form(item) for item in _list("join", value)]
    between = _text("join", separator)
    check_length(sum(map(len, parts)) + len(between) * max(len(parts) - 1, 0))
    return between.join(parts)


def _split(value: Any, separator: Any = None) -> list[str]:
    text = _text("split", value)
    if separator is None:
        return text.split()
    if not _text("split", separator):
        raise RenderError("`split` needs a separator that is not empty")
    return text.split(separator)


def _lower(value: Any) -> str:
    return bounded(_text("lower", value).lower())


def _upper(value: Any) -> str:
    return bounded(_text("upper", value).upper())


def _trim(value: Any, characters: Any = None) -> str:
    return _text("trim", value).strip(None if characters is None else _text("trim", characters))


def _first(value: Any) -> Any:
    return next(iter(_list("first", value)), UNDEFINED)


def _last(value: Any) -> Any:
    return next(reversed(_list("last", value)), UNDEFINED)


def _sort(value: Any, reverse: Any = False) -> list[Any]:  # noqa: FBT002  # an argument of the language
    items = _list("sort", value)
    if not all(isinstance(item, str) for item in items) and not all(map(is_number, items)):
        raise RenderError("`sort` needs a list of text alone or of numbers alone")
    return sorted(items, reverse=reverse is True)


def _unique(value: Any) -> list[Any]:
    """The first of equal ones stays; hashes keep it from being slow where values allow."""
    seen: set[tuple[str, Any]] = set()
    kept: list[Any] = []
    odd: list[Any] = []
    for item in _list("unique", value):
        if isinstance(item, str) or is_number(item):
            mark = ("text" if isinstance(item, str) else "number", item)
            if mark in seen:
                continue
            seen.add(mark)
        elif any(same(item, other) for other in odd):
            continue
        else:
            odd.append(item)
        kept.append(item)
    return kept


def _replace(value: Any, old: Any, new: Any) -> str:
    text, before, after = _text("replace", value), _text("replace", old), _text("replace", new)
    check_length(len(text) + text.count(before) * max(len(after) - len(before), 0))
    return text.replace(before, after)


def _basename(value: Any) -> str:
    return posixpath.basename(_text("basename", value).rstrip("/"))


def _dirname(value: Any) -> str:
    return posixpath.dirname(_text("dirname", value).rstrip("/")) or "."


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "from_json": _from_json,
    "to_json": _to_json,
    "length": _length,
    "join": _join,
    "split": _split,
    "lower": _lower,
    "upper": _upper,
    "trim": _trim,
    "first": _first,
    "last": _last,
    "sort": _sort,
    "unique": _unique,
    "replace": _replace,
    "basename": _basename,
    "dirname": _dirname,
}
