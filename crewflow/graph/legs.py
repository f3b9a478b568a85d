"""The fan-out of one step: its values, held against what a fan-out may be, become legs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from crewflow.errors import Severity
from crewflow.graph.fanout import (
    MOST_COMBINATIONS,
    MOST_LEGS,
    clash,
    count_combinations,
    fold_label,
    list_legs,
    matrix_legs,
    reading,
    value_text,
)
from crewflow.graph.plan import in_order
from crewflow.spec.words import quoted

if TYPE_CHECKING:
    from crewflow.graph.fanout import Leg
    from crewflow.graph.findings import Findings
    from crewflow.graph.folding import Values
    from crewflow.spec.model import Path, Step

    Axes = dict[str, list[Any]]


_UNCOUNTED: Final = 10**15


def find_legs(step: Step, values: Values, findings: Findings) -> list[Leg] | None:
    """The legs of a step with a fan-out; None as long as they are not known, or where it is at fault."""
    if step.for_each is None:
        return _matrix_legs(step, values, findings)
    path = (*step.path, "for_each")
    items = values.list(path, step.for_each)
    if items is None or not _fits(step, path, len(items), findings):
        return None
    return list_legs(in_order(items))


def _matrix_legs(step: Step, values: Values, findings: Findings) -> list[Leg] | None:
    path = (*step.path, "matrix")
    sound = _check_rules(step, path, findings)
    found = {axis: values.list((*path, axis), given) for axis, given in (step.matrix or {}).items()}
    axes: Axes = {axis: in_order(given) for axis, given in found.items() if given is not None}
    sound &= not _tell_doubled(path, axes, findings)
    if len(axes) < len(found) or not sound:
        return None
    count = count_combinations(axes)
    if not _fits(step, path, count, findings, MOST_COMBINATIONS):
        return None
    legs = matrix_legs(axes, in_order(list(step.include)), in_order(list(step.exclude)))
    _warn_of_idle_rules(step, path, axes, findings)
    return (
        legs if _fits(step, path, len(legs), findings) and not _clashes(step, path, legs, findings) else None
    )


def _fits(step: Step, path: Path, count: int, findings: Findings, most: int = MOST_LEGS) -> bool:
    if count <= most:
        return True
    what = "tasks" if most == MOST_LEGS else "combinations"
    shown = f"{count:,}" if count < _UNCOUNTED else "very many"
    message = f"step `{step.id}` fans out into {shown} {what}; at most {most:,} are allowed"
    findings.tell("CF305", path, message, "split it into several steps", at=findings.key_place(path))
    return False


def _check_rules(step: Step, path: Path, findings: Findings) -> bool:
    """Whether all inclusions name something, and all exclusions axes."""
    axes = list(step.matrix or {})
    sound = True
    for key, rules in (("include", step.include), ("exclude", step.exclude)):
        for index, rule in enumerate(rules):
            if not rule:
                findings.tell("CF307", (*path, key, index), f"this item of `{key}` names no value")
                sound = False
    for index, rule in enumerate(step.exclude):
        for name in rule:
            sound &= _is_axis(name, axes, path, (*path, "exclude", index, name), findings)
    return sound


def _is_axis(name: str, axes: list[str], matrix: Path, path: Path, findings: Findings) -> bool:
    if name in axes:
        return True
    if not findings.is_written((*matrix, name)):
        hint = findings.hint("", name, axes, None)
        message = f"`exclude` names {quoted(name)}, which is no axis of this matrix"
        findings.tell("CF307", path, message, hint, at=findings.key_place(path))
    return False


def _tell_doubled(path: Path, axes: Axes, findings: Findings) -> bool:
    """Tell values that stand twice on one axis; whether there are any."""
    doubled = False
    for axis, values in axes.items():
        seen: set[str] = set()
        for index, value in enumerate(values):
            text = value_text(value)
            if fold_label(text) in seen:
                message = f"two values of `{axis}` read the same: {quoted(text)}"
                hint = "tasks are told apart by their values, upper and lower case alike"
                findings.tell("CF306", (*path, axis, index), message, hint)
                doubled = True
            seen.add(fold_label(text))
    return doubled


def _clashes(step: Step, path: Path, legs: list[Leg], findings: Findings) -> bool:
    label = clash(legs)
    if label is None:
        return False
    message = f"two tasks of step `{step.id}` would be called {quoted(f'{step.id}[{label}]')}"
    hint = "tasks are called by their values; make these differ"
    findings.tell("CF306", path, message, hint, at=findings.key_place(path))
    return True


def _warn_of_idle_rules(step: Step, path: Path, axes: Axes, findings: Findings) -> None:
    """Tell exclusions that leave nothing out: most likely a value was misspelt."""
    known = {axis: {reading(one) for one in values} for axis, values in axes.items()}
    for index, rule in enumerate(step.exclude):
        for name, value in rule.items():
            if reading(value) not in known[name]:
                place = (*path, "exclude", index, name)
                message = (
                    f"{quoted(value_text(value))} is no value of {quoted(name)}, so this leaves nothing out"
                )
                hint = findings.hint("", value_text(value), [value_text(one) for one in axes[name]], None)
                findings.tell("CF308", place, message, hint, severity=Severity.WARNING)
