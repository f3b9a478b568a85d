"""The expressions of a workflow: where they stand, and whether what they name may be named there.

An expression may only ask for steps that have ended before its own starts, so that its value does not
depend on which of two unordered steps was faster. What each name may be followed by is decided in
`references`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crewflow.graph.occurrences import Occurrence, given_occurrences, walk
from crewflow.graph.references import output_fault, reference_fault, workflow_env_fault
from crewflow.spec.expression import ExpressionFault, check_state_words, parse_expression
from crewflow.spec.model import Kind

if TYPE_CHECKING:
    from crewflow.errors import Place
    from crewflow.graph.findings import Findings
    from crewflow.graph.references import Scope
    from crewflow.spec.model import Path, Step
    from crewflow.spec.template import Text


def check_names(scope: Scope) -> None:
    """Tell every name in an expression of the workflow that does not exist or may not stand there."""
    workflow = scope.workflow
    for key, value in (("env", workflow.env), *workflow.later.items()):
        for path, expression in walk((key,), value):
            _check_workflow_env(scope, Occurrence(path, expression))
    for step in scope.tree.steps():
        if scope.findings.is_full:
            return
        if step.condition is not None:
            _check_readable(scope.findings, (*step.path, "if"), step.condition)
        for occurrence in scope.tree.occurrences(step):
            _check(scope, step, occurrence)
        if step.kind is Kind.GATE:
            _check_shown(scope, step)
        if step.given:
            _check_outputs(scope, step, (*step.path, "outputs"), step.given)
    _check_outputs(scope, None, ("outputs",), workflow.given)


def _check_readable(findings: Findings, path: Path, condition: str) -> None:
    """Tell the fault of an `if` that is no expression; all other texts were parsed when they were read."""
    try:
        parse_expression(condition)
    except ExpressionFault as fault:
        place = findings.within(path, condition, fault.offset, fault.length)
        findings.tell("CF110", path, fault.message, fault.hint, at=place)


def _check_workflow_env(scope: Scope, occurrence: Occurrence) -> None:
    for reference in occurrence.expression.paths:
        fault = workflow_env_fault(scope, reference)
        if fault is not None:
            at = _place(scope, occurrence, reference.offset, reference.length)
            scope.findings.tell(fault.rule, occurrence.path, fault.message, fault.hint, at=at)
    _check_functions(scope, None, occurrence)


def _check(scope: Scope, step: Step, occurrence: Occurrence) -> None:
    for reference in occurrence.expression.paths:
        fault = reference_fault(scope, step, reference, in_fan_out=occurrence.in_fan_out)
        if fault is not None:
            at = _place(scope, occurrence, reference.offset, reference.length)
            scope.findings.tell(fault.rule, occurrence.path, fault.message, fault.hint, at=at)
    _check_functions(scope, step, occurrence)
    for message, hint, offset, length in check_state_words(occurrence.expression):
        at = _place(scope, occurrence, offset, length)
        scope.findings.tell("CF206", occurrence.path, message, hint, at=at)


def _check_shown(scope: Scope, step: Step) -> None:
    """Tell the references that a gate shows and that do not exist: each is an expression without `${{ }}`."""
    for index, text in enumerate(step.later.get("approval", {}).get("show", [])):
        path = (*step.path, "approval", "show", index)
        if not isinstance(text, str):
            continue  # it was written with `${{ }}`, and is looked at like any other
        try:
            expression = parse_expression(text)
        except ExpressionFault as fault:
            place = scope.findings.within(path, text, fault.offset, fault.length)
            scope.findings.tell("CF110", path, fault.message, fault.hint, at=place)
            continue
        _check(scope, step, Occurrence(path, expression))


def _check_outputs(scope: Scope, group: Step | None, path: Path, given: dict[str, Text]) -> None:
    for occurrence in given_occurrences(path, given):
        for reference in occurrence.expression.paths:
            fault = output_fault(scope, group, reference)
            if fault is not None:
                at = _place(scope, occurrence, reference.offset, reference.length)
                scope.findings.tell(fault.rule, occurrence.path, fault.message, fault.hint, at=at)
        _check_functions(scope, group, occurrence)


def _check_functions(scope: Scope, step: Step | None, occurrence: Occurrence) -> None:
    for function in sorted(occurrence.expression.functions):
        if not occurrence.is_condition:
            message, hint = f"`{function}()` may only stand in `if`", None
        elif function == "cancelled" and step is not None and not step.final:
            message = "`cancelled()` may only stand under `finally`"
            hint = "after a cancel nothing but `finally` starts"
        else:
            continue
        at = _function_place(scope, occurrence, function)
        scope.findings.tell("CF205", occurrence.path, message, hint, at=at)


def _function_place(scope: Scope, occurrence: Occurrence, function: str) -> Place:
    found = re.search(rf"\b{function}\s*\(\s*\)", occurrence.expression.source)
    start, end = found.span() if found is not None else (0, len(occurrence.expression.source))
    return _place(scope, occurrence, occurrence.expression.offset + start, end - start)


def _place(scope: Scope, occurrence: Occurrence, offset: int, length: int) -> Place:
    return scope.findings.within(occurrence.path, occurrence.expression.source, offset, length)
