"""`crewflow validate` of 1 MB files that were made to hurt it: never over 2 s and 500 MB.

    .venv/bin/python bench/hostile.py                    all of them
    .venv/bin/python bench/hostile.py merge cycle        those so named

Each file is about 1,000,000 bytes and read by a process of its own. Prints the worst first; exits 1 if one
is over a limit or ends otherwise than valid (0) or invalid (3). A process is killed after 10 s on a CPU,
and may hold 4 GB.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from hostile_files import FILES
from timing import CREWFLOW, Reading, check_installed, machine, measure

MOST_SECONDS = 2.0
MOST_MEGABYTES = 500.0
KILLED_AFTER = 10
ANSWERS = frozenset({0, 3})


def main() -> int:
    """Measure and print; exit 1 if a file took too much."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only files with one of these words in their name")
    parser.add_argument("--json", action="store_true", help="have `validate` answer in JSON")
    chosen = parser.parse_args()
    check_installed()
    names = [name for name in FILES if not chosen.words or any(word in name for word in chosen.words)]
    print(f"{len(names)} files; {machine()}", flush=True)
    more = ["--output", "json"] if chosen.json else []
    readings = {name: _validate(name, more) for name in names}
    for name in sorted(names, key=lambda name: -_share(readings[name])):
        reading = readings[name]
        mark = "OVER" if _is_over(reading) else ""
        print(
            f"{name:<44} {reading.seconds:7.2f} s {reading.megabytes:6.0f} MB  exit {reading.code:<4}{mark}"
        )
    return int(any(_is_over(reading) for reading in readings.values()))


def _validate(name: str, more: list[str]) -> Reading:
    with tempfile.TemporaryDirectory(prefix="crewflow-bench-") as folder:
        Path(folder, "hostile.yaml").write_bytes(FILES[name]())
        reading = measure(
            [CREWFLOW, "validate", "hostile.yaml", *more], Path(folder), cpu_seconds=KILLED_AFTER
        )
    if _is_over(reading):
        print(f"over: {name}", file=sys.stderr, flush=True)
    return reading


def _share(reading: Reading) -> float:
    """How much of what is allowed was taken."""
    return max(reading.seconds / MOST_SECONDS, reading.megabytes / MOST_MEGABYTES)


def _is_over(reading: Reading) -> bool:
    return _share(reading) > 1 or reading.code not in ANSWERS


if __name__ == "__main__":
    raise SystemExit(main())
