"""Places in a file's bytes as lines, without splitting the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

WIDEST = 1000
"""How many bytes of a line are ever looked at: generated files have lines of megabytes."""


def number(content: bytes, matches: Iterable[re.Match[bytes]]) -> Iterator[tuple[int, re.Match[bytes]]]:
    """Each match with the line, counted from 1, that it starts on; matches come in order of place."""
    line, counted = 1, 0
    for match in matches:
        line += content.count(b"\n", counted, match.start())
        counted = match.start()
        yield line, match


def around(content: bytes, offset: int) -> str:
    """The line that holds the offset; of a very long one, the part that begins there."""
    start = content.rfind(b"\n", max(0, offset - WIDEST), offset) + 1
    begin = start if start or offset <= WIDEST else offset
    end = content.find(b"\n", offset, begin + WIDEST)
    return content[begin : end if end >= 0 else begin + WIDEST].decode("utf-8", "replace")
