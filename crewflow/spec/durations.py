"""Durations: `90s`, `10m`, `1h30m`, `2d`, `500ms`, `1.5s` <-> seconds.

Units go from large to small and each stands once. A number without a unit is refused: it does not
say what it means.
"""

from __future__ import annotations

import re

LONGEST = 3650 * 86_400
"""Seconds: a longer duration is a mistake, and timers do not hold it."""

_NUMBER = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
_DURATION = re.compile(
    rf"(?=[0-9])(?:{_NUMBER}d)?(?:{_NUMBER}h)?(?:{_NUMBER}m(?!s))?(?:{_NUMBER}s)?(?:{_NUMBER}ms)?"
)
_SECONDS = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)
_BARE = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?")
_EXAMPLES = "such as `90s`, `10m`, `1h30m` or `2d`"


class DurationFault(ValueError):  # noqa: N818  # a fault of the author's, not of this code
    """A text that is no duration. `message` goes on after the field's name; `hint` says what to write."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def parse_duration(text: str) -> float:
    """Seconds of a duration as text.

    Raises:
        DurationFault: it has no unit, another form, or is longer than ten years.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise duration_fault(text)
    pairs = zip(match.groups(), _SECONDS, strict=True)
    seconds = sum(float(number) * unit for number, unit in pairs if number)
    if seconds > LONGEST:
        raise DurationFault("is longer than ten years", f"write a duration {_EXAMPLES}")
    return seconds


def duration_fault(value: object) -> DurationFault:
    """Why `value` (as YAML gave it) is no duration."""
    text = value if isinstance(value, str) else getattr(value, "text", str(value))
    if _BARE.fullmatch(text):
        hint = f"write `{text[:20].lstrip('+-')}s` for seconds"
        return DurationFault("is a bare number; a duration has a unit", hint)
    hint = "the units are d, h, m, s and ms, from large to small"
    return DurationFault(f"must be a duration {_EXAMPLES}", hint)


def show_duration(seconds: float) -> str:
    """Seconds as a duration that reads back as the same number, such as `1h30m` or `2.5s`."""
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, rest = divmod(rest, 60)
    parts = [f"{int(n)}{unit}" for n, unit in ((days, "d"), (hours, "h"), (minutes, "m")) if n]
    if rest or not parts:
        parts.append(f"{f'{rest:.6f}'.rstrip('0').rstrip('.')}s")
    return "".join(parts)
