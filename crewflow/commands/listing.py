"""`crewflow workflows`, `teams`, `agents list`, `schedule list`: what a name means here.

A name in the project hides a user's, a user's one that ships with crewflow: each is listed once. What is
at fault is left out, with a word about it; `crewflow validate` says what it is.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any, Final

from crewflow.commands.project import project_root
from crewflow.errors import ExitCode, Severity
from crewflow.report.listing import table
from crewflow.report.words import plural
from crewflow.spec.load import load_project
from crewflow.spec.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Callable

    from crewflow.report.console import Console
    from crewflow.spec.crew import Agent, Team
    from crewflow.spec.model import Project, Workflow
    from crewflow.spec.schedules import Schedule

    Row = dict[str, Any]


def run(console: Console, folder: str, *, what: str) -> int:
    """Print one of the lists; `what` is a key of `_LISTS`."""
    project, problems = load_project(project_root(folder))
    rows_of, heads = _LISTS[what]
    rows = sorted(rows_of(project), key=lambda row: _ORDER[row["origin"]])
    if console.as_json:
        console.document({what: rows})
    elif rows:
        console.data(table([head.replace("_", " ") for head in heads], [_texts(row, heads) for row in rows]))
    else:
        console.talk(f"there are no {what} here")
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    if errors and not console.as_json:
        console.talk(f"the files have {plural(errors, 'error')}: see `crewflow validate`")
    if what == "schedules" and not console.as_json:
        console.talk("the scheduler is not available in this version: nothing starts these by itself")
    return int(ExitCode.DONE)


def _workflows(project: Project) -> list[Row]:
    found = [*project.workflows.values(), *project.shipped.values()]
    return [
        {
            "name": workflow.name,
            "origin": _origin(project, workflow),
            "team": workflow.team,
            "inputs": [spec.name for spec in workflow.inputs.values()],
            "description": workflow.description,
            "file": workflow.source.file,
        }
        for workflow in found
    ]


def _origin(project: Project, workflow: Workflow) -> str:
    """Where a workflow is from: a user's is told from a shipped one by its folder."""
    if not workflow.shipped:
        return Origin.PROJECT.value
    file = os.path.join(project.root, workflow.source.file)
    users = project.places[1:-1]
    return (Origin.USER if any(file.startswith(f"{place}/") for place in users) else Origin.SHIPPED).value


def _teams(project: Project) -> list[Row]:
    return [_team_row(team) for team in project.teams.values()]


def _team_row(team: Team) -> Row:
    return {
        "name": team.name,
        "origin": team.origin.value,
        "workflow": team.workflow,
        "roles": [
            {"name": role.name, "access": role.access.value, "agent": role.agent, "model": role.model}
            for role in team.roles.values()
        ],
        "description": team.description,
        "file": team.source.file,
    }


def _agents(project: Project) -> list[Row]:
    return [_agent_row(agent) for agent in project.agents.values()]


def _agent_row(agent: Agent) -> Row:
    program = None if agent.bin is None else shutil.which(agent.bin)
    return {
        "name": agent.name,
        "origin": agent.origin.value,
        "found": program if agent.builtin is None else "built in",
        "access": [level.value for level in agent.access],
        "install": agent.install,
        "description": agent.description,
        "file": agent.source.file,
    }


def _schedules(project: Project) -> list[Row]:
    return [_schedule_row(schedule) for schedule in project.schedules.values()]


def _schedule_row(schedule: Schedule) -> Row:
    return {
        "name": schedule.name,
        "origin": schedule.origin.value,
        "workflow": schedule.workflow,
        "when": f"{schedule.when} {schedule.timezone}",
        "enabled": schedule.enabled,
        "description": schedule.description,
        "file": schedule.source.file,
    }


def _texts(row: Row, heads: tuple[str, ...]) -> list[str]:
    return [_text(head, row[head]) for head in heads]


def _text(head: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(item["name"] if isinstance(item, dict) else item for item in value) or "-"
    if value is None:
        return "no" if head == "found" else "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(str(value).split()) or "-"


_ORDER: Final = {origin.value: index for index, origin in enumerate(Origin)}

_LISTS: Final[dict[str, tuple[Callable[[Project], list[Row]], tuple[str, ...]]]] = {
    "workflows": (_workflows, ("name", "origin", "team", "inputs", "description")),
    "teams": (_teams, ("name", "origin", "workflow", "roles", "description")),
    "agents": (_agents, ("name", "origin", "found", "access")),
    "schedules": (_schedules, ("name", "origin", "workflow", "when", "enabled")),
}
"""What is listed -> its rows, and which of their members the table shows."""
