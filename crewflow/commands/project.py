"""What several commands begin with: find the project, choose the workflow, name the run."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crewflow.errors import Severity, SpecError, UsageError
from crewflow.spec.suggest import nearest

if TYPE_CHECKING:
    from crewflow.errors import Problem
    from crewflow.graph.plan import Plan
    from crewflow.spec.model import Project, Workflow
    from crewflow.state.paths import RunPaths

Inputs = list[tuple[str, str]]

_RUN_ID = re.compile(r"\d{8}-\d{6}-[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A workflow and the project it is applied to."""

    project: Project
    workflow: Workflow


def project_root(start: str) -> str:
    """The project that holds a folder; the git root or the folder itself where there is none."""
    from crewflow.spec.find import find_project  # noqa: PLC0415  (readers need no YAML)

    return find_project(start) or git_root(start) or os.path.realpath(start)


def git_root(start: str) -> str | None:
    """The nearest folder above with a `.git`; None if there is none."""
    folder = os.path.realpath(start)
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def choose(start: str, name: str | None) -> Chosen:
    """The workflow that was asked for, or the one that goes without saying.

    Raises:
        SpecError: the file that holds it is at fault.
        UsageError: there is none of that name, or it does not go without saying.
    """
    from crewflow.spec.load import (  # noqa: PLC0415  (readers need no YAML)
        load_file,
        load_own,
        load_project,
        load_workflow,
    )

    root = project_root(start)
    if name is not None and not _is_name(name):
        project, problems = load_file(_existing(start, name), root)
    elif name is not None:
        project, problems = load_workflow(root, name)
    else:
        project, problems = load_own(root)
        if project.default_workflow is None and len(project.workflows) != 1:
            project, problems = load_project(root)
    _refuse_faults(problems)
    return Chosen(project, _pick(project, name))


def compile_chosen(chosen: Chosen, given: Inputs) -> Plan:
    """The plan of a chosen workflow. Raises SpecError, UsageError."""
    from crewflow.graph.compile import check_workflow, compile_workflow  # noqa: PLC0415  (as above)
    from crewflow.spec.inputs import resolve_inputs  # noqa: PLC0415  (as above)

    try:
        inputs = resolve_inputs(chosen.workflow, given)
    except UsageError:
        _refuse_faults(check_workflow(chosen.project, chosen.workflow))  # the workflow's own faults go first
        raise
    return compile_workflow(chosen.project, chosen.workflow, inputs)


def refuse_unready(chosen: Chosen) -> None:
    """Raise SpecError for all that the chosen workflow asks for and this version does not run."""
    from crewflow.graph.unready import refusals  # noqa: PLC0415  (as above)

    _refuse_faults(refusals(chosen.project, chosen.workflow))


def choose_run(start: str, reference: str | None) -> RunPaths:
    """A run of this project by id, prefix or `@latest`. Raises UsageError if there is none."""
    from crewflow.state.folder import find_state  # noqa: PLC0415  (what reads YAML needs no runs)
    from crewflow.state.runs import LATEST, find_run  # noqa: PLC0415  (as above)

    state = find_state(project_root(start))
    if state is None:
        raise UsageError("no runs here yet", hint="start one with `crewflow apply`")
    return find_run(state, LATEST if reference is None else reference)


def _existing(start: str, path: str) -> str:
    """The path of a workflow's file; what else the language allows in its place is refused by name."""
    if path.startswith("@") or _RUN_ID.fullmatch(path):
        raise UsageError(f"`{path}` names a run, and to take one here is not available in this version")
    if path.endswith(".json"):
        raise UsageError(f"`{path}` looks like a saved plan, which is not available in this version")
    full = os.path.join(start, path)
    if not os.path.isfile(full):
        raise UsageError(
            f"there is no file `{path}`", hint="a name is letters, digits, `_` and `-`; else it is a path"
        )
    return full


def _is_name(text: str) -> bool:
    """A name is an id; anything else is a path."""
    return text.replace("-", "_").isidentifier() and text.isascii()


def _refuse_faults(problems: tuple[Problem, ...]) -> None:
    errors = tuple(problem for problem in problems if problem.severity is Severity.ERROR)
    if errors:
        raise SpecError(errors)


def _pick(project: Project, name: str | None) -> Workflow:
    known = {**project.shipped, **project.workflows}
    if name is None:
        return _pick_default(project)
    if not _is_name(name):
        return _pick_from_file(project, name)
    if name in known:
        return known[name]
    guess = nearest(name, known)
    listed = ", ".join(f"`{one}`" for one in sorted(known))
    hint = f"did you mean `{guess}`?" if guess else f"known are {listed}"
    raise UsageError(f"there is no workflow `{name}` here", hint=hint)


def _pick_default(project: Project) -> Workflow:
    if project.default_workflow is not None:
        return _pick(project, project.default_workflow)
    if len(project.workflows) == 1:
        return next(iter(project.workflows.values()))
    listed = ", ".join(f"`{one}`" for one in sorted(project.workflows or project.shipped))
    if project.workflows:
        raise UsageError(
            "this project has several workflows, and no `default_workflow`", hint=f"name one: {listed}"
        )
    raise UsageError(
        "this project has no workflow", hint=f"start one with `crewflow init`, or name one: {listed}"
    )


def _pick_from_file(project: Project, path: str) -> Workflow:
    if len(project.workflows) == 1:
        return next(iter(project.workflows.values()))
    listed = ", ".join(f"`{one}`" for one in project.workflows) or "none"
    raise UsageError(f"`{path}` must hold one workflow, and holds {listed}", hint="apply one by its name")
