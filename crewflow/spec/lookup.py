"""How a dotted path finds its value in plain data: names are keys, never attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewflow.spec.expression import UNDEFINED

if TYPE_CHECKING:
    from collections.abc import Iterable


def look_up(known: Any, path: Iterable[str | int]) -> Any:
    """The value at a path of keys and indices in plain data, or UNDEFINED."""
    for key in path:
        if isinstance(known, dict):
            known = known.get(str(key), UNDEFINED)
        elif isinstance(known, list) and isinstance(key, int) and -len(known) <= key < len(known):
            known = known[key]
        else:
            return UNDEFINED
    return known
