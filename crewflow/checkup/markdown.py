"""Markdown pieces whose content is never read as Markdown itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def code(content: str) -> str:
    """The text as a code span, whatever backticks it holds."""
    ticks = "`" * (_longest_run(content) + 1)
    pad = " " if content.startswith("`") or content.endswith("`") else ""
    return f"{ticks}{pad}{content}{pad}{ticks}"


def block(lines: Iterable[str]) -> str:
    """The lines as a fenced block, whatever backticks they hold."""
    content = "\n".join(lines)
    fence = "`" * max(3, _longest_run(content) + 1)
    return f"{fence}text\n{content}\n{fence}"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is a code span and whose other columns are numbers."""
    head = ["| " + " | ".join(headings) + " |", "|---|" + "---:|" * (len(headings) - 1)]
    body = ["| " + " | ".join((_cell(row[0]), *row[1:])) + " |" for row in rows]
    return "\n".join(head + body)


def _cell(content: str) -> str:
    # A table is cut into cells before code spans are looked for.
    return code(content).replace("|", "\\|")


def _longest_run(content: str) -> int:
    return max(map(len, re.findall("`+", content)), default=0)
