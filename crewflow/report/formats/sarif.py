"""For code scanning: SARIF 2.1.0, as OASIS published it.

Columns count Unicode characters, which `columnKind` says. Warnings that the project ignores are left out:
not every reader honours suppressions. Braces in messages stay single, though the standard doubles them:
readers replace `{0}` where a message has arguments, and ours have none.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from crewflow import __version__
from crewflow.report.formats.checked import fingerprints
from crewflow.report.problems import visible
from crewflow.report.rules import catalogue

if TYPE_CHECKING:
    from crewflow.errors import Note, Place, Problem
    from crewflow.report.formats.checked import Checked

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT: Final = "%SRCROOT%"


def sarif(checked: Checked) -> str:
    """The log of one run; its rules are those that were broken."""
    rules = sorted({problem.rule for problem in checked.problems})
    pairs = zip(checked.problems, fingerprints(checked), strict=True)
    run = {
        "tool": {
            "driver": {
                "name": "crewflow",
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "originalUriBaseIds": {_ROOT: {"description": {"text": "the top of the repository"}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(checked, problem, rules, *known) for problem, known in pairs],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: str) -> dict[str, Any]:
    described = catalogue().get(rule)
    if described is None:
        return {"id": rule}
    return {
        "id": rule,
        "shortDescription": {"text": described.title},
        "fullDescription": {"text": described.what},
        "help": {"text": f"{described.what}\n\n{described.why}", "markdown": described.markdown},
    }


def _result(checked: Checked, problem: Problem, rules: list[str], digest: str, number: int) -> dict[str, Any]:
    hint = f"\nhint: {visible(problem.hint)}" if problem.hint else ""
    result: dict[str, Any] = {
        "ruleId": problem.rule,
        "ruleIndex": rules.index(problem.rule),
        "level": problem.severity.value,
        "message": {"text": f"{visible(problem.message)}{hint}"},
        "locations": [{"physicalLocation": _location(checked, problem.place, problem.source_line)}],
        "partialFingerprints": {"crewflow/v1": f"{digest}:{number}"},
    }
    if problem.notes:
        result["relatedLocations"] = [_related(checked, *item) for item in enumerate(problem.notes, start=1)]
    return result


def _related(checked: Checked, number: int, note: Note) -> dict[str, Any]:
    where = _location(checked, note.place, None)
    return {"id": number, "message": {"text": visible(note.message)}, "physicalLocation": where}


def _location(checked: Checked, place: Place, line: str | None) -> dict[str, Any]:
    location: dict[str, Any] = {
        "artifactLocation": _artifact(checked.path(place.file)),
        "region": {
            "startLine": place.line,
            "startColumn": place.column,
            "endLine": place.line,
            "endColumn": place.column + place.width,
        },
    }
    if line is not None:
        location["contextRegion"] = {"startLine": place.line, "snippet": {"text": visible(line)}}
    return location


def _artifact(path: str) -> dict[str, str]:
    encoded = quote(path.encode("utf-8", "surrogateescape"))
    return {"uri": f"file://{encoded}"} if path.startswith("/") else {"uri": encoded, "uriBaseId": _ROOT}
