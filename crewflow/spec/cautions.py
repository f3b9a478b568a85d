"""What the language allows and nobody means: warnings, which only `--strict` takes for faults."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crewflow.errors import Severity
from crewflow.spec.words import quoted

if TYPE_CHECKING:
    from crewflow.spec.fields import Fields
    from crewflow.spec.model import Path

_OPEN = re.compile(r"(?<!\$)\{\{[ \t]*(?:(?:inputs|steps|matrix)\.|item(?:_index)?\b)")
_EXPRESSION = re.compile(r"\$\{\{(?:(?!\$\{\{).)*?\}\}", re.DOTALL)
_OPERATORS = frozenset({"|", "||", "&&", ";", ">", ">>", "<", "2>&1", "&"})
_COMPARING = frozenset({"test", "[", "expr", "awk", "jq"})
_A_SCRIPT = "a list is one program and its arguments; write a script as text"


def caution_step(fields: Fields, path: Path, given: dict[str, Any]) -> None:
    """Warn of what is odd in a step of checked data."""
    for key in ("run", "env", "with"):
        caution_text(fields, (*path, key), given.get(key))
    if isinstance(given.get("run"), list):
        _caution_command(fields, (*path, "run"), given["run"])
    for axis, values in given.get("matrix", {}).items():
        if axis not in {"include", "exclude"}:
            _caution_values(fields, (*path, "matrix", axis), values)
    _caution_values(fields, (*path, "for_each"), given.get("for_each"))


def caution_text(fields: Fields, path: Path, value: Any) -> None:
    """Warn of `{{ inputs.x }}` in a text, or in any text inside a value."""
    if isinstance(value, dict):
        for key, item in value.items():
            caution_text(fields, (*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            caution_text(fields, (*path, index), item)
    elif isinstance(value, str) and "{{" in value:
        _caution_opening(fields, path, value)


def caution_input(fields: Fields, path: Path, given: dict[str, Any]) -> None:
    """Warn of an input that must be given and need not be."""
    if given.get("required") and "default" in given:
        message = f"input {quoted(str(path[-1]))} has a `default`, so `required` says nothing"
        _warn(fields, "CF117", (*path, "required"), message, "remove one of them")


def _caution_opening(fields: Fields, path: Path, text: str) -> None:
    hidden = _EXPRESSION.sub(lambda match: " " * len(match.group()), text)
    match = _OPEN.search(hidden)
    if match is not None:
        message = "`{{` without a `$` is plain text"
        place = (match.start(), 2)
        fields.fault_in(
            "CF115", path, place, message, "did you mean `${{ ... }}`?", severity=Severity.WARNING
        )


def _caution_command(fields: Fields, path: Path, words: list[Any]) -> None:
    program = words[0] if isinstance(words[0], str) else ""
    if " " in _EXPRESSION.sub("", program).strip() and not program.startswith("/"):
        message = f"{quoted(program)} is taken for the name of one program"
        _warn(fields, "CF116", (*path, 0), message, _A_SCRIPT)
    for index, word in enumerate(words[1:], start=1):
        if isinstance(word, str) and word in _OPERATORS and not _is_argument(words, index):
            message = f"{quoted(word)} is an argument here, and means nothing to a shell"
            _warn(fields, "CF116", (*path, index), message, _A_SCRIPT)
            return


def _is_argument(words: list[Any], index: int) -> bool:
    """Whether a word is known to be what the program wants: a delimiter, `find -exec ... ;`, `test a > b`."""
    before = [str(word) for word in words[:index]]
    return before[-1].startswith("-") or before[0] in _COMPARING or before[0].endswith("find")


def _caution_values(fields: Fields, path: Path, values: Any) -> None:
    if values == []:
        message = f"{quoted(str(path[-1]))} is an empty list, so nothing is run"
        _warn(fields, "CF117", path, message, "give it a value")


def _warn(fields: Fields, rule: str, path: Path, message: str, hint: str) -> None:
    fields.fault(rule, path, message, hint, severity=Severity.WARNING)
