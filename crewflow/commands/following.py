"""Following a run that is under way, from its files: used by `events -f` and `logs -f`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from crewflow.state import codec
from crewflow.state.follow import Follower
from crewflow.state.lease import holder
from crewflow.state.records import GENERATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crewflow.state.paths import RunPaths

PAUSE: Final = 0.1
"""Seconds between two looks."""


def turns(run: RunPaths, *, until_end: bool) -> Iterator[list[dict[str, Any]]]:
    """The new records at each look: one look, or looks until the run has ended or nobody holds it."""
    follower = Follower(run)
    ended = False
    while True:
        held = not until_end or holder(run) is not None
        records = follower.poll()
        yield records
        ended = _has_ended(records, before=ended)
        if not until_end or ended or (not held and not records):
            return
        time.sleep(PAUSE)


def _has_ended(records: Iterable[dict[str, Any]], *, before: bool) -> bool:
    """Whether the run has ended after these records; another generation begins it anew."""
    ended = before
    for record in records:
        ended = record["type"] == codec.RUN_ENDED or (ended and record["type"] != GENERATION)
    return ended
