"""Faults of schedules that no schema sees: names, inputs, cron expressions, zones and dates.

`check_schedules(project)` is for `validate`: it looks at the schedules of the files that are asked about.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from crewflow.errors import Note
from crewflow.graph.findings import Findings
from crewflow.schedule.cron import cron_fault
from crewflow.spec.template import Template
from crewflow.spec.values import fits
from crewflow.spec.words import quoted

if TYPE_CHECKING:
    from typing import Any

    from crewflow.errors import Problem
    from crewflow.spec.model import Path, Project, Workflow
    from crewflow.spec.schedules import Schedule

_WORKFLOW: Final = "CF501"
_INPUT: Final = "CF502"
_CRON: Final = "CF503"
_ZONE: Final = "CF504"
_DATE: Final = "CF505"
_QUEUE: Final = "CF506"
_NO_PLACES: Final = {"localtime", "posixrules", "Factory"}


def check_schedules(project: Project) -> tuple[Problem, ...]:
    """Every fault of the schedules that `project.files` hold, in order of place."""
    found = [
        problem
        for schedule in project.schedules.values()
        if schedule.source.file in project.files
        for problem in check_schedule(project, schedule)
    ]
    return tuple(sorted(found, key=lambda problem: (problem.place, problem.rule)))


def check_schedule(project: Project, schedule: Schedule) -> tuple[Problem, ...]:
    """Every fault of one schedule, in order of place."""
    findings = Findings(schedule.source)
    _check_workflow(project, schedule, findings)
    for path, text in _each(schedule, "cron", schedule.cron):
        fault = cron_fault(text)
        if fault is not None:
            findings.tell(_CRON, path, f"{quoted(text)} {fault[0]}", fault[1])
    _check_dates(schedule, _check_zone(schedule, findings), findings)
    if schedule.queue_limit is not None and schedule.overlap != "queue":
        message = f"`queue_limit` says nothing beside `overlap: {schedule.overlap}`"
        at = findings.key_place(("queue_limit",))
        findings.tell(_QUEUE, ("queue_limit",), message, "write `overlap: queue`, or remove it", at=at)
    return findings.problems()


def _each(schedule: Schedule, key: str, given: tuple[str, ...]) -> list[tuple[Path, str]]:
    """Each text with its path, in a list or by itself."""
    is_list = schedule.source.place((key, 0)) != schedule.source.place((key,))
    return [((key, index) if is_list else (key,), text) for index, text in enumerate(given)]


# --- what is started ----------------------------------------------------------------------------------


def _check_workflow(project: Project, schedule: Schedule, findings: Findings) -> None:
    workflow = project.workflow(schedule.workflow)
    if workflow is not None:
        _check_inputs(workflow, schedule, findings)
    elif schedule.workflow:
        known = [*project.workflows, *project.shipped]
        hint = findings.hint("", schedule.workflow, known, None)
        message = f"schedule `{schedule.name}` starts unknown workflow `{schedule.workflow}`"
        findings.tell(_WORKFLOW, ("workflow",), message, hint)


def _check_inputs(workflow: Workflow, schedule: Schedule, findings: Findings) -> None:
    for name, value in schedule.inputs.items():
        path = ("inputs", name)
        spec = workflow.inputs.get(name)
        if spec is None:
            message = f"workflow `{workflow.name}` has no input `{name}`"
            hint = findings.hint("", name, workflow.inputs, None)
            findings.tell(_INPUT, path, message, hint, at=findings.key_place(path))
        elif not _has_template(value) and (why := fits(value, spec.schema)) is not None:
            findings.tell(_INPUT, path, f"input `{name}` {why}", None)
    for name, spec in workflow.inputs.items():
        if spec.required and not spec.has_default and name not in schedule.inputs:
            message = (
                f"schedule `{schedule.name}` gives no input `{name}`, which workflow `{workflow.name}` needs"
            )
            note = Note(workflow.source.key_place(("inputs", name)), "declared here")
            hint = f"write `inputs: {{{name}: ...}}`"
            findings.tell(_INPUT, ("workflow",), message, hint, notes=(note,))


def _has_template(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_template, value.values()))
    if isinstance(value, list):
        return any(map(_has_template, value))
    return isinstance(value, Template)


# --- when -----------------------------------------------------------------------------------------------


def _check_zone(schedule: Schedule, findings: Findings) -> ZoneInfo | None:
    try:
        return ZoneInfo(schedule.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        hint = findings.hint("", schedule.timezone, available_timezones() - _NO_PLACES, None)
        near = hint if hint is not None and hint.startswith("did you mean") else None
        message = f"unknown time zone {quoted(schedule.timezone)}"
        findings.tell(_ZONE, ("timezone",), message, near or "write a name such as `Europe/Berlin` or `UTC`")
        return None


def _check_dates(schedule: Schedule, zone: ZoneInfo | None, findings: Findings) -> None:
    for path, text in _each(schedule, "at", schedule.at):
        _moment(text, zone, path, findings, late=False)
    start = _moment(schedule.start, zone, ("start",), findings, late=False)
    end = _moment(schedule.end, zone, ("end",), findings, late=True)
    if start is not None and end is not None and end < start:
        note = Note(schedule.source.place(("start",)), "it starts here")
        findings.tell(_DATE, ("end",), "`end` lies before `start`", "exchange them", notes=(note,))


def _moment(
    text: str | None, zone: ZoneInfo | None, path: Path, findings: Findings, *, late: bool
) -> datetime | None:
    """The time that a text means; a day means its begin, or where it is `late` its end."""
    if text is None:
        return None
    try:
        if len(text) == len("2026-12-24"):
            found = datetime.combine(date.fromisoformat(text), time.max if late else time.min)
        else:
            found = datetime.fromisoformat(text)
    except ValueError:
        findings.tell(_DATE, path, f"there is no {quoted(text)} in the calendar", None)
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=zone or UTC)
