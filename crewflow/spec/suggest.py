"""Did you mean: the nearest of the names that would have been right."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from crewflow.spec.words import quoted

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
    return None if name is None else f"did you mean {quoted(name)}?"


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")


def _likeness(left: str, right: str) -> float:
    """From 0 to 1; a swap, a missing letter or an extra one in a short word is still near."""
    if left == right:
        return 1.0
    if _most(left, right) < _ENOUGH:
        return 0.0  # plainly too far, and not measured
    if sorted(left) == sorted(right):
        return 0.95
    return SequenceMatcher(None, left, right, autojunk=False).ratio()


def _most(left: str, right: str) -> float:
    """A bound on the likeness that is quickly found: by the lengths, then by the letters that both have."""
    length = len(left) + len(right)
    shorter = min(len(left), len(right))
    if 2 * shorter < _ENOUGH * length:
        return 0.0
    return 2 * sum(min(left.count(letter), right.count(letter)) for letter in set(left)) / length
