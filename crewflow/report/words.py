"""Small words that several reports share: durations, sizes, counts, reasons."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crewflow.run.events import Cause

_MINUTE, _HOUR = 60, 3600


def duration(seconds: float) -> str:
    """Such as `0.3 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 10:  # noqa: PLR2004  (below ten seconds a tenth matters)
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"


def time_span(seconds: float) -> str:
    """A rough time, such as `40 seconds`, `12 minutes`, `1 hour 5 minutes`."""
    whole = max(1, round(seconds))
    if whole < 2 * _MINUTE:
        return plural(whole, "second")
    minutes = round(whole / _MINUTE)
    if minutes < 2 * _MINUTE:
        return plural(minutes, "minute")
    hours, rest = divmod(minutes, _MINUTE)
    return plural(hours, "hour") + (f" {plural(rest, 'minute')}" if rest else "")


def size(count: int) -> str:
    """Such as `512 B`, `1.5 KiB`."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:  # noqa: PLR2004  (the step between the units)
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def counts(by_state: Mapping[str, int]) -> str:
    """Such as `1 failed, 10 succeeded`."""
    return ", ".join(f"{count} {state}" for state, count in by_state.items()) or "no tasks"


def shown_path(path: str) -> str:
    """An absolute path as it can be typed where the user is: relative if it lies below."""
    try:
        here = os.getcwd()
    except OSError:  # the folder is gone
        return path
    return os.path.relpath(path, here) if path.startswith(here.rstrip("/") + "/") else path


def plural(count: int, noun: str) -> str:
    """Such as `1 task`, `12 tasks`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def cause_text(cause: Cause | Mapping[str, Any] | None, *, run_cancelled: bool = True) -> str:
    """Why a task did not run to its end, as the end of a sentence.

    Args:
        cause: as an event or a record has it.
        run_cancelled: the whole run is cancelled, not only something in it.
    """
    if cause is None:
        return "without a recorded reason"
    kind, step, root = (
        (cause.get("kind"), cause.get("step"), cause.get("root"))
        if isinstance(cause, dict)
        else (getattr(cause, "kind", None), getattr(cause, "step", None), getattr(cause, "root", None))
    )
    if kind == "cancelled" and (step is None or not run_cancelled):
        return _cancelled_text(step, run_cancelled=run_cancelled)
    text = _CAUSES.get(str(kind), f"its reason is `{kind}`").format(step=step)
    return text if root in {None, step} else f"{text} (it began with `{root}`)"


def _cancelled_text(step: str | None, *, run_cancelled: bool) -> str:
    if run_cancelled:
        return "the run was cancelled"
    return "it was ended while it ran" if step is None else f"it was cancelled when `{step}` failed"


_CAUSES = {
    "need_failed": "`{step}` failed",
    "need_skipped": "`{step}` was skipped",
    "need_cancelled": "`{step}` was cancelled",
    "condition": "its `if` is false",
    "stopped": "nothing more was started when `{step}` failed",
    "cancelled": "the run was cancelled when `{step}` failed",
    "enclosing": "`{step}` around it did not begin",
}
