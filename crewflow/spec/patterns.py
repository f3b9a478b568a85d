"""What makes a text a pattern, for texts that must not be one: the values of expressions in patterns."""

from __future__ import annotations

from typing import Final

WILD_HINT: Final = "write wildcards yourself, beside the `${{ }}`"


def is_wild(value: str) -> bool:
    """Whether a value would be read as more than the text it is."""
    return value.startswith("!") or any(letter in value for letter in "*?[{")


def wild_value(value: str) -> str:
    """What is wrong with such a value."""
    shown = value if len(value) <= 60 else f"{value[:57]}..."  # noqa: PLR2004  (a line of a terminal)
    return f"a value in a pattern is literal text, and `{shown}` holds a wildcard"
