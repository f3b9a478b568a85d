"""The compiled workflow as plain data: what a run executes, and nothing that only an author needs.

A `Plan` is made by `graph.compile` and never changed. It has no positions and no names that could be
unresolved, and a JSON form (`to_bytes`, `from_bytes`) that is the same on every machine; the fingerprint
is the hash of that form. `from_bytes(plan.to_bytes())` equals the plan.

Objects have their keys in the order of the alphabet, in the values that expressions see too: what is made
of the text of an object is the same in the run that compiled it and in the one that reads it back. The
order of steps and tasks is kept and decides: of two tasks with equally long paths behind them, the first
starts first.

Edges are kept between steps, not between tasks: a step that needs a fan-out of 10,000 legs has one
edge, and the machine counts legs. `needs` and `after` of a task are those of its step.

The task of a group or of a call is a *container*: it runs nothing itself, and holds steps, which are named
behind it: step `test[3.11]/lint` stands within task `test[3.11]`. A fan-out over values that only the run
gives is an `Unfold`: the pattern of its tasks, and a bound.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from crewflow.spec.expression import ExpressionFault
from crewflow.spec.model import Backoff, Kind, OnFailure, Output, Retry
from crewflow.spec.scalars import ScalarFault
from crewflow.spec.template import from_plain, to_plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from crewflow.spec.template import Text

PLAN_FORMAT = 2
"""Raised when the meaning of a plan file changes; a plan of another format is refused by name."""


class Condition(StrEnum):
    """How a task's `if` takes part in deciding whether it runs."""

    SUCCESS = "success"  # no `if`: runs when every need succeeded
    GUARDED = "guarded"  # an `if` without a status function: asked only when every need succeeded
    STATUS = "status"  # an `if` with a status function: asked whatever became of the needs


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step with its edges.

    Attributes:
        tasks: ids of its tasks in order; one without a fan-out, possibly none with one.
        needs: steps that must have succeeded; `after`: steps that must have ended.
        final: it starts when everything outside `finally` has ended, in the run or in its container.
        max_parallel: how many of its tasks may run at once; None for no limit of its own.
        within: the container that it stands in; None for the steps of the run itself.
        on_failure: its own policy for the rest of its tasks; None for that of what is around it.
        unfold: what it becomes once its values are known; `tasks` is empty till then.
    """

    id: str
    tasks: tuple[str, ...]
    needs: tuple[str, ...]
    after: tuple[str, ...]
    final: bool
    fan_out: bool
    max_parallel: int | None
    within: str | None = None
    on_failure: OnFailure | None = None
    unfold: Unfold | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """One unit to run.

    Attributes:
        id: the step's id, with the leg in brackets for a fan-out: `test[3.11]`.
        action: a script (text), the words of a command (each text or a list to be spliced in), or
            `module:function`.
        script_env: the variables that carry the values of expressions into a script.
        condition: how `condition_text` takes part; the text is None when there is no `if`.
        context: what `matrix`, `item` and `item_index` mean in this task.
        timeout, grace: seconds, or text that yields a duration; timeout None means no limit.
        allow_failure: whether, or for which failure classes, a failure counts as success.
        keeps_stdout: something reads this step's `result` or an output from its stdout.
        weight: length of the longest path from this task to the end, its own estimate included.
        priority: goes before the weight.
        estimate: seconds that it is said to take; None when nothing is said.
        slots: of a container, how many of the tasks in it may run at once.
        given: what a container gives, by name, asked when it has ended.
        declared: of a call, the JSON Schema of each input whose value only the run gives.
        prompt: of an agent; `agent` is who is asked: its name, model, access, instructions.
        informed_by: steps whose results come with the prompt.
        later: keys whose running comes later.
    """

    id: str
    step: str
    kind: Kind
    action: str | tuple[Text, ...]
    script_env: dict[str, Text]
    shell: tuple[str, ...]
    arguments: Any
    env: dict[str, Text]
    cwd: Text
    condition: Condition
    condition_text: str | None
    context: dict[str, Any]
    timeout: float | Text | None
    grace: float | Text
    retry: Retry
    outputs: tuple[Output, ...]
    artifacts: dict[str, tuple[Text, ...]]
    allow_failure: bool | tuple[str, ...] | Text
    idempotent: bool
    keeps_stdout: bool
    weight: float
    priority: int = 0
    estimate: float | None = None
    slots: int | None = None
    given: dict[str, Text] = field(default_factory=dict)
    declared: dict[str, Any] = field(default_factory=dict)
    prompt: Text = ""
    agent: dict[str, Any] = field(default_factory=dict)
    informed_by: tuple[str, ...] = ()
    later: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unfold:
    """A fan-out whose values only the run gives.

    Attributes:
        for_each, matrix: what yields the values: one of them is None, or has expressions.
        tasks: the pattern of a leg: the task, called as the step, and all tasks inside it.
        steps: the steps inside it, if it is a container.
        most: how many legs there may be.
    """

    for_each: Any
    matrix: dict[str, Any] | None
    include: tuple[dict[str, Any], ...]
    exclude: tuple[dict[str, Any], ...]
    tasks: tuple[Task, ...]
    steps: tuple[PlannedStep, ...]
    most: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What one run executes.

    Attributes:
        inputs: values after defaults, of their declared types.
        env: variables of project and workflow, set for every task.
        max_parallel: the workflow's own limit; None for none.
        steps, tasks: in the order of the file, those under `finally` after all others.
        later: keys of the workflow whose running comes later.
    """

    workflow: str
    project: str
    inputs: dict[str, Any]
    env: dict[str, Text]
    max_parallel: int | None
    on_failure: OnFailure
    steps: tuple[PlannedStep, ...]
    tasks: tuple[Task, ...]
    later: dict[str, Any] = field(default_factory=dict)

    def fingerprint(self) -> str:
        """The sha256 of all that decides what runs; the same on every machine."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def to_bytes(self) -> bytes:
        """The plan as canonical JSON, which is also the plan file of a run."""
        text = json.dumps(to_json(self), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        # An expression may make half of a surrogate pair, which no input of a workflow can hold.
        return text.encode("utf-8", "surrogatepass") + b"\n"


def to_json(plan: Plan) -> dict[str, Any]:
    """The JSON form of a plan: fields that say nothing are left out."""
    return {
        "format": PLAN_FORMAT,
        "workflow": plan.workflow,
        "project": plan.project,
        "inputs": to_plain(plan.inputs),
        "env": to_plain(plan.env),
        "max_parallel": plan.max_parallel,
        "on_failure": plan.on_failure,
        "steps": [_step_to_json(step) for step in plan.steps],
        "tasks": [_task_to_json(task) for task in plan.tasks],
        **({"later": to_plain(plan.later)} if plan.later else {}),
    }


def from_bytes(data: bytes) -> Plan:
    """The plan of a plan file. Raises ValueError, in words for people, if it is no plan of this format."""
    try:
        document = json.loads(data.decode("utf-8", "surrogatepass"))
        found = document["format"]
        plan = _from_json(document) if found == PLAN_FORMAT else None
    except _DAMAGES as error:
        raise ValueError("it is no plan, or a damaged one") from error
    if plan is None:
        raise ValueError(f"it is a plan of format {found}, and this version reads format {PLAN_FORMAT}")
    return plan


def in_order(value: Any) -> Any:
    """A copy of a value with the keys of its objects in the order of the alphabet."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(item) for item in value] if isinstance(value, list) else value


