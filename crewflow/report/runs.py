"""A run, a list of runs, and a run's records, as people read them and as JSON."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from crewflow.report.nesting import around, ended_of, inner_counts
from crewflow.report.outline import bound
from crewflow.report.words import cause_text, counts, duration, plural
from crewflow.run.standing import ScopeRun, limits_of
from crewflow.run.states import NOT_STARTED, RunState, TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crewflow.report.console import Console
    from crewflow.run.standing import TaskRun
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
_NOT_ENDED: Final = NOT_STARTED | {TaskState.RUNNING}
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
    lines += _tree_lines(story, console, now)
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
        "tasks": _task_documents(story),
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


def _tree_lines(story: Story, console: Console, now: float) -> list[str]:
    """A line for each task, those inside a container below it and further in."""
    rows = [(2 * sum(1 for _ in around(task.run)), task) for task in story.tasks.values()]
    width = min(_WIDEST_NAME, max((margin + len(task.id) for margin, task in rows), default=0))
    inner = inner_counts(story.machine.root)
    lines = []
    for margin, task in rows:
        state = console.paint(f"{task.state:<9}", _STYLES.get(task.state, "dim"), sys.stdout)
        name = f"{' ' * margin}{task.id}"
        remark = _remark(story, task, inner.get(task.id, {}), now)
        lines.append(f"  {state}  {name:<{width}}  {remark}".rstrip())
    return lines


_WIDEST_NAME: Final = 40


def _remark(story: Story, task: TaskStory, inner: Mapping[str, int], now: float) -> str:
    """What is worth saying about a task beside its state."""
    if task.state in {TaskState.RUNNING, TaskState.WAITING} and not story.held:
        return f"left behind when its engine ended{_attempt(task)}"
    if task.state in _NOT_ENDED:
        return _open_remark(task, inner, now)
    if task.run.cause is not None:
        return cause_text(task.run.cause, run_cancelled=story.machine.cancelled)
    took = duration(task.seconds) if task.seconds is not None else ""
    error = task.error or ""
    if error and task.state is TaskState.SUCCEEDED:
        error = f"{error} (allowed)"
    return "  ".join(part for part in (took, error) if part) + _attempt(task)


def _open_remark(task: TaskStory, inner: Mapping[str, int], now: float) -> str:
    """What is worth saying about a task that has not ended, in a run that goes on."""
    run = task.run
    if run.stands_for_legs and run.step.planned.unfold is not None:
        return bound(run.step.planned.unfold)
    if run.inner is not None:
        return f"{ended_of(inner)} in it have ended" if run.state is TaskState.RUNNING else ""
    if run.state is TaskState.RUNNING and task.started is not None:
        return f"for {duration(max(0.0, now - task.started))}{_attempt(task)}"
    if run.waits_for == "limit":
        return f"waits for its turn: {limit_text(run)}"
    if run.state is TaskState.WAITING and task.retry_at is not None:
        return f"next attempt in {duration(max(0.0, task.retry_at - now))}: {task.error or ''}"
    return _attempt(task).strip()


def limit_text(task: TaskRun) -> str:
    """The nearest limit that is used up around a task, such as ``at most 2 of `test` at once``."""
    for level in limits_of(task):
        if level.limit is not None and level.running >= level.limit:
            name = level.task.task.id if isinstance(level, ScopeRun) and level.task else task.step.planned.id
            return f"at most {level.limit} {'in' if isinstance(level, ScopeRun) else 'of'} `{name}` at once"
    return "a limit around it"


def _attempt(task: TaskStory) -> str:
    return f"  ({plural(task.run.attempts, 'attempt')})" if task.run.attempts > 1 else ""


def _task_documents(story: Story) -> list[dict[str, Any]]:
    inner = inner_counts(story.machine.root)
    return [_placed(task, inner.get(task.id)) | _task_document(task) for task in story.tasks.values()]


def _placed(task: TaskStory, inner: Mapping[str, int] | None) -> dict[str, Any]:
    """What a task is and where it stands; `inner` counts the states in a container."""
    planned = task.run.step.planned
    stands_for = planned.unfold if task.run.stands_for_legs else None
    return {
        "id": task.id,
        "step": task.run.task.step,
        "kind": task.run.task.kind,
        "within": planned.within,
        "inner": inner,
        "placeholder": stands_for and {"most": stands_for.most, "bound": bound(stands_for)},
    }


def _task_document(task: TaskStory) -> dict[str, Any]:
    cause = task.run.cause
    return {
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
