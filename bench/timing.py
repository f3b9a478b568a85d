"""What the benchmarks share: whole processes with their time and memory, and files of a project.

Memory is what the system counts for the largest process of a command. It is never less than that of the
process that measures, so keep that one small: write large files to disk piece by piece.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BIN = Path(sys.executable).parent
CREWFLOW = str(BIN / "crewflow")
NO_LIMIT = 600
MOST_MEMORY = 4_000_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """One process: wall time, the most memory it held, and its exit code (below 0: ended by a signal)."""

    seconds: float
    megabytes: float
    code: int


def measure(command: Sequence[str], folder: Path, *, cpu_seconds: int = NO_LIMIT) -> Reading:
    """Run a command in a folder to its end.

    The system ends it after so many seconds on a CPU, and gives it no more than 4 GB.
    """
    began = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    resource.prlimit(process.pid, resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    return Reading(seconds, usage.ru_maxrss / 1024, process.returncode)


def write_workflow(folder: Path, pieces: Iterable[str], name: str = "bench") -> Path:
    """A project with one workflow, whose steps are the pieces; returns its folder."""
    path = folder / "workflows" / f"{name}.yaml"
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(f"kind: workflow\nname: {name}\nsteps:\n")
        file.writelines(pieces)
    return folder


def check_installed() -> None:
    """End with a message unless an installed crewflow is measured, compiled as users have it."""
    found = importlib.util.find_spec("crewflow.cli")
    origin = found.origin if found else None
    if origin is None or "site-packages" not in origin:
        raise SystemExit("crewflow is not installed as a wheel\nhint: make bench")
    if not Path(importlib.util.cache_from_source(origin)).exists():
        raise SystemExit(f"crewflow is not compiled\nhint: {sys.executable} -m compileall -q {BIN.parent}")


def machine() -> str:
    """The machine and what else it does, for the head of a table."""
    version = ".".join(map(str, sys.version_info[:3]))
    return f"{os.cpu_count()} cores, Python {version}, load {os.getloadavg()[0]:.1f}"


def median(values: Iterable[float]) -> float:
    """The middle one."""
    return statistics.median(values)
