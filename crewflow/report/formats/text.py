"""For people: each problem with its line, and a count at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.report.problems import count, to_blocks

if TYPE_CHECKING:
    from crewflow.report.formats.checked import Checked


def text(checked: Checked) -> str:
    """What `validate` prints; no text where there is nothing to show."""
    shown = checked.shown.problems
    if not shown:
        return ""
    return f"{to_blocks(shown, color=checked.color)}\n\n{count(checked.problems, len(checked.ignored))}"
