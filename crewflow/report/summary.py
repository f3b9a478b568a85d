"""The last word of a run: what failed and its last lines of output, where the log is, and how to go on."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

from crewflow.report.nesting import around
from crewflow.report.words import counts, duration, shown_path
from crewflow.run.standing import first_failed
from crewflow.run.states import Outcome, RunState, TaskState
from crewflow.state.logs import log_path, tail_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.report.console import Console
    from crewflow.run.standing import TaskRun
    from crewflow.state.story import Story, TaskStory

MOST_FAILURES: Final = 5
LAST_LINES: Final = 8


def show_summary(story: Story, console: Console, project: str) -> None:
    """Say on stderr how the run ended, and on stdout where its artifacts are. Raises as `Console.data`."""
    for line in summary_lines(story, console):
        console.talk(line)
    for artifact in story.artifacts():
        console.data(f"{', '.join(artifact['ids'])}: {shown_path(os.path.join(project, artifact['path']))}")


def summary_lines(story: Story, console: Console) -> Iterator[str]:
    """The text of the last word, line by line."""
    failed = [task for task in story.tasks.values() if _is_told(task.run)]
    for task in failed[:MOST_FAILURES]:
        yield ""
        yield from _failure_lines(story, task)
    if len(failed) > MOST_FAILURES:
        more = len(failed) - MOST_FAILURES
        yield from ("", f"... and {more:,} more: `crewflow status {story.run.run_id}` shows them")
    if failed:
        yield ""
    state = story.machine.state
    style = {RunState.SUCCEEDED: "green", RunState.FAILED: "red"}.get(state, "yellow")
    seconds = story.seconds()
    took = "" if seconds is None else f" in {duration(seconds)}"
    yield f"run {story.run.run_id} {console.paint(state, style, sys.stderr)}: {counts(story.counts())}{took}"
    if state is not RunState.SUCCEEDED:
        yield f"hint: `crewflow resume {story.run.run_id}` goes on and keeps what succeeded"


def summary_document(story: Story) -> dict[str, Any]:
    """The same as JSON."""
    seconds = story.seconds()
    return {
        "run": story.run.run_id,
        "workflow": story.machine.plan.workflow,
        "state": story.machine.state,
        "counts": story.counts(),
        "seconds": None if seconds is None else round(seconds, 3),
        "artifacts": story.artifacts(),
        "failed": [
            {
                "task": task.id,
                "error": task.error,
                "attempts": task.run.attempts,
                "failed_with_it": _failed_with(task.run),
            }
            for task in story.tasks.values()
            if _is_told(task.run)
        ],
    }


def _is_told(task: TaskRun) -> bool:
    """Whether a failure is one of its own that counts: no container's that failed with a task in it."""
    if task.state is not TaskState.FAILED:
        return False
    if task.inner is not None and first_failed(task.inner) is not None:
        return False
    return all(one.outcome is not Outcome.FAILED or one.state is TaskState.FAILED for one in around(task))


def _failed_with(task: TaskRun) -> list[str]:
    """The containers that failed because of what is in them, from the inside out."""
    return [one.task.id for one in around(task) if one.state is TaskState.FAILED]


def _failure_lines(story: Story, task: TaskStory) -> Iterator[str]:
    attempts = f" after {task.run.attempts} attempts" if task.run.attempts > 1 else ""
    yield f"`{task.id}` failed{attempts}: {task.error or 'no reason was recorded'}"
    outer = _failed_with(task.run)
    if outer:
        yield f"  {' and '.join(f'`{name}`' for name in outer)} failed with it"
    path = log_path(story.run, task.id, task.run.attempts)
    for line in tail_lines(path, LAST_LINES):
        yield f"    | {line}"
    if os.path.exists(path):
        yield f"  log: {shown_path(path)}"
