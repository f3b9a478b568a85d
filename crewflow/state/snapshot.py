"""Snapshots of a run: its state and its tasks' states, so that readers need not replay the journal.

They are derived: each has the `seq` that it reflects, none is relied on, and one that is missing or
damaged is no fault: readers then rebuild it from the journal.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from crewflow import durable
from crewflow.errors import StateError

if TYPE_CHECKING:
    from crewflow.state.paths import RunPaths

SNAPSHOT_FORMAT = 1
"""Raised when the meaning of a snapshot changes; those of another format are rebuilt."""


def write_snapshots(run: RunPaths, run_doc: dict[str, Any], tasks_doc: dict[str, Any]) -> None:
    """Replace both snapshots; each document has the `seq` it reflects. Each is replaced on its own.

    Raises:
        StateError: the system refuses.
    """
    durable.replace_file(run.tasks_snapshot, _encode(tasks_doc), sync=False)
    durable.replace_file(run.run_snapshot, _encode(run_doc), sync=False)


def read_run_snapshot(run: RunPaths) -> dict[str, Any] | None:
    """The snapshot of the run's state; None when there is none that can be used."""
    return _read(run.run_snapshot)


def read_tasks_snapshot(run: RunPaths) -> dict[str, Any] | None:
    """The snapshot of the tasks' states; None when there is none that can be used."""
    return _read(run.tasks_snapshot)


def _encode(document: dict[str, Any]) -> bytes:
    return json.dumps({"format": SNAPSHOT_FORMAT, **document}, separators=(",", ":")).encode() + b"\n"


def _read(path: str) -> dict[str, Any] | None:
    try:
        document = json.loads(durable.read_file(path) or b"null")
    except (StateError, ValueError):
        return None
    if not isinstance(document, dict) or document.get("format") != SNAPSHOT_FORMAT:
        return None
    return document if isinstance(document.get("seq"), int) else None
