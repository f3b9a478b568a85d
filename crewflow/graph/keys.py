"""Keys that name something else: steps, secrets, pools. They must exist, where they can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.graph.tree import Tree
from crewflow.spec.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.graph.findings import Findings
    from crewflow.spec.model import Path, Project, Step, Workflow


def check_keys(project: Project, workflow: Workflow, tree: Tree, findings: Findings) -> None:
    """Tell every name in such a key that leads nowhere."""
    for step in tree.steps():
        for key, path, name in _named_steps(step):
            _check_step(tree, step, key, path, name, findings)
        for name, source in step.later.get("secrets", {}).items():
            _check_secret(workflow, step, name, source, findings)
        for name in step.later.get("pools", {}):
            _check_pool(project, step, name, findings)
        if step.final:
            _check_final(project, step, findings)
        if step.later.get("log") == "raw" and step.later.get("secrets"):
            message = f"step `{step.id}` gets secrets, and `log: raw` would show them"
            findings.tell("CF218", (*step.path, "log"), message, "remove `log: raw`")


def _check_final(project: Project, step: Step, findings: Findings) -> None:
    """Under `finally` nobody is asked, and nothing is planned anew: it has to come to an end."""
    if step.kind is Kind.GATE or "expand" in step.later:
        key = "approval" if step.kind is Kind.GATE else "expand"
        path = (*step.path, key)
        message = f"`{key}` may not stand under `finally`"
        findings.tell("CF311", path, message, "move the step under `steps`", at=findings.key_place(path))
    elif step.workflow is not None and _has_gate(project, step.workflow, set()):
        message = f"workflow `{step.workflow}` has a gate, and is called under `finally`"
        findings.tell("CF311", (*step.path, "workflow"), message, "move the step under `steps`")


def _has_gate(project: Project, name: str, seen: set[str]) -> bool:
    called = project.workflow(name)
    if called is None or name in seen:
        return False
    seen.add(name)
    return any(
        step.kind is Kind.GATE or (step.workflow is not None and _has_gate(project, step.workflow, seen))
        for step in Tree(called).steps()
    )


def _named_steps(step: Step) -> Iterator[tuple[str, Path, str]]:
    """The steps that keys of a step name, but for `needs` and `after`: the key, the place, the name."""
    if "session" in step.later:
        yield "session", (*step.path, "session"), step.later["session"]
    if isinstance(step.context, tuple):
        for index, name in enumerate(step.context):
            yield "context", (*step.path, "context", index), name
    rework = step.later.get("approval", {}).get("rework", {}).get("steps", [])
    for index, name in enumerate([rework] if isinstance(rework, str) else rework):
        path: Path = (*step.path, "approval", "rework", "steps")
        yield "rework", path if isinstance(rework, str) else (*path, index), name


def _check_step(tree: Tree, step: Step, key: str, path: Path, name: str, findings: Findings) -> None:
    body = tree.holding(step)
    asked = body.by_id.get(name)
    if asked is None:
        hint = findings.hint("", name, body.by_id, None, besides=step.id)
        findings.tell("CF201", path, f"the `{key}` of step `{step.id}` names unknown step `{name}`", hint)
    elif asked is step or not body.upstream.holds(step.id, name):
        message = f"the `{key}` of step `{step.id}` names `{name}`, which may not have ended by then"
        findings.tell("CF203", path, message, f"add `{name}` to its `needs`")
    elif key == "session" and asked.kind is not Kind.PROMPT:
        message = f"the `session` of step `{step.id}` names `{name}`, which asks no agent"
        findings.tell("CF216", path, message, "name a step with a `prompt`")


def _check_secret(workflow: Workflow, step: Step, name: str, source: str, findings: Findings) -> None:
    if source in workflow.secrets:
        return
    path = (*step.path, "secrets")
    message = f"step `{step.id}` gets secret `{source}`, which the workflow does not list"
    hint = findings.hint("", source, workflow.secrets, f"write `secrets: [{source}]` at the top")
    place = findings.name_place(path, 0, source) if name == source else None
    findings.tell("CF217", (*path, name), message, hint, at=place)


def _check_pool(project: Project, step: Step, name: str, findings: Findings) -> None:
    if name in project.pools:
        return
    message = f"step `{step.id}` takes a slot of unknown pool `{name}`"
    hint = findings.hint("", name, project.pools, "declare it under the `pools` of `crewflow.yaml`")
    path = (*step.path, "pools")
    findings.tell("CF219", (*path, name), message, hint, at=findings.name_place(path, 0, name))
