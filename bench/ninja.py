"""1,000 independent `/bin/true`: crewflow, journal on, against `ninja -j2`, whole processes.

Both run in a new folder each round and in turn, so that the ratio is of rounds that shared the machine's
mood. Folders are removed at the end, since a file system is slow where much was just deleted. Prints one
row a round and the medians; `--json FILE` keeps the figures.

    .venv/bin/python bench/ninja.py --rounds 5
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 1_000
PROGRAM = "/bin/true"
BIN = Path(sys.executable).parent


def main() -> int:
    """Measure and print; exit 1 if a run of either side failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, default=None, help="where to keep the figures")
    chosen = parser.parse_args()
    print(f"{STEPS:,} independent steps of {PROGRAM}, 2 at once; load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="crewflow-bench-") as folder:
        # the first round warms up
        rounds = [_round(Path(folder, str(number)), number) for number in range(chosen.rounds + 1)][1:]
    ours, theirs = ([pair[index] for pair in rounds] for index in (0, 1))
    ratio = statistics.median(one / other for one, other in rounds)
    print(f"median    {statistics.median(ours):6.3f} s  {statistics.median(theirs):6.3f} s  {ratio:5.2f}")
    if chosen.json is not None:
        figures = {"steps": STEPS, "crewflow": ours, "ninja": theirs, "ratio": ratio}
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


def _round(folder: Path, number: int) -> tuple[float, float]:
    crewflow = _time(_crewflow_project(folder / "crewflow"), [BIN / "crewflow", "apply", "-q", "-j2"])
    ninja = _time(_ninja_project(folder / "ninja"), [BIN / "ninja", "-j2", "--quiet"])
    if number:
        print(f"round {number:>3} {crewflow:6.3f} s  {ninja:6.3f} s  {crewflow / ninja:5.2f}")
    else:
        print("           crewflow     ninja  ratio")
    return crewflow, ninja


def _time(folder: Path, command: list[Path | str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - began


def _crewflow_project(folder: Path) -> Path:
    steps = "".join(f"  s{number}: {{run: [{PROGRAM}]}}\n" for number in range(STEPS))
    (folder / "workflows").mkdir(parents=True)
    (folder / "workflows" / "bench.yaml").write_text(f"kind: workflow\nname: bench\nsteps:\n{steps}")
    return folder


def _ninja_project(folder: Path) -> Path:
    builds = "".join(f"build s{number}: run\n" for number in range(STEPS))
    folder.mkdir(parents=True)
    (folder / "build.ninja").write_text(f"rule run\n  command = {PROGRAM}\n{builds}")
    return folder


if __name__ == "__main__":
    raise SystemExit(main())
