"""For programs: the document that `schemas/problems.schema.json` describes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from crewflow.report.problems import to_json

if TYPE_CHECKING:
    from crewflow.report.formats.checked import Checked


def document(checked: Checked) -> str:
    """All problems, and what was ignored with its reason."""
    return json.dumps(to_json(checked.problems, checked.ignored), indent=2)
