"""The inputs of a workflow as given on the command line: text by declared type, defaults, and checks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from crewflow.errors import UsageError
from crewflow.spec.scalars import ScalarFault, plain, resolve
from crewflow.spec.suggest import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crewflow.spec.model import InputSpec, Workflow


def resolve_inputs(workflow: Workflow, given: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The value of every declared input, in order of declaration.

    Args:
        workflow: what declares them.
        given: names and texts as typed, in order; a repeated name appends to an array of strings.

    Raises:
        UsageError: an unknown name, a text that is not of the declared type, a value that the
            declaration does not allow, or a required input that is missing.
    """
    texts: dict[str, list[str]] = {}
    for name, text in given:
        if name not in workflow.inputs:
            raise _unknown(workflow, name)
        texts.setdefault(name, []).append(text)
    return {
        name: _checked(spec, _parse(spec, texts[name])) if name in texts else _default(workflow, spec)
        for name, spec in workflow.inputs.items()
    }


def _unknown(workflow: Workflow, name: str) -> UsageError:
    guess = nearest(name, workflow.inputs)
    known = ", ".join(f"`{one}`" for one in workflow.inputs)
    hint = f"did you mean `{guess}`?" if guess else f"its inputs: {known}" if known else "it has none"
    return UsageError(f"workflow `{workflow.name}` has no input `{name}`", hint=hint)


def _default(workflow: Workflow, spec: InputSpec) -> Any:
    if spec.has_default:
        return spec.default
    if spec.required:
        description = f": {spec.description}" if spec.description else ""
        raise UsageError(
            f"workflow `{workflow.name}` needs input `{spec.name}`{description}",
            hint=f"give it with `-i {spec.name}=...`",
        )
    return None


def _parse(spec: InputSpec, texts: list[str]) -> Any:
    if spec.type == "array" and (len(texts) > 1 or not texts[0].lstrip().startswith("[")):
        items = spec.schema.get("items", {}).get("type", "string")
        if items != "string":
            raise _wrong(spec, texts[-1], "write it as a JSON list: `[1, 2]`")
        return texts
    if len(texts) > 1:
        raise UsageError(f"input `{spec.name}` is given {len(texts)} times", hint="give it once")
    return _PARSERS[spec.type](spec, texts[0])


def _parse_string(_: InputSpec, text: str) -> str:
    return text


def _parse_boolean(spec: InputSpec, text: str) -> bool:
    if text not in {"true", "false"}:
        raise _wrong(spec, text, "write `true` or `false`")
    return text == "true"


def _parse_number(spec: InputSpec, text: str) -> Any:
    try:
        value = resolve(text)
    except ScalarFault as fault:
        raise _wrong(spec, text, fault.hint) from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(spec, text, "write a number")
    if spec.type == "integer" and not isinstance(value, int):
        raise _wrong(spec, text, "write a whole number")
    return value


def _parse_json(spec: InputSpec, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise _wrong(spec, text, "write it as JSON") from None


_PARSERS = {
    "string": _parse_string,
    "boolean": _parse_boolean,
    "integer": _parse_number,
    "number": _parse_number,
    "array": _parse_json,
    "object": _parse_json,
}


def _wrong(spec: InputSpec, text: str, hint: str) -> UsageError:
    shown = text if len(text) <= 60 else text[:57] + "..."  # noqa: PLR2004  (a line of a terminal)
    return UsageError(f"input `{spec.name}` takes {_ARTICLE[spec.type]}, and got `{shown}`", hint=hint)


_ARTICLE = {
    "string": "text",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "array": "a list",
    "object": "an object",
}


def _checked(spec: InputSpec, value: Any) -> Any:
    from jsonschema import Draft202012Validator  # noqa: PLC0415  (only for inputs that are given)

    fault = next(Draft202012Validator(spec.schema).iter_errors(plain(value)), None)
    if fault is None:
        return value
    where = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in fault.path)
    words = _FAULT_WORDS.get(str(fault.validator), "is not allowed: it fails `{rule}` {limit}")
    limit = json.dumps(fault.validator_value, ensure_ascii=False)
    raise UsageError(
        f"input `{spec.name}{where}` {words.format(rule=fault.validator, limit=limit)}",
        hint=f"see `inputs` of the workflow, or leave `-i {spec.name}` out",
    )


_FAULT_WORDS = {
    "enum": "must be one of {limit}",
    "pattern": "must match the pattern {limit}",
    "minimum": "must be at least {limit}",
    "maximum": "must be at most {limit}",
    "type": "must be of type {limit}",
}
