"""Which other documents a document names, found in its data before anything is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.spec.shelf import Read

    Named = tuple[str, str]
    """The kind and the name of a document."""

SCAFFOLD: Final = "scaffold"
"""The agent that renders prompts and asks nobody: who is asked where nothing says."""

_PROMPTS: Final = frozenset({"prompt", "prompt_file", "role"})


def named_by(read: Read) -> Iterator[Named]:
    """What a document needs for what it says to have a meaning."""
    yield from _FINDERS[read.kind](read.data)


def _of_project(data: dict[str, Any]) -> Iterator[Named]:
    yield from _agent(data.get("defaults", {}))


def _of_workflow(data: dict[str, Any]) -> Iterator[Named]:
    if "team" in data:
        yield "team", data["team"]
    elif any(_asks_a_role(data)):
        yield "team", ""  # there is none of this name, so all are read, and the one that is meant can be said
    yield from _agent(data.get("defaults", {}))
    yield from _of_steps(data)


def _of_steps(data: dict[str, Any]) -> Iterator[Named]:
    for section in ("steps", "finally"):
        for step in data.get(section, {}).values():
            if "workflow" in step:
                yield "workflow", step["workflow"]
            if _PROMPTS & step.keys():
                yield "agent", SCAFFOLD
            yield from _agent(step)
            yield from _of_steps(step)


def _asks_a_role(data: dict[str, Any]) -> Iterator[bool]:
    for section in ("steps", "finally"):
        for step in data.get(section, {}).values():
            yield "role" in step or any(_asks_a_role(step))


def _of_team(data: dict[str, Any]) -> Iterator[Named]:
    yield from _agent(data.get("defaults", {}))
    for role in data.get("roles", {}).values():
        yield from _agent(role)
        for fallback in role.get("fallback", ()):
            yield from _agent(fallback)


def _of_schedule(data: dict[str, Any]) -> Iterator[Named]:
    if "workflow" in data:
        yield "workflow", data["workflow"]


def _of_agent(_data: dict[str, Any]) -> Iterator[Named]:
    yield from ()


def _agent(data: dict[str, Any]) -> Iterator[Named]:
    if "agent" in data:
        yield "agent", data["agent"]


_FINDERS: Final = {
    "project": _of_project,
    "workflow": _of_workflow,
    "team": _of_team,
    "schedule": _of_schedule,
    "agent": _of_agent,
}
