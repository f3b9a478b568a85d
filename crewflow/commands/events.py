"""`crewflow events`: the records of a run; with `-f` as they come."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from crewflow.commands.following import turns
from crewflow.commands.project import choose_run
from crewflow.errors import ExitCode
from crewflow.report.console import flush
from crewflow.report.runs import record_line

if TYPE_CHECKING:
    from crewflow.report.console import Console


def run(console: Console, folder: str, *, reference: str | None, follow: bool) -> int:
    """Print every record, one a line; with `--json` as the journal has them."""
    for records in turns(choose_run(folder, reference), until_end=follow):
        for record in records:
            console.data(json.dumps(record) if console.as_json else record_line(record))
        flush()
    return int(ExitCode.DONE)
