"""`crewflow version`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow import __version__
from crewflow.errors import ExitCode

if TYPE_CHECKING:
    from crewflow.report.console import Console


def run(console: Console, folder: str) -> int:
    """Print the version."""
    del folder
    if console.as_json:
        console.document({"version": __version__})
    else:
        console.data(f"crewflow {__version__}")
    return int(ExitCode.DONE)
