"""Where the boxes of a picture stand: layers from top to bottom, each row ordered by what it hangs on.

Layered as Sugiyama, Tagawa and Toda (1981) do: layers by longest path, a place of its own for a line in
each layer that it passes, rows ordered by the mean place of their neighbours in the row before. All
lengths are pixels; the same picture always has the same places.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from crewflow.graph.dag import dependents, generations
from crewflow.report.picture import Box, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crewflow.report.picture import Line

LETTER: Final = 7.3
"""Width of a letter of a 12 pixel monospace font."""
TITLE: Final = 30.0
"""Height of the top of a box that holds others, where its title stands."""

GAP_ACROSS: Final = 16.0
_GAP_OF_WAY: Final = 6.0
GAP_DOWN: Final = 34.0
_HEIGHT: Final = 30.0
_PADDING: Final = 12.0
_WIDEST_ROW: Final = 1_600.0
_LONGEST_TITLE: Final = 40
_MOST_WAYS: Final = 20_000
_SWEEPS: Final = 4

_WAY: Final = Box("", "", Shape.TASK)

Point = tuple[float, float]


@dataclass(slots=True)
class Placed:
    """A box with its place, that of its top left corner in the picture.

    Attributes:
        below: how much of its row lies below it.
        inside: what is in it.
        ways: the places that each long line in it passes on its way down.
    """

    box: Box
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    below: float = 0.0
    inside: list[Placed] = field(default_factory=list)
    ways: dict[Line, list[Placed]] = field(default_factory=dict)


def shown_title(text: str) -> str:
    """A title, cut where it is too wide."""
    return text if len(text) <= _LONGEST_TITLE else f"{text[: _LONGEST_TITLE - 3]}..."


def place(picture: Box) -> Placed:
    """Place a picture and all in it."""
    placed = _sized(picture)
    _move(placed, 0.0, 0.0)
    return placed


def route(line: Line, places: Mapping[str, Placed], way: list[Placed]) -> list[Point]:
    """The points that a line goes through, from the bottom of a box to the top of another.

    Between two rows it goes as it likes, and through a row straight down.
    """
    source, target = places[line.source], places[line.target]
    passed = [point for one in (source, *way) for point in _down(one)]
    return [*passed, (target.x + target.width / 2, target.y)]


def _down(placed: Placed) -> list[Point]:
    """From the bottom of a box to the bottom of its row."""
    middle, bottom = placed.x + placed.width / 2, placed.y + placed.height
    return [(middle, bottom)] if placed.below == 0 else [(middle, bottom), (middle, bottom + placed.below)]


def _sized(box: Box) -> Placed:
    """A box with its size; what is in it is placed relative to it."""
    own = _text_width(shown_title(box.title)) + 2 * _PADDING
    if not box.inside:
        return Placed(box, own + (_HEIGHT if box.shape is Shape.GATE else 0.0), _HEIGHT)
    inside = [_sized(one) for one in box.inside]
    rows, ways = _rows(box, inside)
    widths = [_row_width(row) for row in rows]
    width = max(own, max(widths) + 2 * _PADDING)
    bottom = _place_rows(rows, widths, width)
    return Placed(box, width, bottom + _PADDING, inside=inside, ways=ways)


def _place_rows(rows: list[list[Placed]], widths: list[float], width: float) -> float:
    """Place rows below each other, each in the middle; returns where the last one ends."""
    y = TITLE
    for row, wide in zip(rows, widths, strict=True):
        x, height = (width - wide) / 2, max(one.height for one in row)
        for one in row:
            one.x, one.y, one.below = x, y, height - one.height
            x += one.width + _gap(one)
        y += height + GAP_DOWN
    return y - GAP_DOWN


def _move(placed: Placed, x: float, y: float) -> None:
    """From places relative to what is around to places in the picture."""
    placed.x, placed.y = placed.x + x, placed.y + y
    for one in placed.inside:
        _move(one, placed.x, placed.y)
    for way in placed.ways.values():
        for one in way:
            one.x, one.y = one.x + placed.x, one.y + placed.y


def _text_width(text: str) -> float:
    wide = sum(unicodedata.east_asian_width(letter) in {"W", "F"} for letter in text)
    return (len(text) + wide) * LETTER


def _row_width(row: list[Placed]) -> float:
    return sum(one.width + _gap(one) for one in row) - _gap(row[-1])


def _gap(placed: Placed) -> float:
    """How much room is left to the right of a box, or of a line that passes."""
    return _GAP_OF_WAY if placed.box is _WAY else GAP_ACROSS


# --- which row, and where in it -------------------------------------------------------------------


def _rows(box: Box, inside: list[Placed]) -> tuple[list[list[Placed]], dict[Line, list[Placed]]]:
    """The boxes in rows, with the ways of long lines; what is under `finally` comes last."""
    places = {one.box.id: one for one in inside if one.box.shape is not Shape.FINALLY}
    lines = [line for line in box.lines if line.source in places and line.target in places]
    before: dict[str, list[str]] = {name: [] for name in places}
    for line in lines:
        before[line.target].append(line.source)
    layers = generations(before)
    ways = _add_ways(lines, layers, places, before)
    ordered = _ordered(layers, before)
    rows = [row for layer in ordered for row in _broken([places[name] for name in layer])]
    rows += [[one] for one in inside if one.box.shape is Shape.FINALLY]
    return rows, {line: [places[name] for name in way] for line, way in ways.items()}


def _add_ways(
    lines: list[Line], layers: list[list[str]], places: dict[str, Placed], before: dict[str, list[str]]
) -> dict[Line, list[str]]:
    """Give each long line a place in every layer that it passes; none if they would be too many."""
    depth = {name: number for number, layer in enumerate(layers) for name in layer}
    if sum(depth[line.target] - depth[line.source] - 1 for line in lines) > _MOST_WAYS:
        return {}
    ways: dict[Line, list[str]] = {}
    for number, line in enumerate(lines):
        above = line.source
        for layer in range(depth[line.source] + 1, depth[line.target]):
            name = f"\0{number}.{layer}"  # no step is called so
            places[name] = Placed(_WAY, 0.0, 0.0)
            before[name] = [above]
            layers[layer].append(name)
            ways.setdefault(line, []).append(name)
            above = name
        before[line.target].append(above)
    return ways


def _ordered(layers: list[list[str]], before: Mapping[str, list[str]]) -> list[list[str]]:
    """Each layer by the mean place of its neighbours, downwards and upwards in turn."""
    after = dependents(before)
    result = layers
    for sweep in range(_SWEEPS):
        near = before if sweep % 2 == 0 else after
        place_of: dict[str, float] = {}
        ordered = []
        for layer in result if sweep % 2 == 0 else reversed(result):
            row = sorted(layer, key=_barycentre(layer, near, place_of))
            place_of |= {name: (number + 0.5) / len(row) for number, name in enumerate(row)}
            ordered.append(row)
        result = ordered if sweep % 2 == 0 else ordered[::-1]
    return result


def _barycentre(
    layer: list[str], near: Mapping[str, list[str]], place_of: Mapping[str, float]
) -> Callable[[str], float]:
    """Where a box would like to be: amid its neighbours, else where it is."""
    known = {name: [place_of[one] for one in near[name] if one in place_of] for name in layer}
    means = {
        name: sum(found) / len(found) if found else (number + 0.5) / len(layer)
        for number, (name, found) in enumerate(known.items())
    }
    return means.__getitem__


def _broken(row: list[Placed]) -> list[list[Placed]]:
    """A row, in several if its boxes are too wide for one."""
    rows: list[list[Placed]] = [[]]
    width = 0.0
    for one in row:
        if rows[-1] and width + one.width > _WIDEST_ROW:
            rows.append([])
            width = 0.0
        rows[-1].append(one)
        width += 0.0 if one.box is _WAY else one.width + GAP_ACROSS
    return rows
