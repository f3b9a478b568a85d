"""Warnings that a project has decided to live with: `ignore` in `crewflow.yaml`.

    kept, ignored = apply_ignores(project.ignore, problems, known_rules, complete=True)

Only warnings can be ignored: an error stays one, and the entry that names it is at fault. So is an entry
for a rule that does not exist; one that has nothing left to ignore is warned about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from crewflow.errors import Note, Problem, Severity
from crewflow.spec.fields import inside_project
from crewflow.spec.suggest import did_you_mean
from crewflow.spec.words import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from crewflow.errors import Place
    from crewflow.spec.fields import Fields

_KEYS: Final = frozenset({"rule", "path", "reason"})
_OWN_RULES: Final = frozenset({"CF294", "CF295", "CF296"})
"""What is said about the entries themselves: to ignore that, remove the entry."""

_WILD: Final = re.compile(r"(\*\*/|\*\*|\*)")
_WILDCARDS: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}


@dataclass(frozen=True, slots=True)
class Ignore:
    """One entry of `ignore`.

    Attributes:
        path: a pattern, relative to the project: `*` is anything but a `/`, `**` is anything.
        place, source_line: where the entry is written, for what is said about it.
    """

    rule: str
    path: str
    reason: str
    place: Place
    source_line: str | None = None


@dataclass(frozen=True, slots=True)
class Ignored:
    """A warning that counts no longer, and why."""

    problem: Problem
    reason: str


def read_ignores(fields: Fields, given: Sequence[dict[str, Any]]) -> tuple[Ignore, ...]:
    """The entries of `ignore`; one that lacks a key has been told about, and is left out."""
    return tuple(_read(fields, index, entry) for index, entry in enumerate(given) if entry.keys() >= _KEYS)


def apply_ignores(
    entries: Sequence[Ignore], problems: Iterable[Problem], known: Collection[str], *, complete: bool
) -> tuple[tuple[Problem, ...], tuple[Ignored, ...]]:
    """What is left of `problems`, with what is wrong with the entries; and what they ignore.

    Args:
        entries: those of the project.
        problems: what was found, with files as they are shown: relative to the project.
        known: the ids of all rules.
        complete: the whole project was checked, so an entry that met nothing is stale.
    """
    problems = tuple(problems)
    kept: list[Problem] = []
    ignored: list[Ignored] = []
    for problem in problems:
        entry = next((entry for entry in entries if _meets(entry, problem)), None)
        if entry is None or problem.severity is Severity.ERROR or problem.rule in _OWN_RULES:
            kept.append(problem)
        else:
            ignored.append(Ignored(problem, entry.reason))
    kept += (fault for entry in entries for fault in _faults(entry, problems, known, complete=complete))
    return tuple(kept), tuple(ignored)


def matches(pattern: str, file: str) -> bool:
    """Whether a pattern with `*` and `**` means a file."""
    return _compiled(pattern.removeprefix("./")).fullmatch(file) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = (_WILDCARDS.get(part) or re.escape(part) for part in _WILD.split(pattern))
    return re.compile("".join(parts), re.DOTALL)


def _read(fields: Fields, index: int, entry: dict[str, Any]) -> Ignore:
    path = ("ignore", index)
    inside_project(fields, (*path, "path"), entry["path"], "workflows/**")
    place = fields.source.place((*path, "rule"))
    return Ignore(entry["rule"], entry["path"], entry["reason"], place, fields.source.line_text(place.line))


def _meets(entry: Ignore, problem: Problem) -> bool:
    return entry.rule == problem.rule and matches(entry.path, problem.place.file)


def _faults(
    entry: Ignore, problems: Sequence[Problem], known: Collection[str], *, complete: bool
) -> Iterator[Problem]:
    """What is wrong with one entry: at most one thing."""
    met = [problem for problem in problems if _meets(entry, problem)]
    errors = [problem for problem in met if problem.severity is Severity.ERROR]
    if entry.rule not in known:
        hint = did_you_mean(entry.rule, known) or "`crewflow explain` lists the rules"
        yield _fault(entry, "CF294", f"there is no rule {quoted(entry.rule)}", hint)
    elif entry.rule in _OWN_RULES:
        yield _fault(entry, "CF295", f"`{entry.rule}` is about `ignore` itself", "change the entry it names")
    elif errors:
        message = f"`{entry.rule}` is an error here, and only warnings can be ignored"
        note = Note(errors[0].place, "this stays an error")
        yield _fault(entry, "CF295", message, "mend what it says, and remove this entry", note)
    elif complete and not met and not _may_hide(entry, problems):
        message = f"nothing in {quoted(entry.path)} is `{entry.rule}`, so this ignores nothing"
        yield _fault(entry, "CF296", message, "remove it, or correct its `path`", severity=Severity.WARNING)


def _may_hide(entry: Ignore, problems: Sequence[Problem]) -> bool:
    """Whether an error in a file keeps the warnings of that file from being found."""
    return any(
        problem.severity is Severity.ERROR and matches(entry.path, problem.place.file) for problem in problems
    )


def _fault(
    entry: Ignore, rule: str, message: str, hint: str, *notes: Note, severity: Severity = Severity.ERROR
) -> Problem:
    return Problem(rule, entry.place, message, hint, severity, notes, entry.source_line)
