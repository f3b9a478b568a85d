"""The problems of one workflow, collected while it is checked: each told once, at its exact place.

A value that an alias or a merge brings to many steps is written once: its fault is told once, with a note
that says where it is used.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from crewflow.errors import Note, Place, Problem, Severity
from crewflow.spec.lines import MAX_FAULTS
from crewflow.spec.suggest import nearest
from crewflow.spec.words import in_one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Collection

    from crewflow.spec.model import Path, Source

    _Key = tuple[Place, str]

_MOST_COMPARISONS = 50_000
_MOST_NAMES = 10


class Findings:
    """Takes faults with the path of the value that is at fault, and gives them as problems."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._found: dict[_Key, Problem] = {}
        self._paths: dict[_Key, set[Path]] = {}
        self._places: set[Place] = set()
        self._comparisons = _MOST_COMPARISONS
        self._more = 0  # faults beyond those that are kept

    def tell(
        self,
        rule: str,
        path: Path,
        message: str,
        hint: str | None = None,
        *,
        at: Place | None = None,
        notes: tuple[Note, ...] = (),
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Keep a fault of the value at `path`, shown at the place `at` where that is not all of it.

        Of several faults of one rule at one place the first is kept: the others are the same mistake seen
        from other legs or uses.
        """
        place = at or self._source.place(path)
        key = (place, rule)
        if key not in self._found and len(self._found) >= MAX_FAULTS:
            self._more += 1
            return
        self._paths.setdefault(key, set()).add(path)
        if key not in self._found:
            message, hint = in_one_line(message), hint and in_one_line(hint)
            self._places.add(place)
            line = self._source.line_text(place.line)
            self._found[key] = Problem(rule, place, message, hint, severity, notes, line)

    def tell_first(self, rule: str, path: Path, message: str, hint: str | None, at: Place | None) -> None:
        """Keep a fault unless there is one at its place already: a wrong name has no value either."""
        place = at or self._source.place(path)
        if place not in self._places:
            self.tell(rule, path, message, hint, at=place)
        elif (place, rule) in self._found:
            self._paths[place, rule].add(path)

    @property
    def is_full(self) -> bool:
        """Whether no further fault will be kept, so that none needs to be looked for."""
        return len(self._found) >= MAX_FAULTS and self._more > 0

    def is_told(self, path: Path) -> bool:
        """Whether the value at `path` has a fault already."""
        return self._source.place(path) in self._places

    def problems(self) -> tuple[Problem, ...]:
        """All that was told, in order of place."""
        told = [self._with_uses(key, problem) for key, problem in self._found.items()]
        if self._more:
            hint = f"the first {MAX_FAULTS:,} are told"
            place = self._source.place(())
            told.append(Problem("CF011", place, "the document has too many faults", hint))
        return tuple(sorted(told, key=lambda problem: (problem.place, problem.rule, problem.message)))

    def within(self, path: Path, source: str, offset: int, length: int) -> Place:
        """The place of `length` characters, `offset` into the text at `path`, which holds an expression.

        An `if` is kept without the `${{ }}` around it: offsets count from the start of its expression.
        """
        if not _is_condition(path):
            return self._source.within(path, offset, length)
        whole = self._source.place(path)
        start = self._text_at(whole).find(source)
        return whole if start < 0 else Place(whole.file, whole.line, whole.column + start + offset, length)

    def name_place(self, path: Path, index: int, name: str) -> Place:
        """The place of a name in a list, of which those that stand twice have been left out."""
        whole = self._source.place(path)
        for position in itertools.count(index):
            place = self._source.place((*path, position))
            if place == whole or self._text_at(place).strip("'\"") == name:
                break
        return place

    def key_place(self, path: Path) -> Place:
        """The place of the key that ends a path."""
        return self._source.key_place(path)

    def is_written(self, path: Path) -> bool:
        """Whether the file has this key: if so, it is at fault itself, and that has been told."""
        return self._text_at(self._source.key_place(path)).strip("'\"") == path[-1]

    def hint(
        self,
        prefix: str,
        name: str | None,
        known: Collection[str],
        advice: str | None,
        *,
        besides: str | None = None,
    ) -> str | None:
        """What to write instead of an unknown name: the nearest known one, else those that there are.

        Args:
            prefix: what stands before each name where it is written.
            name: the unknown one; None where there is none.
            known: the names that exist; `besides`: the one of them that is not meant.
            advice: what else could be done.
        """
        if len(self._found) >= MAX_FAULTS:
            return None  # it will not be told
        guess = self._nearest(name, known, besides) if name is not None else None
        if guess is not None:
            return f"did you mean {quoted(f'{prefix}{guess}')}?"
        names = list(itertools.islice((one for one in known if one != besides), _MOST_NAMES + 1))
        return "; ".join(part for part in (_listed(prefix, names), advice) if part) or None

    def _nearest(self, name: str, known: Collection[str], besides: str | None) -> str | None:
        """The nearest name, as long as comparing all of a large file's names does not take minutes."""
        if len(known) > self._comparisons:
            return None
        self._comparisons -= len(known)
        return nearest(name, (one for one in known if one != besides))

    def _text_at(self, place: Place) -> str:
        line = self._source.line_text(place.line) or ""
        return line[place.column - 1 : place.column - 1 + place.width]

    def _with_uses(self, key: _Key, problem: Problem) -> Problem:
        uses = sorted(
            (notes for path in self._paths[key] if (notes := self._source.use_notes(path))),
            key=lambda notes: [note.place for note in notes],
        )
        if not uses:
            return problem
        others = len(uses) - 1
        more = f", and {others} more {'time' if others == 1 else 'times'}" if others else ""
        last = Note(uses[0][-1].place, f"used here{more}")
        return Problem(
            problem.rule,
            problem.place,
            problem.message,
            problem.hint,
            problem.severity,
            (*problem.notes, *uses[0][:-1], last),
            problem.source_line,
        )


def _is_condition(path: Path) -> bool:
    """Whether a path is that of an `if`: right behind sections and ids, which take turns."""
    return path[-1] == "if" and len(path) % 2 == 1 and {"steps", "finally"}.issuperset(path[:-1:2])


def _listed(prefix: str, names: list[str]) -> str:
    shown = ", ".join(quoted(f"{prefix}{one}") for one in names[:_MOST_NAMES])
    more = ", ..." if len(names) > _MOST_NAMES else ""
    return f"there {'is' if len(names) == 1 else 'are'} {shown}{more}" if names else ""
