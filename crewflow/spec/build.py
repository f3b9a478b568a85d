"""Checked data -> `spec.model`. The one place where defaults are applied: project < workflow < step.

    faults = check(document, "workflow")
    data = prune(document.data, [path for fault in faults for path in fault.prune])
    workflow, problems = build_workflow(document, data, defaults)

Data that the schema refuses is left out first, so the rest is still read and everything that is wrong
with a file is told in one go. A step that lost what it runs that way has `kind` None: that happens
only together with an error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crewflow.spec.cautions import caution_input, caution_text
from crewflow.spec.defaults import build_defaults
from crewflow.spec.fields import Fields
from crewflow.spec.ignore import read_ignores
from crewflow.spec.later import build_later, named
from crewflow.spec.model import Defaults, InputSpec, OnFailure, Project, Workflow
from crewflow.spec.scalars import spelling
from crewflow.spec.steps import build_steps, check_default, whole
from crewflow.spec.values import declared_schema, pattern_faults
from crewflow.spec.words import NOT_RUN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crewflow.errors import Problem
    from crewflow.spec.model import Path
    from crewflow.spec.source import Document

_SECTIONS = frozenset({"steps", "finally"})


def prune(data: dict[str, Any], paths: Iterable[Path]) -> dict[str, Any]:
    """A copy of `data` without the values at `paths`; what is not on the way to one is shared.

    A list loses all of its items with one, so that the places of the others stay right. A step stays,
    empty, so that others may still refer to it.
    """
    pruned = dict(data)
    copied = {id(pruned)}
    for path in paths:
        _drop(pruned, path, copied)
    return pruned


UNNAMED = "project"
"""The name of a project without `crewflow.yaml`: not that of its folder, which differs from clone to
clone and would be in the fingerprint of every plan."""


def build_workflow(
    document: Document, data: dict[str, Any], defaults: Defaults, *, shipped: bool = False
) -> tuple[Workflow, tuple[Problem, ...]]:
    """A workflow from data that its schema allows.

    Args:
        document: where the data comes from, for places.
        data: the document's data, without what is faulty.
        defaults: those of the project.
        shipped: it comes with crewflow.
    """
    fields = Fields(document)
    caution_text(fields, ("env",), data.get("env"))
    merged = build_defaults(fields, data.get("defaults", {}), defaults)
    workflow = Workflow(
        name=data.get("name", ""),
        description=data.get("description", ""),
        source=document,
        inputs={name: _input(fields, name, given) for name, given in data.get("inputs", {}).items()},
        env=fields.texts(("env",), data.get("env", {})),
        max_parallel=whole(data.get("max_parallel")),
        on_failure=OnFailure(data.get("on_failure", "finish")),
        steps=tuple(build_steps(fields, data, merged)),
        shipped=shipped,
        team=data.get("team"),
        given=fields.texts(("outputs",), data.get("outputs", {})),
        secrets=named(data.get("secrets")),
        later=build_later(fields, (), data, NOT_RUN["workflow"]),
    )
    return workflow, tuple(fields.problems)


def build_project(document: Document, data: dict[str, Any], root: str) -> tuple[Project, tuple[Problem, ...]]:
    """A project without workflows yet, from data that its schema allows.

    Args:
        document: where the data comes from, for places.
        data: the document's data, without what is faulty.
        root: absolute path of the project.
    """
    fields = Fields(document)
    project = replace(
        empty_project(root),
        name=data.get("name", UNNAMED),
        default_workflow=data.get("default_workflow"),
        defaults=build_defaults(fields, data.get("defaults", {}), Defaults()),
        env=_plain_env(fields, data.get("env", {})),
        ignore=read_ignores(fields, data.get("ignore", [])),
        pools={
            name: pool if isinstance(pool, int) else int(pool["slots"])
            for name, pool in data.get("pools", {}).items()
        },
        later=build_later(fields, (), data, NOT_RUN["project"]),
        source=document,
    )
    return project, tuple(fields.problems)


def empty_project(root: str) -> Project:
    """What a project is that says nothing: no name of its own, and all defaults."""
    return Project(
        root=root,
        name=UNNAMED,
        default_workflow=None,
        defaults=Defaults(),
        env={},
        workflows={},
        shipped={},
    )


def _drop(data: dict[str, Any], path: Path, copied: set[int]) -> None:
    holder: Any = data
    for depth, key in enumerate(path, start=1):
        value = holder.get(key)
        if depth == len(path) or not isinstance(value, dict):
            _leave_out(holder, path[:depth])
            return
        if id(value) not in copied:
            holder[key] = value = dict(value)
            copied.add(id(value))
        holder = value


def _leave_out(holder: Any, path: Path) -> None:
    is_step = len(path) % 2 == 0 and _SECTIONS.issuperset(path[::2])
    if is_step and path[-1] in holder:
        holder[path[-1]] = {}
    else:
        holder.pop(path[-1], None)


def _plain_env(fields: Fields, env: dict[str, Any]) -> dict[str, str]:
    for name, value in env.items():
        if isinstance(value, str) and "${{" in value:
            message = "expressions are not read in the environment of a project"
            fields.fault("CF110", ("env", name), message, "write it in the `env` of a workflow")
    return {name: spelling(value) for name, value in env.items()}


def _input(fields: Fields, name: str, given: dict[str, Any]) -> InputSpec:
    path = ("inputs", name)
    for place in pattern_faults(path, given):
        hint = "put `\\` before a special character that is meant as text"
        fields.fault("CF104", place, "`pattern` is no regular expression", hint)
    caution_input(fields, path, given)
    wanted = declared_schema(given)
    has_default = "default" in given
    if has_default and given == fields.source.data["inputs"][name]:  # else its type is not known
        check_default(fields, (*path, "default"), given["default"], wanted)
    return InputSpec(
        name=name,
        type=given.get("type", "string"),
        required=given.get("required", False),
        has_default=has_default,
        default=given.get("default"),
        description=given.get("description", ""),
        schema=wanted,
    )
