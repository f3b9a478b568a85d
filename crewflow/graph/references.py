"""What a dotted path in an expression may name: the tables of names, and why a path is not among them.

    fault = reference_fault(scope, step, reference, in_fan_out=False)

A name whose declaration stands in the file but was left out, because it is at fault itself, is not told
to be unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from crewflow.graph.declared import SCALARS
from crewflow.graph.edges import Upstream
from crewflow.spec.inputs import TYPE_NAMES
from crewflow.spec.words import not_available

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from crewflow.graph.declared import Types
    from crewflow.graph.findings import Findings
    from crewflow.spec.expression import PathRef
    from crewflow.spec.model import Path, Project, Step, Workflow

RUN_NAMES: Final = ("id", "workflow", "project", "scheduled_at", "state", "failed")
LASTING_RUN_NAMES: Final = ("id", "workflow", "project", "scheduled_at")
"""Those that mean the same all through a run."""

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
)
NOT_BUILT_STEP_NAMES: Final = ("patch", "tasks")

_OTHER_STEP_NAMES: Final = {
    "conclusion": "outcome",
    "status": "state",
    "phase": "state",
    "exitcode": "exit_code",
    "return_code": "exit_code",
    "stdout": "result",
    "output": "outputs",
    "message": "error",
}
"""Words of other tools that no likeness leads to."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a reference."""

    rule: str
    message: str
    hint: str | None = None


@dataclass(frozen=True)
class Scope:
    """What the expressions of one workflow may ask for."""

    project: Project
    workflow: Workflow
    types: Types
    findings: Findings

    @cached_property
    def steps(self) -> dict[str, Step]:
        """The steps by id."""
        return {step.id: step for step in self.workflow.steps}

    @cached_property
    def env(self) -> dict[str, object]:
        """The variables of project and workflow."""
        return {**self.project.env, **self.workflow.env}

    @cached_property
    def upstream(self) -> Upstream:
        """Which steps have ended before others."""
        return Upstream(self.workflow)


def reference_fault(scope: Scope, step: Step, reference: PathRef, *, in_fan_out: bool) -> Fault | None:
    """What is wrong with a path in an expression of a step; None if nothing is."""
    root, *rest = (str(key) for key in reference.keys)
    if in_fan_out and root != "inputs":
        return _fan_out_fault(root)
    return _CHECKS[root](scope, step, rest) or _part_fault(scope, step, reference.keys)


def workflow_env_fault(scope: Scope, reference: PathRef) -> Fault | None:
    """What is wrong with a path in the workflow's `env`, which is worked out once for the whole run."""
    root, *rest = (str(key) for key in reference.keys)
    if root == "inputs":
        return _input_fault(scope, None, rest)
    if root == "run":
        return _unknown(scope, "run", _first(rest), LASTING_RUN_NAMES, None)
    message = f"`{root}` is not known in the `env` of a workflow"
    return Fault("CF202", message, "use `inputs` or `run`, or the `env` of a step")


def matrix_names(step: Step) -> list[str]:
    """What `matrix.` may be followed by: the axes, and what inclusions add."""
    return list(dict.fromkeys([*(step.matrix or ()), *(key for rule in step.include for key in rule)]))


def _part_fault(scope: Scope, step: Step, keys: tuple[str | int, ...]) -> Fault | None:
    """The fault of a path that goes on behind a value that has no parts."""
    for end in range(1, len(keys)):
        word = scope.types.of_path(step, keys[:end])
        if word in SCALARS:
            head = ".".join(map(str, keys[:end]))
            is_json = word == "string" and (keys[0] in {"inputs", "env"} or "outputs" in keys)
            hint = f"write `({head} | from_json)` to read it as JSON" if is_json else None
            return Fault("CF202", f"`{head}` is {TYPE_NAMES[word]}, and has no parts", hint)
    return None


def _fan_out_fault(root: str) -> Fault:
    if root == "steps":
        message = not_available("a fan-out over what a step gave")
    else:
        message = f"`{root}` is not known when a fan-out is made"
    return Fault("CF207", message, "use a list, or `inputs`")


def _first(rest: list[str]) -> str | None:
    return rest[0] if rest else None


def _input_fault(scope: Scope, _: Step | None, rest: list[str]) -> Fault | None:
    advice = "declare it under the workflow's `inputs`"
    return _unknown(scope, "inputs", _first(rest), scope.workflow.inputs, advice, ("inputs",))


def _env_fault(scope: Scope, _: Step, rest: list[str]) -> Fault | None:
    advice = "declare it under the workflow's or the project's `env`"
    return _unknown(scope, "env", _first(rest), scope.env, advice, ("env",))


