"""`crewflow runs list`: the runs of this project, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewflow.commands.project import project_root
from crewflow.errors import CrewflowError, ExitCode
from crewflow.report.runs import runs_text
from crewflow.run.states import RUN_TERMINAL
from crewflow.state.folder import find_state
from crewflow.state.paths import StatePaths
from crewflow.state.replay import tell_story
from crewflow.state.runs import list_runs
from crewflow.state.snapshot import read_run_snapshot

if TYPE_CHECKING:
    from crewflow.report.console import Console


def run(console: Console, folder: str) -> int:
    """Print the list; a damaged run is listed as such and harms no other."""
    state = find_state(project_root(folder))
    rows = [_row(state, run_id) for run_id in list_runs(state)] if state is not None else []
    if console.as_json:
        console.document({"runs": rows})
    else:
        console.data(runs_text(rows, console))
    return int(ExitCode.DONE)


def _row(state: str, run_id: str) -> dict[str, Any]:
    """A run that has ended is read from its snapshot, any other from its journal."""
    paths = StatePaths(state).run(run_id)
    snapshot = read_run_snapshot(paths)
    if snapshot is not None and snapshot.get("state") in RUN_TERMINAL:
        return {"run": run_id, **{name: snapshot[name] for name in ("state", "workflow", "counts")}}
    try:
        story = tell_story(paths)
    except CrewflowError as error:
        return {"run": run_id, "state": "damaged", "workflow": None, "counts": {}, "error": error.message}
    return {
        "run": run_id,
        "state": story.shown_state(),
        "workflow": story.machine.plan.workflow,
        "counts": story.counts(),
    }
