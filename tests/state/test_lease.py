from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crewflow import durable
from crewflow.clock import SystemClock
from crewflow.errors import ExitCode, HeldError, StateError
from crewflow.state.lease import Holder, acquire, boot_id, holder, process_start
from crewflow.state.paths import RunPaths

CLOCK = SystemClock()

HOLD = """
import sys
from crewflow.clock import SystemClock
from crewflow.errors import HeldError
from crewflow.state.lease import acquire
from crewflow.state.paths import RunPaths
try:
    lease = acquire(RunPaths(sys.argv[1]), purpose="run", clock=SystemClock(), wait=float(sys.argv[2]))
    print("held", flush=True)
except HeldError:
    print("refused", flush=True)
sys.stdin.read()
"""

CONTEND = """
import sys
from crewflow.clock import SystemClock
from crewflow.state.lease import acquire
from crewflow.state.paths import RunPaths
for _ in range(200):
    acquire(RunPaths(sys.argv[1]), purpose="run", clock=SystemClock()).release()
"""


class MovedClock(SystemClock):
    """The machine's clocks, ahead by some seconds."""

    ahead = 0.0

    def boot(self) -> float:
        return super().boot() + self.ahead


@pytest.fixture
def run(tmp_path) -> RunPaths:
    return RunPaths(str(tmp_path / "20261130-221427-x7k2"))


@pytest.fixture(autouse=True)
def _folder(run):
    Path(run.root).mkdir()


def start_holder(run: RunPaths, wait: float = 0) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", HOLD, run.root, str(wait)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_lease_has_one_holder_who_is_named(run):
    process = start_holder(run)
    assert process.stdout.readline() == "held\n"
    with pytest.raises(HeldError) as caught:
        acquire(run, purpose="decide", clock=CLOCK, wait=0)
    text = str(caught.value)
    assert text.startswith(f"run `{run.run_id}` is held by process {process.pid} on `{os.uname().nodename}`")
    assert ", purpose `run`, last sign of life " in text
    assert caught.value.hint == "wait for it, or look at it with `crewflow status`"
    assert caught.value.exit_code == ExitCode.HELD
    process.communicate()


def test_readers_see_who_holds_it_and_that_nobody_does(run):
    assert holder(run) is None
    assert os.listdir(run.root) == []
    lease = acquire(run, purpose="run", clock=CLOCK)
    found = holder(run)
    assert (found.pid, found.purpose, found.boot_id) == (os.getpid(), "run", boot_id())
    assert found.start == process_start(os.getpid())
    assert found.age(CLOCK) < 60
    lease.release()
    lease.release()
    assert holder(run) is None


@pytest.mark.case("C112")
@pytest.mark.case("C130")
def test_a_lease_is_free_at_once_when_its_holder_is_killed(run):
    process = start_holder(run)
    assert process.stdout.readline() == "held\n"
    process.kill()
    process.communicate()
    assert holder(run) is None
    acquire(run, purpose="run", clock=CLOCK, wait=0).release()


@pytest.mark.case("C112")
def test_contenders_take_turns_while_holders_are_killed(run):
    first = start_holder(run)
    assert first.stdout.readline() == "held\n"
    contenders = [start_holder(run, wait=30) for _ in range(3)]
    holders = [first]
    while contenders:
        holders[-1].kill()
        holders[-1].communicate()
        while (pid := (holder(run) or Holder()).pid) in {None, *(each.pid for each in holders)}:
            assert [each.poll() for each in contenders] == [None] * len(contenders)
        holders += [each for each in contenders if each.pid == pid]
        contenders = [each for each in contenders if each.pid != pid]
        assert holders[-1].stdout.readline() == "held\n"
        with pytest.raises(HeldError):
            acquire(run, purpose="run", clock=CLOCK, wait=0)
    holders[-1].communicate()


