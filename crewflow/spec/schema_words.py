"""An error of jsonschema -> what is said about it, without a word of jsonschema's.

An `error` here is a `jsonschema.ValidationError`; its parts are of any type.
Each keyword of the schemas has a function in `_SPEAKERS`. A schema's own `patternErrorMessage` (which
editors show too) says what a value must be; where there is none, its `type` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crewflow.spec.durations import duration_fault
from crewflow.spec.hints import enum_hint, near_key, pattern_hint, type_hint
from crewflow.spec.suggest import nearest
from crewflow.spec.words import SAYS_WHAT_RUNS, foreign, kind_of_value, our_word, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crewflow.spec.model import Path


@dataclass(frozen=True, slots=True)
class Said:
    """What to tell about one error.

    Attributes:
        path: the value that is meant; `at_key`: its key is what is wrong.
        prune: the value that cannot be used; None if all of it can.
    """

    rule: str
    path: Path
    message: str
    hint: str | None = None
    at_key: bool = False
    prune: Path | None = None


Levels = dict[str, list[str]]
"""Level -> the keys that may stand there."""

_TYPE_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
}
_MEMBERS = {
    "steps": "step",
    "finally": "step",
    "inputs": "input",
    "outputs": "output",
    "artifacts": "artifact",
    "roles": "role",
}
_LEVEL_PLACES = {
    "workflow": "at the top of a workflow",
    "step": "in a step",
    "project": "in `crewflow.yaml`",
    "defaults": "in `defaults`",
    "retry": "in `retry`",
    "input": "in an input",
    "output": "in an output",
    "approval": "in `approval`",
    "rework": "in `rework`",
    "expect": "in `expect`",
    "expand": "in `expand`",
    "budget": "in `budget`",
    "budget of a run": "in the `budget` of a workflow",
    "estimate": "in `estimate`",
    "concurrency": "in `concurrency`",
    "hooks": "in the `hooks` of a project",
}
_MOST_MEANT = 20  # unknown keys that are looked at for what was meant
_MOST_LISTED = 25  # keys in a hint; only a step has more
_MISFITS = {
    "shell": ("`shell` goes with the text of `run` only", "remove it, or write `run` as text"),
    "for_each": ("a step has `matrix` or `for_each`, not both", "make the list an axis of `matrix`"),
}
_MISFIT_HINTS = {
    ("run", "with"): "pass values to `run` by `env`",
    ("steps", "retry"): "write it in the steps of the group",
    ("steps", "timeout"): "write `total_timeout`, or `timeout` in the steps of the group",
    ("workflow", "env"): "a called workflow has its own `env`; pass values by `with`",
    ("workflow", "outputs"): "the outputs of a call are those that the called workflow declares",
    ("workflow", "secrets"): "the called workflow lists its own `secrets`",
    ("approval", "timeout"): "write it inside `approval`",
}
"""What a step does, and a key that does not go with that -> what to do instead."""


_NOTHING = {
    "agent": ("names no program", "give it `bin`, `argv` and `output`"),
    "schedule": ("says no time", "give it `cron`, `every` or `at`"),
    "failure of an agent": ("says nothing by which it is known", "give it `match` or `exit`"),
}
"""An object of which one of several keys must stand there -> what is said where none does."""


def say(error: Any, levels: Levels) -> Iterator[Said]:
    """What to tell about `error`, possibly several things; `levels` are those of all schemas."""
    path = tuple(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        yield _bad_name(error, path)
        return
    if error.validator == "type" and "enum" in _schema(error) and _is_scalar(error.instance):
        return  # the words that are allowed are told about
    speaker = _SPEAKERS.get(str(error.validator), _say_value)
    yield from speaker(error, path, levels)


def say_value(error: Any) -> str:
    """What a value must be, to go on after its name: "must be a whole number, not the text `x`"."""
    said = next(_SPEAKERS.get(str(error.validator), _say_value)(error, ("value",), {}), None)
    return "is not what is declared" if said is None else said.message.removeprefix("`value` ")


def levels_of(schema: dict[str, Any]) -> Levels:
    """The keys of each closed object of a schema, by the object's title."""
    objects = [schema, *schema.get("$defs", {}).values(), *schema["properties"].values()]
    closed = [item for item in objects if "title" in item and "properties" in item]
    return {item["title"]: list(item["properties"]) for item in closed}


def subject(path: Path) -> str:
    """How to call the value at `path` at the beginning of a sentence."""
    if not path:
        return "the document"
    if isinstance(path[-1], int):
        named = [part for part in path if isinstance(part, str)]
        return f"an item of `{named[-1]}`" if named else "an item"
    member = _MEMBERS.get(str(path[-2])) if len(path) > 1 else None
    return f"{member} {quoted(path[-1])}" if member else quoted(path[-1])


