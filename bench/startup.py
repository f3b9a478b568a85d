"""What a short command costs: whole processes against `python -c pass`, which took turns with them.

    .venv/bin/python bench/startup.py --rounds 25

Prints medians of time and of the ratio within a round. The goals are in the table: 4 times for `version`,
12 times for `validate` of a valid project of 5 steps.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from timing import CREWFLOW, check_installed, machine, measure, median, write_workflow

STEPS = """\
  lint: {run: [ruff, check]}
  build: {run: make build, env: {MODE: release}}
  test: {needs: build, run: [pytest, -q], timeout: 10m}
  package: {needs: [lint, test], run: [make, package], retry: {max_attempts: 2}}
  publish: {needs: package, run: "make publish TO='here'"}
"""
PYTHON = "python -c pass"
COMMANDS = {
    PYTHON: [sys.executable, "-c", "pass"],
    "crewflow version": [CREWFLOW, "version"],
    "crewflow validate": [CREWFLOW, "validate"],
}
GOALS = {"crewflow version": 4.0, "crewflow validate": 12.0}


def main() -> int:
    """Measure and print; exit 1 if a command failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=25)
    chosen = parser.parse_args()
    check_installed()
    print(f"{chosen.rounds} rounds; {machine()}")
    with tempfile.TemporaryDirectory(prefix="crewflow-bench-") as folder:
        project = write_workflow(Path(folder, "project"), [STEPS])
        _round(project)  # warms up
        rounds = [_round(project) for _ in range(chosen.rounds)]
    print("                       median   fastest   ratio   goal")
    for name in COMMANDS:
        _print(name, rounds)
    return 0


def _round(project: Path) -> dict[str, float]:
    readings = {name: measure(command, project) for name, command in COMMANDS.items()}
    failed = [name for name, reading in readings.items() if reading.code]
    if failed:
        raise SystemExit(f"`{failed[0]}` failed")
    return {name: reading.seconds for name, reading in readings.items()}


def _print(name: str, rounds: list[dict[str, float]]) -> None:
    times = [one[name] * 1000 for one in rounds]
    ratio = median(one[name] / one[PYTHON] for one in rounds)
    goal = f"{GOALS[name]:7.1f}" if name in GOALS else ""
    print(f"{name:<20} {median(times):6.1f} ms {min(times):6.1f} ms {ratio:7.2f}{goal}")


if __name__ == "__main__":
    raise SystemExit(main())
