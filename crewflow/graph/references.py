"""What a dotted path in an expression may name: the tables of names, and why a path is not among them.

    fault = reference_fault(scope, step, reference, in_fan_out=False)

A name whose declaration stands in the file but was left out, because it is at fault itself, is not told
to be unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from crewflow.graph.declared import SCALARS, declared_outputs, matrix_names
from crewflow.spec.inputs import TYPE_NAMES
from crewflow.spec.model import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from crewflow.graph.declared import Types
    from crewflow.graph.findings import Findings
    from crewflow.graph.tree import Found, Tree
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
    "patch",
    "tasks",
)
WHOLE_NAMES: Final = ("state", "outcome", "error", "outputs")
"""Those of a step that is a group, a call or a gate: it has no process of its own."""

LATER_STEP_NAMES: Final = frozenset({"patch", "tasks"})
"""Those that no step gives in this version."""

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
    tree: Tree
    types: Types
    findings: Findings

    @cached_property
    def env(self) -> dict[str, object]:
        """The variables of project and workflow."""
        return {**self.project.env, **self.workflow.env}

    def env_of(self, step: Step) -> dict[str, object]:
        """The variables that an expression of a step may ask for: with those of the groups around it."""
        groups = [one.env for one in self.tree.around(step) if one is not step]
        return {**self.env, **{name: text for env in reversed(groups) for name, text in env.items()}}


def reference_fault(scope: Scope, step: Step, reference: PathRef, *, in_fan_out: bool) -> Fault | None:
    """What is wrong with a path in an expression of a step; None if nothing is."""
    root, *rest = (str(key) for key in reference.keys)
    if in_fan_out and root in _OF_A_LEG and not _is_of_group(scope, step, root):
        return _fan_out_fault(root)
    return _CHECKS[root](scope, step, rest) or _part_fault(scope, step, reference.keys)


def output_fault(scope: Scope, group: Step | None, reference: PathRef) -> Fault | None:
    """What is wrong with a path in the `outputs` of a group, or of the workflow: asked when it has ended."""
    root, *rest = (str(key) for key in reference.keys)
    if root == "steps":
        return _ended_step_fault(scope, group, rest)
    if group is not None and root != "attempt":
        return _CHECKS[root](scope, group, rest)
    if root in {"inputs", "run"}:
        return workflow_env_fault(scope, reference)
    if root == "env":
        return _unknown(scope, "env", _first(rest), scope.env, None, ("env",))
    return Fault("CF202", f"`{root}` is not known in `outputs`", "use `steps`, `inputs`, `env` or `run`")


def workflow_env_fault(scope: Scope, reference: PathRef) -> Fault | None:
    """What is wrong with a path in the workflow's `env`, which is worked out once for the whole run."""
    root, *rest = (str(key) for key in reference.keys)
    if root == "inputs":
        return _input_fault(scope, None, rest)
    if root == "run":
        return _unknown(scope, "run", _first(rest), LASTING_RUN_NAMES, None)
    message = f"`{root}` is not known in the `env` of a workflow"
    return Fault("CF202", message, "use `inputs` or `run`, or the `env` of a step")


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


_OF_A_LEG: Final = frozenset({"matrix", "item", "item_index", "attempt"})


def _is_of_group(scope: Scope, step: Step, root: str) -> bool:
    """Whether a group around a step gives it what a fan-out has one of for each leg."""
    key = "matrix" if root == "matrix" else "for_each"
    return root != "attempt" and any(
        getattr(one, key) is not None for one in scope.tree.around(step) if one is not step
    )


def _fan_out_fault(root: str) -> Fault:
    message = f"`{root}` is not known when a fan-out is made"
    return Fault("CF207", message, "use a list, `inputs`, or what a step before gave")


def _first(rest: list[str]) -> str | None:
    return rest[0] if rest else None


def _input_fault(scope: Scope, _: Step | None, rest: list[str]) -> Fault | None:
    advice = "declare it under the workflow's `inputs`"
    return _unknown(scope, "inputs", _first(rest), scope.workflow.inputs, advice, ("inputs",))


def _env_fault(scope: Scope, step: Step, rest: list[str]) -> Fault | None:
    advice = "declare it under the workflow's or the project's `env`"
    return _unknown(scope, "env", _first(rest), scope.env_of(step), advice, ("env",))


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
    around = list(scope.tree.around(step))
    names = [name for one in around for name in matrix_names(one)]
    if any(one.matrix is not None for one in around):
        return _unknown(scope, "matrix", _first(rest), names, None, (*step.path, "matrix"))
    if any(scope.findings.is_written((*one.path, "matrix")) for one in around):
        return None
    hint = "use `item`" if step.for_each is not None else "add one, or use `inputs`"
    return Fault("CF202", f"step `{step.id}` has no `matrix`", hint)


