"""The state folder of a project: made on first use, refused when it is not what it should be.

Commands that write call `open_state`, those that read `find_state`, which makes and touches nothing.
"""

from __future__ import annotations

import json
import os
import socket
import stat

from crewflow import durable
from crewflow.errors import StateError
from crewflow.state.paths import STATE_FOLDER, StatePaths, place_file

_GITIGNORE = b"*\n"
_README = b"""\
This folder belongs to crewflow, which keeps here what it knows about the runs of this project.
Do not edit it, and do not commit it (.gitignore sees to that). `crewflow status` shows what is in it.
It may be removed as a whole when no run is under way; what it says about past runs is then gone.
"""


def open_state(project: str) -> str:
    """The absolute path of the project's state folder, which is made on first use.

    Several processes may make it at once. Commit point: `place.json`, written last, once.

    Raises:
        StateError: a file, a symbolic link or another user's folder is in its place, or it or the project
            (an absolute path) cannot be written. Nothing was changed then.
    """
    if not os.path.isdir(project):
        raise StateError(f"there is no folder `{project}`")
    paths = StatePaths(f"{project}/{STATE_FOLDER}")
    if _status(paths.root) is None:
        durable.make_folder(paths.root)
    _check(paths.root)
    durable.make_folder(paths.runs)
    _check(paths.runs)
    if not os.path.lexists(place_file(paths.root)):
        durable.create_file(paths.gitignore, _GITIGNORE)
        durable.create_file(paths.readme, _README)
        write_place(paths.root, paths.root)
        durable.fsync_folder(project)
    return paths.root


def find_state(project: str) -> str | None:
    """The absolute path of the project's state folder, or None when there is none; changes nothing.

    Raises:
        StateError: a file, a symbolic link or another user's folder is in its place.
    """
    paths = StatePaths(f"{project}/{STATE_FOLDER}")
    if _status(paths.root) is None:
        return None
    _check_owner(paths.root)
    if _status(paths.runs) is not None:
        _check_owner(paths.runs)
    return paths.root


def write_place(folder: str, path: str) -> None:
    """Note in a folder that it was made here, to be known under `path`; a note that is there stays."""
    note = {"path": os.path.realpath(path), "host": socket.gethostname(), "inode": os.lstat(folder).st_ino}
    durable.create_file(place_file(folder), json.dumps(note).encode() + b"\n")


def is_foreign(folder: str) -> str | None:
    """Whether a state folder or a run's folder is a copy of one made elsewhere: a text that says so, or None.

    A copy is another folder (another inode) at another place or on another host. One that was moved, or
    is seen from a container with a host name of its own, is still the same folder; one that was restored
    from a backup is at its place.

    Raises:
        StateError: the note cannot be read.
    """
    note = _read_note(place_file(folder))
    if note is None or note["inode"] == os.lstat(folder).st_ino:
        return None
    if (note["path"], note["host"]) == (os.path.realpath(folder), socket.gethostname()):
        return None
    return f"`{folder}` is a copy of `{note['path']}` on host `{note['host']}`: its runs belong there"


def _check(root: str) -> None:
    _check_owner(root)
    if not os.access(root, os.W_OK | os.X_OK):
        raise StateError(f"`{root}` cannot be written: permission denied, or the file system is read-only")


def _check_owner(root: str) -> None:
    status = os.lstat(root)
    if stat.S_ISLNK(status.st_mode):
        raise StateError(f"`{root}` is a symbolic link", hint="remove it: state is never kept behind one")
    if not stat.S_ISDIR(status.st_mode):
        raise StateError(f"`{root}` is a file, and must be a folder", hint="move it away")
    if status.st_uid != os.geteuid():
        raise StateError(
            f"`{root}` belongs to another user (id {status.st_uid})",
            hint="work as that user, or in a copy of the project of your own",
        )


def _status(root: str) -> os.stat_result | None:
    try:
        return os.lstat(root)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"cannot look at `{root}`: {(error.strerror or '').lower()}") from error


def _read_note(path: str) -> dict[str, object] | None:
    """The note, or None when there is none or it says nothing that can be used."""
    try:
        note = json.loads(durable.read_file(path) or b"null")
    except ValueError:
        return None
    return note if isinstance(note, dict) and note.keys() >= {"path", "host", "inode"} else None
