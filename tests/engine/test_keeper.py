"""What is left when something is killed: nothing, and the survivors know it."""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from trials import PATIENCE, Maker, ends, lives, marked, pid_in, run, until

from crewflow.engine import procs
from crewflow.engine.keeper import Keeper, KeeperError
from crewflow.engine.pool import LocalExecutor
from crewflow.run.states import Outcome

AWKWARD = r"""
m() { echo $$ > "pids/$1"; }
(exec sh -c 'echo $$ > pids/plain; exec sleep 1000') &
(exec setsid sh -c 'echo $$ > pids/setsid; exec sleep 1000') &
(exec nohup sh -c 'echo $$ > pids/nohup; exec sleep 1000' > /dev/null 2>&1) &
(exec env -i PATH="$PATH" sh -c 'echo $$ > pids/bare; exec sleep 1000') &
(exec env -i PATH="$PATH" setsid sh -c 'echo $$ > pids/bare_setsid; exec sleep 1000') &
(exec sh -c 'trap "" TERM; echo $$ > pids/deaf; while :; do sleep 0.2; done') &
(exec setsid sh -c 'trap "" TERM HUP INT; echo $$ > pids/deaf_setsid; while :; do sleep 0.2; done') &
(exec sh -c 'echo $$ > pids/stopped; kill -STOP $$; sleep 1000') &
(exec setsid sh -c 'trap "" TERM; echo $$ > pids/stopped_deaf; kill -STOP $$; sleep 1000') &
(setsid sh -c '(setsid sh -c "echo \$\$ > pids/daemon; exec sleep 1000" > /dev/null 2>&1 < /dev/null &)' &)
(env -i PATH="$PATH" setsid sh -c '
  (setsid sh -c "trap : TERM; echo \$\$ > pids/daemon_bare; while :; do sleep 0.2; done" &) ; exit' &)
(exec sh -c 'echo $$ > pids/no_output; exec sleep 1000 >&- 2>&-') &
(exec setsid sh -c 'echo $$ > pids/holds_pipe; while :; do echo noise; sleep 0.2; done') &
(exec sh -c '
  trap "sh -c \"echo \\\$\\\$ > pids/heir; exec sleep 1000\" & wait" TERM
  echo $$ > pids/breeds; while :; do sleep 0.2; done') &
wait
"""
NAMES = {
    "plain",
    "setsid",
    "nohup",
    "bare",
    "bare_setsid",
    "deaf",
    "deaf_setsid",
    "stopped",
    "stopped_deaf",
    "daemon",
    "daemon_bare",
    "no_output",
    "holds_pipe",
    "breeds",
}

ENGINE = """
import sys
from crewflow.engine.keeper import Keeper
from crewflow.engine.pool import LocalExecutor
from crewflow.engine.executor import Attempt

keeper = Keeper.fork()
keeper.set_grace(0.3)
executor = LocalExecutor(keeper, 2)
script, project = sys.argv[1:]
for number in (1, 2):
    text = script if number == 1 else "echo $$ > pids/second; exec sleep 1000"
    executor.start(Attempt("t", number, "script", text, ("sh", "-e", "-c"), {}, {"MARK": project}, project,
                   None, 5.0, (), {}, False, f"{project}/run/{number}", project))
print(keeper.pid, flush=True)
while True:
    executor.wait(None)
"""


@pytest.fixture
def make(tmp_path):
    return Maker(tmp_path)


@pytest.fixture
def local():
    """Makes executors with workers, and closes them."""
    made = []

    def begin(capacity=1):
        keeper = Keeper.fork()
        keeper.set_grace(0.3)
        made.append(LocalExecutor(keeper, capacity))
        return made[-1]

    yield begin
    for executor in made:
        executor.close()


def _pids(folder) -> dict[str, int]:
    return {path.name: pid_in(path) for path in folder.iterdir()}


def _begin_awkward(folder, executor=None) -> dict[str, int]:
    until(lambda: {path.name for path in folder.iterdir()} >= NAMES, executor)
    found = _pids(folder)
    for name in ("stopped", "stopped_deaf"):
        until(lambda name=name: procs.look(found[name]).state == "T", executor)
    return found


def _gone(pids) -> bool:
    return not any(lives(pid) for pid in pids)


