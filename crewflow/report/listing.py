"""Lists of what there is, as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows below their heads, each column as wide as its widest text; the last one is free."""
    lines = [tuple(heads), *map(tuple, rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(heads) - 1)]
    return "\n".join(
        "  ".join(
            (*(f"{text:<{width}}" for text, width in zip(line, widths, strict=False)), line[-1])
        ).rstrip()
        for line in lines
    )