def _item_fault(scope: Scope, step: Step, _: list[str]) -> Fault | None:
    around = list(scope.tree.around(step))
    if any(one.for_each is not None or scope.findings.is_written((*one.path, "for_each")) for one in around):
        return None
    names = ", ".join(f"`matrix.{name}`" for one in around for name in matrix_names(one))
    hint = f"use {names}" if names else "add `for_each`"
    return Fault("CF202", f"`item` has no value: step `{step.id}` has no `for_each`", hint)


def _step_fault(scope: Scope, step: Step, rest: list[str]) -> Fault | None:
    found = scope.tree.find(step, rest[0]) if rest else None
    inside = _inner_advice(scope, rest) if found is None else None
    if inside is not None:
        return Fault("CF202", f"`steps.{rest[0]}` does not exist", inside)
    if found is None:
        return _unknown(scope, "steps", _first(rest), scope.tree.known_from(step), None)
    return _order_fault(found) or _property_fault(scope, found.asked, rest[1:])


def _ended_step_fault(scope: Scope, group: Step | None, rest: list[str]) -> Fault | None:
    found = scope.tree.find_within(group, rest[0]) if rest else None
    if found is None:
        body = scope.tree.root if group is None else scope.tree.inside(group)
        return _unknown(scope, "steps", _first(rest), body.by_id, None)
    return _order_fault(found) or _property_fault(scope, found.asked, rest[1:])


def _inner_advice(scope: Scope, rest: list[str]) -> str | None:
    """What to do about the name of a step that stands inside of a group."""
    group = scope.tree.groups.get(rest[0]) if rest else None
    if group is None:
        return None
    return f"`{rest[0]}` stands in group `{group.id}`: declare what it gives in its `outputs`"


def _order_fault(found: Found) -> Fault | None:
    step, asked, upstream = found.here, found.asked, found.body.upstream
    if step is None:
        return None
    if asked is step:
        message = f"step `{step.id}` asks for its own result"
        inside = bool(step.steps)
        return Fault("CF203", message, "ask outside of it" if inside else "use `attempt` for earlier tries")
    if asked.final and not step.final:
        message = f"step `{step.id}` asks for `{asked.id}`, which stands under `finally` and runs later"
        return Fault("CF203", message, f"move `{step.id}` under `finally`, or `{asked.id}` under `steps`")
    if upstream.holds(step.id, asked.id):
        return None
    message = f"step `{step.id}` asks for step `{asked.id}`, which may not have ended by then"
    if upstream.holds(asked.id, step.id):
        return Fault("CF203", message, f"`{asked.id}` waits for `{step.id}`: ask there, not here")
    return Fault("CF203", message, f"add `{asked.id}` to the `needs` or `after` of `{step.id}`")


def _property_fault(scope: Scope, asked: Step, rest: list[str]) -> Fault | None:
    prefix = f"steps.{asked.id}"
    word = rest[0] if rest else None
    known = WHOLE_NAMES if asked.kind in _WHOLES else STEP_NAMES
    other = _OTHER_STEP_NAMES.get(str(word))
    if other in known:
        return Fault("CF202", f"`{prefix}.{word}` does not exist", f"did you mean `{prefix}.{other}`?")
    if word not in {"outputs", "artifacts"} or word not in known:
        return _unknown(scope, prefix, word, known, _of_inner(scope, asked, word))
    name = rest[1] if len(rest) > 1 else None
    declared, advice, written = _declared(scope, asked, word)
    if declared is None:
        return None
    return _unknown(scope, f"{prefix}.{word}", name, declared, advice, written)


def _of_inner(scope: Scope, asked: Step, word: str | None) -> str | None:
    if asked.steps and word in {"steps", *scope.tree.inside(asked).by_id}:
        return f"declare what it gives in the `outputs` of `{asked.id}`"
    return None


def _declared(scope: Scope, asked: Step, word: str) -> tuple[Collection[str] | None, str | None, Path | None]:
    """The names behind `outputs` or `artifacts`, where to declare more, and where they are written."""
    if asked.kind is not Kind.CALL:
        names = declared_outputs(asked) if word == "outputs" else list(asked.artifacts)
        where = ("approval", "inputs") if asked.kind is Kind.GATE else (word,)
        advice = f"declare it under the `{' '.join(where)}` of `{asked.id}`"
        return names, advice, (*asked.path, *where)
    called = scope.project.workflow(asked.workflow or "")
    if called is None:
        return None, None, None
    return called.given, f"declare it under the `outputs` of workflow `{called.name}`", None


_WHOLES: Final = frozenset({Kind.GROUP, Kind.CALL, Kind.GATE})

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
