"""The names that expressions use: whether each exists, is known by then, and may stand there.

What each root may be followed by is in the tables below; a step's outputs are looked up in what it
declares. An expression may only ask for steps that have ended before its own starts, so that its value
does not depend on which of two unordered steps was faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from crewflow.graph.edges import Upstream, problem_at
from crewflow.spec.expression import ExpressionFault, check_state_words, parse_expression
from crewflow.spec.suggest import nearest
from crewflow.spec.template import Template, parse_text

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from crewflow.errors import Problem
    from crewflow.spec.expression import Expression, PathRef
    from crewflow.spec.model import Path, Project, Step, Workflow

RUN_NAMES: Final = ("id", "workflow", "project", "scheduled_at", "state", "failed")
ATTEMPT_NAMES: Final = ("number", "last_error")
STEP_NAMES: Final = (
    "state",
    "outcome",
    "exit_code",
    "error",
    "attempts",
    "result",
    "outputs",
    "artifacts",
    "patch",
    "tasks",
)
NOT_BUILT_STEP_NAMES: Final = ("patch", "tasks")
ROOTS_OF_FAN_OUT: Final = frozenset({"inputs"})


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One expression in a step: where it stands, and whether offsets count from the start of that text."""

    path: Path
    expression: Expression
    is_condition: bool = False
    in_fan_out: bool = False


def check_names(project: Project, workflow: Workflow) -> list[Problem]:
    """Every name in an expression of the workflow that does not exist or may not stand there."""
    scope = _Scope(project, workflow, {step.id: step for step in workflow.steps}, Upstream(workflow))
    found = [problem for step in workflow.steps for problem in _unreadable(scope, step)]
    found += [
        problem
        for step in workflow.steps
        for occurrence in occurrences(step)
        for problem in _check(scope, step, occurrence)
    ]
    return found + _check_workflow_env(scope)


def occurrences(step: Step) -> Iterator[Occurrence]:
    """Every expression of a step, in the order of its keys. A text that cannot be read has none."""
    if step.condition is not None:
        expression = _readable(step.condition)
        if expression is not None:
            yield Occurrence((*step.path, "if"), expression, is_condition=True)
    fan_out = {"matrix": _matrix_tree(step), "for_each": step.for_each}
    for key, value in fan_out.items():
        for path, expression in _walk((*step.path, key), value):
            yield Occurrence(path, expression, in_fan_out=True)
    for key, value in _fields(step).items():
        for path, expression in _walk((*step.path, key), value):
            yield Occurrence(path, expression)


def is_integer(workflow: Workflow, expression: Expression) -> bool:
    """Whether an expression is an integer by its type, so that shell arithmetic may hold it."""
    if len(expression.paths) != 1 or expression.source != ".".join(map(str, expression.paths[0].keys)):
        return False
    keys = expression.paths[0].keys
    match keys:
        case ("inputs", str(name)):
            return name in workflow.inputs and workflow.inputs[name].type == "integer"
        case ("item_index",) | ("attempt", "number") | ("steps", _, "exit_code" | "attempts"):
            return True
        case ("steps", str(step), "outputs", str(name)):
            declared = {(s.id, output.name): output.type for s in workflow.steps for output in s.outputs}
            fan_out = {s.id for s in workflow.steps if s.matrix is not None or s.for_each is not None}
            return declared.get((step, name)) == "integer" and step not in fan_out
    return False


@dataclass(frozen=True, slots=True)
class _Scope:
    project: Project
    workflow: Workflow
    steps: dict[str, Step]
    upstream: Upstream


def _fields(step: Step) -> dict[str, Any]:
    run = parse_quietly(step.run) if isinstance(step.run, str) else step.run
    return {
        "run": run,
        "with": step.arguments,
        "env": step.env,
        "cwd": step.cwd,
        "timeout": step.timeout,
        "grace": step.grace,
        "artifacts": step.artifacts,
        "allow_failure": step.allow_failure,
    }


def parse_quietly(text: str) -> Any:
    """A script's text as a template; the text itself when it cannot be read, which is told elsewhere."""
    try:
        return parse_text(text)
    except ExpressionFault:
        return text


def _matrix_tree(step: Step) -> Any:
    return {**(step.matrix or {}), "include": list(step.include), "exclude": list(step.exclude)}


def _unreadable(scope: _Scope, step: Step) -> Iterator[Problem]:
    """The fault of an `if` that is no expression; all other texts were parsed when they were read."""
    try:
        if step.condition is not None:
            parse_expression(step.condition)
    except ExpressionFault as fault:
        place = scope.workflow.source.place((*step.path, "if"))
        yield problem_at(scope.workflow, place, "CF110", fault.message, fault.hint)


def _readable(condition: str) -> Expression | None:
    try:
        return parse_expression(condition)
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


def _check(scope: _Scope, step: Step, occurrence: Occurrence) -> Iterator[Problem]:
    for reference in occurrence.expression.paths:
        fault = _fault_of(scope, step, occurrence, reference)
        if fault is not None:
            yield _located(scope.workflow, occurrence, reference.offset, reference.length, fault)
    yield from _misplaced_functions(scope, step, occurrence)
    for message, hint, offset, length in check_state_words(occurrence.expression):
        yield _located(scope.workflow, occurrence, offset, length, _Fault("CF206", message, hint))


@dataclass(frozen=True, slots=True)
class _Fault:
    rule: str
    message: str
    hint: str | None


