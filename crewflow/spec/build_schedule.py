"""Checked data -> `spec.schedules`: a schedule with its defaults applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewflow.spec.fields import Fields
from crewflow.spec.schedules import Schedule
from crewflow.spec.steps import whole

if TYPE_CHECKING:
    from crewflow.errors import Problem
    from crewflow.spec.origin import Origin
    from crewflow.spec.source import Document

_DAY = 86_400.0


def build_schedule(
    document: Document, data: dict[str, Any], origin: Origin
) -> tuple[Schedule, tuple[Problem, ...]]:
    """A schedule from data that its schema allows."""
    fields = Fields(document)
    get = data.get
    every = fields.duration(("every",), get("every"), None)
    if every == 0:
        fields.fault("CF108", ("every",), "`every` is no time at all", "write a duration such as `15m`")
    schedule = Schedule(
        name=get("name", ""),
        description=get("description", ""),
        source=document,
        origin=origin,
        workflow=get("workflow", ""),
        inputs=fields.deep(("inputs",), get("inputs", {})),
        cron=_several(get("cron")),
        every=every,
        at=_several(get("at")),
        timezone=get("timezone", "UTC"),
        enabled=get("enabled", True),
        catch_up=get("catch_up", "latest"),
        catch_up_window=fields.duration(("catch_up_window",), get("catch_up_window"), _DAY),
        overlap=get("overlap", "skip"),
        queue_limit=whole(get("queue_limit")),
        jitter=fields.duration(("jitter",), get("jitter"), 0.0),
        start=get("start"),
        end=get("end"),
        on_remove=get("on_remove", "keep"),
    )
    return schedule, tuple(fields.problems)


def _several(given: str | list[str] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)
