"""What type a path in an expression has by declaration: known before there are any values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from crewflow.spec.expression_tree import Path as PathNode
from crewflow.spec.model import Kind

if TYPE_CHECKING:
    from crewflow.graph.tree import Tree
    from crewflow.spec.expression import Expression
    from crewflow.spec.model import Step, Workflow

    Keys = tuple[str | int, ...]

SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})

_FIXED: Final[dict[Keys, str]] = {
    ("item_index",): "integer",
    ("attempt", "number"): "integer",
    ("run", "id"): "string",
    ("run", "workflow"): "string",
    ("run", "project"): "string",
    ("run", "state"): "string",
    ("run", "failed"): "array",
}
_OF_STEPS: Final = {
    "state": "string",
    "outcome": "string",
    "exit_code": "integer",
    "error": "string",
    "attempts": "integer",
}


class Types:
    """The declared types of one workflow. A type is one of `spec.model.TYPE_WORDS`, None if not known.

    An optional input may be null all the same, and so may what a step that did not run would have given.
    """

    def __init__(self, workflow: Workflow, tree: Tree) -> None:
        self._inputs = workflow.inputs
        self._tree = tree

    def of(self, step: Step, expression: Expression) -> str | None:
        """The type of an expression of a step; what operators and filters make is not followed."""
        return self.of_path(step, expression.tree.keys) if isinstance(expression.tree, PathNode) else None

    def of_path(self, step: Step, keys: Keys) -> str | None:
        """The type of what a path names in an expression of a step."""
        match keys:
            case ("inputs", str(name)) if name in self._inputs:
                return self._inputs[name].type
            case ("env", _):
                return "string"
            case ("matrix", str(name)):
                holder = next((one for one in self._tree.around(step) if name in matrix_names(one)), step)
                return _integer_if_all(_axis_values(holder, name))
            case ("item",):
                holder = next((one for one in self._tree.around(step) if one.for_each is not None), step)
                return _integer_if_all(holder.for_each)
            case ("steps", str(name), *rest) if found := self._tree.find(step, name):
                return _type_of_result(found.asked, tuple(rest))
        return _FIXED.get(keys)


def is_fan_out(step: Step) -> bool:
    """Whether a step becomes any number of tasks."""
    return step.matrix is not None or step.for_each is not None


def matrix_names(step: Step) -> list[str]:
    """What `matrix.` may be followed by: the axes, and what inclusions add."""
    return list(dict.fromkeys([*(step.matrix or ()), *(key for rule in step.include for key in rule)]))


def declared_outputs(step: Step) -> list[str]:
    """The names of what a step gives; a call gives what its workflow declares, which is not known here."""
    if step.kind is Kind.GATE:
        return list(step.later.get("approval", {}).get("inputs", {}))
    return [*step.given, *(output.name for output in step.outputs)]


def _type_of_result(asked: Step, keys: Keys) -> str | None:
    """The type of a property or output of a step; but for its state, those of a fan-out are lists."""
    match keys:
        case ("outputs", str(name)):
            word = next((output.type for output in asked.outputs if output.name == name), None)
        case (str(fact),):
            word = _OF_STEPS.get(fact)
        case _:
            return None
    return "array" if word is not None and is_fan_out(asked) and keys != ("state",) else word


def _axis_values(step: Step, name: str) -> Any:
    """The values of an axis with those of inclusions; None where they are not all in the file."""
    values = (step.matrix or {}).get(name, [])
    return [*values, *(rule[name] for rule in step.include if name in rule)] if _is_list(values) else None


def _integer_if_all(values: Any) -> str | None:
    """`integer` for a list of nothing else. Other values of a fan-out may differ from leg to leg."""
    if not _is_list(values) or not values:
        return None
    return "integer" if all(isinstance(one, int) and not isinstance(one, bool) for one in values) else None


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)
