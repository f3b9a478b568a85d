"""Sizes: `100KB`, `10MB`, `1GiB` -> bytes. A number without a unit is refused."""

from __future__ import annotations

import re
from typing import Final

_SIZE: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)([KMGT]?)(i?)B")
_LETTERS: Final = " KMGT"


def parse_size(text: str) -> int:
    """Bytes of a size as text: `KB` are thousands, `KiB` are 1024.

    Raises:
        ValueError: it has no unit, or another form.
    """
    match = _SIZE.fullmatch(text)
    if match is None or (match[3] and not match[2]):
        raise ValueError(f"`{text}` is no size")
    step = 1024 if match[3] else 1000
    unit: int = step ** _LETTERS.index(match[2] or " ")
    return round(float(match[1]) * unit)
