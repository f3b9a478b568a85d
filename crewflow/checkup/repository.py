"""What git keeps of the project, and how its files are read: the ground that every check stands on.

    git(...)  ->  tracked()  ->  read(entry)

The repository is looked at and never changed. git is called through one function that disarms what a
repository can plant. Paths are bytes, as they are on disk, until they are shown. Everything works from
the current folder, which may be a folder inside the repository: what lies outside is not looked at.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crewflow.checkup import text

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE = 1_000_000
"""Bytes from which on the content of a file is not looked at."""

BINARY_PROBE = 8000
"""How many leading bytes decide whether a file is binary: git's own number."""

# fsmonitor, hooks, gpg and helpers of transports are programs that a planted `.git/config` can name.
DISARMED = (
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "log.showSignature=false",
    "-c",
    "protocol.allow=never",
)

_LINK, _SUBMODULE = 0o120000, 0o160000
_SLASH = ord("/")


class Skip(StrEnum):
    """Why the content of a file was not looked at, in the words of the report."""

    LINK = "symbolic link"
    SUBMODULE = "submodule"
    MISSING = "not in the work tree"
    LARGE = "larger than 1 MB"
    BINARY = "binary"
    UNREADABLE = "cannot be read"
    TEMPLATE = "a template"
    EXCLUDED = "marked -checkup in .gitattributes"


class CheckupError(SystemExit):
    """The check cannot go on. As with `sys.exit`, the message ends the step, and stands alone in its log."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file that git tracks.

    Attributes:
        path: relative to the current folder.
        mode: git's mode for it.
        behind_a_link: a folder on the way to it is now a symbolic link, and leads elsewhere.
    """

    path: bytes
    mode: int
    behind_a_link: bool = False

    @property
    def suffix(self) -> str:
        """The extension in lower case with its dot, or nothing."""
        stem, dot, extension = self.path.rpartition(b"/")[2].rpartition(b".")
        return (dot + extension).decode("utf-8", "replace").lower() if stem else ""


def survey() -> dict[str, Any]:
    """Say what the repository is, for the report and for the steps that depend on it.

    Returns:
        The name of the folder, branch, abbreviated commit (None without commits), the number of commits,
        whether the history is cut off, how many files there are and whether any is Python.
        `commits` and `python` are outputs, too.
    """
    entries = tracked()
    commits = _count_commits()
    facts = {
        "name": text.shown(os.fsencode(Path.cwd().name)),
        "branch": text.line(_branch()),
        "commit": git("rev-parse", "--short", "HEAD").decode().strip() if commits else None,
        "commits": commits,
        "shallow": git("rev-parse", "--is-shallow-repository").strip() == b"true",
        "files": len(entries),
        "python": any(entry.suffix in {".py", ".pyi"} for entry in entries),
    }
    give(commits=commits, python=facts["python"])
    return facts


def git(*arguments: str) -> bytes:
    """Call git in the current folder and return what it printed.

    Raises:
        CheckupError: git is not installed, or it failed; the message is the first line of its own.
    """
    done = _run_git(arguments)
    if done.returncode:
        raise CheckupError(f"`git {arguments[0]}` failed: {_first_line(done.stderr)}")
    return done.stdout


def tracked() -> tuple[Entry, ...]:
    """All files that git tracks in or below the current folder, each once, in the order of their bytes."""
    listing = git("ls-files", "--stage", "-z").split(b"\0")
    modes = {path: int(head[:6], 8) for head, _, path in (row.partition(b"\t") for row in listing) if path}
    is_link = lru_cache(maxsize=None)(_is_link)
    return tuple(Entry(path, modes[path], _is_behind_a_link(path, is_link)) for path in sorted(modes))


def excluded() -> frozenset[bytes]:
    """The paths that the repository does not want checked: `.gitattributes` takes `checkup` from them."""
    return frozenset(filter(None, git("ls-files", "-z", "--", ":(attr:-checkup)").split(b"\0")))


def read(entry: Entry) -> bytes | Skip:
    """The content of a text file as it is in the work tree, or why it is not looked at."""
    found = size(entry)
    if isinstance(found, Skip):
        return found
    if found > LARGE:
        return Skip.LARGE
    try:
        content = _content(entry.path)
    except OSError:
        return Skip.UNREADABLE
    return Skip.BINARY if b"\0" in content[:BINARY_PROBE] else content


def size(entry: Entry) -> int | Skip:
    """The size of a file in the work tree in bytes, or why it has none."""
    if entry.mode == _SUBMODULE:
        return Skip.SUBMODULE
    if entry.mode == _LINK or entry.behind_a_link:
        return Skip.LINK
    try:
        found = os.lstat(entry.path)
    except OSError:
        return Skip.MISSING
    if stat.S_ISLNK(found.st_mode):
        return Skip.LINK
    return found.st_size if stat.S_ISREG(found.st_mode) else Skip.UNREADABLE


def give(**values: Any) -> None:
    """Hand outputs to the run, if there is one: as one JSON object in the file `$CREWFLOW_OUTPUT` names."""
    where = os.environ.get("CREWFLOW_OUTPUT")
    if where:
        Path(where).write_text(json.dumps(values), encoding="utf-8")


def _is_behind_a_link(path: bytes, is_link: Callable[[bytes], bool]) -> bool:
    slashes = (place for place, byte in enumerate(path) if byte == _SLASH)
    return any(is_link(path[:place]) for place in slashes)


def _is_link(folder: bytes) -> bool:
    return Path(os.fsdecode(folder)).is_symlink()


def _run_git(arguments: tuple[str, ...]) -> subprocess.CompletedProcess[bytes]:
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        return subprocess.run(
            ("git", *DISARMED, *arguments),  # noqa: S607  (the user's git is the one on their PATH)
            env=os.environ | quiet,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise CheckupError("`git` is not installed, or not on the PATH") from None


def _first_line(message: bytes) -> str:
    lines = message.decode("utf-8", "replace").strip().splitlines()
    return text.line(lines[0].removeprefix("fatal: ")) if lines else "it did not say why"


def _count_commits() -> int:
    # An unborn branch is no fault: there is nothing to count yet.
    if _run_git(("rev-parse", "--verify", "--quiet", "HEAD")).returncode:
        return 0
    return int(git("rev-list", "--count", "HEAD"))


def _branch() -> str:
    named = _run_git(("symbolic-ref", "--short", "--quiet", "HEAD")).stdout
    return named.decode("utf-8", "replace").strip() or "(no branch)"


def _content(path: bytes) -> bytes:
    # Between `lstat` and here the file may have become a link or a pipe: neither is followed or waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(LARGE + 1)