def _run_fault(scope: Scope, _: Step, rest: list[str]) -> Fault | None:
    return _unknown(scope, "run", _first(rest), RUN_NAMES, None)


def _attempt_fault(scope: Scope, _: Step, rest: list[str]) -> Fault | None:
    return _unknown(scope, "attempt", _first(rest), ATTEMPT_NAMES, None)


def _unknown(
    scope: Scope,
    prefix: str,
    name: str | None,
    known: Collection[str],
    advice: str | None,
    declared_under: Path | None = None,
) -> Fault | None:
    """The fault of a name that is not among the known ones."""
    if name in known:
        return None
    if name is None:
        hint = scope.findings.hint(f"{prefix}.", None, known, advice)
        return Fault("CF202", f"`{prefix}` alone has no value", hint)
    if declared_under is not None and scope.findings.is_written((*declared_under, name)):
        return None
    hint = scope.findings.hint(f"{prefix}.", name, known, advice)
    return Fault("CF202", f"`{prefix}.{name}` does not exist", hint)


def _matrix_fault(scope: Scope, step: Step, rest: list[str]) -> Fault | None:
    if step.matrix is not None:
        return _unknown(scope, "matrix", _first(rest), matrix_names(step), None, (*step.path, "matrix"))
    if scope.findings.is_written((*step.path, "matrix")):
        return None
    hint = "use `item`" if step.for_each is not None else "add one, or use `inputs`"
    return Fault("CF202", f"step `{step.id}` has no `matrix`", hint)


def _item_fault(scope: Scope, step: Step, _: list[str]) -> Fault | None:
    if step.for_each is not None or scope.findings.is_written((*step.path, "for_each")):
        return None
    names = ", ".join(f"`matrix.{name}`" for name in matrix_names(step))
    hint = f"use {names}" if names else "add `for_each`"
    return Fault("CF202", f"`item` has no value: step `{step.id}` has no `for_each`", hint)


def _step_fault(scope: Scope, step: Step, rest: list[str]) -> Fault | None:
    if not rest or rest[0] not in scope.steps:
        return _unknown(scope, "steps", rest[0] if rest else None, scope.steps, None)
    asked = scope.steps[rest[0]]
    return _order_fault(scope, step, asked) or _property_fault(scope, asked, rest[1:])


def _order_fault(scope: Scope, step: Step, asked: Step) -> Fault | None:
    if asked is step:
        return Fault("CF203", f"step `{step.id}` asks for its own result", "use `attempt` for earlier tries")
    if asked.final and not step.final:
        message = f"step `{step.id}` asks for `{asked.id}`, which stands under `finally` and runs later"
        return Fault("CF203", message, f"move `{step.id}` under `finally`, or `{asked.id}` under `steps`")
    if scope.upstream.holds(step.id, asked.id):
        return None
    message = f"step `{step.id}` asks for step `{asked.id}`, which may not have ended by then"
    if scope.upstream.holds(asked.id, step.id):
        return Fault("CF203", message, f"`{asked.id}` waits for `{step.id}`: ask there, not here")
    return Fault("CF203", message, f"add `{asked.id}` to the `needs` or `after` of `{step.id}`")


def _property_fault(scope: Scope, asked: Step, rest: list[str]) -> Fault | None:
    prefix = f"steps.{asked.id}"
    word = rest[0] if rest else None
    if word in NOT_BUILT_STEP_NAMES:
        return Fault("CF208", not_available(f"`{prefix}.{word}`"))
    if word in _OTHER_STEP_NAMES:
        hint = f"did you mean `{prefix}.{_OTHER_STEP_NAMES[word]}`?"
        return Fault("CF202", f"`{prefix}.{word}` does not exist", hint)
    if word not in {"outputs", "artifacts"}:
        return _unknown(scope, prefix, word, STEP_NAMES, None)
    declared = [output.name for output in asked.outputs] if word == "outputs" else list(asked.artifacts)
    advice = f"declare it under the `{word}` of `{asked.id}`"
    name = rest[1] if len(rest) > 1 else None
    return _unknown(scope, f"{prefix}.{word}", name, declared, advice, (*asked.path, str(word)))


_CHECKS: Final[dict[str, Callable[[Scope, Step, list[str]], Fault | None]]] = {
    "inputs": _input_fault,
    "env": _env_fault,
    "matrix": _matrix_fault,
    "item": _item_fault,
    "item_index": _item_fault,
    "run": _run_fault,
    "attempt": _attempt_fault,
    "steps": _step_fault,
}
"""What checks the names behind each root."""
