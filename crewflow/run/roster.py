"""Which steps, tasks and scopes there are: those of the plan, and what fan-outs have been unfolded to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.graph.unfold import unfolded
from crewflow.run.reopen import reopen
from crewflow.run.standing import ScopeRun, StepRun, TaskRun
from crewflow.spec.model import CONTAINERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crewflow.graph.fanout import Leg
    from crewflow.graph.plan import Plan, PlannedStep, Task
    from crewflow.run.standing import Level

    ByStep = dict[str, list[Task]]


class Roster:
    """The steps and tasks of a run by id, in the plan's order; those of an unfolded step come behind.

    Attributes:
        root: the scope of the run itself.
    """

    def __init__(self, plan: Plan) -> None:
        self.steps: dict[str, StepRun] = {}
        self.tasks: dict[str, TaskRun] = {}
        self.root = ScopeRun(None)
        self._add(plan.steps, _by_step(plan.tasks), (), 0)

    def unfold(self, task: TaskRun, legs: Iterable[Leg]) -> None:
        """Put the legs of a fan-out, ready to begin, in the place of what stood for them."""
        step = task.step
        del self.tasks[task.task.id]
        step.tasks.clear()
        steps, tasks = unfolded(step.planned, legs)
        by_step = _by_step(tasks)
        for number, leg in enumerate(by_step.pop(step.planned.id, [])):
            self._add_task(leg, step, (*task.index, number))
        step.open = len(step.tasks)
        self._add(steps, by_step, task.index, step.open)
        for one in step.tasks:
            if one.inner is not None:
                reopen(one.inner)

    def _add(self, steps: Sequence[PlannedStep], by_step: ByStep, place: tuple[int, ...], first: int) -> None:
        """Take in steps with their tasks, each container before what is inside it."""
        number = first
        for planned in steps:
            tasks = _tasks_of(planned, by_step)
            step = self._add_step(planned, tasks)
            for task in tasks:
                self._add_task(task, step, (*place, number))
                number += 1
            step.open = len(tasks)
        for planned in steps:
            needs, after = (map(self.steps.__getitem__, names) for names in (planned.needs, planned.after))
            self.steps[planned.id].connect(needs, after)

    def _add_step(self, planned: PlannedStep, tasks: Sequence[Task]) -> StepRun:
        step = StepRun(planned, self._scope(planned.within))
        # a container takes no slot, so that what is around it does not count it
        own_only = bool(tasks) and tasks[0].kind in CONTAINERS
        step.levels = _levels(step, own_only=own_only)
        step.scope.steps.append(step)
        self.steps[planned.id] = step
        return step

    def _scope(self, container: str | None) -> ScopeRun:
        inner = self.root if container is None else self.tasks[container].inner
        if inner is None:
            message = f"{container} holds steps and is no container"
            raise AssertionError(message)
        return inner

    def _add_task(self, task: Task, step: StepRun, index: tuple[int, ...]) -> None:
        run = TaskRun(task, step, index)
        run.stands_for_legs = step.planned.unfold is not None and task.id == step.planned.id
        if task.kind in CONTAINERS and not run.stands_for_legs:
            run.inner = ScopeRun(run)
        step.tasks.append(run)
        self.tasks[task.id] = run


def _by_step(tasks: Iterable[Task]) -> ByStep:
    by_step: ByStep = {}
    for task in tasks:
        by_step.setdefault(task.step, []).append(task)
    return by_step


def _tasks_of(planned: PlannedStep, by_step: ByStep) -> Sequence[Task]:
    """The tasks of a step; for a fan-out whose legs are not known the pattern, which stands for them."""
    return planned.unfold.tasks[:1] if planned.unfold is not None else by_step.get(planned.id, ())


def _levels(step: StepRun, *, own_only: bool) -> tuple[Level, ...]:
    levels: list[Level] = [step]
    container = None if own_only else step.scope.task
    while container is not None and container.inner is not None:
        levels.append(container.inner)
        container = container.step.scope.task
    return tuple(level for level in levels if level.limit is not None)
