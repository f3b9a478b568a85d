"""The cases of a seed, one by one: the files they begin with, how a failure is told and made small."""

import traceback
from pathlib import Path

from mutate import mutated
from promise import Hang, check

ROOT = Path(__file__).parents[2]
_MOST_TRIES = 300


def seed_texts():
    """The files that are mutated: the examples and what ships with crewflow."""
    examples = sorted((ROOT / "tests" / "examples").glob("*/*.yaml"))
    return [file.read_bytes() for file in (*examples, *sorted((ROOT / "workflows").rglob("*.yaml")))]


def failure_of(data, folder):
    """None if all promises are kept for a file, else what went wrong, in a few words."""
    try:
        check(data, folder)
    except (Exception, Hang) as error:  # noqa: BLE001  # whatever comes out is the finding
        return f"{type(error).__name__} in {_where(error)}: {error}"
    return None


def told(seed, case, texts, folder):
    """None if a case keeps all promises, else what to print of it."""
    data, _ = mutated(texts, seed, case)
    failure = failure_of(data, folder)
    if failure is None:
        return None
    small = shrunk(data, failure, folder)
    again = f"FUZZ_SEED={seed} FUZZ_CASE={case} pytest tests/fuzz"
    return f"{failure}\nagain: {again}\nsmallest text found: {small!r}\n{small.decode('utf-8', 'replace')}"


def shrunk(data, failure, folder):
    """A smaller text that fails in the same way: fewer lines, then fewer characters."""
    kind = failure.partition(":")[0]
    tries = [0]

    def fails(text):
        tries[0] += 1
        return (failure_of(text, folder) or "").startswith(kind)

    for divide, join in ((lambda text: text.split(b"\n"), b"\n".join), (_bytes_of, b"".join)):
        data = join(_fewer(divide(data), lambda parts, join=join: fails(join(parts)), tries))
    return data


def _bytes_of(data):
    return [data[at : at + 1] for at in range(len(data))]


def _fewer(parts, fails, tries):
    """Leave out halves, quarters and so on, as long as it still fails."""
    size = len(parts) // 2
    while size and tries[0] < _MOST_TRIES:
        at = 0
        while at < len(parts) and tries[0] < _MOST_TRIES:
            rest = parts[:at] + parts[at + size :]
            if fails(rest):
                parts = rest
            else:
                at += size
        size //= 2
    return parts


def _where(error):
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/fuzz/" not in frame.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "what was told"
