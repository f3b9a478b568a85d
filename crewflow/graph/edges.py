"""The edges between steps: names in `needs` and `after` that do not exist, and cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.errors import Note, Problem
from crewflow.graph.dag import cycles, topological
from crewflow.spec.suggest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.errors import Place
    from crewflow.spec.model import Path, Step, Workflow


def check_edges(workflow: Workflow) -> list[Problem]:
    """Every unknown, misdirected or circular edge of the workflow, one problem each."""
    steps = {step.id: step for step in workflow.steps}
    problems = [problem for step in workflow.steps for problem in _check_step(workflow, step, steps)]
    before = known_edges(workflow)
    if topological(before) is None:
        problems += [_cycle(workflow, cycle, steps) for cycle in cycles(before)]
    return problems


def known_edges(workflow: Workflow) -> dict[str, list[str]]:
    """Each step with the steps it waits for, unknown names left out."""
    known = {step.id for step in workflow.steps}
    return {
        step.id: [name for name in dict.fromkeys((*step.needs, *step.after)) if name in known]
        for step in workflow.steps
    }


class Upstream:
    """Which steps have ended before a given one starts; bit sets, so that a chain of 10,000 takes 12 MB."""

    def __init__(self, workflow: Workflow) -> None:
        before = known_edges(workflow)
        self._bit = {name: 1 << index for index, name in enumerate(before)}
        self._reached: dict[str, int] = {}
        for name in topological(before) or []:
            mask = 0
            for other in before[name]:
                mask |= self._bit[other] | self._reached[other]
            self._reached[name] = mask

    def holds(self, step: str, earlier: str) -> bool:
        """Whether `earlier` has ended before `step` starts; True where a cycle leaves it open."""
        return step not in self._reached or bool(self._reached[step] & self._bit[earlier])


def _check_step(workflow: Workflow, step: Step, steps: dict[str, Step]) -> Iterator[Problem]:
    for key, names in (("needs", step.needs), ("after", step.after)):
        for index, name in enumerate(names):
            path = (*step.path, key, index)
            if name not in steps:
                yield _unknown(workflow, path, step, name, steps)
            elif steps[name].final and not step.final:
                yield _needs_final(workflow, path, step, name)


def _unknown(workflow: Workflow, path: Path, step: Step, name: str, steps: dict[str, Step]) -> Problem:
    guess = nearest(name, steps)
    known = ", ".join(f"`{one}`" for one in list(steps)[:10])
    hint = f"did you mean `{guess}`?" if guess else f"steps of this workflow: {known}"
    return problem_at(
        workflow, workflow.source.place(path), "CF201", f"step `{step.id}` needs unknown step `{name}`", hint
    )


def _needs_final(workflow: Workflow, path: Path, step: Step, name: str) -> Problem:
    message = f"step `{step.id}` cannot wait for `{name}`, which stands under `finally`"
    return problem_at(
        workflow,
        workflow.source.place(path),
        "CF303",
        message,
        "move it under `finally`, or that one under `steps`",
    )


def _cycle(workflow: Workflow, cycle: list[str], steps: dict[str, Step]) -> Problem:
    if len(cycle) == 1:
        message, rule = f"step `{cycle[0]}` depends on itself", "CF302"
        hint = f"remove `{cycle[0]}` from its own `needs` or `after`"
    else:
        message, rule = f"steps wait for each other: {' -> '.join([*cycle, cycle[0]])}", "CF301"
        hint = "remove one of these edges"
    pairs = list(zip(cycle, cycle[1:] + cycle[:1], strict=True))
    places = [_edge_place(workflow, steps[waiting], waited) for waited, waiting in pairs]
    notes = [
        Note(place, f"`{waiting}` waits for `{waited}`")
        for place, (waited, waiting) in zip(places, pairs, strict=True)
    ]
    first = min(range(len(places)), key=lambda index: (places[index].line, places[index].column))
    return Problem(
        rule=rule,
        place=places[first],
        message=message,
        hint=hint,
        notes=tuple(notes) if len(cycle) > 1 else (),
        source_line=workflow.source.line_text(places[first].line),
    )


def _edge_place(workflow: Workflow, step: Step, name: str) -> Place:
    key, names = ("needs", step.needs) if name in step.needs else ("after", step.after)
    return workflow.source.place((*step.path, key, names.index(name)))


def problem_at(workflow: Workflow, place: Place, rule: str, message: str, hint: str | None = None) -> Problem:
    """A problem at a place of the workflow's document."""
    return Problem(rule, place, message, hint, source_line=workflow.source.line_text(place.line))
