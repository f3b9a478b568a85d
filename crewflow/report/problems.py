"""Problems as people and as programs read them.

    workflows/release.yaml:14:13: error CF201: step `publish` needs unknown step `tets`
       14 |     needs: [tets]
          |             ^^^^
    hint: did you mean `test`?

Text from files is shown without its control characters, so that no file can steer the terminal.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from crewflow.errors import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crewflow.errors import Note, Place, Problem
    from crewflow.spec.ignore import Ignored

SCHEMA_VERSION = 1

_WIDEST = 160
_BEFORE = 60
_STYLES = {Severity.ERROR: "31;1", Severity.WARNING: "33;1"}


def to_text(problems: Sequence[Problem], *, color: bool) -> str:
    """All problems in the order given, and a line that counts them; no text for no problems."""
    return "\n\n".join([to_blocks(problems, color=color), count(problems)]) if problems else ""


def to_blocks(problems: Sequence[Problem], *, color: bool) -> str:
    """All problems in the order given, an empty line between them."""
    return "\n\n".join("\n".join(_block(problem, color=color)) for problem in problems)


def count(problems: Sequence[Problem], ignored: int = 0) -> str:
    """How many errors and warnings there are, and how many warnings were ignored: `1 error, 2 ignored`."""
    counts = [(sum(p.severity is severity for p in problems), severity.value) for severity in Severity]
    told = [f"{number} {word}{'' if number == 1 else 's'}" for number, word in counts if number]
    return ", ".join([*told, *([f"{ignored} ignored"] if ignored else [])])


def to_json(problems: Sequence[Problem], ignored: Sequence[Ignored] = ()) -> dict[str, Any]:
    """All problems as data: places are file, line, column and width, in characters from 1.

    What it holds is described by `schemas/problems.schema.json`.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "errors": sum(problem.severity is Severity.ERROR for problem in problems),
        "warnings": sum(problem.severity is Severity.WARNING for problem in problems),
        "problems": [_as_data(problem) for problem in problems],
        "ignored": [{**_as_data(item.problem), "reason": item.reason} for item in ignored],
    }


def visible(text: str) -> str:
    """A text of the user's on one line, what steers a terminal or cannot be shown written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\t\u3000\u00a0" else _escaped(c) for c in text)


def _block(problem: Problem, *, color: bool) -> list[str]:
    severity = _painted(problem.severity.value, _STYLES[problem.severity], color=color)
    head = f"{visible(str(problem.place))}: {severity} {problem.rule}: {visible(problem.message)}"
    lines = [head, *_excerpt(problem, color=color)]
    lines += [f"note: {visible(str(note.place))}: {visible(note.message)}" for note in problem.notes]
    if problem.hint:
        lines.append(f"hint: {visible(problem.hint)}")
    return lines


def _excerpt(problem: Problem, *, color: bool) -> list[str]:
    """The source line and the carets below the part that is meant."""
    if problem.source_line is None or not problem.source_line.strip():
        return []
    text, start = _window(problem.source_line, problem.place.column - 1)
    shown = [visible(character) for character in text]
    before, meant = shown[:start], shown[start : start + problem.place.width]
    pad = "".join("\t" if part == "\t" else " " * _columns(part) for part in before)
    carets = "^" * max(1, sum(_columns(part) for part in meant))
    carets = _painted(carets, _STYLES[problem.severity], color=color)
    return [f"{problem.place.line:>5} | {''.join(shown)}", f"      | {pad}{carets}"]


def _window(line: str, start: int) -> tuple[str, int]:
    """The part of a long line that holds index `start`, and where that index is in it."""
    if len(line) <= _WIDEST:
        return line, start
    first = max(0, start - _BEFORE)
    part = line[first : first + _WIDEST]
    head = "…" if first else ""
    tail = "…" if first + _WIDEST < len(line) else ""
    return f"{head}{part}{tail}", start - first + len(head)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(_column_count(character) for character in text)


def _column_count(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def _painted(text: str, style: str, *, color: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if color else text


def _as_data(problem: Problem) -> dict[str, Any]:
    return {
        "rule": problem.rule,
        "severity": problem.severity.value,
        "message": problem.message,
        "hint": problem.hint,
        **_place(problem.place),
        "source_line": problem.source_line,
        "notes": [_note(note) for note in problem.notes],
    }


def _note(note: Note) -> dict[str, Any]:
    return {"message": note.message, **_place(note.place)}


def _place(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": place.line, "column": place.column, "width": place.width}
