"""What a fan-out becomes once the run has given its values: its pattern, once for each leg.

Pure, and the same for whoever asks: the engine that runs it, and every reader that replays the journal.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crewflow.graph.fanout import Leg
    from crewflow.graph.plan import PlannedStep, Task


def unfolded(step: PlannedStep, legs: Iterable[Leg]) -> tuple[list[PlannedStep], list[Task]]:
    """The steps inside the legs of a step, and all tasks of its legs."""
    steps: list[PlannedStep] = []
    tasks: list[Task] = []
    for leg in legs if step.unfold is not None else ():
        name = _Renamed(step.id, f"{step.id}[{leg.label}]")
        for task in step.unfold.tasks if step.unfold is not None else ():
            own = task.id == step.id
            context = leg.context if own else task.context
            owner = task.step if own else name(task.step)
            tasks.append(replace(task, id=name(task.id), step=owner, context=context))
        steps += [name.step(inner) for inner in step.unfold.steps] if step.unfold is not None else []
    return steps, tasks


class _Renamed:
    """Names of the pattern as those of one leg."""

    def __init__(self, pattern: str, leg: str) -> None:
        self._pattern = pattern
        self._leg = leg

    def __call__(self, name: str) -> str:
        return self._leg + name[len(self._pattern) :]

    def step(self, step: PlannedStep) -> PlannedStep:
        unfold = step.unfold and replace(
            step.unfold,
            tasks=tuple(replace(task, id=self(task.id), step=self(task.step)) for task in step.unfold.tasks),
            steps=tuple(self.step(inner) for inner in step.unfold.steps),
        )
        return replace(
            step,
            id=self(step.id),
            tasks=tuple(self(task) for task in step.tasks),
            needs=tuple(self(name) for name in step.needs),
            after=tuple(self(name) for name in step.after),
            within=None if step.within is None else self(step.within),
            unfold=unfold,
        )
