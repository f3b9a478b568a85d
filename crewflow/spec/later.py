"""Keys whose running comes later: read, checked and kept, so that `validate` and `plan` know them.

`apply` refuses a workflow that has one, by name. A key leaves this module when it is run.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Final

from crewflow.spec.fields import inside_project
from crewflow.spec.find import PROJECT_FILES
from crewflow.spec.words import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from crewflow.spec.fields import Fields
    from crewflow.spec.model import Path

_STATE_FOLDER: Final = ".crewflow"
_SPEC_FILES: Final = frozenset({*PROJECT_FILES, "workflows", "teams", "agents", "schedules"})


def build_later(fields: Fields, path: Path, data: dict[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """Those of `keys` that the object at `path` has, with their texts parsed."""
    return {key: _read(fields, (*path, key), value) for key, value in data.items() if key in keys}


def named(given: list[str] | dict[str, str] | None) -> dict[str, str]:
    """Names, or names with where they come from, as the latter."""
    return dict(given) if isinstance(given, dict) else {name: name for name in given or ()}


def weights(given: str | list[str] | dict[str, int] | None) -> dict[str, int]:
    """Pools with how many slots are taken of each: one where nothing is said."""
    if isinstance(given, dict):
        return {name: int(weight) for name, weight in given.items()}
    names = [given] if isinstance(given, str) else given or []
    return dict.fromkeys(names, 1)


def _read(fields: Fields, path: Path, value: Any) -> Any:
    read = _READERS.get(str(path[-1]))
    return fields.deep(path, value) if read is None else read(fields, path, value)


def _duration(fields: Fields, path: Path, value: str) -> Any:
    return fields.duration(path, value, None)


def _secrets(_fields: Fields, _path: Path, value: Any) -> dict[str, str]:
    return named(value)


def _pools(_fields: Fields, path: Path, value: Any) -> dict[str, Any]:
    return dict(value) if path == ("pools",) else weights(value)


def _gate(fields: Fields, path: Path, value: Any) -> Any:
    if isinstance(value, str):  # the short form for a whole workflow
        return {"before": "write"}
    if "timeout" in value:
        fields.duration((*path, "timeout"), value["timeout"], None)
    return fields.deep(path, value)


def _patterns(fields: Fields, path: Path, value: str | list[str]) -> Any:
    for place, pattern in _each(path, value):
        _check_pattern(fields, place, pattern.removeprefix("!"))
        if path[-1] == "writes" and posixpath.normpath(pattern).split("/")[0] in _SPEC_FILES:
            message = f"{quoted(pattern)} names files that say what is run"
            fields.fault("CF104", place, message, "no step may write what decides what is run")
    return fields.deep(path, [value] if isinstance(value, str) else value)


def _expect(fields: Fields, path: Path, value: dict[str, Any]) -> Any:
    for key in ("changed", "unchanged", "files"):
        for place, pattern in _each((*path, key), value.get(key, [])):
            _check_pattern(fields, place, pattern.removeprefix("!"))
    return fields.deep(path, value)


def _expand(fields: Fields, path: Path, value: dict[str, Any]) -> Any:
    if "writes" in value:
        _patterns(fields, (*path, "writes"), value["writes"])
    return fields.deep(path, value)


def _each(path: Path, value: str | list[str]) -> list[tuple[Path, str]]:
    if isinstance(value, str):
        return [(path, value)]
    return [((*path, index), pattern) for index, pattern in enumerate(value)]


def _check_pattern(fields: Fields, path: Path, pattern: str) -> None:
    if "$" in pattern.replace("${{", ""):
        message = f"{quoted(pattern)} holds a `$`, and patterns know no variables of the shell"
        fields.fault("CF104", path, message, "write `${{ env.NAME }}` for the value of a variable")
    elif posixpath.normpath(pattern).split("/")[0] == _STATE_FOLDER:
        message = f"{quoted(pattern)} lies in `{_STATE_FOLDER}/`, which belongs to crewflow"
        fields.fault("CF104", path, message, "name a folder of the project")
    else:
        inside_project(fields, path, pattern, "src/**")


_READERS: Final[dict[str, Callable[[Fields, Path, Any], Any]]] = {
    "idle_timeout": _duration,
    "total_timeout": _duration,
    "secrets": _secrets,
    "pools": _pools,
    "approval": _gate,
    "reads": _patterns,
    "writes": _patterns,
    "pins": _patterns,
    "expect": _expect,
    "expand": _expand,
}
"""How the values of some keys are read; those of others are plain data with expressions in their texts."""
