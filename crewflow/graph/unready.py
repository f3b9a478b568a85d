"""What a workflow asks for that this version reads and does not run: `apply` refuses it by name.

`validate` and `plan` take such keys, so that a file can be written for the next version; nothing that has
one is ever run without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.errors import Problem
from crewflow.graph.occurrences import occurrences
from crewflow.graph.references import LATER_STEP_NAMES
from crewflow.graph.tree import Tree
from crewflow.spec.model import Kind
from crewflow.spec.references import SCAFFOLD
from crewflow.spec.words import HELD_BY_SCAFFOLD, not_available, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.spec.model import Path, Project, Source, Step, Workflow


def refusals(project: Project, workflow: Workflow) -> tuple[Problem, ...]:
    """A problem for each key of a workflow, and of those it calls, that this version does not run."""
    found = [problem for one in _all_called(project, workflow) for problem in _of_workflow(project, one)]
    if project.source is not None:
        found += [_refused(project.source, (key,), quoted(key)) for key in project.later]
    return tuple(sorted(dict.fromkeys(found), key=lambda problem: (problem.place, problem.message)))


def _all_called(project: Project, workflow: Workflow) -> list[Workflow]:
    """A workflow and all that it calls, each once."""
    found = {workflow.name: workflow}
    waiting = [workflow]
    for one in waiting:
        for step in Tree(one).steps():
            called = project.workflow(step.workflow) if step.workflow else None
            if called is not None and called.name not in found:
                found[called.name] = called
                waiting.append(called)
    return waiting


def _of_workflow(project: Project, workflow: Workflow) -> Iterator[Problem]:
    source = workflow.source
    for key in workflow.later:
        yield _refused(source, (key,), quoted(key))
    for step in Tree(workflow).steps():
        yield from _of_step(project, workflow, step)


def _of_step(project: Project, workflow: Workflow, step: Step) -> Iterator[Problem]:
    source, agent = workflow.source, ""
    if step.kind is Kind.PROMPT:
        from crewflow.graph.roles import resolve_agent  # noqa: PLC0415  (many workflows ask no agent)

        agent = resolve_agent(project, workflow, step).agent
        known = project.agents.get(agent)
        if agent != SCAFFOLD or (known is not None and known.builtin is None):
            path = (*step.path, "agent" if step.agent else "role")
            yield _refused(source, path, f"agent {quoted(agent)}", "use the agent `scaffold` of crewflow")
            agent = ""
    for key in step.later:
        if agent != SCAFFOLD or key not in HELD_BY_SCAFFOLD:
            yield _refused(source, (*step.path, key), quoted(key))
    for occurrence in occurrences(step):
        for reference in occurrence.expression.paths:
            if reference.keys[0] == "steps" and LATER_STEP_NAMES.intersection(map(str, reference.keys[2:3])):
                place = source.place(occurrence.path)
                message = not_available(quoted(".".join(map(str, reference.keys))))
                yield Problem("CF102", place, message, source_line=source.line_text(place.line))


def _refused(source: Source, path: Path, what: str, hint: str | None = None) -> Problem:
    """The problem of a key; one that is not written at its path comes from the `defaults` of some level."""
    message, place = not_available(what), source.key_place(path)
    if not _is_written(source, path):
        place = source.key_place(("defaults", path[-1]))
        if not _is_written(source, ("defaults", path[-1])):
            place = source.key_place(path[:-1])
            message, hint = not_available(f"{what}, from `defaults`,"), "remove it from `defaults`"
    return Problem("CF102", place, message, hint, source_line=source.line_text(place.line))


def _is_written(source: Source, path: Path) -> bool:
    place = source.key_place(path)
    line = source.line_text(place.line) or ""
    return line[place.column - 1 : place.column - 1 + place.width].strip("'\"") == path[-1]
