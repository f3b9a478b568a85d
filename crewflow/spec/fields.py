"""Fields of an authored value: text with expressions, durations, paths; what is wrong is collected.

A `Fields` belongs to one document while it is being built. After its first thousand errors it looks no
further, and says so.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from crewflow.errors import Note, Problem, Severity
from crewflow.spec.durations import DurationFault, parse_duration
from crewflow.spec.lines import MAX_FAULTS
from crewflow.spec.scalars import spelling
from crewflow.spec.words import quoted

if TYPE_CHECKING:
    from crewflow.errors import Place
    from crewflow.spec.model import Path
    from crewflow.spec.source import Document
    from crewflow.spec.template import Text

_OPEN = "${{"
_MOST_IN_A_TEXT = 20


class Fields:
    """Reads the fields of one document and keeps the problems found on the way."""

    def __init__(self, source: Document) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self._told: set[tuple[Place, str]] = set()
        self._errors = 0

    def fault(
        self,
        rule: str,
        path: Path,
        message: str,
        hint: str | None,
        *,
        at_key: bool = False,
        notes: tuple[Note, ...] = (),
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Keep a problem with the value at `path`, or with its key."""
        if self._errors > MAX_FAULTS:
            return
        place = self.source.key_place(path) if at_key else self.source.place(path)
        notes += self.source.use_notes(path)
        self._keep(self.source.problem(rule, place, message, hint, notes=notes, severity=severity))

    def fault_in(
        self,
        rule: str,
        path: Path,
        where: tuple[int, int],
        message: str,
        hint: str | None,
        *,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Keep a problem with a part of the text at `path`: `where` is its offset and its length."""
        if self._errors > MAX_FAULTS:
            return
        place, notes = self.source.within(path, *where), self.source.use_notes(path)
        self._keep(self.source.problem(rule, place, message, hint, notes=notes, severity=severity))

    def text(self, path: Path, value: Any) -> Text:
        """Text that may hold expressions; numbers and booleans as they were written.

        An expression that is faulty is left out, so that the others are still checked.
        """
        text = spelling(value)
        if _OPEN not in text:
            return text
        from crewflow.spec.expression import ExpressionFault  # noqa: PLC0415  # only if there are expressions
        from crewflow.spec.template import parse_text  # noqa: PLC0415  # as above

        left: str | None = text
        for _ in range(_MOST_IN_A_TEXT):  # each reads the text again
            if left is None or _OPEN not in left:
                break
            try:
                return parse_text(left)
            except ExpressionFault as fault:
                self.fault_in("CF110", path, (fault.offset, fault.length), fault.message, fault.hint)
                left = _without(left, fault.offset)
        return ""

    def texts(self, path: Path, values: dict[str, Any]) -> dict[str, Text]:
        """A mapping of names to text."""
        return {name: self.text((*path, name), value) for name, value in values.items()}

    def deep(self, path: Path, value: Any) -> Any:
        """A value of any shape, its texts parsed."""
        if isinstance(value, str):
            return self.text(path, value) if _OPEN in value else value
        if isinstance(value, dict):
            return {key: self.deep((*path, key), item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.deep((*path, index), item) for index, item in enumerate(value)]
        return value

    def duration(self, path: Path, value: str | None, base: Any) -> Any:
        """Seconds, or a template that yields a duration; `base` when there is no value."""
        if value is None:
            return base
        if _OPEN in value:
            return self.text(path, value)
        try:
            return parse_duration(value)
        except DurationFault as fault:
            self.fault("CF108", path, f"{quoted(str(path[-1]))} {fault.message}", fault.hint)
            return base

    def _keep(self, problem: Problem) -> None:
        """Keep a problem, but tell it once where an alias brings it to many places."""
        if (problem.place, problem.message) not in self._told:
            self._told.add((problem.place, problem.message))
            self._errors += problem.severity is Severity.ERROR
            self.problems.append(problem if self._errors <= MAX_FAULTS else self._too_many())

    def _too_many(self) -> Problem:
        message, hint = "the document has too many faults", f"the first {MAX_FAULTS:,} are told"
        return self.source.problem("CF011", self.source.place(()), message, hint)


def _without(text: str, offset: int) -> str | None:
    """The text with blanks for the expression around `offset`, so that places stay; None if it has no end."""
    start = text.rfind(_OPEN, 0, offset + len(_OPEN))
    end = text.find("}}", offset) + 2
    return None if start < 0 or end <= offset else text[:start] + " " * (end - start) + text[end:]


def inside_project(fields: Fields, path: Path, text: str, example: str) -> None:
    """Refuse a path or pattern that is plainly not inside the project; `example` is one that is."""
    if text.startswith(("/", "~")):
        message = f"{quoted(text)} is not relative to the project"
    elif posixpath.normpath(text).split("/")[0] == "..":
        message = f"{quoted(text)} leads out of the project"
    else:
        return
    fields.fault("CF104", path, message, f"write a path relative to the project, such as `{example}`")
