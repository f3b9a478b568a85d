"""What a picture of a plan or a run shows: boxes within boxes, and lines between them.

Steps are boxes; a fan-out of few legs is a box with its legs in it, one of many a box that counts them and,
if they hold steps, has those of the first leg in it. What stands under `finally` is a box of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from crewflow.report.authored import MOST_SHOWN
from crewflow.report.outline import Outline, own_name
from crewflow.spec.model import CONTAINERS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crewflow.graph.plan import Plan, PlannedStep
    from crewflow.run.machine import Machine
    from crewflow.run.standing import StepRun

    States = Mapping[str, str] | None
    """Of tasks, by id, in the picture of a run."""

MOST_BOXES: Final = 1_000
"""What is more shows the steps of the run itself, and counts what is in them."""


class Shape(StrEnum):
    """What a box stands for."""

    TASK = "task"
    GATE = "gate"
    MANY = "many"  # a fan-out whose legs are counted, or not known
    FRAME = "frame"  # around other boxes
    FINALLY = "finally"


@dataclass(frozen=True, slots=True)
class Box:
    """A step, a leg, or what is around them.

    Attributes:
        id: of the step or task, unique in the picture; that of a `finally` ends in a slash.
        title: what is written on it.
        state: in the picture of a run.
        inside: the boxes in it, in the order of the plan.
        lines: those between two boxes inside it.
        prefix: what the ids of the boxes inside it begin with, and their authors leave out.
    """

    id: str
    title: str
    shape: Shape
    state: str | None = None
    inside: tuple[Box, ...] = ()
    lines: tuple[Line, ...] = ()
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """That one box waits for another: it `needs` it, or comes `after` it."""

    source: str
    target: str
    is_after: bool = False


def draw(plan: Plan, states: States = None) -> Box:
    """The picture of a plan: the box around all.

    Args:
        plan: of a run, with its fan-outs unfolded.
        states: of tasks, by id.
    """
    outline = Outline(plan)
    whole = _Drawing(outline, states or {}).scope(None, plan.workflow)
    if sum(1 for _ in walk(whole)) > MOST_BOXES:
        return _Drawing(outline, states or {}, folded=True).scope(None, plan.workflow)
    return whole


def walk(box: Box) -> Iterator[Box]:
    """A box and all inside it, each before what it holds."""
    waiting = [box]
    while waiting:
        yield (one := waiting.pop())
        waiting += reversed(one.inside)


class _Drawing:
    def __init__(self, outline: Outline, states: Mapping[str, str], *, folded: bool = False) -> None:
        self._outline = outline
        self._states = states
        self._folded = folded

    def scope(self, within: str | None, title: str) -> Box:
        """The box around the steps of a run or of a container, which it is called after."""
        steps = self._outline.inside.get(within, [])
        boxes = [self._step(step) for step in steps if not step.final]
        ends = [self._step(step) for step in steps if step.final]
        final = {step.id for step in steps if step.final}
        lines = [line for step in steps for line in _lines(step)]
        apart = [line for line in lines if {line.source, line.target} <= final]
        prefix = "" if within is None else f"{within}/"
        if ends:
            frame = Box(f"{prefix}finally/", "finally", Shape.FINALLY, prefix=prefix)
            boxes.append(replace(frame, inside=tuple(ends), lines=tuple(apart)))
        return Box(
            id=within or "",
            title=title,
            shape=Shape.FRAME,
            state=self._states.get(within or ""),
            inside=tuple(boxes),
            lines=tuple(line for line in lines if not {line.source, line.target} <= final),
            prefix=prefix,
        )

    def _step(self, step: PlannedStep) -> Box:
        name = own_name(step)
        first = self._outline.first(step)
        if first is None:
            return Box(step.id, f"{name} (x0)", Shape.MANY)
        if not step.fan_out:
            return self._task(first.id, name)
        if step.unfold is not None or len(step.tasks) > MOST_SHOWN or self._folded:
            title = f"{name} ({'as many as come' if step.unfold is not None else f'x{len(step.tasks)}'})"
            inner = self._task(first.id, title)
            return replace(inner, id=step.id, shape=_many(inner.shape), state=self._state_of(step))
        legs = tuple(self._task(task, task.removeprefix(step.id)) for task in step.tasks)
        return Box(step.id, name, Shape.FRAME, self._state_of(step), legs)

    def _task(self, task_id: str, title: str) -> Box:
        kind = self._outline.tasks[task_id].kind
        if kind in CONTAINERS and not self._folded:
            return self.scope(task_id, title)
        shape = Shape.GATE if kind is Kind.GATE else Shape.MANY if kind in CONTAINERS else Shape.TASK
        return Box(task_id, title, shape, self._states.get(task_id))

    def _state_of(self, step: PlannedStep) -> str | None:
        """The state of a fan-out: the first of these that one of its tasks is in."""
        states = {self._states.get(task.id) for task in self._outline.tasks_of(step)}
        return next((state for state in _WORST_FIRST if state in states), None)


_WORST_FIRST: Final = (
    "failed",
    "running",
    "waiting",
    "ready",
    "deciding",
    "pending",
    "cancelled",
    "succeeded",
    "skipped",
)


def _many(shape: Shape) -> Shape:
    return Shape.MANY if shape is Shape.TASK else shape


def _lines(step: PlannedStep) -> Iterator[Line]:
    yield from (Line(name, step.id) for name in step.needs)
    yield from (Line(name, step.id, is_after=True) for name in step.after if name not in step.needs)


def plan_as_run(machine: Machine) -> Plan:
    """The plan of a run as far as it is known by now: what has been unfolded stands in it as its legs."""
    steps = tuple(_as_run(step) for step in machine.steps.values())
    tasks = tuple(task.task for task in machine.tasks.values() if not task.stands_for_legs)
    return replace(machine.plan, steps=steps, tasks=tasks)


def states_of(machine: Machine) -> dict[str, str]:
    """The state of each task; of a fan-out that is not unfolded yet that of what stands for it."""
    return {name: str(task.state) for name, task in machine.tasks.items()}


def _as_run(step: StepRun) -> PlannedStep:
    planned = step.planned
    if planned.unfold is None or any(task.stands_for_legs for task in step.tasks):
        return planned
    return replace(planned, tasks=tuple(task.task.id for task in step.tasks), unfold=None)
