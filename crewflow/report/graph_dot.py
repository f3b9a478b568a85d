"""The graph of a plan or a run for Graphviz: boxes that hold others are clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crewflow.report.graph import COLORS
from crewflow.report.picture import Shape, draw, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.graph.plan import Plan
    from crewflow.report.picture import Box, Line, States

_SHAPES: Final = {Shape.TASK: "box", Shape.MANY: "box3d", Shape.GATE: "diamond"}


def graph_dot(plan: Plan, states: States = None) -> str:
    """A digraph: `needs` as full lines, `after` as dashed ones.

    A line to or from a cluster is one to or from a node in it, cut at the cluster's border.
    """
    picture = draw(plan, states)
    boxes = {box.id: box for box in walk(picture)}
    names = {name: f"n{number}" for number, name in enumerate(boxes)}
    lines = [
        "digraph {",
        "    compound=true; rankdir=TB",
        f"    label={_quoted(picture.title)}; labelloc=t; fontname=sans",
        '    node [shape=box, style="rounded,filled", fillcolor=white, fontname=sans]',
        *_inner(picture, names, "    "),
    ]
    for box in boxes.values():
        lines += [_edge(line, boxes, names) for line in box.lines]
    return "\n".join([*lines, "}"])


def _inner(around: Box, names: dict[str, str], margin: str) -> Iterator[str]:
    for box in around.inside:
        if not box.inside:
            shape = _SHAPES.get(box.shape, "box")
            yield f"{margin}{names[box.id]} [label={_quoted(box.title)}, shape={shape}{_painted(box)}]"
            continue
        yield f"{margin}subgraph cluster_{names[box.id]} {{"
        style = "dashed" if box.shape is Shape.FINALLY else "rounded"
        yield f"{margin}    label={_quoted(box.title)}; style={style}{_bordered(box)}"
        yield from _inner(box, names, f"{margin}    ")
        yield f"{margin}}}"


def _edge(line: Line, boxes: dict[str, Box], names: dict[str, str]) -> str:
    source, target = boxes[line.source], boxes[line.target]
    facts = ["style=dashed"] if line.is_after else []
    facts += [f"ltail=cluster_{names[source.id]}"] if source.inside else []
    facts += [f"lhead=cluster_{names[target.id]}"] if target.inside else []
    ends = f"{names[_leaf(source).id]} -> {names[_leaf(target).id]}"
    return f"    {ends} [{', '.join(facts)}]" if facts else f"    {ends}"


def _leaf(box: Box) -> Box:
    """A node: the box itself, or the first in it."""
    while box.inside:
        box = box.inside[0]
    return box


def _painted(box: Box) -> str:
    if box.state is None:
        return ""
    fill, border = COLORS[box.state]
    return f', fillcolor="{fill}", color="{border}", tooltip={_quoted(box.state)}'


def _bordered(box: Box) -> str:
    return f'; color="{COLORS[box.state][1]}"' if box.state is not None else ""


def _quoted(text: str) -> str:
    """A string of Graphviz; a backslash begins an escape there, so each is one of its own."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
