"""The places where documents are looked up, and what has been read from each: phase one of loading.

    shelf = Shelf(root, Origin.SHIPPED, files)
    shelf.find("team", "review")      reads the files that can define it, and no others
    shelf.read_all()

A document of any kind may stand in any file. What is read is checked by its schema at once and kept
without what is faulty; nothing is built here, since what a document means depends on others.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from crewflow.errors import Place, Problem, Severity
from crewflow.spec.build import prune
from crewflow.spec.kinds import kind_of
from crewflow.spec.schema import check
from crewflow.spec.source import read_documents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crewflow.spec.origin import Origin
    from crewflow.spec.source import Document


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """One document, of a known kind, without what its schema refuses."""

    document: Document
    kind: str
    data: dict[str, Any]
    origin: Origin

    @property
    def name(self) -> str:
        """Its name; empty where it has none."""
        return str(self.data.get("name", ""))

    @property
    def file(self) -> str:
        """The file as shown to the user."""
        return self.document.file


class Shelf:
    """One place of the look-up.

    Attributes:
        reads: what has been read so far, in order of files once all are read.
        problems: all that was found while reading.
    """

    def __init__(self, root: FilePath, origin: Origin, files: Iterable[FilePath] = ()) -> None:
        self.origin = origin
        self.reads: list[Read] = []
        self.problems: list[Problem] = []
        self._root = root
        self._waiting: dict[FilePath, bytes | None] = {}
        self._order: dict[str, int] = {}
        self._lost: dict[str, bytes] = {}  # files of which not every document could be read
        self.add(files)

    def add(self, files: Iterable[FilePath]) -> None:
        """Take up further files; none is read yet."""
        for file in files:
            self._waiting.setdefault(file, None)
            self._order.setdefault(shown(file, self._root), len(self._order))

    def read_all(self) -> None:
        """Read what has not been read."""
        for file in list(self._waiting):
            self._read(file, self._content(file))
        self.reads.sort(key=lambda read: self._order[read.file])

    def read(self, file: FilePath) -> None:
        """Read one file."""
        self.add((file,))
        self._read(file, self._content(file))

    def find(self, kind: str, name: str) -> Read | None:
        """The first document of a kind and name, its case apart; reads the files that hold the name."""
        wanted = name.casefold()
        for file in list(self._waiting):
            data = self._content(file)
            if data is not None and wanted.encode() in data.lower():
                self._read(file, data)
        return next((r for r in self.reads if r.kind == kind and r.name.casefold() == wanted), None)

    def hides(self, name: str) -> str | None:
        """A file that may define a name and could not be read whole; then nothing else is meant by it."""
        wanted = name.casefold().encode()
        return next((file for file, data in self._lost.items() if wanted in data.lower()), None)

    def tell(self, problem: Problem) -> None:
        """Keep a problem."""
        self.problems.append(problem)

    def _content(self, file: FilePath) -> bytes | None:
        """The bytes of a file, read once; None if that was refused, which is told when the file is read."""
        data = self._waiting.get(file)
        if data is None:
            try:
                data = _read_regular(file)
            except OSError as error:
                name = shown(file, self._root)
                self.problems.append(_unreadable(name, error))
                self._lost[name] = file.stem.encode()  # the only name that is known of it
                self._waiting.pop(file, None)
                return None
            self._waiting[file] = data
        return data

    def _read(self, file: FilePath, data: bytes | None) -> None:
        self._waiting.pop(file, None)
        if data is None:
            return
        documents, problems = read_documents(shown(file, self._root), data)
        self.problems += problems
        known = {(p.place.line, p.place.column) for p in problems}
        taken = [self._take(document, known) for document in documents]
        if not all(taken) or any(problem.severity is Severity.ERROR for problem in problems):
            self._lost[shown(file, self._root)] = data

    def _take(self, document: Document, known: set[tuple[int, int]]) -> bool:
        """Check one document, and keep it if it can be; faults at a place that has one are not told again."""
        kind, problem = kind_of(document)
        if kind is None:
            self.problems += [problem] if problem else []
            return False
        faults = check(document, kind)
        self.problems += [
            f.problem for f in faults if (f.problem.place.line, f.problem.place.column) not in known
        ]
        paths = [path for fault in faults for path in fault.prune]
        if () in paths or ("name",) in paths:
            return False
        self.reads.append(Read(document, kind, prune(document.data, paths), self.origin))
        return True


def shown(file: FilePath, root: FilePath) -> str:
    """The path to show: relative to the project where the file lies in it; links are kept."""
    path = FilePath(os.path.abspath(file))
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def _read_regular(file: FilePath) -> bytes:
    """The content of a file; of a pipe or a device it could have no end. Raises OSError."""
    if not stat.S_ISREG(file.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    return file.read_bytes()


def _unreadable(file: str, error: OSError) -> Problem:
    message = f"the file cannot be read: {(error.strerror or 'unknown reason').lower()}"
    return Problem("CF012", Place(file, 1, 1, 0), message)
