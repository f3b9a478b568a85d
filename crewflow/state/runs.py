"""The runs of a project: named, born, found, listed.

Ids sort by time. A reference to a run is an id, a unique beginning of one, or `@latest`; ids are held
against a pattern before they become a path, so that none leaves the state folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time

from crewflow import durable
from crewflow.errors import StateError, UsageError
from crewflow.state.folder import write_place
from crewflow.state.paths import RunPaths, StatePaths

LATEST = "@latest"

_RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[a-z0-9]{4,12}")
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: read aloud without mistakes
_TICKS = len(_LETTERS) ** 2
_UNBORN = ".new-"
_UNBORN_SECONDS = 3600.0
_SHOWN = 5


def new_run_id(wall: float) -> str:
    """An id for a run that begins now, such as `20261130-221427-x7k2m9`, in UTC.

    Its last part begins with the fraction of the second, so that ids sort by time within one too; the
    rest is chance.
    """
    ticks = int(wall % 1.0 * _TICKS)
    fraction = _LETTERS[ticks // len(_LETTERS)] + _LETTERS[ticks % len(_LETTERS)]
    chance = "".join(secrets.choice(_LETTERS) for _ in range(4))
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(wall))}-{fraction}{chance}"


def create_run(state: str, run_id: str, plan: bytes) -> RunPaths:
    """Bring a run into the world, with its plan: readers see no run, or one with its whole plan.

    Raises:
        StateError: there is a run with this id, or the system refuses.
    """
    paths = StatePaths(state)
    run = paths.run(_checked(run_id))
    unborn = RunPaths(f"{paths.runs}/{_UNBORN}{secrets.token_hex(8)}")
    durable.make_folder(unborn.root)
    _remove_unborn(paths.runs, before=os.lstat(unborn.root).st_mtime - _UNBORN_SECONDS)
    try:
        durable.create_file(unborn.plan(), plan)
        write_place(unborn.root, run.root)
        durable.publish_folder(unborn.root, run.root)  # commit point
    except StateError:
        durable.remove_folder(unborn.root)
        raise
    return run


def find_run(state: str, reference: str) -> RunPaths:
    """The run that is meant.

    Raises:
        UsageError: no run is meant, or several; names those that could be.
        StateError: the state folder cannot be read.
    """
    known = list_runs(state)
    if not known:
        raise UsageError("there is no run yet", hint="start one with `crewflow apply`")
    if reference == LATEST:
        return StatePaths(state).run(known[0])
    meant = [run_id for run_id in known if run_id.startswith(reference)] if reference else []
    if reference in meant or len(meant) == 1:
        return StatePaths(state).run(reference if reference in meant else meant[0])
    if meant:
        raise UsageError(f"`{reference}` means {len(meant)} runs", hint=f"one of {_some(meant)}")
    raise UsageError(f"there is no run `{reference}`", hint=f"the newest are {_some(known)}")


def list_runs(state: str) -> list[str]:
    """The ids of all runs, newest first; what is in them is not looked at, so a damaged one is listed too.

    Raises:
        StateError: the folder cannot be read.
    """
    runs = StatePaths(state).runs
    try:
        with os.scandir(runs) as entries:
            found = [entry.name for entry in entries if _RUN_ID.fullmatch(entry.name) and _is_folder(entry)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StateError(f"cannot read `{runs}`: {(error.strerror or '').lower()}") from error
    return sorted(found, reverse=True)


def load_plan_bytes(run: RunPaths, expected_hash: str, number: int = 1) -> bytes:
    """The plan of a run as it was written, held against the sha256 that the journal has, in hexadecimal.

    Raises:
        StateError: it is missing, or not the one that was recorded; both hashes are named.
    """
    path = run.plan(number)
    data = durable.read_file(path)
    if data is None:
        raise StateError(
            f"`{path}` is missing", hint="restore it from a copy; a run goes on with its own plan only"
        )
    found = plan_hash(data)
    if found != expected_hash:
        raise StateError(
            f"`{path}` was changed: its sha256 is `{found}`, and the journal has `{expected_hash}`",
            hint="restore it from a copy, or start a new run with `crewflow apply`",
        )
    return data


def plan_hash(data: bytes) -> str:
    """The sha256 of a plan file, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def _checked(run_id: str) -> str:
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(f"`{run_id}` is no run id")
    return run_id


def _remove_unborn(runs: str, before: float) -> None:
    """Remove what crashes left of runs that were never born; a young one may be in the making."""
    with os.scandir(runs) as entries:
        old = [
            entry.path
            for entry in entries
            if entry.name.startswith(_UNBORN)
            and _is_folder(entry)
            and entry.stat(follow_symlinks=False).st_mtime < before
        ]
    for path in old:
        durable.remove_folder(path)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _some(ids: list[str]) -> str:
    shown = ", ".join(f"`{run_id}`" for run_id in ids[:_SHOWN])
    return shown if len(ids) <= _SHOWN else f"{shown}, ..."
