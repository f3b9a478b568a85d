"""A plan in words: what would run, in what order, and what holds each task.

Steps stand in a tree, those of a container below it. Of a fan-out of containers the first leg is shown for
all; the document has every one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from crewflow.graph.plan import Condition, to_json
from crewflow.report.authored import MOST_SHOWN, assignments, cut, line_text, some
from crewflow.report.outline import Outline, bound, own_name
from crewflow.report.task_lines import later_lines, task_lines, writes_undeclared
from crewflow.report.words import plural, time_span
from crewflow.spec.expression_values import json_form
from crewflow.spec.model import CONTAINERS, Kind, OnFailure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.graph.plan import Plan, PlannedStep, Task
    from crewflow.report.outline import Longest

_DEEPER: Final = "    "
_INDENT: Final = "      "
_FAILURES: Final = {
    OnFailure.FINISH: "once {one} has failed, the others go on",
    OnFailure.STOP: "once {one} has failed, no other starts",
    OnFailure.CANCEL: "once {one} has failed, those that run are ended",
}


def plan_text(plan: Plan, slots: int) -> str:
    """The plan for people, steps in an order in which they could run."""
    outline = Outline(plan)
    lines = [*_headlines(outline, slots), ""]
    in_final: set[str | None] = set()
    for step, depth in outline.shown:
        if step.final and step.within not in in_final:
            in_final.add(step.within)
            lines += _final_heading(depth)
        lines += [_DEEPER * depth + line for line in _step_lines(outline, step)]
    lines += _tail(outline)
    return "\n".join(lines)


def plan_document(plan: Plan, slots: int) -> dict[str, Any]:
    """The plan as JSON: the plan file's content, with its fingerprint and what follows from it."""
    outline = Outline(plan)
    longest, size = outline.longest(), outline.size()
    return {
        "fingerprint": plan.fingerprint(),
        "slots": slots,
        "size": {"steps": size.steps, "tasks": size.tasks, "unknown_lists": size.unknown},
        "longest_path": list(longest.steps),
        "estimate": _estimate_document(longest),
        "write_sets_not_declared": _undeclared(outline),
        "tree": _tree(outline),
        "plan": to_json(plan),
    }


# --- the head and the tail ------------------------------------------------------------------------


def _headlines(outline: Outline, slots: int) -> Iterator[str]:
    plan, size = outline.plan, outline.size()
    more = f", more as {plural(size.unknown, 'list')} become known" if size.unknown else ""
    more = more.replace("1 list become", "1 list becomes")
    counted = f"{plural(size.steps, 'step')}, {plural(size.tasks, 'task')}{more}"
    yield f"workflow `{plan.workflow}`: {counted}, at most {slots} at once"
    for name, value in plan.inputs.items():
        yield f"  {name} = {cut(json_form(value))}"
    if plan.env:
        yield f"  env {assignments(plan.env)}"
    if plan.on_failure is not OnFailure.FINISH:
        yield f"  {_FAILURES[plan.on_failure].format(one='a task')}"
    yield from (f"  {line}" for line in later_lines(plan.later))
    yield f"fingerprint {plan.fingerprint()[:16]}"


def _final_heading(depth: int) -> list[str]:
    if depth == 0:
        return ["", "finally, whatever became of these:"]
    return [f"{_DEEPER * depth}  finally, whatever became of the steps above:"]


def _tail(outline: Outline) -> Iterator[str]:
    undeclared = _undeclared(outline)
    if undeclared:
        yield from ("", f"write sets not declared: {some(undeclared)}")
    longest = outline.longest()
    if len(longest.steps) > 1:
        yield from ("", f"longest path: {_path_text(longest.steps)}")
    if longest.seconds is not None:
        yield _estimate_text(longest)


def _undeclared(outline: Outline) -> list[str]:
    """The steps that say nothing of what they change, as they are called where legs are not told apart."""
    steps = [(step, outline.first(step)) for step, _ in outline.shown]
    return [outline.names[step.id] for step, first in steps if first is not None and writes_undeclared(first)]


def _path_text(path: tuple[str, ...]) -> str:
    if len(path) <= MOST_SHOWN:
        return " -> ".join(path)
    return f"{' -> '.join(path[:5])} -> ... -> {' -> '.join(path[-3:])} ({plural(len(path), 'step')})"


def _estimate_text(longest: Longest) -> str:
    count = len(longest.steps)
    known = "its estimate" if count == 1 else f"the estimates of {longest.estimated} of {count} steps"
    text = f"about {time_span(longest.seconds or 0.0)} along the longest path, by {known}"
    return f"{text}; {time_span(longest.work)} of work in all"


