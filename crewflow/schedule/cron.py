"""What a cron expression is: five fields, or one of the short forms. The only module that asks croniter.

`cron_fault` says why a text is none; when it fires is not asked here.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from crewflow.spec.suggest import nearest
from crewflow.spec.words import quoted

SHORT_FORMS: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""Words for the five fields that they stand for."""

_FIELDS: Final = 5
_EXAMPLE: Final = "write five fields, such as `0 2 * * 1-5`: minute, hour, day, month, weekday"
_SOME_YEAR: Final = datetime(2024, 1, 1, tzinfo=UTC)


def cron_fault(text: str) -> tuple[str, str | None] | None:
    """Why a text is no cron expression, as what is said of it and a hint; None if it is one."""
    if text.startswith("@"):
        return None if text in SHORT_FORMS else _unknown_form(text)
    fields = text.split()
    if len(fields) != _FIELDS:
        return f"has {len(fields)} field{'' if len(fields) == 1 else 's'}, not five", _EXAMPLE
    return _refused(" ".join(fields))


def _unknown_form(text: str) -> tuple[str, str | None]:
    if text == "@reboot":
        return "is no time", "start the workflow where `crewflow schedule start` is started"
    if text.startswith("@every"):
        return "is no cron expression", f"write `every: {text.removeprefix('@every').strip() or '5m'}`"
    near = nearest(text, SHORT_FORMS)
    known = ", ".join(f"`{form}`" for form in SHORT_FORMS)
    return "is no short form", f"did you mean `{near}`?" if near else f"there are {known}"


def _refused(text: str) -> tuple[str, str | None] | None:
    from croniter import CroniterBadDateError, CroniterError, croniter  # noqa: PLC0415  # slow to load

    try:
        croniter(text, _SOME_YEAR, max_years_between_matches=20).get_next(float)
    except CroniterBadDateError:
        return "names a day that no year has", "look at its day and its month"
    except (CroniterError, ValueError, OverflowError):
        return f"has a field that is not allowed: {quoted(_first_bad(text))}", _EXAMPLE
    return None


def _first_bad(text: str) -> str:
    """The first field that is refused where all others are `*`; the whole where none is."""
    from croniter import croniter  # noqa: PLC0415  # as above

    for index, field in enumerate(text.split()):
        alone = ["*"] * _FIELDS
        alone[index] = field
        if not croniter.is_valid(" ".join(alone)):
            return field
    return text
