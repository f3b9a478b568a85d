"""Read the files of a project and build what they say: the one way from a folder to a `Project`.

    root = find_project(start)        # of `spec.find`
    project, problems = load_project(root)

Documents are looked up in places, in this order: the project, the user's folder, what ships with
crewflow. First they are read and checked by their schemas, then they are built: the project, agents,
teams, workflows, schedules. A name in one place hides the same name in those behind it.

Nothing here raises for what stands in a file: every problem is returned, in order of place, beside
whatever could be built. Problems of files outside the project are told only if the project uses them.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Final

from crewflow.errors import Note, Place, Problem, Severity
from crewflow.spec.build import build_project, build_workflow, empty_project
from crewflow.spec.find import PROJECT_FILES, yaml_files
from crewflow.spec.origin import Origin
from crewflow.spec.references import named_by
from crewflow.spec.shelf import Shelf, shown
from crewflow.spec.source import collector_off
from crewflow.spec.suggest import did_you_mean
from crewflow.spec.words import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crewflow.spec.crew import Agent, Team
    from crewflow.spec.model import Project, Workflow
    from crewflow.spec.schedules import Schedule
    from crewflow.spec.shelf import Read
    from crewflow.spec.source import Document

    Built = tuple[Any, tuple[Problem, ...]]
    Loaded = tuple[Project, tuple[Problem, ...]]

_PACKAGE: Final = FilePath(__file__).resolve().parents[1]
_SHIPPED: Final = (_PACKAGE / "_data" / "workflows", _PACKAGE.parent / "workflows")
_FOLDERS: Final = ("workflows", "teams", "agents", "schedules")
_SHIPPED_FOLDERS: Final = (".", "teams", "agents", "schedules", "examples")


@collector_off()
def load_project(root: str) -> Loaded:
    """The project at `root` with all of its documents, and those outside it that it can name."""
    loader = _Loader(root)
    loader.read_all()
    own = loader.shelves[0].reads
    return loader.result(files={read.file for read in own} | loader.used(own), complete=True)


@collector_off()
def load_own(root: str) -> Loaded:
    """The project at `root` with all of its documents, and of those outside it only what they name.

    If a name leads nowhere, all is read as `load_project` does: it can be said what was meant.
    """
    loader = _Loader(root)
    loader.shelves[0].read_all()
    own = loader.shelves[0].reads
    used = loader.used(own)
    default = loader.project.default_workflow
    if default is not None and loader.find("workflow", default) is None:
        loader.read_all()
    return loader.result(files={read.file for read in own} | used, complete=True)


@collector_off()
def load_workflow(root: str, name: str) -> Loaded:
    """The project at `root` with the workflow `name` and all that it uses, reading only what can define it.

    Problems are those of the project's settings and of the files in use. If there is no such workflow, all
    is read as `load_project` does: the caller can say what names there are.
    """
    loader = _Loader(root)
    read = loader.find("workflow", name)
    if loader.hiding:
        return loader.result(files=loader.hiding)
    if read is None or read.name != name:
        return load_project(root)
    used = loader.used([read])
    return loader.result(files={read.file} | used)


@collector_off()
def load_file(path: str, root: str) -> Loaded:
    """The project at `root` with the documents of one file, which may lie anywhere.

    `workflows` are those of the file; the others that it can name are among the `shipped`. Problems are
    those of the file and of the project's settings, and the errors of other files that it uses.
    """
    loader = _Loader(root, FilePath(path))
    own = loader.own_shelf.reads
    used = loader.used(own)
    file = shown(FilePath(path), loader.root)
    project, problems = loader.result(files={file} | used)
    mine = {file, *PROJECT_FILES}
    told = (p for p in problems if p.place.file in mine or p.severity is Severity.ERROR)
    return project, tuple(told)


def user_folder() -> FilePath | None:
    """The user's own folder of documents; None if there is none."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    folder = FilePath(base if os.path.isabs(base) else os.path.expanduser("~/.config")) / "crewflow"
    return folder if folder.is_dir() else None


