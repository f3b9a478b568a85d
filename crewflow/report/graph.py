"""The graph of a plan as a picture in text, as Mermaid, and as JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crewflow.graph.dag import generations
from crewflow.report.plan import some

if TYPE_CHECKING:
    from crewflow.graph.plan import Plan, PlannedStep

_MARKUP = re.compile(r"[^\w ()-]")


def graph_ascii(plan: Plan) -> str:
    """Steps in layers, each with what it waits for. Layers are for the eye: a run knows none."""
    main = [step for step in plan.steps if not step.final]
    final = [step for step in plan.steps if step.final]
    return "\n".join([*_layers(main), *(["finally"] if final else []), *_layers(final)])


def graph_mermaid(plan: Plan) -> str:
    """A Mermaid flowchart: `needs` as full lines, `after` as dotted ones.

    Nodes have ids of their own, since a step may be called `end`, which is a word of Mermaid's.
    """
    names = {step.id: f"s{index}" for index, step in enumerate(plan.steps)}
    nodes = [(step.final, f'{names[step.id]}["{_escaped(_title(step))}"]') for step in plan.steps]
    lines = ["flowchart TD", *(f"    {node}" for final, node in nodes if not final)]
    in_final = [f"        {node}" for final, node in nodes if final]
    if in_final:
        lines += ['    subgraph final["finally"]', *in_final, "    end"]
    for step in plan.steps:
        lines += [f"    {names[need]} --> {names[step.id]}" for need in step.needs]
        lines += [f"    {names[other]} -.-> {names[step.id]}" for other in step.after]
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


def _layers(steps: list[PlannedStep]) -> list[str]:
    by_id = {step.id: step for step in steps}
    before = {step.id: [one for one in (*step.needs, *step.after) if one in by_id] for step in steps}
    lines: list[str] = []
    for layer in generations(before):
        if lines:
            lines.append("  |")
        lines += [_ascii_line(by_id[name]) for name in layer]
    return lines


def _ascii_line(step: PlannedStep) -> str:
    waits = [
        words for words in (some(step.needs), f"after {some(step.after)}" if step.after else "") if words
    ]
    return f"  * {_title(step)}" + (f"   <- {'; '.join(waits)}" if waits else "")


def _title(step: PlannedStep) -> str:
    return f"{step.id} (x{len(step.tasks)})" if step.fan_out else step.id


def _escaped(text: str) -> str:
    """Text as the label of a node: what could be markup is written as the number of its character."""
    return _MARKUP.sub(lambda found: f"#{ord(found[0])};", text)
