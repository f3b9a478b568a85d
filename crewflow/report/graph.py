"""The graph of a plan as a picture in text, as Mermaid, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewflow.graph.dag import generations

if TYPE_CHECKING:
    from crewflow.graph.plan import Plan, PlannedStep


def graph_ascii(plan: Plan) -> str:
    """Steps in layers, each with what it waits for. Layers are for the eye: a run knows none."""
    by_id = {step.id: step for step in plan.steps}
    main = {step.id: _before(step) for step in plan.steps if not step.final}
    final = {
        step.id: [name for name in _before(step) if name not in main] for step in plan.steps if step.final
    }
    lines = []
    for title, edges in (("", main), ("finally", final)):
        if title and edges:
            lines.append(title)
        for layer in generations(edges):
            lines += [_ascii_line(by_id[name]) for name in layer]
            lines.append("  |")
        lines = lines[:-1] if lines and lines[-1] == "  |" else lines
    return "\n".join(lines)


def graph_mermaid(plan: Plan) -> str:
    """A Mermaid flowchart: `needs` as full lines, `after` as dotted ones."""
    names = {step.id: f"s{index}" for index, step in enumerate(plan.steps)}
    lines = ["flowchart TD"]
    lines += [f'    {names[step.id]}["{_escaped(_title(step))}"]' for step in plan.steps]
    for step in plan.steps:
        lines += [f"    {names[need]} --> {names[step.id]}" for need in step.needs]
        lines += [f"    {names[other]} -.-> {names[step.id]}" for other in step.after]
    final = [names[step.id] for step in plan.steps if step.final]
    if final:
        lines += ["    classDef final stroke-dasharray: 4 3", f"    class {','.join(final)} final"]
    return "\n".join(lines)


def graph_document(plan: Plan) -> dict[str, Any]:
    """Nodes and edges, each edge with its kind."""
    return {
        "workflow": plan.workflow,
        "nodes": [
            {"id": step.id, "tasks": list(step.tasks), "finally": step.final, "fan_out": step.fan_out}
            for step in plan.steps
        ],
        "edges": [
            {"from": name, "to": step.id, "kind": kind}
            for step in plan.steps
            for kind, names in (("needs", step.needs), ("after", step.after))
            for name in names
        ],
    }


def _before(step: PlannedStep) -> list[str]:
    return [*step.needs, *step.after]


def _ascii_line(step: PlannedStep) -> str:
    waits = _before(step)
    return f"  * {_title(step)}" + (f"   <- {', '.join(waits)}" if waits else "")


def _title(step: PlannedStep) -> str:
    return f"{step.id} (x{len(step.tasks)})" if step.fan_out else step.id


def _escaped(text: str) -> str:
    return text.replace('"', "#quot;")
