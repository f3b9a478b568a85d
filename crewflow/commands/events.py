"""`crewflow events`: the records of a run; with `-f` as they come."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from crewflow.commands.following import turns
from crewflow.commands.project import choose_run
from crewflow.errors import ExitCode
from crewflow.report.console import SCHEMA_VERSION, flush
from crewflow.report.runs import record_line

if TYPE_CHECKING:
    from crewflow.report.console import Console
    from crewflow.state.paths import RunPaths


def run(console: Console, folder: str, *, reference: str | None, follow: bool) -> int:
    """Print every record, one a line; with `--json` as the journal has them, in one document."""
    paths = choose_run(folder, reference)
    if console.as_json:
        _print_document(console, paths, follow=follow)
    else:
        for records in turns(paths, until_end=follow):
            for record in records:
                console.data(record_line(record))
            flush()
    return int(ExitCode.DONE)


def _print_document(console: Console, paths: RunPaths, *, follow: bool) -> None:
    """One document that grows by a line with each record, and is whole at the end, also after Ctrl-C."""
    head = json.dumps({"schema_version": SCHEMA_VERSION, "run": paths.run_id})
    console.data(f'{head[:-1]}, "events": [')
    comma = ""
    try:
        for records in turns(paths, until_end=follow):
            for record in records:
                console.data(comma + json.dumps(record))
                comma = ","
            flush()
    finally:
        console.data("]}")
