"""Every path below `.crewflow/`, and nothing else: pure, nothing is looked at or made.

.crewflow/                       .gitignore  README  place.json
  runs/<run_id>/                 place.json
    plan.json  plan.2.json ...   frozen, written once each
    events.1.jsonl ...           the journal, one segment a generation
    events.1.torn ...            what a crash left at the end of a segment, cut off by the next generation
    run.json  tasks.json         snapshots, derived from the journal
    lease  lease.json  alive     the holder's lock, its text, the lock that all processes of the run share
    requests/                    what others ask of the holder
    tasks/<task>/<attempt>/      what an attempt leaves
    artifacts/                   declared artifacts
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

STATE_FOLDER = ".crewflow"

_UNSAFE = re.compile(rb"[^A-Za-z0-9_.-]")
_NAME_LIMIT = 180  # file systems take 255 bytes; what is made beside it (`.tmp-...`) has its own name
_HASH_DIGITS = 20


@dataclass(frozen=True, slots=True)
class StatePaths:
    """The paths of a state folder; `root` is the folder itself, absolute."""

    root: str

    @property
    def gitignore(self) -> str:
        """Keeps the folder out of git."""
        return f"{self.root}/.gitignore"

    @property
    def readme(self) -> str:
        """Says whose files these are."""
        return f"{self.root}/README"

    @property
    def runs(self) -> str:
        """The folder of all runs."""
        return f"{self.root}/runs"

    def run(self, run_id: str) -> RunPaths:
        """The paths of one run; the id is not checked here."""
        return RunPaths(f"{self.runs}/{run_id}")


@dataclass(frozen=True, slots=True)
class RunPaths:
    """The paths of a run; `root` is its folder, absolute."""

    root: str

    @property
    def run_id(self) -> str:
        """The run's id: the name of its folder."""
        return self.root.rpartition("/")[2]

    def plan(self, number: int = 1) -> str:
        """The plan, or a later revision of it."""
        return f"{self.root}/plan.json" if number == 1 else f"{self.root}/plan.{number}.json"

    def segment(self, number: int) -> str:
        """The segment of the journal that a generation writes, from 1."""
        return f"{self.root}/events.{number}.jsonl"

    def torn(self, number: int) -> str:
        """Where the torn end of a segment is kept."""
        return f"{self.root}/events.{number}.torn"

    @property
    def lease(self) -> str:
        """The file whose lock is the lease."""
        return f"{self.root}/lease"

    @property
    def lease_text(self) -> str:
        """Who holds the lease, for people and readers."""
        return f"{self.root}/lease.json"

    @property
    def alive(self) -> str:
        """The file whose shared lock every process of the run holds."""
        return f"{self.root}/alive"

    @property
    def run_snapshot(self) -> str:
        """The state of the run, derived."""
        return f"{self.root}/run.json"

    @property
    def tasks_snapshot(self) -> str:
        """The states of the tasks, derived."""
        return f"{self.root}/tasks.json"

    def attempt(self, task: str, number: int) -> str:
        """The folder of an attempt of a task."""
        return f"{self.root}/tasks/{encode_name(task)}/{number}"

    @property
    def artifacts(self) -> str:
        """The folder of declared artifacts and of what is written for people."""
        return f"{self.root}/artifacts"

    @property
    def requests(self) -> str:
        """The folder of requests to the holder."""
        return f"{self.root}/requests"


def place_file(folder: str) -> str:
    """Where a state folder or a run notes where it was made."""
    return f"{folder}/place.json"


def encode_name(text: str) -> str:
    """One file name for any text: no two texts share one, none leaves its folder, none is over 180 bytes.

    What is not `[A-Za-z0-9_.-]` is percent-encoded; a long name is cut and ends in `~` and a hash.
    """
    raw = text.encode("utf-8", "surrogateescape")
    name = _UNSAFE.sub(_percent, raw).decode("ascii")
    if not name.strip("."):
        return name.replace(".", "%2E") or "%"
    if len(name) <= _NAME_LIMIT:
        return name
    return f"{name[: _NAME_LIMIT - _HASH_DIGITS - 1]}~{hashlib.sha256(raw).hexdigest()[:_HASH_DIGITS]}"


def _percent(match: re.Match[bytes]) -> bytes:
    return b"%%%02X" % match[0][0]
