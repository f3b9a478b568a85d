"""Read the files of a project and build what they say: the one way from a folder to a `Project`.

    root = find_project(start)        # of `spec.find`
    project, problems = load_project(root)

Nothing here raises for what stands in a file: every problem of every file is returned, in order of
place, beside whatever could be built. A file is read once, checked by its schema, and built from what
the schema allows.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from crewflow.errors import Note, Place, Problem
from crewflow.spec.build import build_project, build_workflow, empty_project, prune
from crewflow.spec.find import PROJECT_FILES, yaml_files
from crewflow.spec.kinds import kind_of
from crewflow.spec.schema import check
from crewflow.spec.source import Document, collector_off, read_documents
from crewflow.spec.suggest import did_you_mean
from crewflow.spec.words import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crewflow.spec.model import Project, Workflow
    from crewflow.spec.schema import Fault


_PACKAGE = FilePath(__file__).resolve().parents[1]
_SHIPPED = (_PACKAGE / "_data" / "workflows", _PACKAGE.parent / "workflows")


@collector_off()
def load_project(root: str) -> tuple[Project, tuple[Problem, ...]]:
    """The project at `root` with all of its workflows, and what ships with crewflow beside them."""
    loader = _Loader(root)
    loader.read_all()
    loader.read_shipped()
    return loader.result(complete=True)


@collector_off()
def load_workflow(root: str, name: str) -> tuple[Project, tuple[Problem, ...]]:
    """The project at `root` with the workflow `name`, reading only the files that can define it.

    Problems are those of the project's settings and of the file that defines it. If no file of the
    project does, it is looked for among those that ship with crewflow, and then all is read as
    `load_project` does: the caller can say what names there are.
    """
    loader = _Loader(root)
    loader.read_all(holding=name)
    if name not in loader.workflows:
        loader.read_shipped(holding=name)
    if name not in loader.workflows and name not in loader.shipped:
        return load_project(root)
    project, problems = loader.result(complete=False)
    workflow = project.workflows.get(name) or project.shipped[name]
    files = {*PROJECT_FILES, workflow.source.file}
    return project, tuple(problem for problem in problems if problem.place.file in files)


@collector_off()
def load_file(path: str, root: str) -> tuple[Project, tuple[Problem, ...]]:
    """The project at `root` with the workflows of one file, which may lie anywhere."""
    loader = _Loader(root)
    loader.read_project()
    loader.read_file(FilePath(path))
    return loader.result(complete=False)


class _Loader:
    """What has been read so far of one project."""

    def __init__(self, root: str) -> None:
        self.root = FilePath(root).resolve()
        self.problems: list[Problem] = []
        self.workflows: dict[str, Workflow] = {}
        self.shipped: dict[str, Workflow] = {}
        self.folders = [self.root / "workflows"]
        self.named: dict[tuple[bool, str], Workflow] = {}
        self.document: Document | None = None
        self.project = empty_project(str(self.root))

    def read_all(self, holding: str | None = None) -> None:
        self.read_project()
        for folder in self.folders:
            for file in yaml_files(folder):
                self.read_file(file, holding=holding)

    def read_project(self) -> None:
        files = [self.root / name for name in PROJECT_FILES if (self.root / name).is_file()]
        for file in files[1:]:
            message = f"the project has both {' and '.join(quoted(name) for name in PROJECT_FILES)}"
            place = Place(self.shown(file), 1, 1, 0)
            self.problems.append(Problem("CF291", place, message, "keep one of them"))
        for file in files[:1]:
            self.read_file(file)

    def read_shipped(self, holding: str | None = None) -> None:
        folder = next((folder for folder in _SHIPPED if folder.is_dir()), None)
        for file in yaml_files(folder) if folder else ():
            self.read_file(file, holding=holding, shipped=True)

    def read_file(self, file: FilePath, *, holding: str | None = None, shipped: bool = False) -> None:
        """Read a file; skip it if it does not hold the text `holding`, for then it cannot define it."""
        try:
            data = file.read_bytes()
        except OSError as error:
            message = f"the file cannot be read: {(error.strerror or 'unknown reason').lower()}"
            self.problems.append(Problem("CF012", Place(self.shown(file), 1, 1, 0), message))
            return
        if holding is not None and holding.encode() not in data:
            return
        documents, problems = read_documents(self.shown(file), data)
        self.problems += problems
        known = {(p.place.line, p.place.column) for p in problems}
        for document in documents:
            self.take(document, known, shipped=shipped)

    def take(self, document: Document, known: set[tuple[int, int]], *, shipped: bool) -> None:
        """Check and build one document; faults at a place that has one already are not told again."""
        kind, problem = kind_of(document)
        if kind is None:
            self.problems += [problem] if problem else []
            return
        faults = check(document, kind)
        told = [f.problem for f in faults if (f.problem.place.line, f.problem.place.column) not in known]
        self.problems += told
        if kind == "project":
            self.take_project(document, faults)
        else:
            self.take_workflow(document, faults, shipped=shipped)

    def take_project(self, document: Document, faults: tuple[Fault, ...]) -> None:
        if document.file not in PROJECT_FILES or self.document is not None:
            message = "the settings of a project stand once, in `crewflow.yaml`"
            place = document.place(("kind",))
            self.problems.append(document.problem("CF291", place, message, "move them there"))
            return
        self.document = document
        data = prune(document.data, _paths(faults))
        self.project, problems = build_project(document, data, str(self.root))
        self.problems += problems
        if "workflows" in data.get("paths", {}):
            self.folders = list(self.named_folders(document, data["paths"]["workflows"]))

    def named_folders(self, document: Document, names: list[str]) -> Iterator[FilePath]:
        for index, name in enumerate(names):
            folder = (self.root / name).resolve()
            place = document.place(("paths", "workflows", index))
            if not folder.is_relative_to(self.root):
                message, hint = f"{quoted(name)} leads out of the project", "name a folder in it"
                self.problems.append(document.problem("CF104", place, message, hint))
            elif not folder.is_dir():
                self.problems.append(document.problem("CF292", place, f"there is no folder {quoted(name)}"))
            else:
                yield folder

    def take_workflow(self, document: Document, faults: tuple[Fault, ...], *, shipped: bool) -> None:
        data = prune(document.data, _paths(faults))
        workflow, problems = build_workflow(document, data, self.project.defaults, shipped=shipped)
        self.problems += problems
        first = self.named.setdefault((shipped, workflow.name.casefold()), workflow)
        if first is not workflow and workflow.name:
            self.same_name(document, workflow, first)
        place = self.shipped if shipped else self.workflows
        place.setdefault(workflow.name or document.file, workflow)

    def same_name(self, document: Document, workflow: Workflow, first: Workflow) -> None:
        notes = (Note(first.source.place(("name",)), "first here"),)
        message = f"two workflows have the name {quoted(workflow.name)}"
        if workflow.name != first.name:
            message += ", but for upper and lower case"
        place = document.place(("name",))
        hint = "give one of them another name"
        self.problems.append(document.problem("CF290", place, message, hint, notes=notes))

    def result(self, *, complete: bool) -> tuple[Project, tuple[Problem, ...]]:
        """The project, and the problems in order of place."""
        if complete:
            self.check_default()
        hidden = {name.casefold() for name in self.workflows}
        shipped = {name: item for name, item in self.shipped.items() if name.casefold() not in hidden}
        project = replace(self.project, workflows=self.workflows, shipped=shipped)
        return project, tuple(sorted(self.problems, key=lambda p: (p.place, p.rule, p.message)))

    def check_default(self) -> None:
        name, document = self.project.default_workflow, self.document
        names = [*self.workflows, *self.shipped]
        if name is None or name in names or document is None:
            return
        place = document.place(("default_workflow",))
        message = f"`default_workflow` names unknown workflow {quoted(name)}"
        self.problems.append(document.problem("CF293", place, message, did_you_mean(name, names)))

    def shown(self, file: FilePath) -> str:
        """The path to show: relative to the project where the file lies in it."""
        path = FilePath(os.path.abspath(file))  # links are kept, as the user knows the path
        return str(path.relative_to(self.root) if path.is_relative_to(self.root) else path)


def _paths(faults: Iterable[Fault]) -> Iterator[tuple[str | int, ...]]:
    return (path for fault in faults for path in fault.prune)
