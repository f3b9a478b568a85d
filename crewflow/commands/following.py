"""Following a run that is under way, from its files: used by `events -f` and `logs -f`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from crewflow.state import codec
from crewflow.state.follow import Follower
from crewflow.state.lease import holder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.state.paths import RunPaths

PAUSE: Final = 0.1
"""Seconds between two looks."""


def turns(run: RunPaths, *, until_end: bool) -> Iterator[list[dict[str, Any]]]:
    """The new records at each look: one look, or looks until the run has ended or nobody holds it."""
    follower = Follower(run)
    while True:
        held = not until_end or holder(run) is not None
        records = follower.poll()
        yield records
        ended = any(record["type"] == codec.RUN_ENDED for record in records)
        if not until_end or ended or (not held and not records):
            return
        time.sleep(PAUSE)
