"""`crewflow validate`: every fault of the project, or of the files named, at once."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from crewflow.commands.project import project_root
from crewflow.errors import ExitCode, Severity, UsageError
from crewflow.graph.compile import check_workflow
from crewflow.report.problems import to_json, to_text
from crewflow.report.words import plural
from crewflow.spec.load import load_file, load_project

if TYPE_CHECKING:
    from crewflow.errors import Problem
    from crewflow.report.console import Console
    from crewflow.spec.model import Project


def run(
    console: Console, folder: str, *, paths: list[str], output: str, strict: bool, fail_level: str
) -> int:
    """Print every problem; exit 3 if one of them is an error (or a warning that counts)."""
    checked = _check_files(folder, paths) if paths else _check_project(folder)
    problems, workflows = checked
    failing = _failing(problems, strict=strict or fail_level == "warning")
    if console.as_json or output == "json":
        console.document(to_json(problems))
    elif problems:
        console.data(to_text(problems, color=console.has_color(sys.stdout)))
    elif not console.quiet:
        console.talk(f"{plural(workflows, 'workflow')} checked: no faults")
    return int(ExitCode.INVALID if failing else ExitCode.DONE)


def _check_project(folder: str) -> tuple[tuple[Problem, ...], int]:
    project, problems = load_project(project_root(folder))
    if not project.workflows and not problems:
        raise UsageError("there is no workflow here", hint="start one with `crewflow init`")
    return _sorted((*problems, *_check(project))), len(project.workflows)


def _check_files(folder: str, paths: list[str]) -> tuple[tuple[Problem, ...], int]:
    problems: list[Problem] = []
    workflows = 0
    for path in _expand(folder, paths):
        project, found = load_file(path, project_root(folder))
        problems += (*found, *_check(project))
        workflows += len(project.workflows)
    return _sorted(tuple(dict.fromkeys(problems))), workflows


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


def _check(project: Project) -> list[Problem]:
    return [
        problem for workflow in project.workflows.values() for problem in check_workflow(project, workflow)
    ]


def _sorted(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.place, problem.rule)))


def _failing(problems: tuple[Problem, ...], *, strict: bool) -> bool:
    return any(strict or problem.severity is Severity.ERROR for problem in problems)