@pytest.mark.case("C113")
def test_a_text_that_names_a_living_process_holds_nothing(run):
    bystander = subprocess.Popen(["sleep", "60"])
    text = {"pid": bystander.pid, "start": 1, "boot_id": "another start", "host": os.uname().nodename}
    Path(run.lease_text).write_text(json.dumps(text), encoding="utf-8")
    Path(run.lease).touch()
    assert holder(run) is None
    acquire(run, purpose="run", clock=CLOCK, wait=0).release()
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


@pytest.mark.case("C115")
@pytest.mark.seed("S1")
def test_a_holder_keeps_its_lease_however_old_it_looks(run):
    process = start_holder(run)
    assert process.stdout.readline() == "held\n"
    for path in (run.lease, run.lease_text):
        os.utime(path, (1.0, 1.0))
    clock = MovedClock()
    clock.ahead = 2 * 86400.0
    with pytest.raises(HeldError, match=r"last sign of life 1728\d\d s ago"):
        acquire(run, purpose="run", clock=clock, wait=0)
    assert process.poll() is None
    process.communicate()


@pytest.mark.case("C115")
def test_a_holder_on_another_host_is_respected_and_its_clock_is_not_judged(run):
    lease = acquire(run, purpose="run", clock=CLOCK)
    text = {"pid": 1, "host": "other-host", "boot_id": "another", "boot": 5.0, "wall": 1.0, "purpose": "run"}
    Path(run.lease_text).write_text(json.dumps(text), encoding="utf-8")
    with pytest.raises(HeldError, match=r"held by process 1 on `other-host`, purpose `run`$"):
        acquire(run, purpose="run", clock=CLOCK, wait=0)
    assert holder(run).age(CLOCK) is None
    lease.release()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "1", "boot": [], "more": 2}', None])
def test_a_text_that_says_nothing_leaves_the_holder_unnamed(run, text):
    lease = acquire(run, purpose="run", clock=CLOCK)
    Path(run.lease_text).unlink()
    if text is not None:
        Path(run.lease_text).write_text(text, encoding="utf-8")
    with pytest.raises(HeldError, match=r"is held by another process$"):
        acquire(run, purpose="run", clock=CLOCK, wait=0)
    assert holder(run) == Holder()
    lease.release()


@pytest.mark.case("C116")
@pytest.mark.parametrize("planted", ["lease", "lease.json"])
def test_a_symbolic_link_in_place_of_a_lease_is_refused(run, tmp_path, planted):
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    (Path(run.root) / planted).symlink_to(precious)
    with pytest.raises(StateError, match="a symbolic link is in its place"):
        acquire(run, purpose="run", clock=CLOCK)
    assert precious.read_bytes() == b"precious"
    (Path(run.root) / planted).unlink()
    acquire(run, purpose="run", clock=CLOCK, wait=0).release()


@pytest.mark.seed("S1")
def test_a_heartbeat_is_written_each_minute_and_not_more_often(run):
    clock = MovedClock()
    lease = acquire(run, purpose="run", clock=clock)

    def written() -> float:
        return json.loads(Path(run.lease_text).read_text(encoding="utf-8"))["boot"]

    first = written()
    clock.ahead = 30.0
    assert 0 < lease.heartbeat() <= 30
    assert written() == first
    clock.ahead = 61.0
    assert lease.heartbeat() == pytest.approx(60)
    assert written() >= first + 60
    lease.release()


def test_asking_for_the_holder_does_not_keep_a_contender_from_the_lease(run, monkeypatch):
    """Even where the kernel lists nobody and a shared lock has to be tried."""
    monkeypatch.setattr(durable, "_is_listed", lambda _: False)
    Path(run.lease).touch()
    contender = subprocess.Popen([sys.executable, "-c", CONTEND, run.root])
    while contender.poll() is None:
        holder(run)
    assert contender.returncode == 0


def test_the_start_of_a_process_tells_it_from_a_later_one():
    assert process_start(os.getpid()) == process_start(os.getpid())
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert process_start(ended.pid) is None