def _fault_of(  # noqa: PLR0911  (a table of roots)
    scope: _Scope, step: Step, occurrence: Occurrence, reference: PathRef
) -> _Fault | None:
    root, *rest = (str(key) for key in reference.keys)
    name = rest[0] if rest else None
    if occurrence.in_fan_out and root not in ROOTS_OF_FAN_OUT:
        return _Fault("CF207", *_fan_out_words(root))
    match root:
        case "inputs":
            return _member(root, name, scope.workflow.inputs, "declare it under the workflow's `inputs`")
        case "env":
            known = {**scope.project.env, **scope.workflow.env}
            return _member(root, name, known, "declare it under the workflow's or the project's `env`")
        case "matrix":
            return _matrix_fault(step, name)
        case "item" | "item_index":
            return None if step.for_each is not None else _no_item(root, step)
        case "run":
            return _member(root, name, RUN_NAMES, None)
        case "attempt":
            return _member(root, name, ATTEMPT_NAMES, None)
        case _:
            return _step_fault(scope, step, rest)


def _fan_out_words(root: str) -> tuple[str, str]:
    if root == "steps":
        return ("a fan-out over what a step gave is not available in this version", "use a list, or `inputs`")
    return (f"`{root}` is not known when a fan-out is made", "use a list, or `inputs`")


def _member(root: str, name: str | None, known: Iterable[str], advice: str | None) -> _Fault | None:
    names = list(known)
    if name is None:
        return _Fault("CF202", f"`{root}` alone has no value", _hint(f"{root}.", names, None, advice))
    if name in names:
        return None
    return _Fault("CF202", f"`{root}.{name}` does not exist", _hint(f"{root}.", names, name, advice))


def _hint(prefix: str, names: list[str], name: str | None, advice: str | None) -> str | None:
    guess = nearest(name, names) if name is not None else None
    if guess:
        return f"did you mean `{prefix}{guess}`?"
    shown = ", ".join(f"`{prefix}{one}`" for one in names[:10])
    return "; ".join(part for part in (f"there is {shown}" if shown else None, advice) if part) or None


def _matrix_fault(step: Step, name: str | None) -> _Fault | None:
    if step.matrix is None:
        return _Fault("CF202", f"step `{step.id}` has no `matrix`", "add one, or use `inputs`")
    known = {*step.matrix, *(key for rule in step.include for key in rule)}
    return _member("matrix", name, sorted(known), None)


def _no_item(root: str, step: Step) -> _Fault:
    return _Fault("CF202", f"`{root}` has no value: step `{step.id}` has no `for_each`", "add `for_each`")


def _step_fault(scope: _Scope, step: Step, rest: list[str]) -> _Fault | None:
    if not rest or rest[0] not in scope.steps:
        return _member("steps", rest[0] if rest else None, scope.steps, None)
    name, *inner = rest
    if not step.final and not scope.upstream.holds(step.id, name):
        return _not_upstream(step, name)
    return _property_fault(scope.steps[name], inner)


def _not_upstream(step: Step, name: str) -> _Fault:
    if name == step.id:
        return _Fault("CF203", f"step `{name}` asks for its own result", None)
    message = f"step `{step.id}` asks for step `{name}`, which may not have ended by then"
    return _Fault("CF203", message, f"add `{name}` to the `needs` or `after` of `{step.id}`")


def _property_fault(asked: Step, rest: list[str]) -> _Fault | None:
    prefix = f"steps.{asked.id}"
    if not rest or rest[0] not in STEP_NAMES:
        return _member(prefix, rest[0] if rest else None, STEP_NAMES, None)
    if rest[0] in NOT_BUILT_STEP_NAMES:
        return _Fault("CF208", f"`{prefix}.{rest[0]}` is not available in this version", None)
    declared: Container[str] | None = {
        "outputs": [output.name for output in asked.outputs],
        "artifacts": list(asked.artifacts),
    }.get(rest[0])
    if declared is None:
        return None
    advice = f"declare it under the `{rest[0]}` of `{asked.id}`"
    name = rest[1] if len(rest) > 1 else None
    return _member(f"{prefix}.{rest[0]}", name, list(declared), advice)  # type: ignore[call-overload]


def _misplaced_functions(scope: _Scope, step: Step, occurrence: Occurrence) -> Iterator[Problem]:
    for function in sorted(occurrence.expression.functions):
        if not occurrence.is_condition:
            fault = _Fault("CF205", f"`{function}()` may only stand in `if`", None)
        elif function == "cancelled" and not step.final:
            hint = "after a cancel nothing but `finally` starts"
            fault = _Fault("CF205", "`cancelled()` may only stand under `finally`", hint)
        else:
            continue
        yield _located(scope.workflow, occurrence, 0, 0, fault)


def _located(workflow: Workflow, occurrence: Occurrence, offset: int, length: int, fault: _Fault) -> Problem:
    place = (
        workflow.source.within(occurrence.path, offset, length)
        if length
        else workflow.source.place(occurrence.path)
    )
    return problem_at(workflow, place, fault.rule, fault.message, fault.hint)


def _check_workflow_env(scope: _Scope) -> list[Problem]:
    known: dict[str, tuple[str, ...]] = {
        "inputs": tuple(scope.workflow.inputs),
        "run": RUN_NAMES,
    }
    found = []
    for path, expression in _walk(("env",), scope.workflow.env):
        for reference in expression.paths:
            root, *rest = (str(key) for key in reference.keys)
            fault = (
                _member(root, rest[0] if rest else None, known[root], None)
                if root in known
                else _Fault(
                    "CF202", f"`{root}` is not known in the workflow's `env`", "use `inputs` or `run`"
                )
            )
            if fault is not None:
                found.append(
                    problem_at(
                        scope.workflow,
                        scope.workflow.source.place(path),
                        fault.rule,
                        fault.message,
                        fault.hint,
                    )
                )
    return found
