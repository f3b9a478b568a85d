"""One workflow as it is checked once, whoever calls it how often: its tree, its types, its faults."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from crewflow.graph.calls import check_calls
from crewflow.graph.dag import path_lengths
from crewflow.graph.declared import Types
from crewflow.graph.edges import check_edges, known_edges
from crewflow.graph.findings import Findings
from crewflow.graph.keys import check_keys
from crewflow.graph.names import check_names
from crewflow.graph.occurrences import given_occurrences
from crewflow.graph.references import Scope
from crewflow.graph.tree import Tree
from crewflow.graph.typed import check_types
from crewflow.spec.model import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from crewflow.graph.tree import Body
    from crewflow.spec.expression import Expression
    from crewflow.spec.model import Project, Step, Workflow

_UNKNOWN_DURATION = 1.0
"""The length of a task of which nothing is said, so that the longest path is that of most tasks."""


class Sheet:
    """A workflow, checked as it is made.

    Attributes:
        workflow, tree, types: as their names say.
        findings: all faults of it; more are told while it is compiled.
    """

    def __init__(self, project: Project, workflow: Workflow) -> None:
        self.workflow = workflow
        self.findings = Findings(workflow.source)
        self.tree = Tree(workflow)
        self.types = Types(workflow, self.tree)
        for body in self.tree.bodies:
            check_edges(body.steps, _outside(body), self.findings)
        check_names(Scope(project, workflow, self.tree, self.types, self.findings))
        check_types(self.tree, self.types, self.findings)
        check_calls(project, workflow, self.tree, self.types, self.findings)
        check_keys(project, workflow, self.tree, self.findings)
        if workflow.team is not None or any(step.kind is Kind.PROMPT for step in self.tree.steps()):
            from crewflow.graph.roles import check_roles  # noqa: PLC0415  (many workflows ask no agent)

            check_roles(project, workflow, self.findings)

    @cached_property
    def read_results(self) -> frozenset[str]:
        """The ids of steps whose `result` some expression asks for, or that come with a prompt."""
        names = {name for expression in self._expressions() for name in _results_in(expression)}
        for step in self.tree.steps():
            names |= {*step.needs} if step.role and step.context in {None, "auto"} else set()
            names |= {*step.context} if isinstance(step.context, tuple) else set()
        return frozenset(names)

    def _expressions(self) -> Iterator[Expression]:
        for step in self.tree.steps():
            yield from (found.expression for found in self.tree.occurrences(step))
            if step.given:
                yield from (found.expression for found in given_occurrences((), step.given))
        yield from (found.expression for found in given_occurrences((), self.workflow.given))


def lengths(body: Body, inner: Callable[[Step], float]) -> dict[str, float]:
    """For each step the length of the longest path from it to the end of its body, in seconds.

    Args:
        body: the steps.
        inner: the length of a step that is a container.
    """
    edges = known_edges(body.steps)
    own = {
        step.id: inner(step) if step.steps or step.workflow else step.estimate or _UNKNOWN_DURATION
        for step in body.steps
    }
    return path_lengths(edges, own)


def _outside(body: Body) -> Collection[str]:
    """The ids of steps around a group."""
    return () if body.outer is None else body.outer.visible


def _results_in(expression: Expression) -> Iterator[str]:
    for reference in expression.paths:
        match reference.keys:
            case ("steps", str(name), "result", *_):
                yield name