class _Loader:
    """What has been read so far of one project: shelf by shelf, those in front hide those behind.

    Args:
        root: of the project.
        file: that all is about; None where it is about the project.
    """

    def __init__(self, root: str, file: FilePath | None = None) -> None:
        self.root = FilePath(root).resolve()
        self.user = user_folder()
        self.shipped = next((folder for folder in _SHIPPED if folder.is_dir()), None)
        self.document: Document | None = None
        self.hiding: set[str] = set()  # files that keep a name from being looked up further back
        self.unreadable: set[tuple[str, str]] = set()  # and those names, with their kinds
        self.project = empty_project(str(self.root))
        self.built: list[Problem] = []
        place = Shelf(self.root, Origin.PROJECT)
        self.own_shelf = place if file is None else Shelf(self.root, Origin.PROJECT)
        mine = None if file is None else FilePath(os.path.abspath(file))
        is_settings = mine in {self.root / name for name in PROJECT_FILES}
        self.paths = self.read_settings(self.own_shelf if is_settings else place)
        if mine is not None and not is_settings:
            self.own_shelf.read(FilePath(file or mine))
        settings = {self.root / name for name in PROJECT_FILES}
        place.add(f for f in self.project_files(place) if f != mine and f not in settings)
        self.shelves = list(dict.fromkeys((self.own_shelf, place, *self.further_shelves())))

    def read_settings(self, shelf: Shelf) -> dict[str, list[str]]:
        """Build what the settings of the project say; their `paths`."""
        files = [self.root / name for name in PROJECT_FILES if (self.root / name).is_file()]
        for file in files[1:]:
            message = f"the project has both {' and '.join(quoted(name) for name in PROJECT_FILES)}"
            place = Place(shown(file, self.root), 1, 1, 0)
            shelf.tell(Problem("CF291", place, message, "keep one of them"))
        for file in files[:1]:
            shelf.read(file)
        settings = next((read for read in shelf.reads if read.kind == "project"), None)
        if settings is None:
            return {}
        self.document = settings.document
        self.project, problems = build_project(settings.document, settings.data, str(self.root))
        self.built += problems
        paths: dict[str, list[str]] = settings.data.get("paths", {})
        return paths

    def project_files(self, shelf: Shelf) -> Iterator[FilePath]:
        """The files in the folders of the project."""
        for kind in _FOLDERS:
            given = self.paths.get(kind)
            for folder in [self.root / kind] if given is None else self.named_folders(shelf, kind, given):
                yield from yaml_files(folder)

    def named_folders(self, shelf: Shelf, kind: str, names: list[str]) -> Iterator[FilePath]:
        assert self.document is not None  # noqa: S101  (it has the `paths`)
        for index, name in enumerate(names):
            folder = (self.root / name).resolve()
            place = self.document.place(("paths", kind, index))
            if not folder.is_relative_to(self.root):
                message, hint = f"{quoted(name)} leads out of the project", "name a folder in it"
                shelf.tell(self.document.problem("CF104", place, message, hint))
            elif not folder.is_dir():
                shelf.tell(self.document.problem("CF292", place, f"there is no folder {quoted(name)}"))
            else:
                yield folder

    def further_shelves(self) -> Iterator[Shelf]:
        """Those outside the project."""
        for origin, base, folders in (
            (Origin.USER, self.user, _FOLDERS),
            (Origin.SHIPPED, self.shipped, _SHIPPED_FOLDERS),
        ):
            if base is not None:
                files = [file for folder in folders for file in yaml_files(base / folder)]
                yield Shelf(self.root, origin, files)

    def read_all(self) -> None:
        for shelf in self.shelves:
            shelf.read_all()

    def find(self, kind: str, name: str) -> Read | None:
        """What a name means: the first shelf that has it in any case decides, or that may have it."""
        for shelf in self.shelves:
            read = shelf.find(kind, name)
            if read is not None:
                return read
            hiding = shelf.hides(name) if name else None
            if hiding is not None:
                self.hiding.add(hiding)
                self.unreadable.add((kind, name))
                return None
        return None

    def used(self, reads: Iterable[Read]) -> set[str]:
        """The files of all that some documents name, and what those name; reads them.

        A name that nothing has makes all be read, so that it can be said what was meant.
        """
        waiting = [*reads, *(r for shelf in self.shelves for r in shelf.reads if r.kind == "project")]
        seen: dict[tuple[str, str], Read | None] = {}
        for read in waiting:
            for kind, name in named_by(read):
                if (kind, name) not in seen:
                    found = seen[kind, name] = self.find(kind, name)
                    waiting += [found] if found is not None else []
        if None in seen.values():
            self.read_all()
        return {read.file for read in seen.values() if read is not None}

    # --- phase two: build -------------------------------------------------------------------------

    def result(self, *, files: set[str], complete: bool = False) -> Loaded:
        """The project, and the problems of some files and of its settings, in order of place."""
        for read in self.of_kind("project"):
            self.refuse_settings(read)
        agents: dict[str, Agent] = self.build("agent", _agent)
        teams: dict[str, Team] = self.build("team", self.team)
        self.project = replace(
            self.project,
            agents=agents,
            teams=teams,
            places=tuple(str(place) for place in (self.root, self.user, self.shipped) if place is not None),
            files=frozenset(files | self.hiding | set(PROJECT_FILES)),
            unreadable=frozenset(self.unreadable),
        )
        self.place_workflows(self.build("workflow", self.workflow))
        schedules: dict[str, Schedule] = self.build("schedule", _schedule)
        self.project = replace(self.project, schedules=schedules)
        return self.project, self.problems(complete=complete)

    def of_kind(self, kind: str) -> Iterator[Read]:
        return (read for shelf in self.shelves for read in shelf.reads if read.kind == kind)

    def build(self, kind: str, make: Callable[[Read], Built]) -> dict[str, Any]:
        """What each name of a kind means. Two of one name in one place are a fault of the second."""
        found: dict[str, Any] = {}
        first: dict[str, Read] = {}
        for read in self.of_kind(kind):
            before = first.setdefault(read.name.casefold(), read)
            if before is not read and read.name:
                if not self.is_one_place(before, read):
                    continue  # hidden
                self.same_name(kind, read, before)
            item, problems = make(read)
            self.built += problems
            found.setdefault(read.name or read.file, item)
        return found

    def is_one_place(self, before: Read, read: Read) -> bool:
        """Whether two documents are looked up in one place: a file by itself is none."""
        return any(before in shelf.reads and read in shelf.reads for shelf in self.shelves)

    def same_name(self, kind: str, read: Read, first: Read) -> None:
        notes = (Note(first.document.place(("name",)), "first here"),)
        message = f"two {kind}s have the name {quoted(read.name)}"
        if read.name != first.name:
            message += ", but for upper and lower case"
        place = read.document.place(("name",))
        hint = "give one of them another name"
        self.built.append(read.document.problem("CF290", place, message, hint, notes=notes))

    def team(self, read: Read) -> Built:
        from crewflow.spec.build_crew import build_team  # noqa: PLC0415  (as for agents)

        return build_team(read.document, read.data, self.project.defaults, read.origin)

    def workflow(self, read: Read) -> Built:
        team = self.project.teams.get(read.data.get("team", ""))
        defaults = self.project.defaults if team is None else team.defaults
        is_own = read.origin is Origin.PROJECT
        return build_workflow(read.document, read.data, defaults, shipped=not is_own)

    def place_workflows(self, found: dict[str, Workflow]) -> None:
        own = {id(read.document) for read in self.own_shelf.reads}
        mine = {name: one for name, one in found.items() if id(one.source) in own}
        others = {name: one for name, one in found.items() if name not in mine}
        self.project = replace(self.project, workflows=mine, shipped=others)

    def refuse_settings(self, read: Read) -> None:
        if read.document is not self.document:
            message = "the settings of a project stand once, in `crewflow.yaml`"
            place = read.document.place(("kind",))
            self.built.append(read.document.problem("CF291", place, message, "move them there"))

    # --- what to tell -------------------------------------------------------------------------------

    def problems(self, *, complete: bool) -> tuple[Problem, ...]:
        found = [problem for shelf in self.shelves for problem in shelf.problems]
        found += [*self.built, *self.check_names(complete=complete)]
        if self.project.teams or self.project.agents:
            from crewflow.spec.check_crew import check_crew  # noqa: PLC0415  (as for agents)

            found += check_crew(self.project, complete=complete)
        files = self.project.files | ({p.place.file for p in self.own_shelf.problems} if complete else set())
        told = {
            problem
            for problem in found
            if problem.place.file in files or any(note.place.file in files for note in problem.notes)
        }
        return tuple(sorted(told, key=lambda p: (p.place, p.rule, p.message)))

    def check_names(self, *, complete: bool) -> Iterator[Problem]:
        """What the settings name and does not exist."""
        project, document = self.project, self.document
        if document is None:
            return
        name, names = project.default_workflow, [*project.workflows, *project.shipped]
        if complete and name is not None and name not in names:
            place = document.place(("default_workflow",))
            message = f"`default_workflow` names unknown workflow {quoted(name)}"
            yield document.problem("CF293", place, message, did_you_mean(name, names))


def _agent(read: Read) -> Built:
    from crewflow.spec.build_crew import build_agent  # noqa: PLC0415  (many projects have no teams, no agents)

    return build_agent(read.document, read.data, read.origin)


def _schedule(read: Read) -> Built:
    from crewflow.spec.build_schedule import build_schedule  # noqa: PLC0415  (as for agents)

    return build_schedule(read.document, read.data, read.origin)
