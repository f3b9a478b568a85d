"""What an attempt that succeeded leaves behind: its declared outputs, its result, its artifacts.

- `output`: from the file that `$CREWFLOW_OUTPUT` names. One JSON object, if its first character is
  `{`; else lines `name=value`, and `name<<DELIM`, lines, `DELIM`. Only a line feed ends a line, and all
  before it belongs to the value, a carriage return too. A python step may also give them as the keys of
  the object it returns; what the file has goes first.
- `stdout`, `file:path`: the text, without one line feed at its end. `json`, `json:/pointer`: all of
  stdout as JSON, or the value in it (RFC 6901).
- The result of a script or command is the end of its stdout, without one line feed at its end.

A text becomes what the declared type asks for: `5` an integer, `true` a boolean, JSON an array or
object. Whatever is not as declared is a `BadOutputError`, whose text is for people.
"""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crewflow.engine import artifacts, spawn
from crewflow.engine.artifacts import BadOutputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crewflow.engine.executor import Attempt
    from crewflow.spec.model import Output

VALUE_LIMIT = 1_048_576
"""Bytes of one output, and of a python step's result."""

FILE_LIMIT = 16 * VALUE_LIMIT
"""Bytes of the file that `$CREWFLOW_OUTPUT` names."""

RESULT_TAIL = 65_536
"""Bytes of stdout that are kept as the result of a script or command."""

NOTHING = object()
"""Stands for the return value of a step that has none."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of an attempt; the shapes are those of `Ended`."""

    outputs: dict[str, Any] = field(default_factory=dict)
    artifacts: tuple[dict[str, Any], ...] = ()


def reads_stdout(attempt: Attempt) -> bool:
    """Whether anything needs the attempt's stdout apart from its stderr."""
    return attempt.keeps_stdout or any(is_of_stdout(output.origin) for output in attempt.outputs)


def is_of_stdout(origin: str) -> bool:
    """Whether an output of this origin is read from stdout."""
    return origin in {"stdout", "json"} or origin.startswith("json:")


def collect(attempt: Attempt, stdout_fault: OSError | None = None, value: Any = NOTHING) -> Kept:
    """The outputs and artifacts of an attempt that succeeded and of which nothing lives any more.

    Args:
        attempt: what ended.
        stdout_fault: why stdout could not be written to the disk as a whole, if so.
        value: what a python step returned.

    Raises:
        BadOutputError: something is missing or not as declared.
    """
    if stdout_fault is not None:
        raise BadOutputError(f"its output could not be kept: {spawn.words(stdout_fault)}")
    try:
        return _collect(attempt, value)
    except OSError as error:
        raise BadOutputError(f"what it leaves cannot be read: {spawn.words(error)}") from error


def _collect(attempt: Attempt, value: Any) -> Kept:
    written = _written(attempt)
    if not (attempt.outputs or attempt.artifacts or written):
        return Kept()
    returned = value if isinstance(value, dict) else {}
    outputs = _outputs(attempt, written, returned)
    return Kept(outputs, artifacts.find_all(attempt.artifacts, attempt.project))


def end_of_stdout(attempt: Attempt) -> str:
    """The last 64 KiB of stdout as text; bytes that are none are replaced."""
    try:
        with open(f"{attempt.folder}/stdout.log", "rb") as file:  # a path made of text
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - RESULT_TAIL))
            data = file.read()
    except OSError:
        return ""  # a silent step has no such file
    if size > RESULT_TAIL:
        data = re.sub(rb"\A[\x80-\xbf]{1,3}", b"", data)
    return data.decode("utf-8", "replace").removesuffix("\n")


def _outputs(attempt: Attempt, written: dict[str, Any], returned: dict[str, Any]) -> dict[str, Any]:
    declared = {output.name for output in attempt.outputs if output.origin == "output"}
    for name in written:
        if name not in declared:
            raise BadOutputError(f"output `{name}` is not declared under `outputs`")
    given = {**{name: returned[name] for name in declared & returned.keys()}, **written}
    return {output.name: _one(attempt, output, given) for output in attempt.outputs}


def _one(attempt: Attempt, output: Output, given: dict[str, Any]) -> Any:
    value = _find(attempt, output, given)
    if value is NOTHING:
        if output.has_default:
            return output.default
        raise BadOutputError(f"output `{output.name}` is missing")
    return _as_type(output, value)


def _find(attempt: Attempt, output: Output, given: dict[str, Any]) -> Any:
    kind, _, rest = output.origin.partition(":")
    if kind == "output":
        return given.get(output.name, NOTHING)
    if kind == "file":
        return _file_text(attempt, output.name, rest)
    text = _read(f"{attempt.folder}/stdout.log", f"output `{output.name}`", VALUE_LIMIT) or ""
    if kind == "stdout":
        return text.removesuffix("\n")
    return _at(_parse_json(text, f"output `{output.name}`: stdout"), rest)


