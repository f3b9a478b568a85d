"""Did you mean: the nearest of the names that would have been right."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ENOUGH = 0.66
_LONGEST = 100


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The name in `known` that `word` was most likely meant to be, or None if nothing is near.

    Case, `-` and `_` do not count; of equally near names the first wins.
    """
    if len(word) > _LONGEST:
        return None
    plain = _plain(word)
    ranked = [(_likeness(plain, _plain(name)), -index, name) for index, name in enumerate(known)]
    best = max(ranked, default=(0.0, 0, ""))
    return best[2] if best[0] >= _ENOUGH else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The hint to show, or None if nothing is near."""
    name = nearest(word, known)
    return None if name is None else f"did you mean `{name}`?"


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")


def _likeness(left: str, right: str) -> float:
    """From 0 to 1; a swap, a missing letter or an extra one in a short word is still near."""
    if left == right:
        return 1.0
    if sorted(left) == sorted(right):
        return 0.95
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= _ENOUGH else 0.0
