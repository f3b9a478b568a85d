"""The inputs of a workflow as given on the command line: text by declared type, defaults, and checks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NoReturn

from crewflow.errors import UsageError
from crewflow.spec.scalars import ScalarFault, resolve
from crewflow.spec.suggest import nearest
from crewflow.spec.values import fits
from crewflow.spec.words import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crewflow.spec.model import InputSpec, Workflow

TYPE_NAMES: Final = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
"""The type words of the language in sentences."""

_DEEPEST: Final = 100  # as in a YAML file


def resolve_inputs(workflow: Workflow, given: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The value of every declared input, in order of declaration; null for one that has none.

    Numbers keep their spelling, also within JSON.

    Args:
        workflow: what declares them.
        given: names and texts as typed, in order; a repeated name appends to an array of strings.

    Raises:
        UsageError: an unknown name, a text that is not of the declared type, a value that the
            declaration does not allow, or required inputs that are missing.
    """
    texts: dict[str, list[str]] = {}
    for name, text in given:
        if name not in workflow.inputs:
            raise _unknown(workflow, name)
        texts.setdefault(name, []).append(text)
    _refuse_missing(workflow, texts)
    return {
        name: whole_number(spec, _given(spec, texts[name]) if name in texts else spec.default)
        for name, spec in workflow.inputs.items()
    }


def _unknown(workflow: Workflow, name: str) -> UsageError:
    guess = nearest(name, workflow.inputs)
    known = ", ".join(f"`{one}`" for one in workflow.inputs)
    hint = f"did you mean `{guess}`?" if guess else f"its inputs: {known}" if known else "it has none"
    return UsageError(f"workflow `{workflow.name}` has no input {quoted(name)}", hint=hint)


def _refuse_missing(workflow: Workflow, texts: Iterable[str]) -> None:
    missing = [
        spec
        for name, spec in workflow.inputs.items()
        if spec.required and not spec.has_default and name not in texts
    ]
    if not missing:
        return
    listed = ", ".join(f"`{spec.name}`" for spec in missing)
    described = f": {missing[0].description}" if len(missing) == 1 and missing[0].description else ""
    raise UsageError(
        f"workflow `{workflow.name}` needs {'input' if len(missing) == 1 else 'inputs'} {listed}{described}",
        hint=f"give {'it' if len(missing) == 1 else 'them'} with "
        + " ".join(f"`-i {spec.name}=...`" for spec in missing),
    )


def _given(spec: InputSpec, texts: list[str]) -> Any:
    for text in texts:
        if not _is_unicode(text):
            message = f"input `{spec.name}` holds bytes that are not UTF-8"
            raise UsageError(message, hint="pass the name of a file instead")
    value = _parse(spec, texts)
    why = _misfit(spec.name, value, spec.schema)
    if why is None:
        return value
    raise UsageError(f"input {why}", hint=_expected(spec))


def _misfit(name: str, value: Any, schema: dict[str, Any]) -> str | None:
    """Which part of a value is not as declared, and why; None if all is well."""
    inner = (_misfit(*part) for part in _parts(name, value, schema))
    found = next((why for why in inner if why is not None), None)
    if found is not None:
        return found
    why = fits(value, schema)
    return None if why is None else f"{quoted(name)} {why}"


def _parts(name: str, value: Any, schema: dict[str, Any]) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """The parts of a value that are declared, each with its name and what is wanted of it."""
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield f"{name}[{index}]", item, schema["items"]
    if isinstance(value, dict):
        for key, wanted in schema.get("properties", {}).items():
            if key in value:
                yield f"{name}.{key}", value[key], wanted


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _expected(spec: InputSpec) -> str | None:
    return f"{spec.name}: {spec.description}" if spec.description else None


def _parse(spec: InputSpec, texts: list[str]) -> Any:
    if spec.type == "array" and (len(texts) > 1 or not texts[0].lstrip().startswith("[")):
        return _items(spec, texts)
    if len(texts) > 1:
        raise UsageError(f"input `{spec.name}` is given {len(texts)} times", hint="give it once")
    return _PARSERS[spec.type](spec, texts[0])


def _items(spec: InputSpec, texts: list[str]) -> list[str]:
    """Each text as an item: only text can be given so, as all else would have to be read."""
    if spec.schema.get("items", {}).get("type", "string") != "string":
        _refuse(spec, texts[-1], "write it as a JSON list, such as `[1, 2]`")
    return texts


def _parse_string(_: InputSpec, text: str) -> str:
    return text


def _parse_boolean(spec: InputSpec, text: str) -> bool:
    if text not in {"true", "false"}:
        _refuse(spec, text, "write `true` or `false`")
    return text == "true"


def _parse_number(spec: InputSpec, text: str) -> Any:
    try:
        value = resolve(text)
    except ScalarFault as fault:
        _refuse(spec, text, fault.message)
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(spec, text, "write it such as `12`, `-3` or `0.5`")
    return value


def _parse_json(spec: InputSpec, text: str) -> Any:
    try:
        value = json.loads(
            text,
            parse_int=resolve,
            parse_float=resolve,
            parse_constant=_no_number,
            object_pairs_hook=_object,
        )
    except (ValueError, ScalarFault) as fault:
        _refuse(spec, text, f"write it as JSON{_where(fault)}")
    except RecursionError:
        _refuse(spec, text, "it is nested too deeply")
    if not _is_shallow(value):
        _refuse(spec, text, f"it is nested too deeply; at most {_DEEPEST} levels are read")
    if not _is_unicode(json.dumps(value, ensure_ascii=False)):
        _refuse(spec, text, "it holds half of a surrogate pair, which is no text")
    return value


def _where(fault: Exception) -> str:
    """What the reader says of the place, in our words."""
    if isinstance(fault, json.JSONDecodeError):
        return f"; it cannot be read from character {fault.pos + 1} on"
    return f"; {fault.args[0]}" if fault.args else ""


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"`{text}` is not a number of JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {quoted(twice)} stands twice in an object")
    return found


def _is_shallow(value: Any) -> bool:
    """Whether a value is not nested more deeply than a file could be."""
    layer = [value]
    for _ in range(_DEEPEST):
        layer = [inner for one in layer for inner in _inner(one)]
        if not layer:
            return True
    return False


def _inner(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


_PARSERS: dict[str, Callable[[InputSpec, str], Any]] = {
    "string": _parse_string,
    "boolean": _parse_boolean,
    "integer": _parse_number,
    "number": _parse_number,
    "array": _parse_json,
    "object": _parse_json,
}


def _refuse(spec: InputSpec, text: str, hint: str) -> NoReturn:
    raise UsageError(f"input `{spec.name}` must be {TYPE_NAMES[spec.type]}, not {quoted(text)}", hint=hint)


def whole_number(spec: InputSpec, value: Any) -> Any:
    """A whole number written as `2.0` is the integer 2 where an integer is declared."""
    return int(value) if spec.type == "integer" and isinstance(value, float) else value
