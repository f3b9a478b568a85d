"""`crewflow explain`: what a rule means and what to write instead, or why a task of a run is as it is.

One word is a rule if it begins like one, else a task of the latest run; two are a run and a task of it.
"""

from __future__ import annotations

import re
import sys
import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from crewflow.clock import SystemClock
from crewflow.commands.arguments import near
from crewflow.commands.project import choose_run
from crewflow.errors import ExitCode, UsageError
from crewflow.report.rules import catalogue
from crewflow.state.runs import LATEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.report.console import Console
    from crewflow.report.rules import Rule, Sample
    from crewflow.state.paths import RunPaths

_WIDTH: Final = 88
_LIKE_A_RULE: Final = re.compile(r"cf\w*", re.IGNORECASE)
_LIKE_A_RUN: Final = re.compile(r"\d{8}-\d+(-[a-z0-9]*)?")
_ALL: Final = "`crewflow explain` lists the rules"


def run(console: Console, folder: str, *, subject: str | None, task: str | None) -> int:
    """Print what is asked for, without a word which rules there are.

    Raises:
        UsageError: there is no such rule, run or task.
        StateError: the run is damaged.
    """
    if subject is None:
        _list(console)
    elif task is None and _LIKE_A_RULE.fullmatch(subject):
        _explain(console, _chosen(subject))
    elif task is None:
        _explain_task(console, _latest(folder, subject), subject)
    else:
        _explain_task(console, choose_run(folder, subject), task)
    return int(ExitCode.DONE)


def _latest(folder: str, subject: str) -> RunPaths:
    """The latest run, if `subject` can be a task of it."""
    if subject == LATEST or _LIKE_A_RUN.fullmatch(subject):
        raise UsageError(f"which task of `{subject}`?", hint=f"type `crewflow explain {subject} TASK`")
    try:
        return choose_run(folder, LATEST)
    except UsageError:
        message = f"`{subject}` is no rule, and there is no run whose task it could be"
        raise UsageError(message, hint=_ALL) from None


def _explain_task(console: Console, paths: RunPaths, wanted: str) -> None:
    from crewflow.commands.tasks import find_task  # noqa: PLC0415  (a rule needs no run)
    from crewflow.report.why import why_document, why_text  # noqa: PLC0415  (as above)
    from crewflow.state.journal import read_journal  # noqa: PLC0415  (as above)
    from crewflow.state.replay import tell_story  # noqa: PLC0415  (as above)

    story = tell_story(paths)
    records = read_journal(paths).records
    document = why_document(story, records, find_task(story, wanted), SystemClock().wall())
    if console.as_json:
        console.document(document)
    else:
        console.data(why_text(document))


def _chosen(subject: str) -> Rule:
    rule = catalogue().get(subject.upper())
    if rule is None:
        guess = near(subject.upper(), catalogue())
        hint = f"{guess} {_ALL}" if guess else _ALL
        raise UsageError(f"there is no rule `{subject}`", hint=hint)
    return rule


def _list(console: Console) -> None:
    rules = catalogue().values()
    if console.as_json:
        console.document({"rules": [{"rule": rule.id, "title": rule.title} for rule in rules]})
        return
    families = groupby(rules, key=lambda rule: rule.family)
    blocks = [[family, *(f"  {rule.id}  {rule.title}" for rule in members)] for family, members in families]
    console.data("\n\n".join("\n".join(block) for block in blocks))


def _explain(console: Console, rule: Rule) -> None:
    if console.as_json:
        console.document(_as_data(rule))
    else:
        console.data("\n".join(_lines(console, rule)))


def _as_data(rule: Rule) -> dict[str, Any]:
    return {
        "rule": rule.id,
        "title": rule.title,
        "what": rule.what,
        "why": rule.why,
        "example": [{"file": sample.file, "text": sample.text} for sample in rule.example],
        "fix": [{"file": sample.file, "text": sample.text} for sample in rule.fix],
    }


def _lines(console: Console, rule: Rule) -> Iterator[str]:
    yield console.paint(f"{rule.id}: {rule.title}", "bold", sys.stdout)
    for paragraph in (rule.what, rule.why):
        yield ""
        yield textwrap.fill(paragraph, _WIDTH, break_long_words=False, break_on_hyphens=False)
    for title, samples in (("example", rule.example), ("instead", rule.fix)):
        for sample in samples:
            yield ""
            yield console.paint(_heading(title, sample), "bold", sys.stdout)
            yield textwrap.indent(sample.text.rstrip("\n"), "    ")


def _heading(title: str, sample: Sample) -> str:
    return f"{title}, {sample.file or 'in a shell'}:"
