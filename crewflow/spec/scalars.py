"""What a plain scalar means: the core schema of YAML 1.2, with numbers that remember how they were spelled.

Only `true`/`false` are booleans and only `null`/`~`/nothing is null: `on`, `no`, `y` and dates are text.
So is a number with leading zeros (`010`, `07`), with underscores (`1_000`) or colons (`12:30:45`).
"""

from __future__ import annotations

import math
import re
from typing import Any, Self

MAX_DIGITS = 4_000
"""More digits than this are refused: CPython itself refuses to print more than 4,300."""

_MAX_BITS = (10**MAX_DIGITS).bit_length()
_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_NUMBER_STARTS = frozenset("0123456789+-.")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_BASED = re.compile(r"0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class SpelledInt(int):
    """An integer whose text is not what Python prints, such as `0x1F` or `+5`."""

    text: str

    def __new__(cls, value: int, text: str) -> Self:
        """Make one from its value and its text."""
        self = super().__new__(cls, value)
        self.text = text
        return self

    def __getnewargs__(self) -> tuple[int, str]:  # type: ignore[override]  # as __new__ wants them
        return int(self), self.text


class SpelledFloat(float):
    """A number whose text is not what Python prints, such as `3.10` or `1e3`."""

    text: str

    def __new__(cls, value: float, text: str) -> Self:
        """Make one from its value and its text."""
        self = super().__new__(cls, value)
        self.text = text
        return self

    def __getnewargs__(self) -> tuple[float, str]:  # type: ignore[override]  # as __new__ wants them
        return float(self), self.text


class ScalarFault(Exception):  # noqa: N818  # a fault of the author's, not of this code
    """A scalar that has no value here. `message` is for people, `hint` says what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def resolve(text: str) -> Any:
    """The value of a plain scalar: text, int, float, bool or None.

    Raises:
        ScalarFault: the number is not finite or has too many digits.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in _NUMBER_STARTS:
        return _number(text)
    return text


def spelling(value: Any) -> str:
    """A number or boolean as it was written; text as it is; nothing as no text."""
    if isinstance(value, SpelledInt | SpelledFloat):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def plain(value: Any) -> Any:
    """A copy of `value` without spellings, for code that knows the plain types only."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, SpelledInt):
        return int(value)
    return float(value) if isinstance(value, SpelledFloat) else value


def _number(text: str) -> Any:
    if _INT.fullmatch(text) or _BASED.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return _float(text)
    if _NOT_FINITE.fullmatch(text):
        raise ScalarFault(f"`{text}` is not a finite number", "write a number, or quote it to mean text")
    return text


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS or (value := int(text, 0)).bit_length() > _MAX_BITS:
        raise ScalarFault("the number is too large", f"at most {MAX_DIGITS:,} digits; quote it to mean text")
    return value if str(value) == text else SpelledInt(value, text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ScalarFault("the number is too large", "quote it to mean text")
    return value if str(value) == text else SpelledFloat(value, text)