def _file_text(attempt: Attempt, name: str, path: str) -> Any:
    what = f"output `{name}`: file `{path}`"
    real = artifacts.inside(attempt.project, path, what)
    text = _read(real, what, VALUE_LIMIT)
    return NOTHING if text is None else text.removesuffix("\n")


def _at(value: Any, pointer: str) -> Any:
    """The value that a JSON pointer names, or NOTHING."""
    for raw in pointer.split("/")[1:]:
        key = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and re.fullmatch(r"0|[1-9][0-9]*", key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return NOTHING
    return value


def _written(attempt: Attempt) -> dict[str, Any]:
    """What the file that `$CREWFLOW_OUTPUT` names holds, by name."""
    text = _read(spawn.output_file(attempt), "the output file", FILE_LIMIT)
    if text is None:
        return {}
    if text.lstrip().startswith("{"):
        parsed = _parse_json(text, "the output file")
        assert isinstance(parsed, dict)  # noqa: S101  # it begins with a brace
        return parsed
    return _parse_lines(text)


def _read(path: str, what: str, limit: int) -> str | None:
    """The text of a regular file, None if there is no file."""
    try:
        file = artifacts.open_regular(path, what)
    except FileNotFoundError:
        return None
    with file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise BadOutputError(f"{what} is larger than {limit // VALUE_LIMIT} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadOutputError(f"{what} is not UTF-8 (byte {error.start})") from error


def _parse_json(text: str, what: str) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            names = [name for name, _ in items]
            twice = next(name for name in names if names.count(name) > 1)
            raise BadOutputError(f"{what} has `{twice}` twice")
        return found

    def refuse(word: str) -> None:
        raise BadOutputError(f"{what} has `{word}`, which is no JSON")

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise BadOutputError(f"{what} is not one JSON value (line {error.lineno})") from error
    except (ValueError, RecursionError) as error:
        raise BadOutputError(f"{what} is JSON that cannot be read") from error


def _parse_lines(text: str) -> dict[str, str]:
    lines = text.removesuffix("\n").split("\n") if text else []
    found: dict[str, str] = {}
    at = 0
    while at < len(lines):
        number, line = at + 1, lines[at]
        at += 1
        if not line.strip():
            continue
        match = re.match(r"([A-Za-z_][A-Za-z0-9_-]*)(=|<<)", line)
        if match is None:
            raise BadOutputError(
                f"line {number} of the output file is neither `name=value` nor `name<<DELIM`"
            )
        name, rest = match[1], line[match.end() :]
        if name in found:
            raise BadOutputError(f"line {number} of the output file gives `{name}` again")
        if match[2] == "<<":
            end = _delimiter(lines, at, rest, number)
            rest, at = "\n".join(lines[at:end]), end + 1
        found[name] = rest
    return found


def _delimiter(lines: list[str], at: int, word: str, opened: int) -> int:
    """The index of the line that ends a value of several lines."""
    if not word.strip():
        raise BadOutputError(f"line {opened} of the output file names no delimiter after `<<`")
    try:
        return lines.index(word, at)
    except ValueError:
        raise BadOutputError(
            f"line {opened} of the output file opens a value that no line `{word.strip()}` ends"
        ) from None


def _as_type(output: Output, value: Any) -> Any:
    converted = _CONVERTERS[output.type](value)
    if converted is NOTHING:
        raise BadOutputError(f"output `{output.name}` is not of type {output.type}: {_shown(value)}")
    if isinstance(converted, str | list | dict):
        _check_size(output.name, converted)
    return converted


def _check_size(name: str, value: Any) -> None:
    if size_of(value) > VALUE_LIMIT:
        raise BadOutputError(f"output `{name}` is larger than 1 MiB; pass it by `artifacts`")


def size_of(value: Any) -> int:
    """Bytes of a text, or of another value's JSON.

    Raises:
        BadOutputError: it holds text that is not valid.
    """
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return len(text.encode())
    except UnicodeEncodeError:
        raise BadOutputError("a text in it is not valid Unicode") from None
    except RecursionError:
        raise BadOutputError("it is nested too deeply") from None


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"`{text}`" if len(text) <= 60 else f"`{text[:57]}...`"  # noqa: PLR2004  # fits a line


def _string(value: Any) -> Any:
    return value if isinstance(value, str) else NOTHING


def _integer(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,4000}\s*", value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else NOTHING


_NUMBER = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")


def _number(value: Any) -> Any:
    if isinstance(value, str):
        whole = _integer(value)
        if whole is not NOTHING:
            return whole
        value = float(value) if _NUMBER.fullmatch(value) else NOTHING
    if isinstance(value, float):
        return value if math.isfinite(value) else NOTHING
    return value if isinstance(value, int) and not isinstance(value, bool) else NOTHING


def _boolean(value: Any) -> Any:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip(), NOTHING)
    return value if isinstance(value, bool) else NOTHING


def _json_of(kind: type) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if isinstance(value, str):
            try:
                value = _parse_json(value, "it")
            except BadOutputError:
                return NOTHING
        return value if isinstance(value, kind) else NOTHING

    return convert


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _json_of(list),
    "object": _json_of(dict),
}
