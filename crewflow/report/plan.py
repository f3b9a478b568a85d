"""A plan in words: what would run, in what order, and what holds each task."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from crewflow.graph.dag import critical_path, topological
from crewflow.graph.plan import Condition, to_json
from crewflow.report.words import plural
from crewflow.run.states import TaskState
from crewflow.spec.durations import show_duration
from crewflow.spec.expression_values import json_form
from crewflow.spec.model import DEFAULT_RETRY_WHEN, Backoff, Kind, OnFailure
from crewflow.spec.template import Template

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crewflow.graph.plan import Plan, PlannedStep, Task
    from crewflow.spec.model import Retry

MOST_SHOWN: Final = 12
"""Legs of a fan-out, names of steps, lines of a script: what is more is counted."""

_WIDEST: Final = 88
_INDENT: Final = "      "
_FAILURES: Final = {
    OnFailure.STOP: "once a task has failed, no other starts",
    OnFailure.CANCEL: "once a task has failed, those that run are ended",
}


def plan_text(plan: Plan, slots: int) -> str:
    """The plan for people, steps in an order in which they could run."""
    lines = [*_headlines(plan, slots), ""]
    tasks = {task.id: task for task in plan.tasks}
    ordered = _ordered(plan)
    for final in (False, True):
        steps = [step for step in ordered if step.final is final]
        if final and steps:
            lines += ["", "finally, whatever became of these:"]
        for step in steps:
            lines += _step_lines(step, [tasks[name] for name in step.tasks])
    path = _critical(plan)
    if len(path) > 1:
        lines += ["", f"longest path: {_path_text(path)}"]
    return "\n".join(lines)


def plan_document(plan: Plan, slots: int) -> dict[str, Any]:
    """The plan as JSON: the plan file's content, with its fingerprint and what follows from it."""
    return {
        "fingerprint": plan.fingerprint(),
        "slots": slots,
        "longest_path": _critical(plan),
        "plan": to_json(plan),
    }


def some(names: Sequence[str]) -> str:
    """Names in one line, of very many the first ones and how many there are."""
    if len(names) <= MOST_SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[: MOST_SHOWN - 2])}, ... ({len(names):,} in all)"


def _headlines(plan: Plan, slots: int) -> Iterator[str]:
    size = f"{plural(len(plan.steps), 'step')}, {plural(len(plan.tasks), 'task')}"
    yield f"workflow `{plan.workflow}`: {size}, at most {slots} at once"
    for name, value in plan.inputs.items():
        yield f"  {name} = {_cut(json_form(value))}"
    if plan.env:
        yield f"  env {_assignments(plan.env)}"
    if plan.on_failure in _FAILURES:
        yield f"  {_FAILURES[plan.on_failure]}"
    yield f"fingerprint {plan.fingerprint()[:16]}"


def _ordered(plan: Plan) -> list[PlannedStep]:
    by_id = {step.id: step for step in plan.steps}
    edges = {step.id: [*step.needs, *step.after] for step in plan.steps}
    return [by_id[name] for name in topological(edges) or []]


def _critical(plan: Plan) -> list[str]:
    main = {step.id: [*step.needs, *step.after] for step in plan.steps if not step.final}
    return critical_path(main, dict.fromkeys(main, 1.0))


def _path_text(path: list[str]) -> str:
    if len(path) <= MOST_SHOWN:
        return " -> ".join(path)
    return f"{' -> '.join(path[:5])} -> ... -> {' -> '.join(path[-3:])} ({plural(len(path), 'step')})"


def _step_lines(step: PlannedStep, tasks: list[Task]) -> Iterator[str]:
    holds = "; ".join(_holds(step, tasks))
    yield f"  {step.id}{f'  ({holds})' if holds else ''}"
    if not step.fan_out:
        yield from (f"{_INDENT}{line}" for task in tasks for line in _task_lines(task))
    elif tasks:
        yield from (f"{_INDENT}{line}" for line in _fan_out_lines(tasks))


def _holds(step: PlannedStep, tasks: list[Task]) -> Iterator[str]:
    """What a step is, and what it waits for."""
    if step.fan_out:
        yield plural(len(tasks), "task") if tasks else "no tasks: its list is empty"
    if step.max_parallel is not None:
        yield f"at most {step.max_parallel} of them at once"
    if step.needs:
        yield f"needs {some(step.needs)}"
    if step.after:
        yield f"after {some(step.after)}"
    if tasks and tasks[0].condition is not Condition.SUCCESS:
        yield f"if {_line(tasks[0].condition_text or '')}"


