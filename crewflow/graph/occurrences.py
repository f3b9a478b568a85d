"""Where the expressions of a workflow stand: in which keys of a step, and at which paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crewflow.spec.expression import ExpressionFault, parse_expression
from crewflow.spec.template import OPENING, Template, parse_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.spec.expression import Expression
    from crewflow.spec.model import Path, Step
    from crewflow.spec.template import Text


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One expression: the path of the text that it stands in, and whether that is an `if` or a fan-out."""

    path: Path
    expression: Expression
    is_condition: bool = False
    in_fan_out: bool = False


def occurrences(step: Step) -> Iterator[Occurrence]:
    """Every expression of a step, in the order of its keys. A text that cannot be read has none."""
    expression = condition_of(step)
    if expression is not None:
        yield Occurrence((*step.path, "if"), expression, is_condition=True)
    for key, value in _fields(step):
        if value and not isinstance(value, str):
            for path, found in walk((*step.path, key), value):
                yield Occurrence(path, found, in_fan_out=key in _FAN_OUTS)


def condition_of(step: Step) -> Expression | None:
    """The expression of a step's `if`; None where there is none, or none that can be read."""
    try:
        return None if step.condition is None else parse_expression(step.condition)
    except ExpressionFault:
        return None


def given_occurrences(path: Path, given: dict[str, Text]) -> Iterator[Occurrence]:
    """The expressions of the `outputs` of a group or a workflow."""
    for place, expression in walk(path, given):
        yield Occurrence(place, expression)


_FAN_OUTS = frozenset({"matrix", "for_each"})


def _fields(step: Step) -> Iterator[tuple[str, Any]]:
    """The keys of a step that may hold expressions, with their values."""
    yield "matrix", step.matrix
    yield "for_each", step.for_each
    yield "run", _script_or_words(step)
    yield "prompt", step.prompt
    yield "with", step.arguments
    yield "env", step.env
    yield "cwd", step.cwd
    yield "timeout", step.timeout
    yield "grace", step.grace
    yield "artifacts", step.artifacts
    yield "allow_failure", step.allow_failure
    yield from step.later.items()


def _script_or_words(step: Step) -> Any:
    """What a step runs, with the expressions of a script parsed. Faults in it are told by its scanner."""
    if not isinstance(step.run, str) or OPENING not in step.run:
        return step.run
    try:
        return parse_text(step.run)
    except ExpressionFault:
        return None


def walk(path: Path, value: Any) -> Iterator[tuple[Path, Expression]]:
    """The expressions in a value of any shape, each with the path of the text that it stands in."""
    if isinstance(value, Template):
        yield from ((path, part) for part in value.parts if not isinstance(part, str))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from walk((*path, key), inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from walk((*path, index), inner)
