"""What the shell scanner finds: the words of a command, and what an expression in them would mean.

The scanner (`shell.scan`) makes words, the table of programs (`shell.rules`) judges them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command.

    Attributes:
        start, end: where it stands in the script.
        text: its value after quote removal; None if the shell computes a part of it.
        prefix: what it certainly starts with, after quote removal.
        marks: places of the expressions in it, also of those in substitutions.
        unsure: unquoted patterns, braces or escapes: as a program's name it could be any.
        splits: an unquoted expansion, or `$@`: it may become several words.
    """

    start: int
    end: int
    text: str | None
    prefix: str
    marks: tuple[int, ...] = ()
    unsure: bool = False
    splits: bool = False

    @property
    def leads(self) -> bool:
        """Whether an expression decides how the word starts, so that it could be an option or a name."""
        return bool(self.marks) and not self.prefix

    @property
    def may_vanish(self) -> bool:
        """Whether the shell may make no word of it, or several, so that the next one takes its place."""
        return self.splits and not self.prefix and not self.marks


class Need(StrEnum):
    """Why an expression cannot stand in a word as plain data."""

    CODE = "code"  # the program reads it as code
    NAME = "name"  # it would name a variable, and names may hold code
    COMMAND = "command"  # it would name the program to run
    FORMAT = "format"  # it is read for `%` and `\`
    INTEGER = "integer"  # fine if it is an integer
    UNSURE = "unsure"  # the word before it is not known
    OPTION = "option"  # it could be an option, which the program reads as code


@dataclass(frozen=True, slots=True)
class Verdict:
    """A word whose expressions are judged, and the program that decides."""

    word: Word
    need: Need
    program: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is to be said about a command.

    Attributes:
        code: the words that are code or name programs, with or without expressions.
        reads_code: the program that reads standard input as code, if one does.
    """

    verdicts: tuple[Verdict, ...] = ()
    code: tuple[Word, ...] = ()
    reads_code: str | None = None