def _bad_name(error: Any, path: Path) -> Said:
    name = error.instance
    wanted = _schema(error).get("patternErrorMessage", "text")
    called = f"the key {quoted(str(name))}" if name else "an empty key"
    message = f"{called} must be {wanted}"
    return Said("CF104", (*path, name), message, None, at_key=True, prune=(*path, name))


def _say_unknown_keys(error: Any, path: Path, levels: Levels) -> Iterator[Said]:
    level = _schema(error).get("title", "")
    known = list(_schema(error).get("properties", {}))
    takes_notes = "patternProperties" in _schema(error)
    for key in error.instance:
        if key not in known and not (takes_notes and key.startswith("x-")):
            yield _unknown_key(level, key, error.instance[key], (*path, key), known, levels)


def _unknown_key(level: str, key: str, value: Any, path: Path, known: list[str], levels: Levels) -> Said:
    """The first answer that fits: another tool, another place, a typing mistake."""
    answer = foreign(level, key, value)
    if answer is not None:
        return Said("CF112", path, f"{quoted(key)} is not a key of crewflow", answer, at_key=True, prune=path)
    elsewhere = [other for other, keys in levels.items() if key in keys and other in _LEVEL_PLACES]
    if elsewhere:
        *others, last = [_LEVEL_PLACES[other] for other in elsewhere]
        where = f"{', '.join(others)} or {last}" if others else last
        message = f"{quoted(key)} may not stand here"
        return Said("CF111", path, message, f"it stands {where}", at_key=True, prune=path)
    return Said("CF101", path, f"unknown key {quoted(key)}", _key_hint(key, known), at_key=True, prune=path)


def _key_hint(key: str, known: list[str]) -> str:
    near = near_key(key, known)
    if near:
        return f"did you mean `{near}`?"
    if len(known) <= _MOST_LISTED:
        return "the keys here are " + ", ".join(known)
    return f"the keys here are {', '.join(known[:_MOST_LISTED])}, ... ({len(known)} in all)"


def _say_missing(error: Any, path: Path, _levels: Levels) -> Iterator[Said]:
    for key in error.validator_value:
        if key not in error.instance and not _meant(error, key):
            message = f"{subject(path)} has no `{key}`"
            yield Said("CF105", path, message, f"add `{key}:`", at_key=bool(path))


def _meant(error: Any, missing: str) -> bool:
    """Whether another key, which is told about as unknown, was meant to be the missing one."""
    schema = _schema(error)
    unknown = [key for key in error.instance if key not in schema["properties"]][:_MOST_MEANT]
    level = schema.get("title", "")
    return any(missing in {our_word(level, key), nearest(key, schema["properties"])} for key in unknown)


def _say_any_of(error: Any, path: Path, _levels: Levels) -> Iterator[Said]:
    if "dependentSchemas" in error.absolute_schema_path:
        key = _trigger(error)
        at = (*path, key)
        message = f"{quoted(key)} of a step needs a fan-out, `steps` or `workflow`"
        yield Said("CF106", at, message, "add `matrix` or `for_each`", at_key=True, prune=at)
    elif (nothing := _NOTHING.get(_schema(error).get("title", ""))) is not None:
        yield Said("CF106", path, f"{subject(path)} {nothing[0]}", nothing[1], at_key=True)
    elif not _says_what_it_runs(error):
        message = f"{subject(path)} has nothing to run"
        yield Said(
            "CF106", path, message, "give it `run`, `python`, `prompt`, `workflow` or `steps`", at_key=True
        )


def _says_what_it_runs(error: Any) -> bool:
    """Whether a key that is told about as unknown was meant to say what the step does."""
    known = _schema(error)["properties"]
    unknown = [key for key in error.instance if key not in known][:_MOST_MEANT]
    meant = {word for key in unknown for word in (key, our_word("step", key), nearest(key, known))}
    return "uses" in unknown or bool(meant & SAYS_WHAT_RUNS)


def _say_misfit(error: Any, path: Path, _levels: Levels) -> Iterator[Said]:
    key, kind = str(path[-1]), _trigger(error)
    if key in SAYS_WHAT_RUNS:
        message = f"a step has {quoted(kind)} or {quoted(key)}, not both"
        yield Said("CF106", path, message, "make two steps of it", at_key=True, prune=path)
        return
    message, hint = _MISFITS.get(key, (f"{quoted(key)} does not go with {quoted(kind)}", None))
    hint = _MISFIT_HINTS.get((kind, key), hint)
    yield Said("CF106", path, message, hint, at_key=True, prune=path)


