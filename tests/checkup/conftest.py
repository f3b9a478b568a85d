from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


class Repository:
    """A real git repository in the current folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, path: str | bytes, content: str | bytes = "") -> None:
        target = self.folder / os.fsdecode(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ("git", *arguments), cwd=self.folder, check=True, capture_output=True, text=True
        )
        return done.stdout

    def add(self, **files: str) -> None:
        """Write files (`__` in a keyword is a dot) and put everything into the index."""
        for name, content in files.items():
            self.write(name.replace("__", "."), content)
        self.git("add", "--all")

    def commit(self, message: str = "change") -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)


@pytest.fixture
def clean_git(monkeypatch):
    """No setting of the machine, and no repository of a surrounding hook, reaches the test."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    settings = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": "/"}
    people = {
        f"GIT_{who}_{what}": "test@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    for name, value in (settings | people).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CREWFLOW_OUTPUT", raising=False)


@pytest.fixture
def repo(tmp_path, monkeypatch, clean_git):
    folder = tmp_path / "repo"
    folder.mkdir()
    made = Repository(folder)
    made.git("init", "--quiet", "--initial-branch", "main")
    monkeypatch.chdir(folder)
    return made
