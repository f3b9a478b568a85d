"""What the machine asks while a run goes on: an `if`, the legs of a fan-out, what containers take, give.

The answers are facts of records, so that a replay needs not ask again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewflow.graph.fanout import (
    MOST_COMBINATIONS,
    Leg,
    clash,
    count_combinations,
    list_legs,
    matrix_legs,
)
from crewflow.graph.plan import in_order
from crewflow.run.retry import is_among
from crewflow.run.standing import first_failed
from crewflow.spec.expression import RenderError, evaluate_condition, parse_expression
from crewflow.spec.expression_values import described
from crewflow.spec.template import Template, render, render_tree
from crewflow.spec.values import fits

if TYPE_CHECKING:
    from collections.abc import Callable

    from crewflow.engine.view import View
    from crewflow.graph.plan import PlannedStep, Task, Unfold
    from crewflow.run.events import AskCondition, AskLegs, AskOutcome
    from crewflow.run.standing import TaskRun

    Resolve = Callable[[tuple[str | int, ...]], Any]

_OF_A_LEG = frozenset({"matrix", "item", "item_index"})


def decide_condition(task: Task, asked: AskCondition | AskLegs, view: View) -> bool:
    """What a task's `if` says now. Raises RenderError if it has no boolean value."""
    functions = {
        "success": asked.success,
        "failure": asked.failure,
        "always": True,
        "cancelled": asked.cancelled,
    }
    return evaluate_condition(parse_expression(task.condition_text or "true"), view.resolver(task), functions)


def is_allowed(task: Task, failure: str | None, exit_code: int | None, view: View) -> bool:
    """Whether `allow_failure` covers a failure of this class. Raises RenderError if it yields no boolean."""
    allowed = task.allow_failure
    if isinstance(allowed, tuple):
        return failure is not None and is_among(allowed, failure, exit_code)
    value = render(allowed, view.resolver(task)) if isinstance(allowed, Template) else allowed
    if not isinstance(value, bool):
        raise RenderError(f"it must yield a boolean, and yields {described(value)}")
    return value


def find_legs(step: PlannedStep, task: Task, asked: AskLegs, view: View) -> dict[str, Any]:
    """The legs of a fan-out as facts; none if its `if` asks for no leg and says no.

    Raises:
        RenderError: what yields its values yields no list, too many, or two that are called the same.
    """
    if step.unfold is None or _is_left_out(task, asked, view):
        return {}
    resolve = view.resolver(task)
    legs = _matrix(step.unfold, resolve) if step.unfold.for_each is None else _list(step.unfold, resolve)
    if len(legs) > step.unfold.most:
        raise RenderError(f"it fans out into {len(legs):,} tasks; at most {step.unfold.most:,} are allowed")
    doubled = clash(legs)
    if doubled is not None:
        raise RenderError(f"two of its tasks would be called `{step.id}[{doubled}]`")
    return {"legs": [{"label": leg.label, "context": leg.context} for leg in legs]}


def give_inputs(run: TaskRun, view: View) -> dict[str, Any]:
    """Why the inputs of a call do not fit, as facts; none if they do."""
    try:
        inputs = view.inputs_of(run)
    except RenderError as error:
        return {"error": f"`with`: {error.message}"}
    for name, schema in run.task.declared.items():
        why = fits(inputs[name], schema)
        if why is not None:
            return {"error": f"input `{name}` {why}"}
    return {}


def give_outcome(run: TaskRun, asked: AskOutcome, view: View) -> dict[str, Any]:
    """Whether a container's failure is allowed, or why what it gives has no value, as facts."""
    try:
        if not asked.failed:
            view.given_by(run)
            return {}
        failed = first_failed(run.inner) if run.inner is not None else None
        failure, code = (failed.failure, failed.exit_code) if failed is not None else (None, None)
        return {"allowed": True} if is_allowed(run.task, failure, code, view) else {}
    except RenderError as error:
        return {"error": f"`{'allow_failure' if asked.failed else 'outputs'}`: {error.message}"}


def _is_left_out(task: Task, asked: AskLegs, view: View) -> bool:
    """Whether an `if` that asks for no leg says no: then the values need not exist."""
    if task.condition_text is None:
        return False
    condition = parse_expression(task.condition_text)
    if any(path.keys[0] in _OF_A_LEG for path in condition.paths):
        return False
    return not decide_condition(task, asked, view)


def _list(unfold: Unfold, resolve: Resolve) -> list[Leg]:
    return list_legs(in_order(_values("for_each", unfold.for_each, resolve)))


def _matrix(unfold: Unfold, resolve: Resolve) -> list[Leg]:
    axes = {axis: in_order(_values(axis, given, resolve)) for axis, given in (unfold.matrix or {}).items()}
    count = count_combinations(axes)
    if count > MOST_COMBINATIONS:
        raise RenderError(f"`matrix` has {count:,} combinations; at most {MOST_COMBINATIONS:,} are allowed")
    return matrix_legs(axes, unfold.include, unfold.exclude)


def _values(key: str, given: Any, resolve: Resolve) -> list[Any]:
    value = render(given, resolve) if isinstance(given, Template) else render_tree(given, resolve)
    if not isinstance(value, list):
        raise RenderError(f"`{key}` must yield a list, and yields {described(value)}")
    return value