def _estimate_document(longest: Longest) -> dict[str, Any] | None:
    if longest.seconds is None:
        return None
    return {
        "seconds": longest.seconds,
        "estimated_steps": longest.estimated,
        "steps": len(longest.steps),
        "work_seconds": longest.work,
    }


# --- a step ---------------------------------------------------------------------------------------


def _step_lines(outline: Outline, step: PlannedStep) -> Iterator[str]:
    tasks = outline.tasks_of(step)
    holds = "; ".join(_holds(outline, step, tasks))
    yield f"  {step.id}{f'  ({holds})' if holds else ''}"
    if not step.fan_out or step.unfold is not None:
        yield from (f"{_INDENT}{line}" for task in tasks for line in task_lines(task))
    elif tasks:
        yield from (f"{_INDENT}{line}" for line in _fan_out_lines(tasks))


def _holds(outline: Outline, step: PlannedStep, tasks: list[Task]) -> Iterator[str]:
    """What a step is, and what it waits for."""
    first = tasks[0] if tasks else None
    if step.unfold is not None:
        yield bound(step.unfold)
    elif step.fan_out:
        yield plural(len(tasks), _noun(first)) if first else "no tasks: its list is empty"
    if first is not None:
        yield from _kind_words(outline, step, first)
    if step.max_parallel is not None:
        yield f"at most {step.max_parallel} of them at once"
    yield from _waits(step, first)
    if step.on_failure is not None:
        yield _FAILURES[step.on_failure].format(one="one of them" if step.fan_out else "a task in it")


def _waits(step: PlannedStep, first: Task | None) -> Iterator[str]:
    for word, names in (("needs", step.needs), ("after", step.after)):
        if names:
            yield f"{word} {some([_near(step, name) for name in names])}"
    if first is not None and first.condition is not Condition.SUCCESS:
        yield f"if {line_text(first.condition_text or '')}"


def _near(step: PlannedStep, name: str) -> str:
    """A neighbour as the step's author calls it."""
    return name if step.within is None else name.removeprefix(f"{step.within}/")


def _noun(task: Task | None) -> str:
    words = {Kind.GROUP: "group", Kind.CALL: "call", Kind.GATE: "gate"}
    return "task" if task is None else words.get(task.kind, "task")


def _kind_words(outline: Outline, step: PlannedStep, first: Task) -> Iterator[str]:
    if first.kind in CONTAINERS:
        inside = plural(len(outline.inside.get(first.id, ())), "step")
        each = "each " if step.fan_out else ""
        called = f"calls workflow `{first.action}`" if first.action else "calls a workflow"
        yield f"{each}group of {inside}" if first.kind is Kind.GROUP else f"{each}{called} of {inside}"
    elif first.kind is Kind.GATE:
        yield "waits for a person"


def _fan_out_lines(tasks: list[Task]) -> Iterator[str]:
    """What all legs have in common once, then each leg with what is its own."""
    shown = [list(task_lines(task)) for task in tasks[:MOST_SHOWN]]
    common = set(shown[0]).intersection(*shown[1:])
    yield from (line for line in shown[0] if line in common)
    for task, lines in zip(tasks, shown, strict=False):
        yield "  ".join([task.id, *(line.strip() for line in lines if line not in common)])
    if len(tasks) > MOST_SHOWN:
        yield f"... and {plural(len(tasks) - MOST_SHOWN, 'more task')}"
    if tasks[0].kind in CONTAINERS and len(tasks) > 1:
        yield f"in each of them as in {tasks[0].id}:"


# --- the tree as data -----------------------------------------------------------------------------


def _tree(outline: Outline) -> list[dict[str, Any]]:
    """Every step with what it is; those inside its tasks stand below each task."""
    roots: list[dict[str, Any]] = []
    insides: dict[str | None, list[dict[str, Any]]] = {None: roots}
    for step in outline.steps.values():
        tasks = outline.tasks_of(step)
        insides |= {task.id: [] for task in tasks}
        insides[step.within].append(_branch(step, tasks, insides))
    return roots


def _branch(step: PlannedStep, tasks: list[Task], insides: dict[str | None, Any]) -> dict[str, Any]:
    unfold = step.unfold
    return {
        "step": step.id,
        "name": own_name(step),
        "kind": tasks[0].kind if tasks else None,
        "finally": step.final,
        "placeholder": unfold and {"most": unfold.most, "bound": bound(unfold)},
        "tasks": [{"task": task.id, "estimate": task.estimate, "steps": insides[task.id]} for task in tasks],
    }
