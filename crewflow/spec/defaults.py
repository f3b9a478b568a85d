"""What a step takes when it does not say: project < team < workflow, each over the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewflow.spec.model import Backoff, Defaults, Retry

if TYPE_CHECKING:
    from crewflow.spec.fields import Fields
    from crewflow.spec.model import Path


def build_defaults(fields: Fields, data: dict[str, Any], base: Defaults) -> Defaults:
    """The `defaults` of a document over those of the level before; `data` is what its schema allows."""
    path = ("defaults",)
    return Defaults(
        timeout=build_timeout(fields, path, data, base.timeout),
        grace=fields.duration((*path, "grace"), data.get("grace"), base.grace),
        shell=build_shell(data.get("shell"), base.shell),
        retry=build_retry(fields, (*path, "retry"), data.get("retry"), base.retry),
        agent=data.get("agent", base.agent),
        idle_timeout=fields.duration((*path, "idle_timeout"), data.get("idle_timeout"), base.idle_timeout),
        total_timeout=fields.duration(
            (*path, "total_timeout"), data.get("total_timeout"), base.total_timeout
        ),
    )


def build_retry(fields: Fields, path: Path, data: dict[str, Any] | None, base: Retry) -> Retry:
    """When an attempt is tried again, each key over that of the level before."""
    if not data:
        return base
    return Retry(
        max_attempts=int(data.get("max_attempts", base.max_attempts)),
        delay=fields.duration((*path, "delay"), data.get("delay"), base.delay),
        backoff=Backoff(data.get("backoff", base.backoff)),
        max_delay=fields.duration((*path, "max_delay"), data.get("max_delay"), base.max_delay),
        jitter=float(data.get("jitter", base.jitter)),
        when=tuple(data.get("when", base.when)),
        unless=tuple(data.get("unless", base.unless)),
    )


def build_shell(given: str | list[str] | None, base: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """What runs a script: a short form, or words."""
    if given is None:
        return base
    return given if isinstance(given, str) else tuple(given)


def build_timeout(fields: Fields, path: Path, data: dict[str, Any], base: float | None) -> Any:
    """The `timeout` of a step or of defaults, in seconds; none at all is a fault."""
    seconds = fields.duration((*path, "timeout"), data.get("timeout"), base)
    if seconds == 0:
        message = "`timeout` is no time at all"
        fields.fault("CF108", (*path, "timeout"), message, "remove it to have no limit")
    return seconds
