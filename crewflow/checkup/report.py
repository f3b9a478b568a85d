"""The report: a summary line of counts first, then tables, then the findings, then what was skipped.

Whatever comes from files stands in code spans or fenced blocks, so that none of it is read as Markdown.
A finding is `path:line: text`, which editors and terminals turn into a link.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

from crewflow.checkup import markdown, repository, stock, text
from crewflow.checkup.repository import CheckupError

MARK = "<!-- written by `crewflow apply checkup`; the next one replaces it -->"
"""The first line of every report: a file without it is somebody's, and is not overwritten."""


def write(
    *,
    path: str,
    scratch: str,
    survey: dict[str, Any],
    store: str,
    tables: list[dict[str, Any] | None] | None,
    churn: str | None,
    checks: list[dict[str, Any] | None] | None,
    python: dict[str, Any] | None,
) -> dict[str, Any]:
    """Write the report and return how many findings there are, in all and by kind.

    Args:
        path: where to, relative to the project.
        scratch: a folder of this run, relative to the project, where the file is made before it is moved.
        survey: what `repository.survey` said.
        store: what `git count-objects -v` printed.
        tables: what `stock.take` said, None for one that was not done.
        churn: what `stock.churn` reads; None if it was not done.
        checks: what `checks.look` said, None for one that was not done.
        python: the same of the kind that is only looked for where there is any.

    Raises:
        CheckupError: the path leaves the project, or names a file that is no report.
    """
    target = _target(path)
    looked = [*(checks or []), *([python] if survey["python"] else [])]
    taken = [*(tables or []), *([_churn(churn)] if survey["commits"] else [])]
    counts = {check["kind"]: check["total"] for check in looked if check}
    findings = sum(counts.values())
    _replace(target, Path(scratch), render(survey, store, taken, looked))
    repository.give(findings=findings)
    return {"findings": findings, "by_kind": counts, "report": path}


def render(
    survey: dict[str, Any],
    store: str,
    tables: list[dict[str, Any] | None],
    checks: list[dict[str, Any] | None],
) -> str:
    """The whole report as Markdown, from what the steps found; None stands for one that was not done."""
    done = [check for check in checks if check]
    parts = [
        f"{MARK}\n# Checkup of {markdown.code(survey['name'])}",
        _summary(survey["files"], done),
        _missing([*checks, *tables].count(None)),
        _facts(survey, store),
        *map(_findings, filter(_has_findings, done)),
        *(_table(table) for table in tables if table and table["rows"]),
        _skipped(done),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _churn(counted: str | None) -> dict[str, Any] | None:
    return None if counted is None else stock.churn(counted)


def _summary(files: int, checks: list[dict[str, Any]]) -> str:
    total = sum(check["total"] for check in checks)
    kinds = ", ".join(f"{check['title']} ({check['total']})" for check in checks)
    looked_for = f"; looked for {kinds}" if kinds else ""
    return f"**{_count(total, 'finding')}** in {_count(files, 'file')}{looked_for}."


def _missing(number: int) -> str:
    return (
        f"**Not complete:** {_count(number, 'part')} could not be done; the run's logs say why."
        if number
        else ""
    )


def _facts(survey: dict[str, Any], store: str) -> str:
    at = f" at {markdown.code(survey['commit'])}" if survey["commit"] else ""
    cut_off = " (the clone is shallow, its history is cut off)" if survey["shallow"] else ""
    sizes = dict(row.split(": ", 1) for row in store.splitlines() if ": " in row)
    stored = 1024 * (int(sizes.get("size", 0)) + int(sizes.get("size-pack", 0)))
    return (
        f"On {markdown.code(survey['branch'])}{at}, {_count(survey['commits'], 'commit')}{cut_off}; "
        f"git stores {stock.show_size(stored)}."
    )


def _has_findings(check: dict[str, Any]) -> bool:
    return bool(check["total"])


def _findings(check: dict[str, Any]) -> str:
    listed = check["findings"]
    rows = [f"{found['path']}:{found['line']}: {found['text']}" for found in listed]
    rest = check["total"] - len(listed)
    if rest:
        rows.append(f"... and {rest} more")
    title = check["title"][0].upper() + check["title"][1:]
    return f"## {title}: {check['total']}\n\n{markdown.block(rows)}"


def _table(table: dict[str, Any]) -> str:
    return f"## {table['title']}\n\n{markdown.table(table['headings'], table['rows'])}"


def _skipped(checks: list[dict[str, Any]]) -> str:
    reasons: Counter[str] = Counter()
    for check in checks:
        # Every check meets the same links and binaries: the largest count is the number of files.
        reasons |= Counter(check["skipped"])
    if not reasons:
        return ""
    rows = [(reason, str(number)) for reason, number in sorted(reasons.items())]
    return f"## Files not looked into\n\n{markdown.table(['why', 'files'], rows)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _target(path: str) -> Path:
    root, target = Path.cwd().resolve(), Path(path)
    if not path or target.is_absolute() or ".." in target.parts or ".git" in target.parts:
        raise CheckupError(
            f"the report cannot be written to `{text.line(path)}`: not a path inside the project"
        )
    if not target.parent.resolve().is_relative_to(root):
        raise CheckupError(f"the report cannot be written to `{path}`: its folder lies outside the project")
    if os.path.lexists(target) and not _is_report(target):
        raise CheckupError(
            f"the report cannot be written to `{path}`: there is a file that is no report of `checkup`"
        )
    return target


def _is_report(target: Path) -> bool:
    if target.is_symlink() or not target.is_file():
        return False
    with target.open("rb") as file:
        return file.read(len(MARK)) == MARK.encode()


def _replace(target: Path, scratch: Path, content: str) -> None:
    # A reader of the last report sees the old one or the new one, never half of either.
    scratch.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    made = scratch / "report.md"
    made.write_text(content, encoding="utf-8")
    made.replace(target)
