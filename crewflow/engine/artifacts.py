"""The files that an attempt promised: found by pattern in the project, each with its hash and size.

Patterns are relative to the project: `**` any folders, `*` (a leading dot too), `?`, `[a-z]`, `[!a]`,
`{a,b}`; a folder means all files in it; `!` at the head takes files out again. Every pattern without
`!` must find a file. Nothing outside the project is ever an artifact: a link that leads out is refused.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader

_NEVER_SEARCHED = frozenset({".git", ".crewflow"})
_PART = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|\{|\}|,|.", re.DOTALL)
_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:"}
_IN_BRACES = {"}": ")", ",": "|"}


class BadOutputError(Exception):
    """An output or artifact is missing or not as declared; the text is for people."""


def find_all(declared: dict[str, tuple[str, ...]], project: str) -> tuple[dict[str, Any], ...]:
    """All declared artifacts as `{id, path, sha256, size}`, paths relative to the project.

    Raises:
        BadOutputError: one is missing, leads out of the project, or is no file.
    """
    return tuple(
        _describe(id_, path, project)
        for id_, patterns in declared.items()
        for path in _find(id_, patterns, project)
    )


def inside(project: str, path: str, what: str) -> str:
    """The real, absolute path of something in the project.

    Raises:
        BadOutputError: it is outside.
    """
    root = os.path.realpath(project)
    real = os.path.realpath(Path(root, path))
    if real != root and not real.startswith(root.rstrip("/") + "/"):
        raise BadOutputError(f"{what} leads out of the project")
    return real


def _find(id_: str, patterns: tuple[str, ...], project: str) -> list[str]:
    found: dict[str, None] = {}
    for pattern in patterns:
        if pattern.startswith("!"):
            without = matcher(pattern[1:])
            found = {path: None for path in found if not without(path)}
            continue
        here = sorted(_matching(pattern, project))
        if not here:
            raise BadOutputError(f"artifact `{id_}` is missing: nothing matches `{pattern}`")
        found |= dict.fromkeys(here)
    return list(found)


def _matching(pattern: str, project: str) -> Iterator[str]:
    wanted = matcher(pattern)
    start = _fixed_part(pattern)
    inside(project, start, f"the pattern `{pattern}`")
    top = Path(project, start)
    if not top.is_dir():
        if top.exists() or top.is_symlink():
            yield start
        return
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name not in _NEVER_SEARCHED]
        relative = os.path.relpath(folder, project)
        for name in files:
            path = os.path.normpath(os.path.join(relative, name))  # hot: many files
            if wanted(path):
                yield path


def _fixed_part(pattern: str) -> str:
    """The folders (or the whole path) at the head of a pattern that hold no wildcard."""
    parts = pattern.strip("/").split("/")
    for at, part in enumerate(parts):
        if re.search(r"[*?\[{]", part):
            # A brace may span folders: nothing behind its beginning is fixed.
            return os.path.normpath("/".join(parts[:at]) or ".")
    return os.path.normpath("/".join(parts) or ".")


def matcher(pattern: str) -> Callable[[str], object]:
    """What tells whether a relative path is meant by a pattern."""
    whole = "**" if pattern.strip("/") in {"", "."} else os.path.normpath(pattern)
    return re.compile(_regex(whole) + "(?:/.*)?", re.DOTALL).fullmatch


def _regex(pattern: str) -> str:
    depth = 0
    pieces = []
    for part in _PART.findall(pattern):
        closes = part == "}" and depth > 0
        pieces.append(_piece(part, in_braces=depth > 0))
        depth += (part == "{") - closes
    return "".join(pieces) + ")" * depth


def _piece(part: str, *, in_braces: bool) -> str:
    if part in _WILD:
        return _WILD[part]
    if in_braces and part in _IN_BRACES:
        return _IN_BRACES[part]
    if len(part) > 1:
        body = part[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"(?!/)[^{body[1:]}]" if body.startswith("!") else f"(?!/)[{body}]"
    return re.escape(part)


def _describe(id_: str, path: str, project: str) -> dict[str, Any]:
    real = inside(project, path, f"artifact `{id_}`: `{path}`")
    what = f"artifact `{id_}`: `{path}`"
    try:
        file = open_regular(real, what)
    except FileNotFoundError:
        raise BadOutputError(f"{what} leads nowhere") from None
    with file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"id": id_, "path": path, "sha256": digest, "size": file.tell()}


def open_regular(path: str, what: str) -> BufferedReader:
    """Open a regular file to read; neither follows a link nor waits for the other end of a FIFO.

    Raises:
        FileNotFoundError: there is none.
        BadOutputError: it is something else, or cannot be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        why = (
            "is a link" if error.errno == errno.ELOOP else f"cannot be read: {(error.strerror or '').lower()}"
        )
        raise BadOutputError(f"{what} {why}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise BadOutputError(f"{what} is not a regular file")
    return open(fd, "rb")
