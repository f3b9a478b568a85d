"""The edges between steps: names in `needs` and `after` that are unknown or misplaced, and cycles."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from crewflow.errors import Note
from crewflow.graph.dag import acyclic_part, cycles, topological

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from crewflow.errors import Place
    from crewflow.graph.findings import Findings
    from crewflow.spec.model import Step

_LONGEST_CYCLE_SHOWN: Final = 50
_VERBS: Final = {"needs": "needs", "after": "comes after"}


def check_edges(authored: tuple[Step, ...], outside: Collection[str], findings: Findings) -> None:
    """Tell every unknown, misdirected or circular edge between the steps of a workflow, or of a group.

    Args:
        authored: the steps.
        outside: ids of steps around the group, which cannot be waited for from within.
        findings: where faults are told.
    """
    steps = {step.id: step for step in authored}
    for step in authored:
        for key, index, name in () if findings.is_full else _edges_of(step):
            _check_edge(findings, steps, outside, step, key, index, name)
    before = _without_loops(authored)
    if topological(before) is None:
        for cycle in cycles(before):
            _tell_cycle(findings, steps, cycle)


def known_edges(authored: tuple[Step, ...]) -> dict[str, list[str]]:
    """Each step with the steps it waits for, unknown names left out."""
    known = {step.id for step in authored}
    return {
        step.id: [name for name in dict.fromkeys((*step.needs, *step.after)) if name in known]
        for step in authored
    }


class Upstream:
    """Which steps have ended before a given one starts; found out when it is asked for the first time."""

    def __init__(self, authored: tuple[Step, ...]) -> None:
        self._before = _without_loops(authored)
        self._final = {step.id for step in authored if step.final}

    def holds(self, step: str, earlier: str) -> bool:
        """Whether `earlier` has ended before `step` starts; True where a cycle leaves it open."""
        if step in self._final and earlier not in self._final:
            return True
        reached = self._reached.get(step)
        return reached is None or bool(reached & self._bit[earlier])

    @cached_property
    def _bit(self) -> dict[str, int]:
        return {name: 1 << index for index, name in enumerate(self._before)}

    @cached_property
    def _reached(self) -> dict[str, int]:
        """The steps before each one as a set of bits, so that a chain of 10,000 takes 12 MB."""
        reached: dict[str, int] = {}
        for name in acyclic_part(self._before):
            mask = 0
            for other in self._before[name]:
                mask |= self._bit[other] | reached[other]
            reached[name] = mask
        return reached


def _without_loops(authored: tuple[Step, ...]) -> dict[str, list[str]]:
    """The known edges but those from a step to itself, which are told one by one."""
    return {name: [one for one in names if one != name] for name, names in known_edges(authored).items()}


def _edges_of(step: Step) -> Iterator[tuple[str, int, str]]:
    for key, names in (("needs", step.needs), ("after", step.after)):
        for index, name in enumerate(names):
            yield key, index, name


def _check_edge(
    findings: Findings,
    steps: dict[str, Step],
    outside: Collection[str],
    step: Step,
    key: str,
    index: int,
    name: str,
) -> None:
    other = steps.get(name)
    if other is None and name in outside:
        rule, message = "CF201", f"step `{step.id}` cannot wait for `{name}`, which stands outside its group"
        hint: str | None = f"write it in the `{key}` of the group"
    elif other is None:
        rule, message = "CF201", f"step `{step.id}` {_VERBS[key]} unknown step `{name}`"
        hint = findings.hint("", name, steps, None, besides=step.id)
    elif other is step:
        rule, message = "CF302", f"step `{name}` depends on itself"
        hint = f"remove `{name}` from its own `{key}`"
    elif other.final and not step.final:
        rule, message = "CF303", f"step `{step.id}` cannot wait for `{name}`, which stands under `finally`"
        hint = f"move `{step.id}` under `finally`, or `{name}` under `steps`"
    else:
        return
    path = (*step.path, key)
    findings.tell(rule, (*path, index), message, hint, at=findings.name_place(path, index, name))


def _tell_cycle(findings: Findings, steps: dict[str, Step], cycle: list[str]) -> None:
    """One problem at the edge that stands first in the file, with a note for each edge."""
    message = f"steps wait for each other: {_shown([*cycle, cycle[0]])}"
    pairs = list(zip(cycle, cycle[1:] + cycle[:1], strict=True))[:_LONGEST_CYCLE_SHOWN]
    notes = tuple(
        Note(_edge_place(findings, steps[waiting], waited), f"`{waiting}` waits for `{waited}`")
        for waited, waiting in pairs
    )
    first = min(range(len(notes)), key=lambda index: notes[index].place)
    path = steps[pairs[first][1]].path
    findings.tell("CF301", path, message, "remove one of these edges", at=notes[first].place, notes=notes)


def _shown(names: list[str]) -> str:
    if len(names) <= _LONGEST_CYCLE_SHOWN + 1:
        return " -> ".join(names)
    head, tail = names[: _LONGEST_CYCLE_SHOWN - 3], names[-3:]
    return f"{' -> '.join(head)} -> ... -> {' -> '.join(tail)} ({len(names) - 1:,} steps)"


def _edge_place(findings: Findings, step: Step, name: str) -> Place:
    key, names = ("needs", step.needs) if name in step.needs else ("after", step.after)
    return findings.name_place((*step.path, key), names.index(name), name)
