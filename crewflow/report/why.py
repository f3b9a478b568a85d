"""Why a task of a run ran, waits, was skipped, was tried again or failed: from its records alone.

`why_document` finds the facts; `why_text` puts the same facts into words.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from crewflow.engine.view import View
from crewflow.errors import StateError
from crewflow.report.authored import cut
from crewflow.report.chronicle import Chronicle
from crewflow.report.nesting import around, ended_of, inner_counts
from crewflow.report.outline import bound
from crewflow.report.runs import limit_text
from crewflow.report.words import cause_text, duration, plural
from crewflow.run.retry import is_retried
from crewflow.run.states import TERMINAL, Outcome, RunState, TaskState
from crewflow.spec.expression import UNDEFINED, RenderError, parse_expression
from crewflow.spec.expression_values import json_form
from crewflow.state import codec
from crewflow.state.results import bring_back

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crewflow.report.chronicle import Record, Try
    from crewflow.run.standing import StepRun, TaskRun
    from crewflow.state.story import Story

_WORTH_A_REASON: Final = 0.05
"""Seconds between ready and started that need no explanation: the loop takes its time too."""


def why_document(story: Story, records: list[Record], task: str, now: float) -> dict[str, Any]:
    """What is known of a task, and why it is as it is.

    Args:
        story: of the run.
        records: of the same run, all of them.
        task: its id.
        now: seconds since 1970.
    """
    run = story.machine.tasks[task]
    chronicle = Chronicle(records)
    tries = chronicle.tries.get(task, [])
    first = next((one.started for one in tries if one.started >= chronicle.began), None)
    ready = chronicle.ready_at(run) if first is not None else None
    return {
        "run": story.run.run_id,
        "task": task,
        "step": run.task.step,
        "kind": run.task.kind,
        "state": run.state,
        "finally": run.step.planned.final,
        "within": [_around(one) for one in around(run)],
        "inner": None if run.inner is None else inner_counts(story.machine.root)[task],
        "needs": [_before(one, chronicle) for one in run.step.needs],
        "after": [_before(one, chronicle) for one in run.step.after],
        "fan_out": _fan_out(run, chronicle),
        "condition": _condition(story, run, chronicle, records),
        "ready": ready,
        "started": first,
        "held_by": _held_by(story, run, chronicle, ready, first),
        "attempts": [_attempt(one) for one in tries],
        "not_tried_again": _not_tried_again(run),
        "cause": _cause(story, run),
        "error": run.error if run.state in TERMINAL else None,
        "waits_for": _waits_for(story, run, now),
    }


def why_text(document: dict[str, Any]) -> str:
    """The same for people."""
    return "\n".join(_lines(document))


# --- the facts ------------------------------------------------------------------------------------


def _around(container: TaskRun) -> dict[str, Any]:
    allowed = container.state is TaskState.SUCCEEDED and container.outcome is Outcome.FAILED
    return {"task": container.task.id, "state": container.state, "allowed": allowed}


def _before(step: StepRun, chronicle: Chronicle) -> dict[str, Any]:
    return {
        "step": step.planned.id,
        "state": _state_of(step),
        "ended": (chronicle.end_of(step) or None) if step.ended else None,
    }


def _state_of(step: StepRun) -> str:
    if step.ended:
        return str(step.state)
    states = {task.state for task in step.tasks}
    return str(TaskState.RUNNING if TaskState.RUNNING in states else TaskState.PENDING)


def _fan_out(run: TaskRun, chronicle: Chronicle) -> dict[str, Any] | None:
    """How a fan-out came to its legs, where only the run could tell."""
    unfold = run.step.planned.unfold
    if unfold is None:
        return None
    record = chronicle.unfolded.get(run.step.planned.id)
    known = record is not None and not run.stands_for_legs
    return {
        "step": run.step.planned.id,
        "bound": bound(unfold),
        "at": record["ts"] if record is not None and known else None,
        "tasks": len(run.step.tasks) if known else None,
    }


def _condition(
    story: Story, run: TaskRun, chronicle: Chronicle, records: list[Record]
) -> dict[str, Any] | None:
    """The `if`, what it came to, and the values that it names as the run has them."""
    text = run.task.condition_text
    if text is None:
        return None
    record = chronicle.decided.get(run.task.id, {})
    return {
        "text": text,
        "value": record.get("value") if "error" not in record else None,
        "error": record.get("error"),
        "at": record.get("ts"),
        "values": _values(story, run, text, records) if record else {},
    }


def _values(story: Story, run: TaskRun, text: str, records: list[Record]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    view = View(story.machine.plan, story.machine, story.run.run_id)
    for record in records:
        if record["type"] == codec.ENDED:
            _take(view, record, story)
    resolve = view.resolver(run.task)
    for reference in parse_expression(text).paths:
        try:
            value = resolve(reference.keys)
        except RenderError:
            continue
        if value is not UNDEFINED:
            found[".".join(map(str, reference.keys))] = value
    return found


def _take(view: View, record: Record, story: Story) -> None:
    try:
        view.take(bring_back(record, story.run))
    except StateError:  # its large result is gone: what it gave cannot be shown
        view.take(record)


def _held_by(
    story: Story, run: TaskRun, chronicle: Chronicle, ready: float | None, started: float | None
) -> str | None:
    """What kept a task from starting as soon as it was ready."""
    if ready is None or started is None or started - ready < _WORTH_A_REASON:
        return None
    moment = (ready + started) / 2
    for one in (run, *around(run)):
        limit = one.step.limit
        if limit is not None and chronicle.running(one.step.tasks, moment) >= limit:
            return f"at most {limit} of `{one.step.planned.id}` at once"
        slots = one.task.slots if one.inner is not None else None
        leaves = [task for task in story.machine.tasks.values() if one in around(task)]
        if slots is not None and chronicle.running(leaves, moment) >= slots:
            return f"at most {slots} in `{one.task.id}` at once"
    every = [task for task in story.machine.tasks.values() if task.inner is None]
    return f"no slot was free: {plural(chronicle.running(every, moment), 'task')} ran at once"


def _attempt(one: Try) -> dict[str, Any]:
    ended = one.ended or {}
    return {
        "number": one.number,
        "started": one.started,
        "seconds": ended.get("seconds"),
        "outcome": ended.get("outcome") or (Outcome.LOST if one.lost_at is not None else None),
        "failure": ended.get("failure"),
        "exit_code": ended.get("exit_code"),
        "error": ended.get("error"),
        "allowed": ended.get("allowed", False),
        "next_in": one.retry_in,
    }


def _not_tried_again(run: TaskRun) -> str | None:
    """Why a failed task has no further attempt."""
    retry, failure = run.task.retry, run.failure
    if run.state is not TaskState.FAILED or run.inner is not None or not run.attempts or failure is None:
        return None
    if run.cause is not None:
        return "its run had been stopped by then"
    if run.outcome is Outcome.LOST and not run.task.idempotent:
        return "it may have run, and `idempotent: false` lets nothing run twice"
    if not is_retried(retry, failure, run.exit_code) and retry.max_attempts > 1:
        return f"its `retry` does not cover `{failure}`"
    if retry.max_attempts == 1:
        return "it has no `retry`"
    return f"it has had its {retry.max_attempts} attempts"


def _cause(story: Story, run: TaskRun) -> dict[str, Any] | None:
    if run.cause is None:
        return None
    text = cause_text(run.cause, run_cancelled=story.machine.cancelled)
    by = story.cancelled_by if run.cause.kind == "cancelled" and run.cause.step is None else None
    policy = _POLICIES.get(run.cause.kind) if run.cause.step is not None else None
    return {
        "kind": run.cause.kind,
        "step": run.cause.step,
        "root": run.cause.root,
        "text": f"{text}, by {by}" if by else text,
        "policy": policy,
    }


_POLICIES: Final = {"stopped": "on_failure: stop", "cancelled": "on_failure: cancel"}


def _waits_for(story: Story, run: TaskRun, now: float) -> str | None:
    """What a task waits for that has not ended."""
    if run.state in TERMINAL:
        return None
    if story.shown_state() in {RunState.INTERRUPTED, RunState.PENDING}:
        return _NOBODY
    if run.state is TaskState.PENDING:
        return _pending_for(run)
    if run.state is TaskState.WAITING:
        return f"its turn: {limit_text(run)}" if run.waits_for == "limit" else _retry_due(story, run, now)
    if run.inner is not None:
        return f"what is in it: {ended_of(inner_counts(story.machine.root)[run.task.id])} have ended"
    return {TaskState.READY: "a free slot", TaskState.RUNNING: "the end of its attempt"}.get(run.state)


def _retry_due(story: Story, run: TaskRun, now: float) -> str:
    due = story.tasks[run.task.id].retry_at
    return "its next attempt" + ("" if due is None else f", in {duration(max(0.0, due - now))}")


_NOBODY: Final = "somebody to go on with the run"


def _pending_for(run: TaskRun) -> str:
    open_ones = [step for step in run.step.blocking() if not step.ended]
    if open_ones:
        return ", ".join(f"`{step.planned.id}` ({_state_of(step)})" for step in open_ones)
    container = run.step.scope.task
    if container is not None and not run.step.scope.is_open:
        return f"`{container.task.id}` around it ({container.state})"
    return "all outside `finally` to have ended" if run.step.planned.final else "its turn"


# --- the words ------------------------------------------------------------------------------------


def _lines(document: dict[str, Any]) -> Iterator[str]:
    yield f"`{document['task']}` of run {document['run']}: {document['state']}"
    for one in document["within"]:
        became = "whose failure is allowed" if one["allowed"] else f"which {_has(one['state'])}"
        yield f"  it stands in `{one['task']}`, {became}"
    if document["finally"]:
        yield "  it stands under `finally`, which begins when all else has ended"
    yield from _before_lines("needs", document["needs"])
    yield from _before_lines("comes after", document["after"])
    yield from _fan_out_lines(document["fan_out"])
    yield from _condition_lines(document["condition"])
    yield from _start_lines(document)
    for attempt in document["attempts"]:
        yield from _attempt_lines(attempt)
    if document["not_tried_again"]:
        yield f"  it was not tried again: {document['not_tried_again']}"
    yield from _end_lines(document)


def _before_lines(word: str, steps: Iterable[dict[str, Any]]) -> Iterator[str]:
    for one in steps:
        when = f" at {_clock(one['ended'])}" if one["ended"] else ""
        yield f"  it {word} `{one['step']}`, which {_has(one['state'])}{when}"


def _fan_out_lines(fan_out: dict[str, Any] | None) -> Iterator[str]:
    if fan_out is None:
        return
    if fan_out["at"] is None:
        yield f"  it stands for {fan_out['bound']}"
    else:
        count = plural(fan_out["tasks"], "task")
        yield f"  `{fan_out['step']}` became {count} at {_clock(fan_out['at'])}"


def _condition_lines(condition: dict[str, Any] | None) -> Iterator[str]:
    if condition is None:
        return
    text = cut(" ".join(condition["text"].split()))
    if condition["error"] is not None:
        yield f"  its `if` had no value: {condition['error'].removeprefix('`if`: ')}"
    elif condition["at"] is None:
        yield f"  its `if` was not asked: {text}"
    else:
        yield f"  its `if` was {json_form(condition['value'])} at {_clock(condition['at'])}: {text}"
    for name, value in condition["values"].items():
        yield f"      {name} = {cut(json_form(value))}"


def _start_lines(document: dict[str, Any]) -> Iterator[str]:
    ready, started = document["ready"], document["started"]
    if ready is None or started is None:
        return
    waited = max(0.0, started - ready)
    if document["held_by"]:
        yield f"  it was ready at {_clock(ready)} and waited {duration(waited)}: {document['held_by']}"
    else:
        yield f"  it was ready at {_clock(ready)} and started at once"


def _attempt_lines(attempt: dict[str, Any]) -> Iterator[str]:
    line = f"  attempt {attempt['number']} started at {_clock(attempt['started'])}"
    if attempt["outcome"] is None:
        yield f"{line} and has not ended"
    elif attempt["outcome"] == Outcome.LOST and attempt["seconds"] is None:
        yield f"{line} and was lost with its engine"
    else:
        why = f": {attempt['error']}" if attempt["error"] else ""
        kind = f" (`{attempt['failure']}`)" if attempt["failure"] else ""
        took = duration(attempt["seconds"] or 0.0)
        yield f"{line} and {_ended(attempt['outcome'])} after {took}{why}{kind}"
    if attempt["next_in"] is not None:
        yield f"    `{attempt['failure']}` is tried again, {duration(attempt['next_in'])} later"
    if attempt["allowed"]:
        yield "    its failure is allowed"


def _end_lines(document: dict[str, Any]) -> Iterator[str]:
    cause = document["cause"]
    if cause is not None:
        policy = f", because of `{cause['policy']}`" if cause["policy"] else ""
        yield f"  it {_has(document['state'])}: {cause['text']}{policy}"
    elif document["error"] and not document["attempts"]:
        yield f"  it {_has(document['state'])}: {document['error']}"
    if document["waits_for"] == _NOBODY:
        yield f"  nobody goes on with the run: `crewflow resume {document['run']}` does"
    elif document["waits_for"]:
        yield f"  it waits for {document['waits_for']}"


def _has(state: str) -> str:
    """What became of something: `succeeded`, `was skipped`, `is running`."""
    if state in {TaskState.SUCCEEDED, TaskState.FAILED}:
        return state
    return f"was {state}" if state in TERMINAL else f"is {state}"


def _ended(outcome: str) -> str:
    return {"cancelled": "was ended", "lost": "was lost"}.get(outcome, outcome)


def _clock(moment: float) -> str:
    """A time of the day here, to the tenth of a second."""
    return time.strftime("%H:%M:%S", time.localtime(moment)) + f".{int(moment % 1 * 10)}"
