"""`crewflow resume`: go on with a run, keeping what succeeded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from crewflow.engine.keeper import Keeper

if TYPE_CHECKING:
    from crewflow.report.console import Console


def run(console: Console, folder: str, *, reference: str | None, jobs: int | None, executor: str) -> int:
    """Resume a run and say how it ended; the exit code is the run's."""
    # before anything is read or opened, so that the processes of the run inherit nothing of it
    keeper = Keeper.fork() if executor == "local" else None
    try:
        return _resume(console, folder, keeper, reference, jobs)
    finally:
        if keeper is not None:
            keeper.close()


def _resume(
    console: Console, folder: str, keeper: Keeper | None, reference: str | None, jobs: int | None
) -> int:
    from crewflow.commands.crew import crewed  # noqa: PLC0415  (the keeper is forked first)
    from crewflow.commands.project import choose_run, project_root  # noqa: PLC0415  (as above)
    from crewflow.engine.apply import resume_run  # noqa: PLC0415  (as above)
    from crewflow.state.folder import open_state  # noqa: PLC0415  (as above)

    root = project_root(folder)
    paths = choose_run(folder, reference)
    with crewed(console, root, open_state(root), jobs or os.cpu_count() or 1, keeper) as crew:
        resume_run(paths, crew.setting)
        return int(crew.finish())
