"""`crewflow validate`: every fault of the project, or of the files named, at once."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from crewflow.commands.arguments import flag
from crewflow.commands.project import git_root, project_root
from crewflow.errors import ExitCode, UsageError
from crewflow.graph.compile import check_workflow
from crewflow.report.console import write_data
from crewflow.report.formats.checked import Checked
from crewflow.report.formats.table import written
from crewflow.report.problems import count
from crewflow.report.words import plural
from crewflow.spec.find import PROJECT_FILES
from crewflow.spec.ignore import apply_ignores
from crewflow.spec.load import load_file, load_own
from crewflow.spec.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from crewflow.errors import Problem
    from crewflow.report.console import Console
    from crewflow.spec.crew import Agent, Team
    from crewflow.spec.ignore import Ignored
    from crewflow.spec.model import Project
    from crewflow.spec.schedules import Schedule

    Loaded = tuple[Project, tuple[Problem, ...]]


def run(
    console: Console, folder: str, *, paths: list[str], output: str, strict: bool, fail_level: str
) -> int:
    """Print every problem; exit 3 if one of them is an error (or a warning that counts).

    Raises:
        UsageError: a path does not exist, there is no workflow, or two formats are asked for.
    """
    form = _format(console, output)
    root = project_root(folder)
    loaded = [load_file(path, root) for path in _expand(folder, paths)] if paths else [_load_project(root)]
    problems, ignored = _problems(loaded, complete=not paths)
    checked = Checked(
        problems,
        ignored,
        files=tuple(_files(root, loaded)),
        project=root,
        repository=git_root(root) or root,
        strict=strict or fail_level == "warning",
        quiet=console.quiet,
        color=console.has_color(sys.stdout),
    )
    _show(console, form, checked, _counted(loaded))
    return int(ExitCode.INVALID if checked.failing else ExitCode.DONE)


def _format(console: Console, output: str) -> str:
    if console.as_json and output not in {"text", "json"}:
        hint = "give one of them; `CREWFLOW_JSON` and `CREWFLOW_FORMAT` of the environment count too"
        raise UsageError(f"`--json` and `--format {output}` ask for two formats", hint=hint)
    return "json" if console.as_json else output


def _load_project(root: str) -> Loaded:
    project, problems = load_own(root)
    if not project.workflows and not problems:
        raise UsageError("there is no workflow here", hint="start one with `crewflow init`")
    return project, problems


def _expand(folder: str, paths: list[str]) -> list[str]:
    """Files as they are; folders as the YAML files right in them."""
    found: list[str] = []
    for path in (os.path.join(folder, path) for path in paths):
        if os.path.isdir(path):
            names = sorted(name for name in os.listdir(path) if name.endswith((".yaml", ".yml")))
            found += [os.path.join(path, name) for name in names]
        elif os.path.exists(path):
            found.append(path)
        else:
            raise UsageError(f"`{os.path.relpath(path, folder)}` does not exist")
    return found


def _problems(loaded: Sequence[Loaded], *, complete: bool) -> tuple[tuple[Problem, ...], tuple[Ignored, ...]]:
    """What was found, each thing once and in order of place, without what the project ignores."""
    found = dict.fromkeys(
        problem for project, problems in loaded for problem in (*problems, *_check(project))
    )
    entries = loaded[0][0].ignore if loaded else ()
    known = _known_rules() if entries else ()
    kept, ignored = apply_ignores(entries, _sorted(found), known, complete=complete)
    return _sorted(kept), ignored


def _check(project: Project) -> list[Problem]:
    workflows = project.workflows.values()
    found = [problem for workflow in workflows for problem in check_workflow(project, workflow)]
    if not project.schedules:
        return found
    from crewflow.schedule.check import check_schedules  # noqa: PLC0415  (many projects have none)

    return [*found, *check_schedules(project)]


def _known_rules() -> Collection[str]:
    from crewflow.report.rules import catalogue  # noqa: PLC0415  (few projects ignore anything)

    return catalogue()


def _sorted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.place, problem.rule)))


def _files(root: str, loaded: Sequence[Loaded]) -> Iterator[str]:
    """The files that were read; those that have problems need not be among them."""
    yield from (name for name in PROJECT_FILES if os.path.isfile(os.path.join(root, name)))
    for project, _ in loaded:
        yield from (workflow.source.file for workflow in project.workflows.values())
        yield from (one.source.file for one in _others(project))


def _others(project: Project) -> Iterator[Agent | Team | Schedule]:
    """The teams, agents and schedules that were checked."""
    others: tuple[Agent | Team | Schedule, ...] = (
        *project.teams.values(),
        *project.agents.values(),
        *project.schedules.values(),
    )
    for one in others:
        if one.origin is Origin.PROJECT and one.source.file in project.files:
            yield one


def _counted(loaded: Sequence[Loaded]) -> str:
    """How much was checked, in words."""
    workflows = sum(len(project.workflows) for project, _ in loaded)
    others = sum(1 for project, _ in loaded for _ in _others(project))
    counted = [plural(workflows, "workflow")] if workflows or not others else []
    return " and ".join([*counted, *([plural(others, "other document")] if others else [])])


def _show(console: Console, form: str, checked: Checked, counted: str) -> None:
    shown = written(form, checked)
    if form != "text":
        write_data(f"{shown}\n".encode("utf-8", "backslashreplace") if shown else b"")
    elif shown:
        console.data(shown)
    elif not checked.problems and not checked.quiet:
        told = count((), len(checked.ignored))
        console.talk(f"{counted} checked: no faults{', ' if told else ''}{told}")
    if form == "text" and checked.shown.problems and flag(os.environ.get("GITHUB_ACTIONS", "")):
        console.talk(written("github", checked.shown))  # the runner reads both streams
