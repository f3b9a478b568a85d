"""What a document is: its `kind`, or the one problem that keeps it from being read as anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.spec.suggest import did_you_mean
from crewflow.spec.words import KINDS, NOT_BUILT, kind_of_value, not_available, quoted

if TYPE_CHECKING:
    from crewflow.errors import Problem
    from crewflow.spec.source import Document


def kind_of(document: Document) -> tuple[str | None, Problem | None]:
    """The kind of a document that this version reads, or why it has none."""
    if "kind" not in document.data:
        message = "the document has no `kind`"
        return None, document.problem("CF107", document.place(()), message, _guess(document))
    kind = document.data["kind"]
    if kind in KINDS:
        return kind, None
    return None, _refused(document, kind)


def _guess(document: Document) -> str:
    looks_like = "project" if "default_workflow" in document.data or "paths" in document.data else "workflow"
    return f"begin with `kind: {looks_like}`"


def _refused(document: Document, kind: object) -> Problem:
    place = document.place(("kind",))
    if not isinstance(kind, str):
        message = f"`kind` must be text, not {kind_of_value(kind)}"
        return document.problem("CF107", place, message, _guess(document))
    if kind in NOT_BUILT["kind"]:
        return document.problem("CF102", place, not_available(f"kind {quoted(kind)}"))
    hint = did_you_mean(kind, KINDS) or f"the kinds are {', '.join(KINDS)}"
    return document.problem("CF107", place, f"unknown kind {quoted(kind)}", hint)
