"""A plan in words: what would run, in what order, and what holds each task."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Final

from crewflow.graph.dag import critical_path, topological
from crewflow.graph.plan import Condition, to_json
from crewflow.report.words import duration, plural
from crewflow.run.states import TaskState
from crewflow.spec.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.graph.plan import Plan, PlannedStep, Task
    from crewflow.spec.template import Text

MOST_LEGS_SHOWN: Final = 12
_WIDEST_ACTION: Final = 72


def plan_text(plan: Plan, slots: int) -> str:
    """The plan for people, steps in an order in which they could run."""
    lines = [_headline(plan, slots), ""]
    tasks = {task.id: task for task in plan.tasks}
    for final in (False, True):
        steps = [step for step in _ordered(plan) if step.final is final]
        if final and steps:
            lines += ["", "finally, whatever became of these:"]
        for step in steps:
            lines += _step_lines(step, [tasks[name] for name in step.tasks])
    path = _critical(plan)
    if len(path) > 1:
        lines += ["", f"longest path: {_shortened(path)}"]
    return "\n".join(lines)


def plan_document(plan: Plan, slots: int) -> dict[str, Any]:
    """The plan as JSON: the plan file's content, with its fingerprint and what follows from it."""
    return {
        "fingerprint": plan.fingerprint(),
        "slots": slots,
        "longest_path": _critical(plan),
        "plan": to_json(plan),
    }


def _headline(plan: Plan, slots: int) -> str:
    size = f"{plural(len(plan.steps), 'step')}, {plural(len(plan.tasks), 'task')}"
    inputs = "".join(
        f"\n  {name} = {json.dumps(value, ensure_ascii=False)}" for name, value in plan.inputs.items()
    )
    fingerprint = plan.fingerprint()[:16]
    return f"workflow `{plan.workflow}`: {size}, at most {slots} at once{inputs}\nfingerprint {fingerprint}"


def _ordered(plan: Plan) -> list[PlannedStep]:
    by_id = {step.id: step for step in plan.steps}
    return [by_id[name] for name in topological(_edges(plan)) or []]


def _edges(plan: Plan) -> dict[str, list[str]]:
    return {step.id: [*step.needs, *step.after] for step in plan.steps}


def _critical(plan: Plan) -> list[str]:
    main = {step.id: [*step.needs, *step.after] for step in plan.steps if not step.final}
    return critical_path(main, dict.fromkeys(main, 1.0))


def _shortened(path: list[str]) -> str:
    if len(path) <= MOST_LEGS_SHOWN:
        return " -> ".join(path)
    return f"{' -> '.join(path[:5])} -> ... -> {' -> '.join(path[-3:])} ({len(path)} steps)"


def _step_lines(step: PlannedStep, tasks: list[Task]) -> Iterator[str]:
    holds = _holds(step, tasks)
    if not tasks:
        yield f"  {step.id}  no tasks: its list is empty{holds}"
        return
    for task in tasks[:MOST_LEGS_SHOWN]:
        yield f"  {task.id}{holds}"
        yield f"      {_action(task)}"
        yield from (f"      {line}" for line in _details(task))
    if len(tasks) > MOST_LEGS_SHOWN:
        yield f"  ... and {len(tasks) - MOST_LEGS_SHOWN} more tasks of `{step.id}`"


def _holds(step: PlannedStep, tasks: list[Task]) -> str:
    parts = []
    if step.needs:
        parts.append("needs " + ", ".join(step.needs))
    if step.after:
        parts.append("after " + ", ".join(step.after))
    if tasks and tasks[0].condition is not Condition.SUCCESS:
        parts.append(f"if {tasks[0].condition_text}")
    if step.max_parallel is not None:
        parts.append(f"at most {step.max_parallel} of them at once")
    return f"  ({'; '.join(parts)})" if parts else ""


def _action(task: Task) -> str:
    if task.kind is Kind.PYTHON:
        return f"python: {task.action}"
    if isinstance(task.action, str):
        lines = [line for line in task.action.strip().splitlines() if line.strip()] or [""]
        more = f"  (and {plural(len(lines) - 1, 'more line')})" if len(lines) > 1 else ""
        return f"run: {_cut(lines[0].strip())}{more}"
    return f"run: {_cut(' '.join(_word(word) for word in task.action))}"


def _word(text: Text) -> str:
    return shlex.quote(text) if isinstance(text, str) else _authored(text)


def _authored(text: Text) -> str:
    """A text as its author wrote it."""
    if isinstance(text, str):
        return text
    return "".join(part if isinstance(part, str) else f"${{{{ {part.source} }}}}" for part in text.parts)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST_ACTION else text[: _WIDEST_ACTION - 3] + "..."


def _details(task: Task) -> Iterator[str]:
    if isinstance(task.timeout, int | float):
        yield f"timeout {duration(task.timeout)}"
    if task.retry.max_attempts > 1:
        yield f"up to {task.retry.max_attempts} attempts, on {', '.join(task.retry.when)}"
    if task.artifacts:
        patterns = [_authored(pattern) for patterns in task.artifacts.values() for pattern in patterns]
        yield f"artifacts {', '.join(patterns)}"
    if task.allow_failure:
        yield f"a failure counts as {TaskState.SUCCEEDED}"
