"""A plan as a tree: what stands in what, what each step is called, how long the longest path is.

    outline = Outline(plan)
    for step in outline.inside[None]: ...                   the steps of the run itself, in order
    for step in outline.inside[outline.first(step).id]: ... those inside the first leg of a container

The pattern of a fan-out whose values only the run gives stands for its legs: it is called as the step.
Everything here takes time in proportion to the size of the plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from crewflow.graph.dag import critical_path, topological
from crewflow.report.authored import authored
from crewflow.spec.expression_values import json_form
from crewflow.spec.model import CONTAINERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crewflow.graph.plan import Plan, PlannedStep, Task, Unfold

UNKNOWN: Final = 1.0
"""Seconds that a task counts of which nothing is said, so that the longest path is that of most tasks."""


@dataclass(frozen=True, slots=True)
class Longest:
    """The longest path of a plan.

    Attributes:
        steps: their ids in order; of a container what is inside it, not itself.
        seconds: the sum of their estimates; None when none of them has one.
        estimated: how many of them have one.
        work: the sum of the estimates of all tasks, in seconds.
    """

    steps: tuple[str, ...]
    seconds: float | None
    estimated: int
    work: float


@dataclass(frozen=True, slots=True)
class Size:
    """How large a plan is: steps as their author wrote them, tasks without containers, unknown lists."""

    steps: int
    tasks: int
    unknown: int


@dataclass(frozen=True, slots=True)
class _Length:
    """Of a path: what it counts, what of it is said, and its steps that run something."""

    counted: float = 0.0
    said: float = 0.0
    path: tuple[str, ...] = ()

    def __add__(self, other: _Length) -> _Length:
        return _Length(self.counted + other.counted, self.said + other.said, self.path + other.path)


class Outline:
    """The tree of a plan.

    Attributes:
        steps: all by id, those of patterns too, each behind the container that it stands in.
        tasks: all by id; the pattern of a fan-out is called as its step.
        inside: the steps inside each container, in the order of the plan; None: those of the run itself.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.steps: dict[str, PlannedStep] = {}
        self.tasks: dict[str, Task] = {}
        self.inside: dict[str | None, list[PlannedStep]] = {None: []}
        waiting: list[tuple[Iterable[PlannedStep], Iterable[Task]]] = [(plan.steps, plan.tasks)]
        for steps, tasks in waiting:
            self.tasks |= {task.id: task for task in tasks}
            for step in steps:
                self.steps[step.id] = step
                self.inside.setdefault(step.within, []).append(step)
                if step.unfold is not None:
                    waiting.append((step.unfold.steps, step.unfold.tasks))

    def tasks_of(self, step: PlannedStep) -> list[Task]:
        """The tasks of a step in order; the pattern alone where its legs are not known yet."""
        if step.unfold is not None:
            return [self.tasks[step.id]]
        return [self.tasks[name] for name in step.tasks]

    def first(self, step: PlannedStep) -> Task | None:
        """The task that stands for all tasks of a step; None if it has none."""
        if step.unfold is not None:
            return self.tasks[step.id]
        return self.tasks[step.tasks[0]] if step.tasks else None

    def ordered(self, within: str | None) -> list[PlannedStep]:
        """The steps inside a container in an order in which they could run, `finally` last."""
        steps = self.inside.get(within, [])
        by_id = {step.id: step for step in steps}
        order = topological({step.id: _before(step, by_id) for step in steps}) or []
        return sorted((by_id[name] for name in order), key=lambda step: step.final)

    @cached_property
    def shown(self) -> list[tuple[PlannedStep, int]]:
        """Each step as it was written, once, with its depth: of the legs of a container the first alone."""
        found = []
        waiting = [(step, 0) for step in reversed(self.ordered(None))]
        while waiting:
            step, depth = waiting.pop()
            found.append((step, depth))
            first = self.first(step)
            if first is not None and first.kind in CONTAINERS:
                waiting += [(inner, depth + 1) for inner in reversed(self.ordered(first.id))]
        return found

    @cached_property
    def names(self) -> dict[str, str]:
        """What each step is called where legs are not told apart: `test/lint` for `test[3.11]/lint`."""
        names: dict[str, str] = {}
        for step in self.steps.values():
            outer = "" if step.within is None else f"{names[self.tasks[step.within].step]}/"
            names[step.id] = outer + own_name(step)
        return names

    def size(self) -> Size:
        """How many steps and tasks there are, and how many lists only the run gives."""
        unknown = {self.names[step.id] for step in self.steps.values() if step.unfold is not None}
        leaves = sum(task.kind not in CONTAINERS for task in self.plan.tasks)
        return Size(len(set(self.names.values())), leaves, len(unknown))

    def longest(self) -> Longest:
        """The longest path, through containers, with what their estimates say."""
        lengths: dict[str, _Length] = {}
        for within in reversed(list(self._containers())):
            lengths[within or ""] = self._length_inside(within, lengths)
        whole = lengths[""]
        known = sum(self._estimate(name) is not None for name in whole.path)
        work = sum(task.estimate or 0.0 for task in self.tasks.values() if task.kind not in CONTAINERS)
        return Longest(whole.path, whole.said if known else None, known, work)

    def _containers(self) -> Iterator[str | None]:
        """All that holds steps, each before what is inside it."""
        yield None
        for step in self.steps.values():
            yield from (task.id for task in self.tasks_of(step) if task.kind in CONTAINERS)

    def _estimate(self, step: str) -> float | None:
        task = self.first(self.steps[step])
        return None if task is None else task.estimate

    def _length_inside(self, within: str | None, lengths: dict[str, _Length]) -> _Length:
        total = _Length()
        steps = self.inside.get(within, [])
        for final in (False, True):
            part = {step.id: step for step in steps if step.final is final}
            own = {name: self._length(step, lengths) for name, step in part.items()}
            before = {name: _before(step, part) for name, step in part.items()}
            path = critical_path(before, {name: one.counted for name, one in own.items()})
            total += _Length(
                sum(own[name].counted for name in path),
                sum(own[name].said for name in path),
                tuple(name for one in path for name in own[one].path),
            )
        return total

    def _length(self, step: PlannedStep, lengths: dict[str, _Length]) -> _Length:
        """The length of a step: its longest task, or what its limit makes of all of them."""
        each = [self._length_of_task(step, task, lengths) for task in self.tasks_of(step)]
        longest = max(each, key=lambda one: one.counted, default=_Length(path=(step.id,)))
        if step.max_parallel is None:
            return longest
        counted = max(longest.counted, sum(one.counted for one in each) / step.max_parallel)
        said = max(longest.said, sum(one.said for one in each) / step.max_parallel)
        return _Length(counted, said, longest.path)

    @staticmethod
    def _length_of_task(step: PlannedStep, task: Task, lengths: dict[str, _Length]) -> _Length:
        if task.kind in CONTAINERS:
            return lengths[task.id]
        return _Length(task.estimate or UNKNOWN, task.estimate or 0.0, (step.id,))


def own_name(step: PlannedStep) -> str:
    """The name that a step has inside its container."""
    return step.id if step.within is None else step.id.removeprefix(f"{step.within}/")


def bound(unfold: Unfold) -> str:
    """How many tasks a fan-out becomes, as far as that is known before the run."""
    many = f"at most {unfold.most:,}"
    if unfold.for_each is not None:
        return f"as many tasks as {_source(unfold.for_each)} has items, {many}"
    axes = [f"`{name}` ({_source(values)})" for name, values in (unfold.matrix or {}).items()]
    return f"as many tasks as {' and '.join(axes)} {'have' if len(axes) > 1 else 'has'} combinations, {many}"


def _source(value: Any) -> str:
    """What yields the values, as its author wrote it."""
    if isinstance(value, list | tuple):
        return f"a list of {len(value):,}"
    text = authored(value) if value is not None else ""
    inner = text.removeprefix("${{").removesuffix("}}").strip()
    return f"`{inner if '${{' not in inner else text}`" if text else json_form(value)


def _before(step: PlannedStep, known: dict[str, PlannedStep]) -> list[str]:
    return [name for name in (*step.needs, *step.after) if name in known]
