"""What a task of a run stands in, and what stands in it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from crewflow.run.standing import walk
from crewflow.run.states import TERMINAL, TaskState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crewflow.run.standing import ScopeRun, TaskRun


def around(task: TaskRun) -> Iterator[TaskRun]:
    """The containers around a task, from the inside out."""
    scope = task.step.scope
    while scope.task is not None:
        yield scope.task
        scope = scope.task.step.scope


def inner_counts(scope: ScopeRun) -> dict[str, dict[str, int]]:
    """Of each container in a scope how many tasks in it, at any depth, are in each state that occurs."""
    counted: dict[str, Counter[TaskState]] = {}
    for task in walk(scope):
        if task.inner is not None:
            counted[task.task.id] = Counter()
            continue
        for container in around(task):
            counted[container.task.id][task.state] += 1
    return {
        name: {str(state): counts[state] for state in TaskState if counts[state]}
        for name, counts in counted.items()
    }


def ended_of(counts: Mapping[str, int]) -> str:
    """Such as `2 of 3 tasks`: how many have ended."""
    ended = sum(counts.get(state, 0) for state in TERMINAL)
    whole = sum(counts.values())
    return f"{ended:,} of {whole:,} {'task' if whole == 1 else 'tasks'}"
