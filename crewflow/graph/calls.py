"""Calls of other workflows: that there is one of that name, what is passed to it, and who calls whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from crewflow.errors import Note
from crewflow.spec.inputs import TYPE_NAMES, whole_number
from crewflow.spec.template import Template
from crewflow.spec.values import fits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.graph.declared import Types
    from crewflow.graph.findings import Findings
    from crewflow.graph.tree import Tree
    from crewflow.spec.model import Project, Step, Workflow


ENDLESS_CALL: Final = "CF309"
"""The rule that a workflow breaks which calls itself, by whatever detour, or too many others in a row."""

MOST_NESTED: Final = 50
"""Calls within calls."""


def check_calls(project: Project, workflow: Workflow, tree: Tree, types: Types, findings: Findings) -> None:
    """Tell every call of a workflow that is at fault, whatever the values are."""
    for step in tree.steps():
        if step.workflow is not None:
            _check_call(project, workflow, types, step, findings)


def called_inputs(
    called: Workflow, step: Step, arguments: dict[str, Any], findings: Findings
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The value of every input of a called workflow, and the JSON Schemas of those that only the run gives.

    Args:
        called: the workflow.
        step: the call, for the places of faults.
        arguments: its `with`, what is known in place of its expressions.
        findings: where values that do not fit are told.
    """
    values: dict[str, Any] = {}
    declared: dict[str, Any] = {}
    for name, spec in called.inputs.items():
        value = values[name] = whole_number(spec, arguments.get(name, spec.default))
        if name in arguments and _has_template(value):
            declared[name] = spec.schema
        elif name in arguments and (why := fits(value, spec.schema)) is not None:
            path = (*step.path, "with", name)
            findings.tell_first(
                "CF215", path, f"input `{name}` of workflow `{called.name}` {why}", None, None
            )
    return values, declared


def _check_call(project: Project, workflow: Workflow, types: Types, step: Step, findings: Findings) -> None:
    path = (*step.path, "workflow")
    called = project.workflow(step.workflow or "")
    if called is None and ("workflow", step.workflow) in project.unreadable:
        return
    if called is None:
        known = [*project.workflows, *project.shipped]
        hint = findings.hint("", step.workflow, known, None, besides=workflow.name)
        findings.tell("CF214", path, f"step `{step.id}` calls unknown workflow `{step.workflow}`", hint)
        return
    chain = _chain(project, called, workflow.name)
    if chain is not None and chain[-1] == workflow.name:
        shown = " -> ".join([workflow.name, *chain])
        message = f"workflow `{workflow.name}` calls itself: {shown}"
        findings.tell(ENDLESS_CALL, path, message, "a workflow that calls itself would never end")
    elif chain is not None:
        message = f"calls are nested more than {MOST_NESTED} deep: {' -> '.join(chain[:3])} -> ..."
        findings.tell(ENDLESS_CALL, path, message, "make some of these workflows groups")
    _check_arguments(called, step, findings)
    for name, value in step.arguments.items():
        if name in called.inputs:
            _check_value(called, types, step, name, value, findings)


def _check_value(
    called: Workflow, types: Types, step: Step, name: str, value: Any, findings: Findings
) -> None:
    """Tell a value that can be no value of an input, as far as it is known before the run."""
    spec, path = called.inputs[name], (*step.path, "with", name)
    why = None
    if isinstance(value, Template):
        found = types.of(step, value.whole) if value.whole is not None else "string"
        if found is not None and found != spec.type and {found, spec.type} != {"integer", "number"}:
            why = f"must be {TYPE_NAMES[spec.type]}, and this is {TYPE_NAMES[found]}"
    elif not _has_template(value):
        why = fits(value, spec.schema)
    if why is not None:
        findings.tell("CF215", path, f"input `{name}` of workflow `{called.name}` {why}")


def _check_arguments(called: Workflow, step: Step, findings: Findings) -> None:
    for name in step.arguments:
        if name not in called.inputs:
            path = (*step.path, "with", name)
            message = f"workflow `{called.name}` has no input `{name}`"
            hint = findings.hint("", name, called.inputs, None)
            findings.tell("CF215", path, message, hint, at=findings.key_place(path))
    for name, spec in called.inputs.items():
        if spec.required and not spec.has_default and name not in step.arguments:
            if findings.is_written((*step.path, "with", name)):
                continue
            message = f"step `{step.id}` gives no input `{name}`, which workflow `{called.name}` needs"
            note = Note(called.source.key_place(("inputs", name)), "declared here")
            at = findings.key_place(step.path)
            findings.tell("CF215", step.path, message, f"write `with: {{{name}: ...}}`", at=at, notes=(note,))


def _chain(project: Project, called: Workflow, target: str) -> list[str] | None:
    """The calls from one workflow to another, or to one that is too deep, each by name; None for neither.

    Breadth first.
    """
    ways: dict[str, list[str]] = {called.name: [called.name]}
    waiting = [called]
    for workflow in waiting:
        if workflow.name == target or len(ways[workflow.name]) > MOST_NESTED:
            return ways[workflow.name]
        for name in _calls(workflow.steps):
            inner = project.workflow(name)
            if inner is not None and inner.name not in ways:
                ways[inner.name] = [*ways[workflow.name], inner.name]
                waiting.append(inner)
    return None


def _calls(steps: tuple[Step, ...]) -> Iterator[str]:
    for step in steps:
        if step.workflow is not None:
            yield step.workflow
        yield from _calls(step.steps)


def _has_template(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_template, value.values()))
    if isinstance(value, list):
        return any(map(_has_template, value))
    return isinstance(value, Template)