def test_when_the_engine_is_killed_nothing_of_its_run_lives(make):
    """Fourteen ways to slip away: sessions, daemons, no environment, deaf, stopped, holding the pipe."""
    folder = make.project / "pids"
    folder.mkdir()
    engine = subprocess.Popen(
        [sys.executable, "-c", ENGINE, AWKWARD, str(make.project)], stdout=subprocess.PIPE, text=True
    )
    with engine:
        keeper = int(engine.stdout.readline())
        pids = _begin_awkward(folder)
        until((folder / "second").exists)
        workers = [proc.pid for proc in procs.processes().values() if proc.parent == keeper]
        assert len(workers) == 2
        engine.kill()
    everyone = [*pids.values(), *_pids(folder).values(), keeper, *workers]
    until(lambda: _gone(everyone))
    assert marked(str(make.project)) == []


def test_closing_ends_the_awkward_too_and_returns_when_they_are_gone(make, local):
    folder = make.project / "pids"
    folder.mkdir()
    executor = local(2)
    executor.start(make.script(AWKWARD))
    pids = _begin_awkward(folder, executor)
    executor.close()
    assert _gone([*pids.values(), *_pids(folder).values(), executor._keeper.pid])


@pytest.mark.parametrize("how", ["timeout", "cancel"])
def test_an_attempt_that_is_ended_takes_the_awkward_along(make, how, local):
    folder = make.project / "pids"
    folder.mkdir()
    executor = local()
    attempt = make.script(AWKWARD, grace=0.3, timeout=2.0 if how == "timeout" else None)
    executor.start(attempt)
    pids = _begin_awkward(folder, executor)
    if how == "cancel":
        executor.cancel(attempt.task, 1, now=False)
    (ended,) = ends(executor, 1)
    assert _gone([*pids.values(), *_pids(folder).values()])
    assert ended.failure == ("timeout" if how == "timeout" else None)
    executor.close()


def test_when_a_worker_is_killed_its_attempt_is_lost_once_all_of_it_is_gone(make, local):
    folder = make.project / "pids"
    folder.mkdir()
    executor = local()
    executor.start(make.script(AWKWARD))
    pids = _begin_awkward(folder, executor)
    (worker,) = executor._workers.values()
    os.kill(worker.pid, signal.SIGKILL)
    (ended,) = ends(executor, 1)
    assert _gone([*pids.values(), *_pids(folder).values()])
    assert (ended.outcome, ended.failure, ended.signal) == (Outcome.LOST, "lost", "SIGKILL")
    assert ended.error == "the worker process that ran it was killed by SIGKILL"
    assert run(executor, make.command("true")).outcome is Outcome.SUCCEEDED
    executor.close()


def test_when_the_keeper_is_killed_attempts_are_lost_and_nothing_of_them_lives(make, local):
    folder = make.project / "pids"
    folder.mkdir()
    executor = local(2)
    make.module(
        "endless",
        "import os, time\ndef f():\n    open('python', 'w').write(str(os.getpid()))\n    time.sleep(1000)",
    )
    executor.start(make.script(AWKWARD))
    executor.start(make.python("endless:f"))
    pids = _begin_awkward(folder, executor)
    pid_in(make.project / "python")
    os.kill(executor._keeper.pid, signal.SIGKILL)
    found = ends(executor, 2)
    assert {(end.outcome, end.failure) for end in found} == {(Outcome.LOST, "lost")}
    assert _gone([*pids.values(), *_pids(folder).values(), pid_in(make.project / "python")])
    with pytest.raises(KeeperError, match="was ended from outside"):
        executor.wait(1.0)
    with pytest.raises(KeeperError):
        executor.start(make.command("true"))
    executor.close()


def test_when_engine_and_keeper_are_killed_together_nothing_lives_either(make):
    folder = make.project / "pids"
    folder.mkdir()
    engine = subprocess.Popen(
        [sys.executable, "-c", ENGINE, AWKWARD, str(make.project)], stdout=subprocess.PIPE, text=True
    )
    with engine:
        keeper = int(engine.stdout.readline())
        pids = _begin_awkward(folder)
        os.kill(keeper, signal.SIGKILL)
        engine.kill()
    until(lambda: _gone([*pids.values(), *_pids(folder).values()]))


