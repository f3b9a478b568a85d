"""A workflow as a tree of bodies: its own steps, and those inside each of its groups.

A name in an expression is looked up outwards: in the body where the expression stands, then in those
around it. `needs` and `after` name steps of their own body alone.
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from crewflow.graph.edges import Upstream
from crewflow.graph.occurrences import occurrences

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crewflow.graph.occurrences import Occurrence
    from crewflow.spec.model import Path, Step, Workflow


_MOST_NAMED = 1_000


@dataclass(frozen=True, eq=False)
class Body:
    """The steps of a workflow, or of the group that is its `owner`."""

    steps: tuple[Step, ...]
    owner: Step | None = None
    outer: Body | None = None

    @cached_property
    def by_id(self) -> dict[str, Step]:
        """The steps by id."""
        return {step.id: step for step in self.steps}

    @cached_property
    def visible(self) -> ChainMap[str, Step]:
        """The steps that an expression in it may name: its own, and those of the bodies around."""
        around = [] if self.outer is None else self.outer.visible.maps
        return ChainMap(self.by_id, *around)

    @cached_property
    def upstream(self) -> Upstream:
        """Which of the steps have ended before others."""
        return Upstream(self.steps)


@dataclass(frozen=True, slots=True)
class Found:
    """A step that a name leads to.

    Attributes:
        asked: the step itself.
        here: what asks for it from within the same body: the step that names it, or the group around
            it; None where the body as a whole asks once all of it has ended.
        body: where both stand.
    """

    asked: Step
    here: Step | None
    body: Body


class Tree:
    """The bodies of one workflow.

    Attributes:
        root: the body of the workflow itself.
        bodies: all of them, each before those inside it.
    """

    def __init__(self, workflow: Workflow) -> None:
        self.root = Body(workflow.steps)
        self.bodies = list(_all(self.root))
        self._holding: dict[Path, Body] = {step.path: body for body in self.bodies for step in body.steps}
        self._inside: dict[Path, Body] = {
            body.owner.path: body for body in self.bodies if body.owner is not None
        }

    def steps(self) -> Iterator[Step]:
        """All steps of all bodies."""
        for body in self.bodies:
            yield from body.steps

    def occurrences(self, step: Step) -> tuple[Occurrence, ...]:
        """Every expression of a step; found once for all."""
        return self._found.get(step.path, ())

    @cached_property
    def _found(self) -> dict[Path, tuple[Occurrence, ...]]:
        pairs = ((step.path, tuple(occurrences(step))) for step in self.steps())
        return {path: found for path, found in pairs if found}

    def holding(self, step: Step) -> Body:
        """The body that a step stands in."""
        return self._holding[step.path]

    def inside(self, group: Step) -> Body:
        """The body of a group."""
        return self._inside[group.path]

    def around(self, step: Step) -> Iterator[Step]:
        """A step and the groups that it stands in, from the inside out."""
        inner: Step | None = step
        while inner is not None:
            yield inner
            inner = self.holding(inner).owner

    def find(self, step: Step, name: str) -> Found | None:
        """The step that a name means in an expression of `step`."""
        for here in self.around(step):
            body = self.holding(here)
            if name in body.by_id:
                return Found(body.by_id[name], here, body)
        return None

    def find_within(self, group: Step | None, name: str) -> Found | None:
        """The step that a name means once all of a group has ended, or all of the workflow."""
        body = self.root if group is None else self.inside(group)
        if name in body.by_id:
            return Found(body.by_id[name], None, body)
        return None if group is None else self.find(group, name)

    def known_from(self, step: Step) -> Mapping[str, Step]:
        """The steps that expressions of `step` may name, to say what was meant; of very many those nearby."""
        maps = self.holding(step).visible.maps
        if len(maps) == 1 or sum(map(len, maps)) > _MOST_NAMED:
            return maps[0]
        return {name: found for one in reversed(maps) for name, found in one.items()}

    @cached_property
    def groups(self) -> dict[str, Step]:
        """For each name of a step inside a group the first such group."""
        found: dict[str, Step] = {}
        for body in self.bodies:
            for name in body.by_id if body.owner is not None else ():
                found.setdefault(name, body.owner or body.steps[0])
        return found


def _all(body: Body) -> Iterator[Body]:
    waiting = [body]
    while waiting:
        yield (one := waiting.pop())
        waiting += [Body(step.steps, step, one) for step in reversed(one.steps) if step.steps]
