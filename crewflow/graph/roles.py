"""Who answers a prompt: the team of a workflow, the role of a step, and the agent that plays it.

    check_roles(project, workflow, findings)
    cast = resolve_agent(project, workflow, step)       name of the agent, the role, the team

What is wrong with a team or an agent by itself is told where it is written, by `spec.check_crew`; here it
is told what a workflow asks for that its team does not give.
"""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from crewflow.errors import Note, Severity
from crewflow.graph.tree import Tree
from crewflow.spec.check_crew import NO_ACCESS, UNKNOWN_AGENT, find_skill, lacks, unknown_agent
from crewflow.spec.crew import Access
from crewflow.spec.model import Kind
from crewflow.spec.references import SCAFFOLD

if TYPE_CHECKING:
    from crewflow.graph.findings import Findings
    from crewflow.spec.crew import Agent, Role, Team
    from crewflow.spec.model import Path, Project, Step, Workflow

_UNKNOWN_TEAM: Final = "CF601"
_UNKNOWN_ROLE: Final = "CF602"
_FILE_OUTSIDE: Final = "CF606"
_IDLE_TEAM: Final = "CF609"


class Cast(NamedTuple):
    """Who is asked: the agent's name, and the role and the team where these exist."""

    agent: str
    role: Role | None
    team: Team | None


def resolve_agent(project: Project, workflow: Workflow, step: Step) -> Cast:
    """Who is asked by a step with a prompt: the step goes first, then its role, then `defaults`."""
    team = project.teams.get(workflow.team or "")
    role = team.roles.get(step.role or "") if team is not None else None
    of_role = role.agent if role is not None else None
    return Cast(step.agent or of_role or step.default_agent or SCAFFOLD, role, team)


def describe_agent(project: Project, workflow: Workflow, step: Step) -> dict[str, Any]:
    """Who is asked and all that goes with it, as the plan has it: plain data without paths."""
    cast = resolve_agent(project, workflow, step)
    role = cast.role
    said: dict[str, Any] = {
        "name": cast.agent,
        "role": step.role,
        "model": step.model or _model(step, role, cast.agent),
        "access": (role.access if role is not None else Access.READ_ONLY).value,
    }
    if role is not None and role.instructions:
        said["instructions"] = role.instructions
    if role is not None and role.skills:
        said["skills"] = {name: text for name in role.skills if (text := _skill(project, name)) is not None}
    return said


def check_roles(project: Project, workflow: Workflow, findings: Findings) -> None:
    """Tell what is wrong with the team of a workflow and with the roles that its steps ask for."""
    team = _check_team(project, workflow, findings)
    prompts = [step for step in Tree(workflow).steps() if step.kind is Kind.PROMPT]
    for step in prompts:
        _check_file(project, workflow, step, findings)
        if step.role is not None:
            _check_role(project, workflow, team, step, findings)
        _check_agent(project, workflow, step, findings)
    if team is not None and not prompts:
        message = f"no step of workflow `{workflow.name}` asks its team"
        hint = "remove `team`, or give a step a `prompt` and a `role`"
        findings.tell(_IDLE_TEAM, ("team",), message, hint, severity=Severity.WARNING)


def _model(step: Step, role: Role | None, agent: str) -> str | None:
    """The role's model, in the words of the role's agent: another agent would not know it."""
    if role is None or (step.agent is not None and role.agent not in {None, agent}):
        return None
    return role.model


def _skill(project: Project, name: str) -> str | None:
    file = find_skill(project, name)
    return None if file is None else file.read_text(encoding="utf-8", errors="replace")


def _check_team(project: Project, workflow: Workflow, findings: Findings) -> Team | None:
    unreadable = ("team", workflow.team) in project.unreadable
    if workflow.team is None or workflow.team in project.teams or unreadable:
        return project.teams.get(workflow.team or "")
    hint = findings.hint("", workflow.team, project.teams, None)
    message = f"workflow `{workflow.name}` has unknown team `{workflow.team}`"
    findings.tell(_UNKNOWN_TEAM, ("team",), message, hint)
    return None


def _check_role(
    project: Project, workflow: Workflow, team: Team | None, step: Step, findings: Findings
) -> None:
    path = (*step.path, "role")
    if team is not None and step.role not in team.roles:
        hint = findings.hint("", step.role, team.roles, None)
        message = f"team `{team.name}` has no role `{step.role}`"
        note = Note(team.source.key_place(("roles",)), "its roles")
        findings.tell(_UNKNOWN_ROLE, path, message, hint, notes=(note,))
    elif workflow.team is None and not findings.is_written(("team",)):
        named = next((one.name for one in project.teams.values() if step.role in one.roles), None)
        message = f"step `{step.id}` has role `{step.role}`, and workflow `{workflow.name}` has no team"
        hint = f"write `team: {named}` at the top" if named else "write `team:` at the top"
        findings.tell(_UNKNOWN_TEAM, path, message, hint)


def _check_agent(project: Project, workflow: Workflow, step: Step, findings: Findings) -> None:
    """The agent of the step or of `defaults`; that of the role is looked at where the role is written."""
    cast = resolve_agent(project, workflow, step)
    if step.agent is None and cast.role is not None and cast.role.agent is not None:
        return
    agent = project.agents.get(cast.agent)
    if agent is not None:
        _check_access(cast.role, agent, _written(step, findings, "role"), findings)
    elif step.agent is not None:
        message, hint = unknown_agent(project, step.agent)
        findings.tell(UNKNOWN_AGENT, (*step.path, "agent"), f"step `{step.id}` has {message}", hint)
    elif findings.is_written(("defaults", "agent")):
        findings.tell(UNKNOWN_AGENT, ("defaults", "agent"), *unknown_agent(project, cast.agent))


def _written(step: Step, findings: Findings, otherwise: str) -> Path:
    return (*step.path, "agent" if findings.is_written((*step.path, "agent")) else otherwise)


def _check_access(role: Role | None, agent: Agent, path: Path, findings: Findings) -> None:
    """An override stays within the role: who takes it over must be able to do what the role may."""
    if role is not None and role.access not in agent.access:
        message = (
            f"agent `{agent.name}` cannot play role `{role.name}`: it has no access level `{role.access}`"
        )
        findings.tell(NO_ACCESS, path, message, lacks(agent))


def _check_file(project: Project, workflow: Workflow, step: Step, findings: Findings) -> None:
    if step.prompt_file is None:
        return
    beside = FilePath(project.root, workflow.source.file).resolve().parent
    file = (beside / step.prompt_file).resolve()
    home = next((place for place in project.places if beside.is_relative_to(place)), str(beside))
    if not file.is_relative_to(home):
        message = f"`{step.prompt_file}` leads out of {_called(project, home)}"
        hint = "keep the file beside the workflow, such as `prompts/fix.md`"
        findings.tell(_FILE_OUTSIDE, (*step.path, "prompt_file"), message, hint)


def _called(project: Project, home: str) -> str:
    return "the project" if home == project.root else f"`{home}`"
