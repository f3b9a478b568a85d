"""`run:` text made safe: no value of an expression is ever read as code.

Every expression becomes a reference to an environment variable, quoted as its place needs; the variables
carry the values. `shell.scan` finds the places and refuses those where a value could not work or would be
read again. Expressions in comments stay as they are.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from crewflow.spec.expression import Expression, parse_expression
from crewflow.spec.shell.faults import fault_of
from crewflow.spec.template import OPENING, Placed, split_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crewflow.spec.shell.cursor import Use

LANGUAGES: Final = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
"""The shells whose scripts may hold expressions."""

VARIABLE: Final = "CREWFLOW_EXPR_"
"""What the names of the variables start with; a number from 1 follows."""

_MARK: Final = "\ufffc"  # stands for an expression while the script is read; its place tells it from text


@dataclass(frozen=True, slots=True)
class SafeScript:
    """A script that is only code, and the variables that carry the values into it, as text."""

    text: str
    variables: tuple[tuple[str, Expression], ...] = ()


def make_safe(
    script: str, language: str | Sequence[str], integer_paths: Callable[[Expression], bool]
) -> SafeScript:
    """Take the expressions out of a script.

    Args:
        script: the text of `run:`.
        language: the shell's program, or its words; `/usr/bin/env bash` is bash.
        integer_paths: whether the value of an expression is an integer by its declared type.

    Raises:
        ExpressionFault: an expression is faulty, or stands where its value could not work or would be read
            as code; places count from the start of the script.
    """
    if OPENING not in script:
        return SafeScript(script)
    parts = split_text(script)
    marks = _marks(parts)
    text = "".join(_MARK if isinstance(part, Placed) else part for part in parts)
    if not marks:
        return SafeScript(text)
    shell = shell_name(language)
    if shell not in LANGUAGES:
        raise fault_of("language", shell, next(iter(marks.values())))
    from crewflow.spec.shell.scan import scan  # noqa: PLC0415  # most scripts hold no expression

    try:
        uses = scan(text, marks, shell, lambda placed: integer_paths(placed.expression))
    except RecursionError:  # nested deeper than anybody writes: what cannot be read is refused
        raise fault_of("unsure", "", next(iter(marks.values()))) from None
    return _Writer(script).write(text, marks, uses)


def shell_name(language: str | Sequence[str]) -> str:
    """The name of the shell without its folder, looked for behind `env` too."""
    words = language.split() if isinstance(language, str) else list(language)
    if words and posixpath.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return posixpath.basename(words[0]) if words else ""


def _marks(parts: list[str | Placed]) -> dict[int, Placed]:
    marks: dict[int, Placed] = {}
    at = 0
    for part in parts:
        if isinstance(part, Placed):
            marks[at] = part
        at += 1 if isinstance(part, Placed) else len(part)
    return marks


@dataclass
class _Writer:
    """Writes the script with references in it; the same expression gets the same variable."""

    script: str
    names: dict[Expression, str] = field(default_factory=dict)

    def write(self, text: str, marks: dict[int, Placed], uses: dict[int, Use]) -> SafeScript:
        pieces: list[str] = []
        done = 0
        for at, placed in marks.items():
            pieces += [text[done:at], self._reference(placed, uses.get(at))]
            done = at + 1
        variables = tuple((name, expression) for expression, name in self.names.items())
        return SafeScript("".join([*pieces, text[done:]]), variables)

    def _reference(self, placed: Placed, use: Use | None) -> str:
        if use is None:
            raise fault_of("unsure", "", placed)
        if use.before is None:
            return " ".join(self.script[placed.offset : placed.offset + placed.length].split())
        expression = placed.expression
        if use.number:
            # Adding 0 writes the number anew, so that no shell takes `0x1F` or `+5` for something else.
            expression = parse_expression(f"({expression.source}) + 0")
        name = self.names.setdefault(expression, f"{VARIABLE}{len(self.names) + 1}")
        return f"{use.before}{name}{use.after}"
