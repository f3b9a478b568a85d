"""The kinds of check, and the one walk over the files that all of them share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crewflow.checkup import leftovers, repository, secrets, syntax, text
from crewflow.checkup.repository import Skip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Finder = Callable[[bytes, bytes], Iterator[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class Check:
    """One kind of check.

    Attributes:
        title: what its findings are called in a sentence.
        suffixes: the extensions of the files it looks at; None for all.
        find: path and content of a file -> line numbers and texts, in order.
    """

    title: str
    suffixes: frozenset[str] | None
    find: Finder


CHECKS = {
    "marks": Check("marks left for later", None, leftovers.find_marks),
    "conflicts": Check("merge conflicts", None, leftovers.find_conflicts),
    "secrets": Check("secrets", None, secrets.find),
    "yaml": Check("broken YAML", frozenset({".yaml", ".yml"}), syntax.find_broken_yaml),
    "json": Check("broken JSON", frozenset({".json"}), syntax.find_broken_json),
    "python": Check("Python that does not compile", frozenset({".py", ".pyi"}), syntax.find_broken_python),
}


def look(kind: str, limit: int) -> dict[str, Any]:
    """Look for one kind of finding in all files of the project.

    Args:
        kind: a key of `CHECKS`.
        limit: how many findings are listed; the rest is counted.

    Returns:
        Title, number of findings, the first of them as `{path, line, text}` in order of path and line,
        how many files were looked at, and how many were not, by reason.
    """
    check, excluded = CHECKS[kind], repository.excluded()
    listed: list[dict[str, Any]] = []
    skipped: Counter[Skip] = Counter()
    total = files = 0
    for entry in repository.tracked():
        if check.suffixes is not None and entry.suffix not in check.suffixes:
            continue
        found = Skip.EXCLUDED if entry.path in excluded else _look_into(entry, check.find)
        if isinstance(found, Skip):
            skipped[found] += 1
            continue
        files += 1
        total += len(found)
        listed += [_finding(entry.path, *each) for each in found[: limit - len(listed)]]
    return {
        "kind": kind,
        "title": check.title,
        "total": total,
        "findings": listed,
        "files": files,
        "skipped": dict(sorted(skipped.items())),
    }


def _look_into(entry: repository.Entry, find: Finder) -> list[tuple[int, str]] | Skip:
    content = repository.read(entry)
    if isinstance(content, Skip):
        return content
    try:
        return list(find(entry.path, content))
    except syntax.TemplateError:
        return Skip.TEMPLATE


def _finding(path: bytes, number: int, content: str) -> dict[str, Any]:
    return {"path": text.shown(path), "line": number, "text": text.line(content)}
