"""The legs of a fan-out: which tasks a step with `matrix` or `for_each` becomes, and how they are called.

`include` and `exclude` follow the rule of GitHub Actions: exclusions go first and match on the axes they
name; an inclusion joins every combination whose axis values it does not change (what other inclusions
added, it may), and where there is none it is a combination of its own. Without axes every inclusion is one.

Two values are the same if they read the same: `3.10` is not `3.1`, and the number 3 is the text `"3"`.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from crewflow.spec.template import text_form

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    Combination = dict[str, Any]

MOST_LEGS: Final = 10_000
"""Tasks of one fan-out."""

MOST_COMBINATIONS: Final = 100_000
"""Of the axes, before exclusions."""

_LONGEST_LABEL: Final = 120  # bytes
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff%]")


@dataclass(frozen=True, slots=True)
class Leg:
    """One task of a fan-out: what stands in its brackets, and what its expressions may ask for."""

    label: str
    context: dict[str, Any]


def list_legs(items: Sequence[Any]) -> list[Leg]:
    """The legs of a `for_each`, called by their index."""
    return [Leg(str(index), {"item": item, "item_index": index}) for index, item in enumerate(items)]


def matrix_legs(
    axes: Mapping[str, Sequence[Any]],
    include: Sequence[Combination],
    exclude: Sequence[Combination],
) -> list[Leg]:
    """The legs of a `matrix`, called by their values in the order of the axes.

    Combinations that would be called the same by their axes alone are called by all of their values. Two
    that are still called the same are for the caller to refuse: `clash` finds them.
    """
    made = itertools.product(*axes.values()) if axes else ()
    combinations = [dict(zip(axes, values, strict=True)) for values in made]
    kept = _without(combinations, exclude)
    legs = _with_included(kept, axes, include)
    names = list(dict.fromkeys(itertools.chain(axes, *include)))
    labels = _labels(legs, axes, names)
    return [Leg(label, {"matrix": one}) for label, one in zip(labels, legs, strict=True)]


def count_combinations(axes: Mapping[str, Sequence[Any]]) -> int:
    """How many combinations the axes have, found without making them."""
    count = 1 if axes else 0
    for values in axes.values():
        count *= len(values)
    return count


def clash(legs: Iterable[Leg]) -> str | None:
    """A label that two legs have, but for upper and lower case and the way that accents are written."""
    seen: set[str] = set()
    for leg in legs:
        folded = fold_label(leg.label)
        if folded in seen:
            return leg.label
        seen.add(folded)
    return None


def fold_label(label: str) -> str:
    """What labels are told apart by, since file systems may not tell more apart."""
    return unicodedata.normalize("NFC", label).casefold()


def reading(value: Any) -> Hashable:
    """What two values have in common if they read the same, whatever the order of the keys of objects."""
    if isinstance(value, dict):
        return frozenset((key, reading(inner)) for key, inner in value.items())
    return tuple(map(reading, value)) if isinstance(value, list) else value_text(value)


def value_text(value: Any) -> str:
    """How a value reads in a label."""
    return "null" if value is None else text_form(value)


def _without(combinations: list[Combination], exclude: Iterable[Combination]) -> list[Combination]:
    """The combinations that no exclusion matches; those that name the same axes are asked as one."""
    groups: dict[tuple[str, ...], set[Hashable]] = {}
    for rule in exclude:
        names = tuple(sorted(rule))
        groups.setdefault(names, set()).add(_readings(rule, names))
    return [
        one
        for one in combinations
        if not any(one.keys() >= set(names) and _readings(one, names) in out for names, out in groups.items())
    ]


def _readings(combination: Combination, names: Iterable[str]) -> Hashable:
    return tuple(reading(combination[name]) for name in names)


def _with_included(
    kept: list[Combination], axes: Mapping[str, Sequence[Any]], include: Iterable[Combination]
) -> list[Combination]:
    grown = [dict(one) for one in kept]
    added = []
    # The axis values of a combination never change, so those that have the same are found once.
    alike: dict[tuple[str, ...], dict[Hashable, list[Combination]]] = {}
    for rule in include:
        names = tuple(sorted(key for key in rule if key in axes))
        if names not in alike:
            alike[names] = {}
            for one in grown:
                alike[names].setdefault(_readings(one, names), []).append(one)
        joined = alike[names].get(_readings(rule, names), [])
        for one in joined:
            one.update({key: value for key, value in rule.items() if key not in axes})
        if not joined:
            added.append(dict(rule))
    return grown + added


def _labels(
    combinations: Sequence[Combination], axes: Mapping[str, Sequence[Any]], names: Sequence[str]
) -> list[str]:
    short = [_label(one, axes if axes.keys() <= one.keys() else names) for one in combinations]
    count = Counter(map(fold_label, short))
    return [
        label if count[fold_label(label)] == 1 else _label(one, names)
        for label, one in zip(short, combinations, strict=True)
    ]


def _label(combination: Combination, names: Iterable[str]) -> str:
    return _tame(",".join(value_text(combination[name]) for name in names if name in combination))


def _tame(label: str) -> str:
    """Keep a label on one line and short; what is cut is told apart by a hash."""
    shown = _UNSHOWN.sub(lambda found: f"%{ord(found[0]):02X}", label)
    raw = shown.encode()
    if len(raw) <= _LONGEST_LABEL:
        return shown
    digest = hashlib.sha256(raw).hexdigest()[:8]
    return raw[: _LONGEST_LABEL - 9].decode(errors="ignore") + "~" + digest
