"""The graph of a plan or a run as a picture in text, as Mermaid, and as JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from crewflow.graph.dag import generations
from crewflow.report.authored import some
from crewflow.report.outline import Outline, bound
from crewflow.report.picture import Shape, draw, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crewflow.graph.plan import Plan, PlannedStep
    from crewflow.report.picture import Box, States

    _Waits = dict[str, tuple[list[str], list[str]]]

COLORS: Final[dict[str, tuple[str, str]]] = {
    "succeeded": ("#d8f0dc", "#1a7f37"),
    "failed": ("#ffdcd8", "#c6281c"),
    "running": ("#d9e8ff", "#1f5fbf"),
    "waiting": ("#fff2cc", "#8a6100"),
    "ready": ("#fff2cc", "#8a6100"),
    "deciding": ("#fff2cc", "#8a6100"),
    "cancelled": ("#f3e3c8", "#7a5200"),
    "skipped": ("#e6e6e6", "#666666"),
    "pending": ("#ffffff", "#666666"),
}
"""Of each state what a box is filled with, and its border."""

_MARKUP: Final = re.compile(r"[^\w ()-]")


def graph_ascii(plan: Plan, states: States = None) -> str:
    """Boxes in layers, each with what it waits for. Layers are for the eye: a run knows none."""
    picture = draw(plan, states)
    return "\n".join(_layers(picture, _waits(picture), ""))


def graph_mermaid(plan: Plan, states: States = None) -> str:
    """A Mermaid flowchart: `needs` as full lines, `after` as dotted ones.

    Nodes have ids of their own, since a step may be called `end`, which is a word of Mermaid's.
    """
    picture = draw(plan, states)
    boxes = [box for box in walk(picture) if box is not picture]
    names = {box.id: f"s{index}" for index, box in enumerate(boxes)}
    lines = ["flowchart TD", *_mermaid_boxes(picture, names, "    ")]
    for box in walk(picture):
        for line in box.lines:
            arrow = "-.->" if line.is_after else "-->"
            lines.append(f"    {names[line.source]} {arrow} {names[line.target]}")
    used: dict[str, list[str]] = {}
    for box in boxes:
        if box.state is not None:
            used.setdefault(box.state, []).append(names[box.id])
    for state, members in used.items():
        fill, border = COLORS[state]
        lines.append(f"    classDef {state}_ fill:{fill},stroke:{border},color:#000000")
        lines.append(f"    class {','.join(members)} {state}_")
    return "\n".join(lines)


def graph_document(plan: Plan, states: States = None) -> dict[str, Any]:
    """Nodes and edges, each edge with its kind; every step, inside containers and patterns too."""
    outline = Outline(plan)
    return {
        "workflow": plan.workflow,
        "nodes": [_node(outline, step, states) for step in outline.steps.values()],
        "edges": [
            {"from": name, "to": step.id, "kind": kind}
            for step in outline.steps.values()
            for kind, names in (("needs", step.needs), ("after", step.after))
            for name in names
        ],
    }


def _node(outline: Outline, step: PlannedStep, states: States) -> dict[str, Any]:
    first = outline.first(step)
    node: dict[str, Any] = {
        "id": step.id,
        "kind": None if first is None else first.kind,
        "within": step.within,
        "tasks": list(step.tasks),
        "finally": step.final,
        "fan_out": step.fan_out,
        "bound": None if step.unfold is None else bound(step.unfold),
    }
    if states is not None:
        node["states"] = {name: states[name] for name in step.tasks or (step.id,) if name in states}
    return node


# --- text -----------------------------------------------------------------------------------------


def _waits(picture: Box) -> _Waits:
    """What each box needs, and what it comes after."""
    waits: _Waits = {box.id: ([], []) for box in walk(picture)}
    for box in walk(picture):
        for line in box.lines:
            waits[line.target][line.is_after].append(line.source)
    return waits


def _layers(around: Box, waits: _Waits, margin: str) -> Iterator[str]:
    boxes = {box.id: box for box in around.inside if box.shape is not Shape.FINALLY}
    before = {name: [one for kind in waits[name] for one in kind if one in boxes] for name in boxes}
    for number, layer in enumerate(generations(before)):
        if number:
            yield f"{margin}  |"
        for name in layer:
            yield from _ascii_box(boxes[name], waits, around.prefix, margin)
    for box in around.inside:
        if box.shape is Shape.FINALLY:
            yield f"{margin}finally"
            yield from _layers(box, waits, margin)


def _ascii_box(box: Box, waits: _Waits, prefix: str, margin: str) -> Iterator[str]:
    needs, after = ([name.removeprefix(prefix) for name in names] for names in waits[box.id])
    words = [some(needs)] if needs else []
    words += [f"after {some(after)}"] if after else []
    state = f"  {box.state}" if box.state else ""
    arrow = "   <- " if words else ""
    yield f"{margin}  {_MARKS.get(box.shape, '*')} {box.title}{state}{arrow}{'; '.join(words)}"
    if box.inside:
        yield from _layers(box, waits, f"{margin}    ")


_MARKS: Final = {Shape.GATE: "?", Shape.FRAME: "+"}


# --- Mermaid --------------------------------------------------------------------------------------


def _mermaid_boxes(around: Box, names: Mapping[str, str], margin: str) -> Iterator[str]:
    for box in around.inside:
        if box.inside:
            yield f'{margin}subgraph {names[box.id]}["{_escaped(box.title)}"]'
            yield from _mermaid_boxes(box, names, f"{margin}    ")
            yield f"{margin}end"
        else:
            opening, closing = _BRACKETS.get(box.shape, ("[", "]"))
            yield f'{margin}{names[box.id]}{opening}"{_escaped(box.title)}"{closing}'


_BRACKETS: Final = {Shape.GATE: ("{{", "}}"), Shape.MANY: ("[[", "]]")}


def _escaped(text: str) -> str:
    """Text as the label of a node: what could be markup is written as the number of its character."""
    return _MARKUP.sub(lambda found: f"#{ord(found[0])};", text)
