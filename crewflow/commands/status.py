"""`crewflow status` and `crewflow runs show`: how a run stands, from its files alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.clock import SystemClock
from crewflow.commands.project import choose_run
from crewflow.errors import ExitCode
from crewflow.report.runs import story_document, story_text
from crewflow.run.states import RunState
from crewflow.state.folder import is_foreign
from crewflow.state.replay import tell_story

if TYPE_CHECKING:
    from crewflow.report.console import Console

_EXIT_CODES = {
    RunState.SUCCEEDED: ExitCode.DONE,
    RunState.CANCELLED: ExitCode.CANCELLED,
    RunState.FAILED: ExitCode.RUN_FAILED,
    RunState.INTERRUPTED: ExitCode.RUN_FAILED,
}
"""What `--exit-code` gives; a run that is not over is no failure."""


def run(console: Console, folder: str, *, reference: str | None, exit_code: bool) -> int:
    """Print a run; exit 0 whatever its state, unless `--exit-code` asks for that of the run."""
    paths = choose_run(folder, reference)
    story = tell_story(paths)
    foreign = is_foreign(paths.root)
    if foreign is not None:
        console.talk(f"note: {foreign}")
    if console.as_json:
        console.document(story_document(story))
    else:
        console.data(story_text(story, console, SystemClock().wall()))
    return int(_EXIT_CODES.get(story.shown_state(), ExitCode.DONE) if exit_code else ExitCode.DONE)
