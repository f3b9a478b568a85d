"""Checked data -> `spec.crew`: teams and agents, with their defaults applied.

As for workflows, data that the schema refuses has been left out before, so that the rest is still read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from crewflow.spec.crew import (
    Access,
    Agent,
    Batch,
    Failure,
    Fallback,
    Hints,
    Printed,
    Reading,
    Role,
    Team,
    Usage,
)
from crewflow.spec.defaults import build_defaults
from crewflow.spec.fields import Fields
from crewflow.spec.later import weights
from crewflow.spec.scalars import plain, spelling
from crewflow.spec.sizes import parse_size
from crewflow.spec.steps import whole

if TYPE_CHECKING:
    from crewflow.errors import Problem
    from crewflow.spec.model import Defaults, Path
    from crewflow.spec.origin import Origin
    from crewflow.spec.source import Document

READINGS: Final = ("result", "result_else", "structured", "session", "cost_usd", "turns", "denied")
"""Keys of an agent's `output` that say where a value is found."""

PATTERNS: Final = ("session_regex", "usage_regex", "error_regex")
"""Keys of an agent's `output` that are regular expressions."""

_NUMBERS: Final = ("in", "cached", "out", "reasoning")


def build_team(
    document: Document, data: dict[str, Any], defaults: Defaults, origin: Origin
) -> tuple[Team, tuple[Problem, ...]]:
    """A team from data that its schema allows; `defaults` are those of the project."""
    fields = Fields(document)
    team = Team(
        name=data.get("name", ""),
        description=data.get("description", ""),
        source=document,
        origin=origin,
        workflow=data.get("workflow"),
        max_parallel=whole(data.get("max_parallel")),
        defaults=build_defaults(fields, data.get("defaults", {}), defaults),
        roles={name: _role(fields, ("roles", name), given) for name, given in data.get("roles", {}).items()},
    )
    return team, tuple(fields.problems)


def build_agent(
    document: Document, data: dict[str, Any], origin: Origin
) -> tuple[Agent, tuple[Problem, ...]]:
    """An agent from data that its schema allows."""
    fields = Fields(document)
    agent = Agent(
        name=data.get("name", ""),
        description=data.get("description", ""),
        source=document,
        origin=origin,
        bin=data.get("bin"),
        builtin=data.get("builtin"),
        install=data.get("install"),
        argv=tuple(data.get("argv", ())),
        flags={name: tuple(words) for name, words in data.get("flags", {}).items()},
        access={Access(level): tuple(words) for level, words in data.get("access", {}).items()},
        env_access={
            Access(level): _plain_env(fields, ("env_access", level), env)
            for level, env in data.get("env_access", {}).items()
        },
        prompt_via=data.get("prompt_via", "stdin"),
        prompt_argv=tuple(data.get("prompt_argv", ())),
        output=_printed(data["output"]) if "output" in data else None,
        exit={name: tuple(map(int, codes)) for name, codes in data.get("exit", {"ok": [0]}).items()},
        failures=tuple(map(_failure, data.get("failures", ()))),
        env=_plain_env(fields, ("env",), data.get("env", {})),
        env_pass=tuple(data.get("env_pass", ())),
        grace=fields.duration(("grace",), data.get("grace"), 10.0),
        memory=parse_size(data["memory"]) if "memory" in data else None,
    )
    return agent, tuple(fields.problems)


def _role(fields: Fields, path: Path, given: dict[str, Any]) -> Role:
    get = given.get
    budget = get("budget", {})
    tokens = budget.get("tokens")
    return Role(
        name=str(path[-1]),
        path=path,
        description=get("description", ""),
        agent=get("agent"),
        model=get("model"),
        fallback=tuple(
            Fallback(one["agent"], one.get("model")) for one in get("fallback", ()) if "agent" in one
        ),
        access=Access(get("access", Access.READ_ONLY)),
        instructions=get("instructions", ""),
        skills=tuple(get("skills", ())),
        env=_plain_env(fields, (*path, "env"), get("env", {})),
        max_turns=whole(get("max_turns")),
        context=get("context", "auto"),
        timeout=fields.duration((*path, "timeout"), get("timeout"), None),
        idle_timeout=fields.duration((*path, "idle_timeout"), get("idle_timeout"), None),
        total_timeout=fields.duration((*path, "total_timeout"), get("total_timeout"), None),
        usd=budget.get("usd"),
        tokens=whole(tokens),
        pools=weights(get("pools")),
        max_parallel=whole(get("max_parallel")),
        batch=_batch(given["batch"]) if "batch" in given else None,
        quota=get("quota", "wait"),
        wait_max=fields.duration((*path, "wait_max"), get("wait_max"), 21_600.0),
        on_denied=get("on_denied", "warn"),
        hints=_hints(get("hints", {})),
    )


def _batch(given: dict[str, Any]) -> Batch:
    return Batch(int(given.get("max_tasks", 5)), parse_size(given.get("max_size", "100KB")))


def _hints(given: dict[str, Any]) -> Hints:
    return Hints(
        triggers=tuple(given.get("triggers", ())),
        use_when=tuple(given.get("use_when", ())),
        avoid_when=tuple(given.get("avoid_when", ())),
        cost=given.get("cost"),
    )


def _plain_env(fields: Fields, path: Path, env: dict[str, Any]) -> dict[str, str]:
    for name, value in env.items():
        if isinstance(value, str) and "${{" in value:
            message = "expressions are not read in the environment of an agent"
            fields.fault("CF110", (*path, name), message, "write it in the `env` of a step")
    return {name: spelling(value) for name, value in env.items()}


def _printed(given: dict[str, Any]) -> Printed:
    return Printed(
        format=given.get("format", "text"),
        file=given.get("file"),
        readings={key: _reading(given[key]) for key in READINGS if "get" in given.get(key, ())},
        usage=_usage(given["usage"]) if "usage" in given else None,
        errors=tuple(_reading(one) for one in given.get("error", ()) if "get" in one),
        patterns={key: given[key] for key in PATTERNS if key in given},
        error_stderr_json=given.get("error_stderr_json"),
    )


def _reading(given: dict[str, Any]) -> Reading:
    return Reading(
        get=given["get"],
        where=plain(given.get("where", {})),
        pick=given.get("pick", "last"),
        cumulative=given.get("cumulative", False),
        of_last=given.get("of_last", False),
    )


def _usage(given: dict[str, Any]) -> Usage:
    return Usage(
        numbers={key: given[key]["get"] for key in _NUMBERS if "get" in given.get(key, ())},
        file=given.get("file"),
        where=plain(given.get("where", {})),
        pick=given.get("pick", "last"),
        in_includes_cached=given.get("in_includes_cached", False),
        out_includes_reasoning=given.get("out_includes_reasoning", True),
        cumulative=given.get("cumulative", False),
    )


def _failure(given: dict[str, Any]) -> Failure:
    return Failure(given.get("class", "crash"), given.get("match"), given.get("exit"), given.get("reset"))
