"""What to write in place of a value of the wrong shape, for the places where that is plain to see."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from crewflow.spec.scalars import spelling
from crewflow.spec.suggest import nearest
from crewflow.spec.syntax import missing_space
from crewflow.spec.words import FAILURE_CLASSES, PERMISSIVE_BOOLEANS, TYPE_NAMES, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from crewflow.spec.model import Path

TYPE_WORDS = ("string", "integer", "number", "boolean", "array", "object")

_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_ONE_LEG = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)\[.*\]", re.DOTALL)
_CODE = re.compile(r"(?:exit:)?([0-9]{1,3})")
_SHELL_OPTIONS = {
    "python": "-c", "python3": "-c", "fish": "-c", "node": "-e", "perl": "-e", "ruby": "-e",
    "pwsh": "-Command", "powershell": "-Command",
}  # fmt: skip
_MOST_FURTHER = 2  # letters that a typing mistake adds or leaves out


def type_hint(path: Path, value: Any, types: Collection[str], wanted: str) -> str | None:
    """What to write in place of a value whose type is none of `types`."""
    if "object" in types:
        return _mapping_hint(path, value)
    if types == ["boolean"]:
        return f"write {_boolean(value)}"
    if type(value) is int and ("failure class" in wanted or path[-1] in {"when", "unless"}):
        return f'write `["exit:{value}"]`' if "array" in types else f'write `"exit:{value}"`'
    if wanted.startswith("a list") and isinstance(value, str | int | float):
        return f"write {quoted(f'[{spelling(value)}]')}"
    return _scalar_hint(value, types, wanted)


def _scalar_hint(value: Any, types: Collection[str], wanted: str) -> str | None:
    if isinstance(value, str) and value.isdigit() and {"integer", "number"} & set(types):
        return "remove the quotes"
    if "string" not in types or not isinstance(value, bool | int | float):
        return None
    return "give it a unit, such as `200MB`" if wanted.startswith("a size") else "quote it"


def pattern_hint(path: Path, value: str, wanted: str) -> str | None:
    """What to write in place of text that has not the form that is wanted."""
    if {"needs", "after"} & {*path[-2:]} and (leg := _ONE_LEG.fullmatch(value)):
        return f"a single task of a fan-out cannot be needed; write `{leg[1]}`"
    for phrase, hint in _FORMS.items():
        if phrase in wanted:
            return hint(value)
    return None


def enum_hint(path: Path, value: Any, known: list[str]) -> str | None:
    """What to write in place of a value that is none of the known words."""
    text = spelling(value)
    if text in known:
        return "remove the quotes" if isinstance(value, str) else "quote it"
    if known == ["1"]:
        return f"write `{path[-1]}: 1`"
    return _type_word(text, known)


def near_key(word: str, known: Collection[str]) -> str | None:
    """The key that a misspelt one was meant to be; one of quite another length is another word."""
    near = nearest(word, known)
    if near is None or abs(len(near) - len(word)) <= _MOST_FURTHER:
        return near
    plain, other = word.lower().replace("-", "_"), near.lower()
    return near if plain in other or other in plain else None


def _mapping_hint(path: Path, value: Any) -> str | None:
    if isinstance(value, list) and value and path[-1] != "artifacts":
        return _keyed(value) if path[-1] in {"steps", "finally"} else "remove the `-` before its keys"
    spaced = missing_space(value) if isinstance(value, str) else None
    return spaced or _written_out(path, value)


def _written_out(path: Path, value: Any) -> str | None:
    """The mapping that a value in its place is plainly short for."""
    within = path[-2] if len(path) > 1 else None
    if within in {"steps", "finally"} and isinstance(value, str):
        return "write `{run: ...}`"
    if within == "inputs" and isinstance(value, str):
        return f"write `{{type: {_meant_type(value)}}}`"
    if path[-1] == "retry" and type(value) is int:
        return f"write `{{max_attempts: {value}}}`"
    if path[-1] == "artifacts" and isinstance(value, str | list):
        return f"write {quoted(f'{{name: {_first(value)}}}')}"
    return None


def _keyed(items: list[Any]) -> str:
    """What to write in place of a list of steps."""
    for key in ("id", "name"):
        named = items[0].get(key) if isinstance(items[0], dict) else None
        if isinstance(named, str) and _ID.fullmatch(named):
            return f"write `{named}:` in place of `- {key}: {named}`"
    return "steps are a mapping by id: write an id such as `build:` in place of each `-`"


def _meant_type(value: str) -> str:
    word = value.lower()
    return word if word in TYPE_WORDS else TYPE_NAMES.get(word, "string")


def _first(value: str | list[Any]) -> str:
    return value if isinstance(value, str) else f"[{', '.join(map(spelling, value))}]"


def _boolean(value: Any) -> str:
    meant = PERMISSIVE_BOOLEANS.get(str(value).lower())
    return f"`{meant}`" if meant else "`true` or `false`"


def _ids(value: str) -> str | None:
    words = [word for word in re.split(r"[,\s]+", value) if word]
    return f"write a list: `[{', '.join(words)}]`"[:200] if len(words) > 1 else None


def _failure_class(value: str) -> str | None:
    if code := _CODE.fullmatch(value):
        return f'write `"exit:{code[1]}"`'
    near = nearest(value, FAILURE_CLASSES)
    return f"did you mean `{near}`?" if near else None


def _shell(value: str) -> str | None:
    words = value.split()
    program = posixpath.basename(words[0])
    options = _SHELL_OPTIONS.get(program, "-e, -c")
    if program in {"sh", "bash", "python"} and len(words) == 1 and program != value:
        return f"write `{program}`, or a list: {quoted(f'[{value}, {options}]')}"
    return f"write a list: {quoted(f'[{words[0]}, {options}]')}"


def _type_word(value: str, known: Collection[str] = TYPE_WORDS) -> str | None:
    meant = TYPE_NAMES.get(value.lower())
    near = meant if meant in known else nearest(value, known)
    return f"did you mean `{near}`?" if near else None


def _truth(value: str) -> str | None:
    meant = PERMISSIVE_BOOLEANS.get(value.lower())
    return f"write `{meant}`" if meant else _expression(value)


def _expression(_value: str) -> str:
    return "an expression stands in `${{ }}`"


_FORMS: dict[str, Callable[[str], str | None]] = {
    "list of ids": _ids,
    "true, false": _truth,
    "failure class": _failure_class,
    "type word": _type_word,
    "`bash`": _shell,
    "expression": _expression,
}
"""A phrase of what is wanted -> what to write in place of a text; the first that is found counts."""