def test_a_keeper_without_work_goes_with_its_engine_at_once(make):
    text = "from crewflow.engine.keeper import Keeper; print(Keeper.fork().pid, flush=True); input()"
    engine = subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with engine:
        keeper = int(engine.stdout.readline())
        assert lives(keeper)
        engine.kill()
    until(lambda: not lives(keeper))


def test_the_keeper_outlives_signals_of_the_terminal(local, make):
    executor = local()
    keeper = executor._keeper
    until(lambda: [worker for worker in executor._workers.values() if worker.pid], executor)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        os.kill(keeper.pid, number)
    assert os.getsid(keeper.pid) == keeper.pid
    assert run(executor, make.command("true")).outcome is Outcome.SUCCEEDED
    executor.close()
    assert not lives(keeper.pid)


def test_keeper_and_workers_hold_nothing_of_the_callers(tmp_path, local):
    secret = (tmp_path / "journal").open("w")
    with secret:
        os.set_inheritable(secret.fileno(), True)
        executor = local(2)
        executor.warm(2)
        until(lambda: all(worker.pid for worker in executor._workers.values()), executor)
        for pid in [executor._keeper.pid, *(worker.pid for worker in executor._workers.values())]:
            assert not any(str(tmp_path) in link for link in _links(pid))
            until(lambda pid=pid: len(_sockets(pid)) == 1)  # its own, and no sibling's
        executor.close()


def _sockets(pid) -> list[str]:
    return [link for link in _links(pid) if "socket" in link]


def _links(pid) -> list[str]:
    """What the descriptors of a process lead to; one may be closed while they are looked at."""
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found


def test_the_lock_is_held_until_the_last_process_is_gone(tmp_path, make, local):
    path = tmp_path / "alive"
    path.touch()
    executor = local(2)
    until(lambda: all(worker.pid for worker in executor._workers.values()), executor)
    executor.hold(str(path))
    assert run(executor, make.command("true")).outcome is Outcome.SUCCEEDED
    worker = next(iter(executor._workers.values())).pid
    with path.open() as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for pid in (executor._keeper.pid, worker):
            until(lambda pid=pid: _holds(pid, path), executor)  # each takes it when it hears of it
        executor.close()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _holds(pid, path) -> bool:
    return any(os.path.realpath(f"/proc/{pid}/fd/{fd}") == str(path) for fd in os.listdir(f"/proc/{pid}/fd"))


def test_a_step_does_not_hold_the_lock(tmp_path, make, local):
    path = tmp_path / "alive"
    path.touch()
    executor = local(1)
    executor.hold(str(path))
    executor.start(make.script("echo $$ > pid; exec sleep 1000"))
    pid = until(lambda: (make.project / "pid").exists() and pid_in(make.project / "pid"), executor)
    assert not _holds(pid, path)
    executor.close()


@pytest.mark.case("C098")
@pytest.mark.parametrize("how", ["file", "-c", "stdin", "-m"])
def test_the_callers_script_is_run_once_however_it_was_started(tmp_path, how):
    script = textwrap.dedent(f"""
        from pathlib import Path
        with open({str(tmp_path / "count")!r}, "a") as count:
            count.write("run\\n")
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from trials import Maker, run
        from crewflow.engine.keeper import Keeper
        from crewflow.engine.pool import LocalExecutor
        executor = LocalExecutor(Keeper.fork(), 2)
        make = Maker(Path({str(tmp_path)!r}))
        make.module("mine", "import os\\ndef f(): return os.getcwd()")
        assert run(executor, make.python("mine:f")).result == str(make.project)
        executor.close()
    """)
    (tmp_path / "caller.py").write_text(script)
    words = {
        "file": [str(tmp_path / "caller.py")],
        "-c": ["-c", script],
        "stdin": ["-"],
        "-m": ["-m", "caller"],
    }
    done = subprocess.run(
        [sys.executable, *words[how]],
        input=script if how == "stdin" else "",
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "count").read_text() == "run\n"


def test_the_engine_process_never_loads_multiprocess():
    text = (
        "import crewflow.engine.pool, crewflow.engine.keeper, sys\n"
        "print({'multiprocess', 'dill', 'psutil', 'ctypes'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], text=True, capture_output=True, check=True, timeout=PATIENCE
    )
    assert done.stdout == "set()\n"


def test_closing_twice_is_closing():
    keeper = Keeper.fork()
    assert keeper.close() == ()
    assert keeper.close() == ()
