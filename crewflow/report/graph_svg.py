"""The graph of a plan or a run as one SVG file: no script, nothing from elsewhere, for light and for dark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from crewflow.report.graph import COLORS
from crewflow.report.layout import TITLE, place, route, shown_title
from crewflow.report.picture import Shape, draw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.graph.plan import Plan
    from crewflow.report.layout import Placed, Point
    from crewflow.report.picture import States

_EDGE: Final = 8.0
_SLANT: Final = 15.0
_NO_XML: Final = re.compile("[^\\t\\n\\r\\u0020-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def graph_svg(plan: Plan, states: States = None) -> str:
    """A drawing: gates slanted, `after` dashed, containers around what they hold, states as colours."""
    picture = draw(plan, states)
    placed = place(picture)
    width, height = placed.width + 2 * _EDGE, placed.height + 2 * _EDGE
    size = f'width="{width:.0f}" height="{height:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" {size} role="img">',
        f"<title>{_text(picture.title)}</title>",
        f"<style>{_style()}</style>",
        _TIP,
        f'<rect class="paper" {size}/>',
        f'<g transform="translate({_EDGE:.0f} {_EDGE:.0f})">',
        *_drawn(placed),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines)


def _style() -> str:
    """Colours as classes, those of a dark page beside those of a light one."""
    states = "".join(
        f".{state}{{stroke:{border}}}.box.{state}{{fill:{fill}}}.box.{state}+text{{fill:#000}}"
        for state, (fill, border) in COLORS.items()
    )
    return f"{_LIGHT}@media (prefers-color-scheme:dark){{{_DARK}}}{states}"


_TIP: Final = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
    ' orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>'
)

_LIGHT: Final = (
    "text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328;text-anchor:middle}"
    ".paper{fill:#fff}.box{fill:#f6f8fa;stroke:#57606a}.frame{fill:none;stroke:#8c959f}"
    ".line{fill:none;stroke:#57606a}.tip{fill:#57606a}"
    ".after,.finally{stroke-dasharray:5 4}"
)
_DARK: Final = (
    "text{fill:#e6edf3}.paper{fill:#0d1117}.box{fill:#161b22;stroke:#9198a1}.frame{stroke:#656c76}"
    ".line{stroke:#9198a1}.tip{fill:#9198a1}"
)


def _drawn(placed: Placed) -> Iterator[str]:
    """A box, then the lines in it, then what is in it, which lies above them."""
    yield from _box(placed)
    places = {one.box.id: one for one in _reachable(placed)}
    for line in placed.box.lines:
        way = placed.ways.get(line, [])
        style = "line after" if line.is_after else "line"
        yield f'<path class="{style}" d="{_path(route(line, places, way))}" marker-end="url(#tip)"/>'
    for one in placed.inside:
        yield from _drawn(one)


def _reachable(placed: Placed) -> Iterator[Placed]:
    """The boxes that lines of a box may lead to: those in it, and those in its `finally`."""
    for one in placed.inside:
        yield one
        if one.box.shape is Shape.FINALLY:
            yield from one.inside


def _box(placed: Placed) -> Iterator[str]:
    box, middle = placed.box, placed.x + placed.width / 2
    state = f" {box.state}" if box.state else ""
    yield f"<g><title>{_text(_tooltip(placed))}</title>"
    if box.inside:
        frame = "frame finally" if box.shape is Shape.FINALLY else "frame"
        yield _rectangle(f"{frame}{state}", placed)
        baseline = placed.y + TITLE * 0.6
    else:
        yield from _outline(placed, f"box{state}")
        baseline = placed.y + placed.height / 2 + 4
    yield f'<text x="{middle:.1f}" y="{baseline:.1f}">{_text(shown_title(box.title))}</text></g>'


def _tooltip(placed: Placed) -> str:
    box = placed.box
    return f"{box.id or box.title}: {box.state}" if box.state else box.id or box.title


def _outline(placed: Placed, style: str) -> Iterator[str]:
    if placed.box.shape is Shape.GATE:
        yield f'<path class="{style}" d="{_hexagon(placed)}"/>'
        return
    if placed.box.shape is Shape.MANY:
        yield _rectangle(style, placed, 4.0)
    yield _rectangle(style, placed)


def _rectangle(style: str, placed: Placed, offset: float = 0.0) -> str:
    return (
        f'<rect class="{style}" x="{placed.x + offset:.1f}" y="{placed.y - offset:.1f}"'
        f' width="{placed.width:.1f}" height="{placed.height:.1f}" rx="6"/>'
    )


def _hexagon(placed: Placed) -> str:
    left, right = placed.x, placed.x + placed.width
    top, bottom = placed.y, placed.y + placed.height
    middle = (top + bottom) / 2
    corners = [
        (left, middle),
        (left + _SLANT, top),
        (right - _SLANT, top),
        (right, middle),
        (right - _SLANT, bottom),
        (left + _SLANT, bottom),
    ]
    return f"{_path(corners)}z"


def _path(points: list[Point]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _text(text: str) -> str:
    """Text for XML, without the characters that it cannot hold."""
    return escape(_NO_XML.sub("\ufffd", text))
