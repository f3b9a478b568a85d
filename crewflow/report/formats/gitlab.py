"""For GitLab: a Code Quality report, a list of issues in the terms of Code Climate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from crewflow.errors import Severity
from crewflow.report.formats.checked import fingerprints
from crewflow.report.problems import visible

if TYPE_CHECKING:
    from crewflow.errors import Problem
    from crewflow.report.formats.checked import Checked

_SEVERITIES: Final = {Severity.ERROR: "major", Severity.WARNING: "minor"}


def gitlab(checked: Checked) -> str:
    """The report; an empty list for no problems."""
    pairs = zip(checked.problems, fingerprints(checked), strict=True)
    return json.dumps([_issue(checked, problem, *known) for problem, known in pairs], indent=2)


def _issue(checked: Checked, problem: Problem, digest: str, number: int) -> dict[str, Any]:
    hint = f" (hint: {visible(problem.hint)})" if problem.hint else ""
    return {
        "type": "issue",
        "check_name": problem.rule,
        "description": f"{visible(problem.message)}{hint}",
        "categories": ["Bug Risk"],
        "severity": _SEVERITIES[problem.severity],
        "fingerprint": digest if number == 1 else f"{digest}-{number}",
        "location": {
            "path": visible(checked.path(problem.place.file)),
            "lines": {"begin": problem.place.line, "end": problem.place.line},
        },
    }
