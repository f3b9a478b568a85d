"""The fields that take one type alone, held against what their expressions are by declaration.

What this does not find, `folding` or the run does, when there is a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from crewflow.graph.occurrences import condition_of
from crewflow.spec.inputs import TYPE_NAMES
from crewflow.spec.template import Template

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.graph.declared import Types
    from crewflow.graph.findings import Findings
    from crewflow.graph.tree import Tree
    from crewflow.spec.expression import Expression
    from crewflow.spec.model import Path, Step

_RULES: Final = {"boolean": "CF211", "array": "CF304", "string": "CF108"}
_WORDS: Final = {"boolean": "true or false", "array": "a list", "string": "a duration such as `90s`"}
_HINTS: Final = {
    "boolean": "compare it, such as `{source} == ...`",
    "array": "name something that is a list",
    "string": "write `${{{{ {source} }}}}s` for seconds",
}


def check_types(tree: Tree, types: Types, findings: Findings) -> None:
    """Tell every field whose expression is of a wrong type, whatever its value will be."""
    for step in tree.steps():
        condition = condition_of(step)
        if condition is not None:
            _check(findings, (*step.path, "if"), "boolean", condition, types.of(step, condition))
        for key, wanted, value in _fields(step):
            if isinstance(value, Template):
                _check_template(findings, types, step, (*step.path, *key), wanted, value)


def _fields(step: Step) -> Iterator[tuple[Path, str, Any]]:
    """The other fields: where they stand in the step, the type they take, and their value."""
    yield ("allow_failure",), "boolean", step.allow_failure
    yield ("timeout",), "string", step.timeout
    yield ("grace",), "string", step.grace
    yield ("for_each",), "array", step.for_each
    for axis, values in (step.matrix or {}).items():
        yield ("matrix", axis), "array", values


def _check_template(
    findings: Findings, types: Types, step: Step, path: Path, wanted: str, template: Template
) -> None:
    expression = template.whole
    if expression is not None:
        _check(findings, path, wanted, expression, types.of(step, expression))
    elif wanted != "string":
        message = f"`{path[-1]}` must be {_WORDS[wanted]}, and this is text"
        findings.tell(_RULES[wanted], path, message, "make one expression of the whole")


def _check(findings: Findings, path: Path, wanted: str, expression: Expression, found: str | None) -> None:
    if found is None or found == wanted:
        return
    source = expression.source
    message = f"`{path[-1]}` must be {_WORDS[wanted]}, and `{source}` is {TYPE_NAMES[found]}"
    hint = _HINTS[wanted].format(source=source)
    at = findings.within(path, source, expression.offset, len(source))
    findings.tell(_RULES[wanted], path, message, hint, at=at)
