"""`crewflow runs list`: the runs of this project, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewflow.commands.project import project_root
from crewflow.errors import CrewflowError, ExitCode
from crewflow.report.runs import runs_text
from crewflow.run.states import RUN_TERMINAL
from crewflow.state.folder import find_state, is_foreign
from crewflow.state.journal import segment_numbers
from crewflow.state.paths import StatePaths
from crewflow.state.replay import tell_story
from crewflow.state.runs import list_runs
from crewflow.state.snapshot import read_run_snapshot

if TYPE_CHECKING:
    from crewflow.report.console import Console
    from crewflow.state.paths import RunPaths


def run(console: Console, folder: str) -> int:
    """Print the list; a damaged run is listed as such and harms no other."""
    state = find_state(project_root(folder))
    rows = [_row(state, run_id) for run_id in list_runs(state)] if state is not None else []
    if console.as_json:
        console.document({"runs": rows})
    elif rows:
        console.data(runs_text(rows, console))
    else:
        console.talk("no runs yet: start one with `crewflow apply`")
    return int(ExitCode.DONE)


def _row(state: str, run_id: str) -> dict[str, Any]:
    paths = StatePaths(state).run(run_id)
    try:
        foreign = is_foreign(paths.root) is not None
        return {"run": run_id, **(_from_snapshot(paths) or _from_journal(paths)), "foreign": foreign}
    except CrewflowError as error:
        return {"run": run_id, "state": "damaged", "workflow": None, "counts": {}, "error": error.message}


def _from_snapshot(paths: RunPaths) -> dict[str, Any] | None:
    """What the snapshot says, if it is of the end of the newest generation; else the journal is asked."""
    snapshot = read_run_snapshot(paths) or {}
    wanted = ("state", "workflow", "counts")
    if snapshot.get("state") not in RUN_TERMINAL or not snapshot.keys() >= {*wanted, "generation"}:
        return None
    if [snapshot["generation"]] != segment_numbers(paths)[-1:]:
        return None
    return {name: snapshot[name] for name in wanted}


def _from_journal(paths: RunPaths) -> dict[str, Any]:
    story = tell_story(paths)
    return {
        "state": story.shown_state(),
        "workflow": story.machine.plan.workflow,
        "counts": story.counts(),
    }