def _say_dependent(error: Any, path: Path, _levels: Levels) -> Iterator[Said]:
    for key, wanted in error.validator_value.items():
        missing = [one for one in wanted if one not in error.instance]
        if key in error.instance and missing and not _meant(error, missing[0]):
            message = f"{subject(path)} has a {quoted(key)} and no {quoted(missing[0])}"
            yield Said("CF105", path, message, f"add `{missing[0]}:`", at_key=True)


def _trigger(error: Any) -> str:
    """The key beside which something may not, or must, stand."""
    where = list(error.absolute_schema_path)
    return str(where[len(where) - 1 - where[::-1].index("dependentSchemas") + 1])


def _say_type(error: Any, path: Path, _levels: Levels) -> Iterator[Said]:
    if _is_duration(error):
        yield _duration(error, path)
        return
    wanted = _wanted(_schema(error))
    value = error.instance
    if value is None:
        message = f"{subject(path)} has no value"
        yield Said("CF103", path, message, f"give it {wanted}, or remove it", prune=path)
    else:
        message = f"{subject(path)} must be {wanted}, not {kind_of_value(value)}"
        hint = type_hint(path, value, _types(_schema(error)), wanted)
        yield Said("CF103", path, message, hint, prune=path)


def _say_enum(error: Any, path: Path, _levels: Levels) -> Iterator[Said]:
    if not _is_scalar(error.instance):
        return  # its type has been told about
    allowed = [quoted(str(value)) for value in error.validator_value]
    wanted = allowed[0] if len(allowed) == 1 else f"one of {', '.join(allowed)}"
    message = f"{subject(path)} must be {wanted}, not {kind_of_value(error.instance)}"
    known = [str(value) for value in error.validator_value]
    yield Said("CF104", path, message[:280], enum_hint(path, error.instance, known), prune=path)


def _say_pattern(error: Any, path: Path, _levels: Levels) -> Iterator[Said]:
    if _is_duration(error):
        yield _duration(error, path)
        return
    schema, value = _schema(error), error.instance
    wanted = schema.get("patternErrorMessage", "text that matches its pattern")
    if not value.strip():
        yield Said("CF104", path, f"{subject(path)} is empty", f"give it {wanted}", prune=path)
        return
    message = f"{subject(path)} must be {wanted}, not {kind_of_value(value)}"
    yield Said("CF104", path, message, pattern_hint(path, value, wanted), prune=path)


def _say_value(error: Any, path: Path, _levels: Levels) -> Iterator[Said]:
    words = _LIMITS.get(str(error.validator))
    text = words(error.validator_value) if words else "is not what is expected here"
    found = error.instance
    shown = f", not {quoted(str(found))}" if isinstance(found, int | float) and words else ""
    yield Said("CF104", path, f"{subject(path)} {text}{shown}", None, prune=path)


def _is_duration(error: Any) -> bool:
    wanted = _schema(error).get("patternErrorMessage", "")
    return wanted.startswith("a duration") and not isinstance(error.instance, dict | list | bool | None)


def _duration(error: Any, path: Path) -> Said:
    fault = duration_fault(error.instance)
    return Said("CF108", path, f"{subject(path)} {fault.message}", fault.hint, prune=path)


def _is_scalar(value: Any) -> bool:
    return value is not None and not isinstance(value, dict | list)


def _schema(error: Any) -> dict[str, Any]:
    found: Any = error.schema
    return found if isinstance(found, dict) else {}


def _types(schema: dict[str, Any]) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else types


def _wanted(schema: dict[str, Any]) -> str:
    said = schema.get("patternErrorMessage")
    return said or " or ".join(_TYPE_WORDS[word] for word in _types(schema))


_LIMITS: dict[str, Callable[[Any], str]] = {
    "minimum": lambda limit: f"must be {limit} or more",
    "exclusiveMinimum": lambda limit: f"must be more than {limit}",
    "maximum": lambda limit: f"must be {limit} or less",
    "minItems": lambda _limit: "is an empty list",
    "minProperties": lambda _limit: "is an empty mapping",
    "minLength": lambda _limit: "is empty",
}
_SPEAKERS: dict[str, Callable[[Any, Path, Levels], Iterator[Said]]] = {
    "additionalProperties": _say_unknown_keys,
    "required": _say_missing,
    "anyOf": _say_any_of,
    "not": _say_misfit,
    "dependentRequired": _say_dependent,
    "type": _say_type,
    "enum": _say_enum,
    "pattern": _say_pattern,
}
