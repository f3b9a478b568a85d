"""`crewflow resume`: go on with a run, keeping what succeeded."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from crewflow.engine.keeper import Keeper
from crewflow.errors import SpecError, UsageError

if TYPE_CHECKING:
    from crewflow.graph.plan import Plan
    from crewflow.report.console import Console
    from crewflow.state.paths import RunPaths


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
        crew.notes = _what_changed(folder, paths)
        resume_run(paths, crew.setting)
        return int(crew.finish())


def _what_changed(folder: str, paths: RunPaths) -> tuple[str, ...]:
    """A run goes on with the plan it was begun with: what to say where the files would now give another."""
    from crewflow.state.journal import read_journal  # noqa: PLC0415  (the keeper is forked first)
    from crewflow.state.replay import recorded_plan  # noqa: PLC0415  (as above)

    frozen, _ = recorded_plan(paths, read_journal(paths))
    if _is_current(folder, frozen):
        return ()
    return (
        f"note: workflow `{frozen.workflow}` has changed since; this run goes on with its own plan",
        f"hint: `crewflow apply {frozen.workflow}` runs the new one",
    )


def _is_current(folder: str, frozen: Plan) -> bool:
    """Whether the files would give the same plan; True where they have no such workflow to compare with."""
    from crewflow.commands.project import choose  # noqa: PLC0415  (as above)
    from crewflow.graph.compile import compile_workflow  # noqa: PLC0415  (as above)

    try:
        chosen = choose(folder, frozen.workflow)
    except UsageError:
        return True  # it was applied from a file elsewhere
    except SpecError:
        return False
    try:
        current = compile_workflow(chosen.project, chosen.workflow, frozen.inputs)
    except SpecError:
        return False
    # the policy may have been given on the command line
    return replace(current, on_failure=frozen.on_failure).fingerprint() == frozen.fingerprint()
