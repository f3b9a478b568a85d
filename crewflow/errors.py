"""What can go wrong, as values and as exceptions.

A `Problem` is one finding in a file of the user's: problems are collected, sorted and shown together.
An exception stops the command at hand; `cli` alone turns it into text and an exit code:

    CrewflowError
    ├── UsageError          2   wrong usage, or no such run, task, workflow
    ├── SpecError           3   the files are invalid; carries every problem found
    ├── HeldError           6   another process holds the run
    └── StateError         10   the state folder is damaged or cannot be written

User-facing text is lower case, says what failed first, and puts names in backticks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """The exit codes of every command; the table in `docs/reference.md` is held against this one."""

    DONE = 0
    RUN_FAILED = 1
    USAGE = 2
    INVALID = 3
    HELD = 6
    MISSING = 8
    CANCELLED = 9
    STATE = 10
    BUG = 70
    SIGHUP = 129
    SIGINT = 130
    SIGTERM = 143


class Severity(StrEnum):
    """How much a problem weighs: a warning stops nothing unless `--strict` is given."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something is written: a file as shown to the user, line and column from 1, width in characters.

    A width of 0 means that there is nothing to underline (the end of a file, say).
    """

    file: str
    line: int
    column: int
    width: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Note:
    """A second place that belongs to a problem, and why it is shown."""

    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding: which rule, where, in what words, and what to do about it.

    Attributes:
        rule: `CF` and three digits; the hundreds say which stage found it.
        source_line: the text of the line at `place`, without its end; None where there is none to show.
    """

    rule: str
    place: Place
    message: str
    hint: str | None = None
    severity: Severity = Severity.ERROR
    notes: tuple[Note, ...] = ()
    source_line: str | None = None


class CrewflowError(Exception):
    """The root of all errors that a user is told about.

    Attributes:
        hint: what to do or type next, without the word `hint:`.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.BUG

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(CrewflowError):
    """Wrong usage, or a run, task or workflow that does not exist."""

    exit_code = ExitCode.USAGE


class SpecError(CrewflowError):
    """The project's files are invalid. All problems are in it, in order of place."""

    exit_code = ExitCode.INVALID

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = problems


class HeldError(CrewflowError):
    """Another process holds what this one asked for."""

    exit_code = ExitCode.HELD


class StateError(CrewflowError):
    """The state folder is damaged, belongs to someone else, or cannot be written."""

    exit_code = ExitCode.STATE