_DAMAGES = (ValueError, KeyError, TypeError, AttributeError, RecursionError, ExpressionFault, ScalarFault)
"""What reading a file that is no plan can end in."""


def _from_json(document: dict[str, Any]) -> Plan:
    return Plan(
        workflow=document["workflow"],
        project=document["project"],
        inputs=from_plain(document["inputs"]),
        env=from_plain(document["env"]),
        max_parallel=document["max_parallel"],
        on_failure=OnFailure(document["on_failure"]),
        steps=tuple(_step_from_json(step) for step in document["steps"]),
        tasks=tuple(_task_from_json(task) for task in document["tasks"]),
        later=from_plain(document.get("later", {})),
    )


_STEP_DEFAULTS: dict[str, Any] = {
    "needs": (),
    "after": (),
    "final": False,
    "fan_out": False,
    "max_parallel": None,
    "within": None,
    "on_failure": None,
    "unfold": None,
}

_TASK_DEFAULTS: dict[str, Any] = {
    "script_env": {},
    "shell": (),
    "arguments": {},
    "env": {},
    "cwd": "",
    "condition": Condition.SUCCESS,
    "condition_text": None,
    "context": {},
    "timeout": None,
    "grace": 10.0,
    "retry": Retry(),
    "outputs": (),
    "artifacts": {},
    "allow_failure": False,
    "idempotent": True,
    "keeps_stdout": False,
    "priority": 0,
    "estimate": None,
    "slots": None,
    "given": {},
    "declared": {},
    "prompt": "",
    "agent": {},
    "informed_by": (),
    "later": {},
}


