"""100,000 mutated files, in slices that go on where the last one stopped.

    make long                                     20 minutes at most; type it again to go on
    .venv/bin/python tests/fuzz/long.py --minutes 5

Where it stands is kept in `.fuzz_cache/progress.json`. When all cases of a seed are done, the next slice
begins with a new seed. Exits 1 if a case of this slice breaks a promise, 0 otherwise.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # also where Python is told to leave that out

from cases import ROOT, seed_texts, told

CASES = 100_000
MOST_MINUTES = 20
PROGRESS = ROOT / ".fuzz_cache" / "progress.json"


def main():
    """Go on with the cases of a seed until they are done or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=MOST_MINUTES)
    parser.add_argument("--seed", type=int, default=None, help="begin anew with this seed")
    chosen = parser.parse_args()
    state = begin(chosen.seed)
    say(f"seed {state['seed']}: {state['done']:,} of {CASES:,} cases were done")
    failures = go_on(state, time.monotonic() + 60 * min(chosen.minutes, MOST_MINUTES))
    say(
        f"seed {state['seed']}: {state['done']:,} of {CASES:,} cases done in {state['seconds']:.0f} s, "
        f"{len(state['failed'])} broke a promise; the slowest took {state['slowest'][0]:.2f} s "
        f"(case {state['slowest'][1]})"
    )
    if state["done"] < CASES:
        say("hint: make long goes on")
    return int(failures > 0)


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def begin(seed):
    """Where the last slice stopped, or the beginning of a new seed."""
    try:
        state = json.loads(PROGRESS.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        state = None
    if seed is None and state is not None and state["done"] < CASES:
        return state
    new = random.SystemRandom().randrange(2**32) if seed is None else seed
    return {"seed": new, "done": 0, "seconds": 0.0, "failed": [], "slowest": [0.0, 0]}


def go_on(state, end):
    """Try case after case; returns how many broke a promise."""
    texts, before = seed_texts(), len(state["failed"])
    with tempfile.TemporaryDirectory(prefix="crewflow-fuzz-") as folder:
        while state["done"] < CASES and time.monotonic() < end:
            try_case(state, texts, folder)
            if state["done"] % 1_000 == 0:
                keep(state)
    keep(state)
    return len(state["failed"]) - before


def try_case(state, texts, folder):
    case, began = state["done"], time.monotonic()
    failure = told(state["seed"], case, texts, folder)
    seconds = time.monotonic() - began
    state["done"] += 1
    state["seconds"] += seconds
    if failure is not None:
        state["failed"].append(case)
        say(f"case {case}: {failure}\n")
    else:
        state["slowest"] = max(state["slowest"], [seconds, case])


def keep(state):
    PROGRESS.parent.mkdir(exist_ok=True)
    PROGRESS.write_text(json.dumps(state) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