def _fan_out_lines(tasks: list[Task]) -> Iterator[str]:
    """What all legs have in common once, then each leg with what is its own."""
    shown = [list(_task_lines(task)) for task in tasks[:MOST_SHOWN]]
    common = set(shown[0]).intersection(*shown[1:])
    yield from (line for line in shown[0] if line in common)
    for task, lines in zip(tasks, shown, strict=False):
        yield "  ".join([task.id, *(line.strip() for line in lines if line not in common)])
    if len(tasks) > MOST_SHOWN:
        yield f"... and {plural(len(tasks) - MOST_SHOWN, 'more task')}"


def _task_lines(task: Task) -> Iterator[str]:
    yield from _action_lines(task)
    for name, value in task.script_env.items():
        yield f"  {name} = {_value(value)}"
    if task.arguments:
        yield f"with {_value(task.arguments)}"
    if task.env:
        yield f"env {_assignments(task.env)}"
    if task.cwd:
        yield f"in {_line(_authored(task.cwd))}"
    if task.timeout is not None:
        yield f"timeout {_duration(task.timeout)}"
    if task.retry.max_attempts > 1:
        yield _retry_line(task.retry)
    yield from _result_lines(task)


def _result_lines(task: Task) -> Iterator[str]:
    if task.outputs:
        yield f"outputs {some([output.name for output in task.outputs])}"
    if task.artifacts:
        patterns = [_authored(pattern) for patterns in task.artifacts.values() for pattern in patterns]
        yield f"artifacts {_cut(some(patterns))}"
    if task.allow_failure:
        yield _allowed_line(task.allow_failure)
    if not task.idempotent:
        yield "is not run again after it was lost"


def _action_lines(task: Task) -> Iterator[str]:
    if task.kind is Kind.PYTHON:
        yield f"python: {task.action}"
    elif isinstance(task.action, str):
        yield from _script_lines(task.action)
    else:
        yield f"run: {_cut(' '.join(_word(word) for word in task.action))}"


def _script_lines(script: str) -> Iterator[str]:
    first, *rest = [line.rstrip() for line in script.strip("\n").splitlines() if line.strip()] or [""]
    yield f"run: {_cut(first.strip())}"
    yield from (f"     {_cut(line)}" for line in rest[: MOST_SHOWN - 1])
    if len(rest) >= MOST_SHOWN:
        yield f"     ... and {plural(len(rest) - MOST_SHOWN + 1, 'more line')}"


def _retry_line(retry: Retry) -> str:
    delay = f"{show_duration(retry.delay)} apart"
    if retry.backoff is not Backoff.FIXED:
        delay += f", growing ({retry.backoff}) to at most {show_duration(retry.max_delay)}"
    line = f"up to {retry.max_attempts} attempts, {delay}"
    if retry.when != DEFAULT_RETRY_WHEN:
        line += f", on {some(retry.when) or 'nothing'}"
    return f"{line}, but not on {some(retry.unless)}" if retry.unless else line


def _allowed_line(allowed: Any) -> str:
    if isinstance(allowed, tuple):
        return f"a failure counts as {TaskState.SUCCEEDED} if it is {some(allowed)}"
    when = f" if {_line(_authored(allowed))}" if isinstance(allowed, Template) else ""
    return f"a failure counts as {TaskState.SUCCEEDED}{when}"


def _assignments(env: dict[str, Any]) -> str:
    return _cut(" ".join(f"{name}={_word(text)}" for name, text in env.items()))


def _duration(value: Any) -> str:
    return show_duration(value) if isinstance(value, int | float) else _line(_authored(value))


def _word(text: Any) -> str:
    return shlex.quote(text) if isinstance(text, str) else _authored(text)


def _value(value: Any) -> str:
    """A value that may hold templates, as compact JSON; a template alone as its author wrote it."""
    return _cut(_authored(value) if isinstance(value, Template) else json_form(_with_sources(value)))


def _with_sources(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_sources(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_sources(inner) for inner in value]
    return _authored(value) if isinstance(value, Template) else value


def _authored(text: Any) -> str:
    """A text as its author wrote it."""
    if isinstance(text, str):
        return text
    return "".join(part if isinstance(part, str) else f"${{{{ {part.source} }}}}" for part in text.parts)


def _line(text: str) -> str:
    return _cut(" ".join(text.split()))


def _cut(text: str) -> str:
    """A text on one line, cut where it is too wide."""
    flat = text.replace("\n", "\\n")
    return flat if len(flat) <= _WIDEST else f"{flat[: _WIDEST - 3]}..."
