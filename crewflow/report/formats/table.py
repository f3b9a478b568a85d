"""The formats of `validate`, by the word that asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crewflow.report.formats.document import document
from crewflow.report.formats.github import github
from crewflow.report.formats.gitlab import gitlab
from crewflow.report.formats.junit import junit
from crewflow.report.formats.sarif import sarif
from crewflow.report.formats.text import text

if TYPE_CHECKING:
    from collections.abc import Callable

    from crewflow.report.formats.checked import Checked

FORMATS: Final[dict[str, Callable[[Checked], str]]] = {
    "text": text,
    "json": document,
    "github": github,
    "gitlab": gitlab,
    "sarif": sarif,
    "junit": junit,
}
