"""Faults of teams and agents that no schema sees: names that mean nothing, patterns, pointers, placeholders.

Each is told where it is written, whichever workflow uses it.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Final

from crewflow.errors import Problem
from crewflow.spec.build_crew import PATTERNS
from crewflow.spec.suggest import nearest
from crewflow.spec.words import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from crewflow.spec.crew import Agent, Role, Team
    from crewflow.spec.model import Path, Project, Source

    Told = tuple[str, Path, str, str | None]
    """Rule, path of the value, message, hint."""

UNKNOWN_AGENT: Final = "CF603"
NO_ACCESS: Final = "CF604"
_ADAPTER: Final = "CF607"

PLACEHOLDERS: Final = (
    "bin", "model", "prompt", "prompt_file", "instructions", "session", "session_new", "max_turns",
    "budget_usd", "schema", "schema_file", "wall_time", "run_dir", "cwd", "home",
)  # fmt: skip
"""What may stand in braces in the words of an agent."""

_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_]\w*)\}")
_MEANT: Final = {"system": "instructions", "prompt_path": "prompt_file", "id": "session"}


def check_crew(project: Project, *, complete: bool = True) -> tuple[Problem, ...]:
    """Every fault of the teams and agents that `project.files` hold.

    `complete`: all workflows are known; else a workflow that a team names may just not have been read.
    """
    found = []
    for item, told in _all(project, complete=complete):
        for rule, path, message, hint in told:
            place = item.place(path)
            found.append(Problem(rule, place, message, hint, source_line=item.line_text(place.line)))
    return tuple(found)


def unknown_agent(project: Project, name: str) -> tuple[str, str | None]:
    """What to say about an agent that does not exist, and the hint."""
    return f"unknown agent {quoted(name)}", known_hint(name, project.agents)


def lacks(agent: Agent) -> str:
    """The hint for an access level that an agent does not have."""
    return f"agent `{agent.name}` has {listed(agent.access)}; choose one of these, or another agent"


def known_hint(name: str, known: Collection[str]) -> str | None:
    """The nearest of the known names, else the first of them."""
    guess = nearest(name, known)
    if guess is not None:
        return f"did you mean `{guess}`?"
    return f"there {'is' if len(known) == 1 else 'are'} {listed(known)}" if known else None


def listed(names: Collection[str]) -> str:
    """Such as `` `a`, `b` ``, ten at most."""
    shown = ", ".join(f"`{name}`" for name in list(names)[:10])
    return f"{shown}, ..." if len(names) > 10 else shown  # noqa: PLR2004  # said in the docstring


def _all(project: Project, *, complete: bool) -> Iterator[tuple[Source, Iterator[Told]]]:
    if project.source is not None:
        yield project.source, _defaults(project, project.defaults.agent)
    for team in project.teams.values():
        if team.source.file in project.files:
            yield team.source, _team(project, team, complete=complete)
    for agent in project.agents.values():  # of those that ship, the ones that are used
        if agent.source.file in project.files:
            yield agent.source, _agent(agent)


# --- teams ------------------------------------------------------------------------------------------


def _team(project: Project, team: Team, *, complete: bool) -> Iterator[Told]:
    if team.workflow is not None and complete and project.workflow(team.workflow) is None:
        known = [*project.workflows, *project.shipped]
        message = f"team `{team.name}` names unknown workflow {quoted(team.workflow)}"
        yield "CF608", ("workflow",), message, known_hint(team.workflow, known)
    if team.defaults.agent != project.defaults.agent:
        yield from _defaults(project, team.defaults.agent)
    for role in team.roles.values():
        yield from _role(project, role)


def _defaults(project: Project, agent: str | None) -> Iterator[Told]:
    if agent is not None and agent not in project.agents:
        message, hint = unknown_agent(project, agent)
        yield UNKNOWN_AGENT, ("defaults", "agent"), message, hint


def _role(project: Project, role: Role) -> Iterator[Told]:
    if role.agent is not None:
        yield from _player(project, role, (*role.path, "agent"), role.agent)
    for index, fallback in enumerate(role.fallback):
        yield from _player(project, role, (*role.path, "fallback", index, "agent"), fallback.agent)
    for index, skill in enumerate(role.skills):
        if find_skill(project, skill) is None:
            message = f"role `{role.name}` has unknown skill {quoted(skill)}"
            hint = f"write it to `skills/{skill}.md`"
            yield "CF605", (*role.path, "skills", index), message, hint
    for pool in role.pools:
        if pool not in project.pools:
            message = f"role `{role.name}` takes from unknown pool {quoted(pool)}"
            hint = known_hint(pool, project.pools) or f"write `pools: {{{pool}: 1}}` in `crewflow.yaml`"
            yield "CF219", (*role.path, "pools"), message, hint


def _player(project: Project, role: Role, path: Path, name: str) -> Iterator[Told]:
    agent = project.agents.get(name)
    if agent is None:
        message, hint = unknown_agent(project, name)
        yield UNKNOWN_AGENT, path, f"role `{role.name}` has {message}", hint
    elif role.access not in agent.access:
        message = f"agent `{name}` cannot play role `{role.name}`: it has no access level `{role.access}`"
        yield NO_ACCESS, path, message, lacks(agent)


def find_skill(project: Project, name: str) -> FilePath | None:
    """The file of a skill, in the first place that has it."""
    files = (
        FilePath(place, "skills", *parts)
        for place in project.places
        for parts in ((f"{name}.md",), (name, "SKILL.md"))
    )
    return next((file for file in files if file.is_file()), None)


# --- agents -----------------------------------------------------------------------------------------


def _agent(agent: Agent) -> Iterator[Told]:
    for path, word in _words(agent):
        for name in _PLACEHOLDER.findall(word):
            if name not in PLACEHOLDERS:
                meant = _MEANT.get(name) or nearest(name, PLACEHOLDERS)
                hint = f"did you mean `{{{meant}}}`?" if meant else f"there are {listed(PLACEHOLDERS)}"
                yield _ADAPTER, path, f"unknown placeholder {quoted(f'{{{name}}}')}", hint
    yield from _flags(agent)
    yield from _prompt(agent)
    for path, pattern, groups in _patterns(agent):
        yield from _pattern(path, pattern, groups)
    yield from _failures(agent)


def _words(agent: Agent) -> Iterator[tuple[Path, str]]:
    lists: dict[Path, tuple[str, ...]] = {
        ("argv",): agent.argv,
        ("prompt_argv",): agent.prompt_argv,
        **{("flags", name): words for name, words in agent.flags.items()},
        **{("access", level.value): words for level, words in agent.access.items()},
    }
    for path, words in lists.items():
        yield from (((*path, index), word) for index, word in enumerate(words))
    if agent.output is not None and agent.output.file is not None:
        yield ("output", "file"), agent.output.file
    if agent.output is not None and agent.output.usage is not None and agent.output.usage.file:
        yield ("output", "usage", "file"), agent.output.usage.file


def _flags(agent: Agent) -> Iterator[Told]:
    """A group of words that does not hold its value would say the same for every value."""
    for name, words in agent.flags.items():
        wanted = (f"{{{name}}}", "{schema_file}") if name == "schema" else (f"{{{name}}}",)
        if not any(one in word for one in wanted for word in words):
            message = f"the words of `{name}` do not hold {quoted(wanted[0])}"
            yield _ADAPTER, ("flags", name), message, f"put {quoted(wanted[0])} where the value belongs"


def _prompt(agent: Agent) -> Iterator[Told]:
    wanted = {"file": "{prompt_file}", "arg": "{prompt}"}.get(agent.prompt_via)
    words = (*agent.argv, *agent.prompt_argv)
    if wanted is not None and agent.bin is not None and not any(wanted in word for word in words):
        message = f"the prompt is passed as `{agent.prompt_via}`, and no word holds {quoted(wanted)}"
        yield _ADAPTER, ("prompt_via",), message, f"add {quoted(wanted)} to `prompt_argv`"


def _patterns(agent: Agent) -> Iterator[tuple[Path, str, tuple[str, int]]]:
    """Each regular expression, with the group that it must name and how many it must have."""
    if agent.output is not None:
        for key in PATTERNS:
            if key in agent.output.patterns:
                yield ("output", key), agent.output.patterns[key], ("", _GROUPS.get(key, 0))
    for index, failure in enumerate(agent.failures):
        path: Path = ("failures", index)
        if failure.match is not None:
            yield (*path, "match"), failure.match, ("", 0)
        if failure.reset is not None:
            yield (*path, "reset"), failure.reset, ("at", 0)


_GROUPS: Final = {"session_regex": 1, "usage_regex": 3}


def _pattern(path: Path, pattern: str, groups: tuple[str, int]) -> Iterator[Told]:
    name, count = groups
    compiled = _compiled(pattern)
    if compiled is None:
        hint = "put `\\` before a special character that is meant as text"
        yield _ADAPTER, path, f"`{path[-1]}` is no regular expression", hint
    elif name and name not in compiled.groupindex:
        yield (
            _ADAPTER,
            path,
            f"`{path[-1]}` has no group `{name}`",
            f"write `(?P<{name}>...)` around the time",
        )
    elif compiled.groups < count:
        message = f"`{path[-1]}` has {compiled.groups} groups and needs {count}"
        yield _ADAPTER, path, message, "put each value in round brackets"


def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            return re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None


def _failures(agent: Agent) -> Iterator[Told]:
    for index, failure in enumerate(agent.failures):
        if failure.exit is not None and failure.exit not in agent.exit:
            message = f"failure `{failure.name}` names unknown group {quoted(failure.exit)} of exit codes"
            hint = known_hint(failure.exit, agent.exit) or f"write `exit: {{{failure.exit}: [...]}}`"
            yield _ADAPTER, ("failures", index, "exit"), message, hint
