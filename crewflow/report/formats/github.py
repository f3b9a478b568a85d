"""For GitHub: workflow commands, which the runner turns into annotations of the files.

The rules of escaping are those of GitHub's runner: `%`, carriage return and newline everywhere, `:` and `,`
in properties too. `col` and `endColumn` count characters from 1; the end is the first one behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.report.problems import visible
from crewflow.report.rules import catalogue

if TYPE_CHECKING:
    from crewflow.errors import Problem
    from crewflow.report.formats.checked import Checked

_IN_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = _IN_DATA | str.maketrans({":": "%3A", ",": "%2C"})


def github(checked: Checked) -> str:
    """One command a line; no text for no problems."""
    return "\n".join(_command(checked, problem) for problem in checked.problems)


def _command(checked: Checked, problem: Problem) -> str:
    place = problem.place
    properties = {
        "file": visible(checked.path(place.file)),
        "line": place.line,
        "endLine": place.line,
        "col": place.column,
        "endColumn": place.column + place.width,
        "title": _title(problem.rule),
    }
    listed = ",".join(f"{name}={str(value).translate(_IN_PROPERTY)}" for name, value in properties.items())
    return f"::{problem.severity.value} {listed}::{_message(checked, problem).translate(_IN_DATA)}"


def _title(rule: str) -> str:
    described = catalogue().get(rule)
    return visible(rule) if described is None else f"{rule}: {described.title}"


def _message(checked: Checked, problem: Problem) -> str:
    notes = [
        f"note: {checked.path(note.place.file)}:{note.place.line}: {note.message}" for note in problem.notes
    ]
    hint = [f"hint: {problem.hint}"] if problem.hint else []
    return "\n".join(visible(line) for line in (problem.message, *notes, *hint))
