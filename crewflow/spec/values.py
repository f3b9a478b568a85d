"""Declared values: the JSON Schema that an input's declaration means, and whether a value meets it."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

from crewflow.spec.scalars import plain
from crewflow.spec.schema_words import say_value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from crewflow.spec.model import Path

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_FINAL_DOLLAR = re.compile(r"(?<!\\)\$\Z")
_KEYWORDS = ("enum", "pattern", "minimum", "maximum")


def declared_schema(given: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an input's declaration, or of a value inside it."""
    wanted: dict[str, Any] = {"type": given.get("type", "string")}
    wanted |= {key: plain(given[key]) for key in _KEYWORDS if key in given}
    if "pattern" in wanted:
        # Python's `$` also matches before a line feed at the end, which nobody means who writes it
        wanted["pattern"] = _FINAL_DOLLAR.sub(r"\\Z", wanted["pattern"])
    if "items" in given:
        wanted["items"] = declared_schema(given["items"])
    if "properties" in given:
        wanted["properties"] = {name: declared_schema(item) for name, item in given["properties"].items()}
    return wanted


def fits(value: Any, wanted: dict[str, Any]) -> str | None:
    """None if `value` meets a schema made by `declared_schema`, else what it must be.

    The answer goes on after the name of the value: "must be a whole number, not ...".
    """
    if _plainly_fits(value, wanted):
        return None
    from jsonschema import Draft202012Validator  # noqa: PLC0415  # slow to load, and few values need it

    try:
        with _no_warnings():
            return next((say_value(error) for error in Draft202012Validator(wanted).iter_errors(value)), None)
    except re.error:
        return None  # the pattern itself is at fault, which is told where it stands


def pattern_faults(path: Path, given: dict[str, Any]) -> Iterator[Path]:
    """The paths of patterns in a declaration that are no regular expressions."""
    if "pattern" in given:
        try:
            with _no_warnings():
                re.compile(given["pattern"])
        except (re.error, RecursionError, OverflowError):
            yield (*path, "pattern")
    if "items" in given:
        yield from pattern_faults((*path, "items"), given["items"])
    for name, item in given.get("properties", {}).items():
        yield from pattern_faults((*path, "properties", name), item)


def _plainly_fits(value: Any, wanted: dict[str, Any]) -> bool:
    """A cheap yes where nothing but a type is wanted, as mostly is."""
    return set(wanted) == {"type"} and type(value) in _TYPES[wanted["type"]]


def _no_warnings() -> AbstractContextManager[Any]:
    """Keeps Python from warning of patterns that it may read otherwise one day."""
    return warnings.catch_warnings(action="ignore")
