"""The expressions of a workflow: where they stand, and whether what they name may be named there.

An expression may only ask for steps that have ended before its own starts, so that its value does not
depend on which of two unordered steps was faster. What each name may be followed by is decided in
`references`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crewflow.graph.references import Scope, reference_fault, workflow_env_fault
from crewflow.spec.expression import ExpressionFault, check_state_words, parse_expression
from crewflow.spec.template import OPENING, Template, parse_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.errors import Place
    from crewflow.graph.declared import Types
    from crewflow.graph.findings import Findings
    from crewflow.spec.expression import Expression
    from crewflow.spec.model import Path, Project, Step, Workflow


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One expression: the path of the text that it stands in, and whether that is an `if` or a fan-out."""

    path: Path
    expression: Expression
    is_condition: bool = False
    in_fan_out: bool = False


def check_names(project: Project, workflow: Workflow, types: Types, findings: Findings) -> None:
    """Tell every name in an expression of the workflow that does not exist or may not stand there."""
    scope = Scope(project, workflow, types, findings)
    for path, expression in _walk(("env",), workflow.env):
        _check_workflow_env(scope, Occurrence(path, expression))
    for step in workflow.steps:
        if step.condition is not None:
            _check_readable(findings, (*step.path, "if"), step.condition)
        for occurrence in occurrences(step):
            _check(scope, step, occurrence)


def occurrences(step: Step) -> Iterator[Occurrence]:
    """Every expression of a step, in the order of its keys. A text that cannot be read has none."""
    expression = condition_of(step)
    if expression is not None:
        yield Occurrence((*step.path, "if"), expression, is_condition=True)
    for key, value in _fields(step):
        if value and not isinstance(value, str):
            for path, found in _walk((*step.path, key), value):
                yield Occurrence(path, found, in_fan_out=key in _FAN_OUTS)


def condition_of(step: Step) -> Expression | None:
    """The expression of a step's `if`; None where there is none, or none that can be read."""
    try:
        return None if step.condition is None else parse_expression(step.condition)
    except ExpressionFault:
        return None


_FAN_OUTS = frozenset({"matrix", "for_each"})


def _fields(step: Step) -> Iterator[tuple[str, Any]]:
    """The keys of a step that may hold expressions, with their values."""
    yield "matrix", step.matrix
    yield "for_each", step.for_each
    yield "run", _script_or_words(step)
    yield "with", step.arguments
    yield "env", step.env
    yield "cwd", step.cwd
    yield "timeout", step.timeout
    yield "grace", step.grace
    yield "artifacts", step.artifacts
    yield "allow_failure", step.allow_failure


def _script_or_words(step: Step) -> Any:
    """What a step runs, with the expressions of a script parsed. Faults in it are told by its scanner."""
    if not isinstance(step.run, str) or OPENING not in step.run:
        return step.run
    try:
        return parse_text(step.run)
    except ExpressionFault:
        return None


def _walk(path: Path, value: Any) -> Iterator[tuple[Path, Expression]]:
    if isinstance(value, Template):
        yield from ((path, part) for part in value.parts if not isinstance(part, str))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _walk((*path, key), inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _walk((*path, index), inner)


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
