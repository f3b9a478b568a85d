"""What a validation found, as the formats take it: problems, files, and where all of it lies."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING

from crewflow.errors import Severity

if TYPE_CHECKING:
    from crewflow.errors import Problem
    from crewflow.spec.ignore import Ignored

_SEPARATOR = "\0"


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of a validation.

    Attributes:
        problems: in order of place.
        ignored: warnings that do not count.
        files: every file that was checked, with paths as those of problems: relative to the project where
            possible. Files of problems belong to them also when they are not listed.
        project, repository: absolute folders; paths in reports of CI systems are relative to the repository.
        strict: warnings fail too.
        quiet: only what fails is shown to a person; `color`: in colours.
    """

    problems: tuple[Problem, ...]
    ignored: tuple[Ignored, ...] = ()
    files: tuple[str, ...] = ()
    project: str = "/"
    repository: str = "/"
    strict: bool = False
    quiet: bool = False
    color: bool = False

    @property
    def failing(self) -> tuple[Problem, ...]:
        """The problems that make the validation fail."""
        return tuple(p for p in self.problems if self.strict or p.severity is Severity.ERROR)

    @property
    def shown(self) -> Checked:
        """The same with nothing but what a person is to be shown."""
        return replace(self, problems=self.failing) if self.quiet else self

    @property
    def all_files(self) -> tuple[str, ...]:
        """Every file that was checked or has a problem, by name."""
        return tuple(sorted({*self.files, *(problem.place.file for problem in self.problems)}))

    def path(self, file: str) -> str:
        """The path of a file from the top of the repository; absolute if it does not lie in it."""
        full = os.path.normpath(os.path.join(self.project, file))
        top = self.repository.rstrip("/") + "/"
        return full.removeprefix(top)


def fingerprints(checked: Checked) -> list[tuple[str, int]]:
    """For each problem a hash of what it says and of its line, and which of equal ones it is, from 1.

    Where the line stands has no part in it: it stays when lines are added above.
    """
    counts: dict[str, count[int]] = {}
    found = []
    for problem in checked.problems:
        facts = (problem.rule, checked.path(problem.place.file), problem.message)
        text = _SEPARATOR.join((*facts, (problem.source_line or "").strip()))
        digest = sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
        found.append((digest, next(counts.setdefault(digest, count(1)))))
    return found
