"""A run, a list of runs, and a run's records, as people read them and as JSON."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from crewflow.report.words import cause_text, counts, duration, plural
from crewflow.run.states import TERMINAL, RunState, TaskState

if TYPE_CHECKING:
    from crewflow.report.console import Console
    from crewflow.state.story import Story, TaskStory

_STYLES: Final = {
    "succeeded": "green",
    "failed": "red",
    "running": "bold",
    "interrupted": "yellow",
    "cancelled": "yellow",
    "waiting": "yellow",
    "damaged": "red",
    "foreign": "yellow",
}
_OWN_MEMBERS: Final = ("seq", "ts", "mono", "type", "chain", "synced")


def story_text(story: Story, console: Console, now: float) -> str:
    """A run with a line for each task."""
    state = story.shown_state()
    took = _run_duration(story, now)
    lines = [
        f"run {story.run.run_id} of `{story.machine.plan.workflow}`: {_painted(state, console)}{took}",
        f"  {counts(story.counts())}",
        "",
    ]
    width = min(40, max((len(task.id) for task in story.tasks.values()), default=0))
    lines += [_task_line(task, width, console, _remark(story, task, now)) for task in story.tasks.values()]
    lines += [f"artifact {', '.join(artifact['ids'])}: {artifact['path']}" for artifact in story.artifacts()]
    hint = _HINTS.get(state)
    if hint:
        lines += ["", f"hint: {hint.format(run=story.run.run_id)}"]
    return "\n".join(lines)


def story_document(story: Story) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "run": story.run.run_id,
        "workflow": story.machine.plan.workflow,
        "state": story.shown_state(),
        "generation": story.machine.generation,
        "seq": story.seq,
        "began": story.began,
        "ended": story.ended,
        "counts": story.counts(),
        "tasks": [_task_document(task) for task in story.tasks.values()],
        "artifacts": story.artifacts(),
    }


def record_line(record: dict[str, Any]) -> str:
    """A record of the journal in one line."""
    clock = time.strftime("%H:%M:%S", time.localtime(record["ts"])) + f".{int(record['ts'] % 1 * 1000):03d}"
    facts = " ".join(
        f"{name}={_fact_text(value)}" for name, value in record.items() if name not in _OWN_MEMBERS
    )
    return f"{record['seq']:>6}  {clock}  {record['type']:<18} {facts}".rstrip()


def runs_text(rows: list[dict[str, Any]], console: Console) -> str:
    """A list of runs, newest first."""
    return "\n".join(_row_line(row, console) for row in rows)


def _row_line(row: dict[str, Any], console: Console) -> str:
    state = "foreign" if row.get("foreign") else row["state"]
    shown = console.paint(f"{state:<11}", _STYLES.get(state, "dim"), sys.stdout)
    if state == "damaged":
        return f"{row['run']}  {shown}  {row['error']}"
    return f"{row['run']}  {shown}  {row['workflow']}  {counts(row['counts'])}"


_HINTS: Final = {
    RunState.PENDING: "nothing of it has begun; if nobody is about to, `crewflow resume {run}` begins it",
    RunState.INTERRUPTED: "its engine is gone: `crewflow resume {run}` goes on",
    RunState.FAILED: "`crewflow logs -r {run} TASK` shows a task's output, `crewflow resume {run}` goes on",
    RunState.CANCELLED: "`crewflow resume {run}` goes on",
}


def _painted(state: str, console: Console) -> str:
    return console.paint(state, _STYLES.get(state, "dim"), sys.stdout)


def _run_duration(story: Story, now: float) -> str:
    took = story.seconds()
    if took is not None:
        return f" in {duration(took)}"
    if story.began is None:
        return ""
    return f", began {duration(max(0.0, now - story.began))} ago"


def _task_line(task: TaskStory, width: int, console: Console, remark: str) -> str:
    state = console.paint(f"{task.state:<9}", _STYLES.get(task.state, "dim"), sys.stdout)
    return f"  {state}  {task.id:<{width}}  {remark}".rstrip()


def _remark(story: Story, task: TaskStory, now: float) -> str:
    if task.state in {TaskState.RUNNING, TaskState.WAITING} and not story.held:
        return f"left behind when its engine ended{_attempt(task)}"
    if task.state is TaskState.RUNNING and task.started is not None:
        return f"for {duration(max(0.0, now - task.started))}{_attempt(task)}"
    if task.state is TaskState.WAITING and task.retry_at is not None:
        return f"next attempt in {duration(max(0.0, task.retry_at - now))}: {task.error or ''}"
    if task.run.cause is not None:
        return cause_text(task.run.cause)
    took = duration(task.seconds) if task.seconds is not None else ""
    error = task.error if task.state in TERMINAL and task.error else ""
    if error and task.state is TaskState.SUCCEEDED:
        error = f"{error} (allowed)"
    return "  ".join(part for part in (took, error) if part) + _attempt(task)


def _attempt(task: TaskStory) -> str:
    return f"  ({plural(task.run.attempts, 'attempt')})" if task.run.attempts > 1 else ""


def _task_document(task: TaskStory) -> dict[str, Any]:
    cause = task.run.cause
    return {
        "id": task.id,
        "step": task.run.task.step,
        "state": task.state,
        "outcome": task.run.outcome,
        "attempts": task.run.attempts,
        "exit_code": task.run.exit_code,
        "failure": task.run.failure,
        "signal": task.ended.get("signal") if task.ended else None,
        "error": task.error,
        "cause": cause and {"kind": cause.kind, "step": cause.step, "root": cause.root},
        "waits_for": task.run.waits_for,
        "started": task.started,
        "seconds": task.seconds,
        "output_bytes": task.output_bytes,
        "outputs": task.ended.get("outputs", {}) if task.ended else {},
        "stored": task.ended.get("stored") if task.ended else None,
        "artifacts": task.artifacts,
    }


def _fact_text(value: Any) -> str:
    if isinstance(value, str) and value and " " not in value and value.isprintable():
        return value
    return json.dumps(value, ensure_ascii=True)
