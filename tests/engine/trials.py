"""Attempts to try, and ways to follow them to their end, for the tests of this folder."""

import dataclasses
import os
import time
from pathlib import Path

from crewflow.engine import procs
from crewflow.engine.executor import Attempt, Ended

PATIENCE = 30.0
"""Seconds after which a test that waits has failed: a limit against a hang, not a bound on speed."""

SH = ("sh", "-e", "-c")


class Maker:
    """Makes attempts of one project, each with a folder of its own."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.project.mkdir()
        self.tasks = root / "run" / "tasks"
        self.count = 0

    def _make(self, kind, action, **more):
        self.count += 1
        task = more.pop("task", f"t{self.count}")
        number = more.pop("number", 1)
        facts = {
            "task": task,
            "number": number,
            "kind": kind,
            "action": action,
            "shell": SH,
            "arguments": {},
            "env": {},
            "cwd": str(self.project),
            "timeout": None,
            "grace": 5.0,
            "outputs": (),
            "artifacts": {},
            "keeps_stdout": False,
            "folder": str(self.tasks / task / str(number)),
            "project": str(self.project),
        }
        return Attempt(**{**facts, **more})

    def script(self, text, **more):
        return self._make("script", text, **more)

    def command(self, *words, **more):
        return self._make("command", words, **more)

    def python(self, action, **more):
        return self._make("python", action, **more)

    def module(self, name, text):
        (self.project / f"{name}.py").write_text(text)


def run(executor, attempt) -> Ended:
    """Run one attempt to its end."""
    executor.start(attempt)
    return ends(executor, 1)[0]


def ends(executor, count) -> list[Ended]:
    """The next `count` ends, in the order in which they come."""
    found = []
    give_up = time.monotonic() + PATIENCE
    while len(found) < count:
        assert time.monotonic() < give_up, f"no end in sight: {found}"
        found += [event for event in executor.wait(1.0) if isinstance(event, Ended)]
    return found


def until(what, executor=None):
    """Wait until `what()` is true, and return it."""
    give_up = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < give_up, "it never came true"
        if executor is None:
            time.sleep(0.005)  # what is waited for is another process
        else:
            executor.wait(0.01)
    return found


def log(attempt, name="output.log") -> bytes:
    path = Path(attempt.folder, name)
    return path.read_bytes() if path.exists() else b""


def marked(marker) -> list[int]:
    """Processes whose command line or environment holds `marker`, beside this one."""
    return [pid for pid in procs.processes() if pid != os.getpid() and _shows(pid, marker.encode())]


def _shows(pid, marker) -> bool:
    return any(marker in _file(pid, name) for name in ("cmdline", "environ"))


def _file(pid, name) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def pid_in(path) -> int:
    """The pid that a step wrote into a file."""
    return int(until(lambda: Path(path).exists() and Path(path).read_text().strip()))


def lives(pid) -> bool:
    proc = procs.look(pid)
    return proc is not None and proc.state not in "ZX"


def changed(attempt, **more):
    return dataclasses.replace(attempt, **more)