def _step_to_json(step: PlannedStep) -> dict[str, Any]:
    said = {name: getattr(step, name) for name in ("id", "tasks")}
    said |= {
        name: value for name, default in _STEP_DEFAULTS.items() if (value := getattr(step, name)) != default
    }
    return said if step.unfold is None else said | {"unfold": _unfold_to_json(step.unfold)}


def _step_from_json(said: dict[str, Any]) -> PlannedStep:
    values = _STEP_DEFAULTS | said
    for name in ("tasks", "needs", "after"):
        values[name] = tuple(values[name])
    if values["on_failure"] is not None:
        values["on_failure"] = OnFailure(values["on_failure"])
    if values["unfold"] is not None:
        values["unfold"] = _unfold_from_json(values["unfold"])
    return PlannedStep(**values)


def _unfold_to_json(unfold: Unfold) -> dict[str, Any]:
    return {
        "for_each": to_plain(unfold.for_each),
        "matrix": to_plain(unfold.matrix),
        "include": to_plain(list(unfold.include)),
        "exclude": to_plain(list(unfold.exclude)),
        "tasks": [_task_to_json(task) for task in unfold.tasks],
        "steps": [_step_to_json(step) for step in unfold.steps],
        "most": unfold.most,
    }


def _unfold_from_json(said: dict[str, Any]) -> Unfold:
    return Unfold(
        for_each=from_plain(said["for_each"]),
        matrix=from_plain(said["matrix"]),
        include=tuple(from_plain(said["include"])),
        exclude=tuple(from_plain(said["exclude"])),
        tasks=tuple(_task_from_json(task) for task in said["tasks"]),
        steps=tuple(_step_from_json(step) for step in said["steps"]),
        most=said["most"],
    )


def _task_to_json(task: Task) -> dict[str, Any]:
    said: dict[str, Any] = {
        "id": task.id,
        "step": task.step,
        "kind": task.kind,
        "action": to_plain(task.action),
        "weight": task.weight,
    }
    for name, default in _TASK_DEFAULTS.items():
        value = getattr(task, name)
        if value != default:
            said[name] = _PLAIN.get(name, to_plain)(value)
    return said


def _task_from_json(said: dict[str, Any]) -> Task:
    values = dict(_TASK_DEFAULTS)
    for name, value in said.items():
        values[name] = _UNPLAIN.get(name, from_plain)(value)
    return Task(**values)


def _retry_to_json(retry: Retry) -> dict[str, Any]:
    return asdict(retry)


def _retry_from_json(said: dict[str, Any]) -> Retry:
    lists = {name: tuple(said[name]) for name in ("when", "unless")}
    return Retry(**(said | lists | {"backoff": Backoff(said["backoff"])}))


def _outputs_to_json(outputs: tuple[Output, ...]) -> list[dict[str, Any]]:
    return [asdict(output) | {"default": to_plain(output.default)} for output in outputs]


def _outputs_from_json(said: list[dict[str, Any]]) -> tuple[Output, ...]:
    return tuple(Output(**(one | {"default": from_plain(one["default"])})) for one in said)


def _action_from_json(said: Any) -> str | tuple[Text, ...]:
    value = from_plain(said)
    return value if isinstance(value, str) else tuple(value)


def _allowed_from_json(said: Any) -> Any:
    return tuple(said) if isinstance(said, list) else from_plain(said)


def _artifacts_from_json(said: dict[str, Any]) -> dict[str, tuple[Text, ...]]:
    return {name: tuple(patterns) for name, patterns in from_plain(said).items()}


_PLAIN: dict[str, Callable[[Any], Any]] = {"retry": _retry_to_json, "outputs": _outputs_to_json}

_UNPLAIN: dict[str, Callable[[Any], Any]] = {
    "kind": Kind,
    "action": _action_from_json,
    "shell": tuple,
    "informed_by": tuple,
    "condition": Condition,
    "retry": _retry_from_json,
    "outputs": _outputs_from_json,
    "allow_failure": _allowed_from_json,
    "artifacts": _artifacts_from_json,
}
