"""Naming a task of a run: used by `logs` and `explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.errors import UsageError
from crewflow.report.authored import some
from crewflow.spec.suggest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crewflow.state.story import Story


def find_task(story: Story, wanted: str) -> str:
    """The id of a task; `test:3.11` is another way to write `test[3.11]`. Raises UsageError."""
    known = story.tasks
    for name in (wanted, _written_out(wanted)):
        if name in known:
            return name
    run_id = story.run.run_id
    raise UsageError(f"run `{run_id}` has no task `{wanted}`", hint=_hint(story, wanted))


def _written_out(wanted: str) -> str:
    return "/".join(_segment(part) for part in wanted.split("/"))


def _segment(part: str) -> str:
    step, colon, leg = part.partition(":")
    return f"{step}[{leg}]" if colon else part


def _hint(story: Story, wanted: str) -> str:
    """The tasks of a fan-out that was named, tasks of that name inside a container, or the nearest name."""
    step = story.machine.steps.get(wanted)
    if step is not None and step.tasks:
        return f"its tasks are {_listed(task.task.id for task in step.tasks)}"
    inner = [name for name in story.tasks if name.endswith(f"/{wanted}")]
    if inner:
        return f"did you mean {_listed(inner)}?"
    guess = nearest(_written_out(wanted), story.tasks)
    return f"did you mean `{guess}`?" if guess else f"see `crewflow status {story.run.run_id}`"


def _listed(names: Iterable[str]) -> str:
    return some([f"`{name}`" for name in names])
