"""Values of a plan in one line: texts as their author wrote them, cut where they are too wide."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from crewflow.spec.durations import show_duration
from crewflow.spec.expression_values import json_form
from crewflow.spec.template import Template

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_SHOWN: Final = 12
"""Legs of a fan-out, names of steps, lines of a script: what is more is counted."""

_WIDEST: Final = 88


def some(names: Sequence[str]) -> str:
    """Names in one line, of very many the first ones and how many there are."""
    if len(names) <= MOST_SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[: MOST_SHOWN - 2])}, ... ({len(names):,} in all)"


def authored(text: Any) -> str:
    """A text as its author wrote it."""
    if isinstance(text, str):
        return text
    if not isinstance(text, Template):
        return json_form(text)
    return "".join(part if isinstance(part, str) else f"${{{{ {part.source} }}}}" for part in text.parts)


def value_text(value: Any) -> str:
    """A value that may hold templates, as compact JSON; a template alone as its author wrote it."""
    return cut(authored(value) if isinstance(value, Template) else json_form(_with_sources(value)))


def list_text(values: Any) -> str:
    """One text or several, in one line."""
    each = values if isinstance(values, list | tuple) else [values]
    return cut(some([authored(value) for value in each]))


def duration_text(value: Any) -> str:
    """Seconds as they are written in a workflow, or the expression that yields them."""
    return show_duration(value) if isinstance(value, int | float) else line_text(authored(value))


def assignments(env: dict[str, Any]) -> str:
    """Variables as a shell would set them."""
    return cut(" ".join(f"{name}={word_text(text)}" for name, text in env.items()))


def word_text(text: Any) -> str:
    """A word of a command, quoted where it would be read apart."""
    return shlex.quote(text) if isinstance(text, str) else authored(text)


def line_text(text: str) -> str:
    """A text whose breaks of lines mean nothing."""
    return cut(" ".join(text.split()))


def cut(text: str) -> str:
    """A text on one line, cut where it is too wide."""
    flat = text.replace("\n", "\\n")
    return flat if len(flat) <= _WIDEST else f"{flat[: _WIDEST - 3]}..."


def _with_sources(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_sources(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_sources(inner) for inner in value]
    return authored(value) if isinstance(value, Template) else value
