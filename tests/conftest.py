"""What most tests need: a project with the real program in it, and a loop with a scripted executor.

Every test is watched: this process may write below the temporary folder only, and the programs that tests
start have their home there.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `fakes` is importable, whichever way pytest is started

from fakes import FakeClock, FakeInterrupts, ScriptedExecutor

from crewflow.engine.apply import Setting, begin_run, resume_run
from crewflow.graph.compile import compile_workflow
from crewflow.spec.inputs import resolve_inputs
from crewflow.spec.load import load_file
from crewflow.state.folder import open_state
from crewflow.state.journal import read_journal
from crewflow.state.paths import RunPaths
from crewflow.state.story import Story

PROGRAM = str(Path(sys.executable).parent / "crewflow")
PATIENCE = 60.0
"""Seconds after which what is waited for will not come: a limit against a hang, no bound on speed."""

LOOPBACK = "127.0.0.1,localhost,::1"

os.environ.pop("GITHUB_ACTIONS", None)  # with it, `validate` annotates: tests of that set it themselves


# --- the guard ------------------------------------------------------------------------------------

CHECKOUT = str(Path(__file__).parents[1]) + "/"
_MAY_CHANGE = (".hypothesis/", ".pytest_cache/", ".import_linter_cache/", ".mypy_cache/", ".ruff_cache/")
_written = []


def _note_writes(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and _is_ours(arguments[0]):
        flags = arguments[2] or 0
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            _written.append(arguments[0])


def _is_ours(path):
    return (
        path.startswith(CHECKOUT)
        and "__pycache__" not in path
        and "__snapshots__" not in path
        and not path.endswith(".out")
        and not path.removeprefix(CHECKOUT).startswith(_MAY_CHANGE)
    )


sys.addaudithook(_note_writes)


@pytest.fixture(autouse=True)
def nothing_is_written_into_the_checkout():
    _written.clear()
    yield
    assert _written == [], "tests write below tmp_path only"


# --- a project, and the program in it -----------------------------------------------------------------


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class Project:
    """A folder with files in it, in which the installed program is run."""

    def __init__(self, root, home):
        self.root = root
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "TMPDIR": str(home),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "NO_PROXY": LOOPBACK,
            "no_proxy": LOOPBACK,
        }

    def write(self, files):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        return self

    def run(self, *words, env=None, cwd=None, timeout=PATIENCE, **more):
        """Run a command to its end."""
        done = subprocess.run(
            (PROGRAM, *map(str, words)),
            cwd=cwd or self.root,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=not {"stdout", "stderr"} & more.keys(),
            timeout=timeout,
            check=False,
            **more,
        )
        out, err = (b"" if stream is None else stream for stream in (done.stdout, done.stderr))
        return Done(done.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    def start(self, *words, env=None, **more):
        """Start a command as the leader of a session of its own; the fixture ends what is left of it."""
        process = subprocess.Popen(
            (PROGRAM, *map(str, words)),
            cwd=self.root,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            bufsize=0,  # what is read line by line leaves nothing behind for `communicate`
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True, **more},
        )
        _started.append(process)
        return process

    @property
    def run_ids(self):
        runs = self.root / ".crewflow" / "runs"
        found = runs.iterdir() if runs.is_dir() else ()
        return sorted(path.name for path in found if not path.name.startswith("."))

    def paths(self, run_id=None):
        """The files of a run, of the newest by default."""
        return RunPaths(str(self.root / ".crewflow" / "runs" / (run_id or self.run_ids[-1])))

    def records(self, kind=None):
        """The records of the newest run, of one kind or all."""
        return [r for r in read_journal(self.paths()).records if kind in {None, r["type"]}]

    def status(self):
        """What `status --json` says."""
        done = self.run("status", "--json")
        assert done.code == 0, done
        return done.json

    def states(self):
        """The state of each task of the newest run."""
        return {task["id"]: task["state"] for task in self.status()["tasks"]}

    def lines(self, name):
        """The lines of a file that steps append to; none if there is none."""
        path = self.root / name
        return path.read_text().splitlines() if path.exists() else []


_started = []


@pytest.fixture
def project(tmp_path):
    """Makes a project of files (name -> text), or of the text of one workflow without its first two lines."""
    home = tmp_path / "home"
    home.mkdir()

    def make(files, name="project"):
        if isinstance(files, str):
            files = {"workflows/w.yaml": "kind: workflow\nname: w\n" + textwrap.dedent(files)}
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        return Project(root, home).write(files)

    yield make
    while _started:
        end(_started.pop())


def end(process):
    """Kill a program that a test left, with its group."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE)


def wait_for(what, *, process=None):
    """Wait until `what()` is true, and return it; fail if `process` ends first."""
    give_up = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < give_up, "it never came true"
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.01)  # what is waited for is another process
    return found


@pytest.fixture
def until():
    """`until(what, process=...)`: see `wait_for`."""
    return wait_for


# --- the loop with a scripted executor --------------------------------------------------------------------


class Scripted:
    """One run of a workflow by the real loop, with a scripted executor and a clock that moves when told."""

    def __init__(self, root, text, *, slots=100, inputs=()):
        self.root = root
        self.clock = FakeClock()
        self.interrupts = FakeInterrupts()
        self.slots = slots
        path = root / "workflows" / "w.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text("kind: workflow\nname: w\n" + textwrap.dedent(text), encoding="utf-8")
        project, problems = load_file(str(path), str(root))
        assert problems == ()
        workflow = project.workflows["w"]
        self.plan = compile_workflow(project, workflow, resolve_inputs(workflow, list(inputs)))
        self.paths = None
        self.state = None
        self.seen = []

    def apply(self, order=(), outcomes=None, **more):
        """Begin a run; returns this."""
        self.executor = ScriptedExecutor(self.clock, self.interrupts, order, outcomes, **more)
        _, self.state = begin_run(self.plan, self._setting())
        return self

    def resume(self, order=(), outcomes=None, **more):
        """Go on with it."""
        self.executor = ScriptedExecutor(self.clock, self.interrupts, order, outcomes, **more)
        self.state = resume_run(self.paths, self._setting())
        return self

    @property
    def started(self):
        return self.executor.started

    @property
    def log(self):
        return " ".join(self.executor.log)

    @property
    def states(self):
        return {name: str(task.state) for name, task in self.story.tasks.items()}

    def records(self, kind=None):
        return [r for r in read_journal(self.paths).records if kind in {None, r["type"]}]

    def attempt(self, task, number=1):
        """What an executor was given."""
        [found] = [a for a in self.executor.attempts if (a.task, a.number) == (task, number)]
        return found

    def _setting(self):
        return Setting(
            project=str(self.root),
            state=open_state(str(self.root)),
            slots=self.slots,
            crew=_Crew(self),
            clock=self.clock,
            interrupts=self.interrupts,
            observe=self._observe,
        )

    def _observe(self, run, machine, past):
        self.paths = run
        self.machine = machine
        self.story = Story(run, machine, held=True)
        for record in past:
            self.story.see(record)
        return self

    def see(self, record):
        self.seen.append(record)
        self.story.see(record)


@dataclass(frozen=True)
class _Crew:
    run: Scripted

    def executor(self, slots, alive):
        assert slots == self.run.machine.slots
        assert alive == self.run.paths.alive
        return self.run.executor


@pytest.fixture
def scripted(tmp_path):
    """Makes a `Scripted` run of the text of one workflow."""
    root = Path(tempfile.mkdtemp(dir=tmp_path))

    def make(text, **more):
        return Scripted(root, text, **more)

    return make
