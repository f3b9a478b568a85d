"""The legs of a fan-out: which tasks a step with `matrix` or `for_each` becomes, and how they are called.

`include` and `exclude` follow the rule of GitHub Actions: exclusions go first and match on the keys they
name; an inclusion joins every combination whose axis values it does not change, and where there is none it
is a combination of its own.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from crewflow.spec.template import text_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MOST_LEGS: Final = 10_000
_LONGEST_LABEL: Final = 120


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
    include: Iterable[dict[str, Any]],
    exclude: Iterable[dict[str, Any]],
) -> list[Leg]:
    """The legs of a `matrix`, called by their values in the order of the axes."""
    combinations = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    excluded = list(exclude)
    kept = [one for one in combinations if not any(_matches(one, rule) for rule in excluded)]
    return [Leg(_label(one, axes), {"matrix": one}) for one in _with_included(kept, axes, include)]


def count_legs(axes: Mapping[str, Sequence[Any]]) -> int:
    """How many combinations the axes have, found without making them."""
    count = 1
    for values in axes.values():
        count *= len(values)
    return count


def _matches(combination: dict[str, Any], rule: dict[str, Any]) -> bool:
    return all(key in combination and combination[key] == value for key, value in rule.items())


def _with_included(
    kept: list[dict[str, Any]],
    axes: Mapping[str, Sequence[Any]],
    include: Iterable[dict[str, Any]],
) -> list[dict[str, Any]]:
    grown = [dict(one) for one in kept]
    added = []
    for rule in include:
        of_axes = {key: value for key, value in rule.items() if key in axes}
        joined = [one for one in grown if _matches(one, of_axes)]
        for one in joined:
            one.update(rule)
        if not joined:
            added.append(dict(rule))
    return grown + added


def _label(combination: dict[str, Any], axes: Mapping[str, Sequence[Any]]) -> str:
    values = [combination[axis] for axis in axes if axis in combination]
    if len(values) < len(axes):  # an included one of its own may name other keys instead
        values += [value for key, value in combination.items() if key not in axes]
    return _tame(",".join(_value_text(value) for value in values))


def _value_text(value: Any) -> str:
    return "null" if value is None else text_form(value)


def _tame(label: str) -> str:
    """Keep a label on one line and short; what is cut is told apart by a hash."""
    shown = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029%]", lambda found: f"%{ord(found[0]):02X}", label)
    if len(shown.encode()) <= _LONGEST_LABEL:
        return shown
    digest = hashlib.sha256(label.encode()).hexdigest()[:8]
    return shown.encode()[: _LONGEST_LABEL - 9].decode(errors="ignore") + "~" + digest
