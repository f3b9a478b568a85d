"""What is too large for a record: kept in a file of the attempt, with size and hash in the record.

The legs of a fan-out that the run gives are no attempt's, and are kept as if it were its attempt 0.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from crewflow import durable
from crewflow.errors import StateError

if TYPE_CHECKING:
    from crewflow.state.paths import RunPaths

LARGEST_IN_RECORD: Final = 16_384
_LARGE = ("outputs", "result", "legs")


def move_large(facts: dict[str, Any], run: RunPaths) -> dict[str, Any]:
    """The facts of an ended attempt as they are recorded: large results are on disk, synced, before that.

    Raises:
        StateError: the file could not be written.
    """
    large = {name: facts[name] for name in _LARGE if name in facts}
    if not large or _small(large):
        return facts
    data = json.dumps(large, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    if len(data) <= LARGEST_IN_RECORD:
        return facts
    path = _path(facts, run)
    if "attempt" not in facts:  # no worker has made its folder
        durable.make_folder(path.rpartition("/")[0])
    durable.replace_file(path, data)
    kept = {name: value for name, value in facts.items() if name not in large}
    return kept | {"stored": {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}}


def bring_back(record: dict[str, Any], run: RunPaths) -> dict[str, Any]:
    """The record with its large results. Raises StateError if their file is not the one recorded."""
    stored = record.get("stored")
    if stored is None:
        return record
    path = _path(record, run)
    data = durable.read_file(path)
    if data is None or hashlib.sha256(data).hexdigest() != stored["sha256"]:
        raise StateError(f"`{path}` is missing or was changed: it holds the result of `{record['task']}`")
    large: dict[str, Any] = json.loads(data.decode("utf-8", "surrogatepass"))
    return record | large


def file_hash(path: str) -> str | None:
    """The sha256 of a file, in hexadecimal; None where there is no file that can be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _small(large: dict[str, Any]) -> bool:
    """A cheap yes for the common case: a short text and no outputs."""
    result = large.get("result")
    short = result is None or (isinstance(result, str) and len(result) < LARGEST_IN_RECORD // 8)
    return short and not large.get("outputs") and not large.get("legs")


def _path(facts: dict[str, Any], run: RunPaths) -> str:
    return f"{run.attempt(facts['task'], facts.get('attempt', 0))}/result.json"
