"""What `crewflow plan` costs: whole-process time and memory by number of steps and shape of the graph.

    .venv/bin/python bench/plan.py --rounds 3

Goals: 0.5 s for 1,000 steps; 1.2 s and 150 MB for 10,000; from there no faster than n log n, which is a
factor of 12.5 to 100,000. A step of the first rows is `{run: [/bin/true], needs: [...]}`; the full ones have
`env`, `retry`, `outputs` and an expression too, and reach the reader's budget of 1,000,000 values before
100,000 steps: that is shown as `refused`.
"""

from __future__ import annotations

import argparse
import math
import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from timing import CREWFLOW, Reading, check_installed, machine, measure, median, write_workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SIZES = (1_000, 10_000, 100_000)
GOALS = {1_000: (0.5, math.inf), 10_000: (1.2, 150.0)}
LAYER = 100
REFUSED = 3
FULL = (
    ', "${{ inputs.target }}"], env: {NUMBER: 7, MODE: fast}, timeout: 10m, '
    "retry: {max_attempts: 3, delay: 2s, when: [exit, timeout]}, outputs: {value: string}"
)


def main() -> int:
    """Measure and print; exit 1 if a plan failed that was not refused as too large."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="leave out larger workflows")
    chosen = parser.parse_args()
    check_installed()
    print(f"median of {chosen.rounds} rounds; {machine()}")
    print("shape                 steps        time    memory   growth   n log n   goal")
    sizes = [size for size in SIZES if size <= chosen.largest]
    for full in (False, True):
        for shape in SHAPES:
            _measure_shape(shape, sizes, chosen.rounds, full=full)
    return 0


def _measure_shape(shape: str, sizes: Sequence[int], rounds: int, *, full: bool) -> None:
    before: tuple[int, float] | None = None
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="crewflow-bench-") as folder:
            readings = _plan(Path(folder), shape, size, rounds, full=full)
        name = f"{shape}, full" if full else shape
        if any(reading.code for reading in readings):
            print(f"{name:<18} {size:>8,}     refused")
            continue
        seconds = median(reading.seconds for reading in readings)
        memory = max(reading.megabytes for reading in readings)
        print(f"{name:<18} {size:>8,} {seconds:9.2f} s {memory:6.0f} MB{_growth(before, size, seconds)}"
              f"{_verdict(size, seconds, memory)}")  # fmt: skip
        before = size, seconds


def _plan(folder: Path, shape: str, size: int, rounds: int, *, full: bool) -> list[Reading]:
    """Readings of one workflow; the first is thrown away where it only warms up."""
    project = write_workflow(folder / "project", _pieces(shape, size, full=full))
    readings = [measure([CREWFLOW, "plan"], project) for _ in range(rounds)]
    if any(reading.code not in {0, REFUSED} for reading in readings):
        raise SystemExit(f"`crewflow plan` of {size:,} steps failed")
    return readings


def _pieces(shape: str, size: int, *, full: bool) -> Iterator[str]:
    needs = SHAPES[shape]
    rest = FULL if full else "]"
    for number in range(size):
        names = ", ".join(f"s{other}" for other in needs(number))
        yield f"  s{number}: {{run: [/bin/true{rest}{f', needs: [{names}]' if names else ''}}}\n"
    if full:
        yield "inputs:\n  target: {type: string, default: here}\n"


def _chain(number: int) -> Sequence[int]:
    return [number - 1] if number else []


def _layers(number: int) -> Sequence[int]:
    """Two of the layer before."""
    first = number - number % LAYER - LAYER
    return [first + number % LAYER, first + (number + 1) % LAYER] if first >= 0 else []


def _random(number: int) -> Sequence[int]:
    """Up to three of all steps before; the same ones each time."""
    source = random.Random(number)
    return sorted(source.sample(range(number), min(number, source.randrange(4))))


SHAPES: dict[str, Callable[[int], Sequence[int]]] = {
    "independent": lambda _number: [],
    "chain": _chain,
    "layers of 100": _layers,
    "random": _random,
}


def _growth(before: tuple[int, float] | None, size: int, seconds: float) -> str:
    if before is None:
        return " " * 19
    allowed = size * math.log(size) / (before[0] * math.log(before[0]))
    return f" {seconds / before[1]:8.1f} {allowed:9.1f}"


def _verdict(size: int, seconds: float, memory: float) -> str:
    if size not in GOALS:
        return ""
    most_seconds, most_memory = GOALS[size]
    return "   met" if seconds <= most_seconds and memory <= most_memory else "   MISSED"


if __name__ == "__main__":
    raise SystemExit(main())
