"""Where a project is: found by walking up, without reading what its files say.

Kept apart from `load`, so that commands that only read a run load no YAML reader.
"""

from __future__ import annotations

import re
from pathlib import Path as FilePath

PROJECT_FILES = ("crewflow.yaml", "crewflow.yml")

_KIND = re.compile(rb"^(?:\xef\xbb\xbf)?(?:\{\s*)?[\"']?kind[\"']?\s*:", re.MULTILINE)


def find_project(start: str) -> str | None:
    """The project that `start` lies in, as an absolute path: upwards, at most to the git root.

    A project has a `crewflow.yaml`, or a `workflows/` folder with a document that says its `kind`;
    `.github` is never one.
    """
    for folder in (here := FilePath(start).resolve(), *here.parents):
        if _is_project(folder):
            return str(folder)
        if (folder / ".git").exists():
            return None
    return None


def _is_project(folder: FilePath) -> bool:
    if folder.name == ".github":
        return False
    if any((folder / name).is_file() for name in PROJECT_FILES):
        return True
    return any(_says_kind(file) for file in yaml_files(folder / "workflows"))


def _says_kind(file: FilePath) -> bool:
    try:
        return file.is_file() and _KIND.search(file.read_bytes()) is not None
    except OSError:
        return False


def yaml_files(folder: FilePath) -> list[FilePath]:
    """What is called as a YAML file right in `folder`, by name; none if there is no such folder."""
    try:
        files = sorted(folder.iterdir())
    except OSError:
        return []
    return [file for file in files if file.suffix in {".yaml", ".yml"} and file.name[0] != "."]
