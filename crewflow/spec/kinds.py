"""What a document is: its `kind`, or the one problem that keeps it from being read as anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.spec.suggest import did_you_mean
from crewflow.spec.words import KINDS, beginning, kind_of_value, quoted

if TYPE_CHECKING:
    from crewflow.errors import Problem
    from crewflow.spec.source import Document

_GITHUB = "the document has no `kind`; this looks like a GitHub Actions workflow"
_FROM_GITHUB = (
    "begin with `kind: workflow`, and make each `run` in `jobs` a step of `steps`; "
    "there are no triggers: `crewflow apply` starts it"
)


def kind_of(document: Document) -> tuple[str | None, Problem | None]:
    """The kind of a document, or why it has none."""
    if "kind" not in document.data:
        if {"on", "jobs"} <= document.data.keys():
            return None, document.problem("CF107", document.place(()), _GITHUB, _FROM_GITHUB)
        message = "the document has no `kind`"
        return None, document.problem("CF107", document.place(()), message, _guess(document))
    kind = document.data["kind"]
    if kind in KINDS:
        return kind, None
    return None, _refused(document, kind)


def _guess(document: Document) -> str:
    settings = "default_workflow" in document.data or "paths" in document.data
    return "begin with `kind: project`" if settings else beginning(document.file)


def _refused(document: Document, kind: object) -> Problem:
    place = document.place(("kind",))
    if not isinstance(kind, str):
        message = f"`kind` must be text, not {kind_of_value(kind)}"
        return document.problem("CF107", place, message, _guess(document))
    hint = did_you_mean(kind, KINDS) or f"the kinds are {', '.join(KINDS)}"
    return document.problem("CF107", place, f"unknown kind {quoted(kind)}", hint)
