"""What one bad worker, or one bad function, costs: its own attempt."""

import logging
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from trials import Maker, ends, lives, log, pid_in, run, until

from crewflow.engine import callables, pool
from crewflow.engine.executor import Ended
from crewflow.engine.keeper import Keeper, KeeperError
from crewflow.engine.pool import LocalExecutor
from crewflow.run.states import Outcome

BROKEN = "the worker process that ran it said what makes no sense, or nothing, and was ended"

NOISE = """
import os, stat, struct, sys, time

def control():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): return fd
        except OSError:
            pass

def garbage(): os.write(control(), b"HTTP/1.1 200 OK\\r\\n\\r\\n"); time.sleep(1000)
def no_json(): os.write(control(), struct.pack(">I", 4) + b"{{{{"); time.sleep(1000)
def no_object(): os.write(control(), struct.pack(">I", 2) + b"[]"); time.sleep(1000)
def no_end(): os.write(control(), struct.pack(">I", 100) + b"{"); time.sleep(1000)
def no_end_then_returns(): os.write(control(), struct.pack(">I", 400) + b"{")
def wrong_end(): os.write(control(), struct.pack(">I", 16) + b'{"ended": [1,2]}'); time.sleep(1000)
def out_of_turn(): os.write(control(), struct.pack(">I", 14) + b'{"spawned": 1}'); time.sleep(1000)
def no_file(): os.write(control(), struct.pack(">I", 20) + b'{"ended_file": true}'); time.sleep(1000)
def flood():
    fd = control()
    os.write(fd, struct.pack(">I", 300_000_000))
    while True: os.write(fd, b"x" * 65536)
def closes(): os.closerange(3, 4096); time.sleep(1000)
def closes_all(): os.closerange(0, 4096); time.sleep(1000)
def closes_and_returns(): os.closerange(0, 4096)
def exits(): os._exit(0)
def dies(): os.kill(os.getpid(), 11)
def aborts(): os.abort()
def stopped(): os.kill(os.getpid(), 19)
"""


@pytest.fixture
def make(tmp_path):
    made = Maker(tmp_path)
    made.module("noise", NOISE)
    return made


@pytest.fixture
def executor():
    made = LocalExecutor(Keeper.fork(), 2)
    yield made
    made.close()


def _workers(executor):
    return {worker.pid for worker in executor._workers.values() if worker.pid}


@pytest.mark.seed("S9")
@pytest.mark.parametrize(
    ("function", "error"),
    [
        ("exits", "the worker process that ran it ended with exit code 0"),
        ("dies", "the worker process that ran it was killed by SIGSEGV"),
        ("aborts", "the worker process that ran it was killed by SIGABRT"),
        ("closes_and_returns", None),
        ("garbage", BROKEN),
        ("no_json", BROKEN),
        ("no_object", BROKEN),
        ("wrong_end", BROKEN),
        ("out_of_turn", BROKEN),
        ("no_file", BROKEN),
        ("flood", BROKEN),
        ("closes", BROKEN),
        ("closes_all", BROKEN),
    ],
)
def test_a_function_that_breaks_its_worker_loses_its_own_attempt_only(executor, make, function, error):
    beside = make.script("while [ ! -e go ]; do sleep 0.01; done; echo unharmed")
    executor.start(beside)
    ended = run(executor, make.python(f"noise:{function}"))
    assert (ended.outcome, ended.failure) == (Outcome.LOST, "lost")
    assert error is None or ended.error == error
    assert run(executor, make.python("os:getcwd")).outcome is Outcome.SUCCEEDED
    (make.project / "go").touch()
    (unharmed,) = ends(executor, 1)
    assert (unharmed.task, unharmed.outcome) == (beside.task, Outcome.SUCCEEDED)


def test_a_frame_without_an_end_is_waited_for_only_so_long(executor, make, monkeypatch):
    monkeypatch.setattr(pool, "_FRAME_PATIENCE", 0.2)
    assert run(executor, make.python("noise:no_end")).failure == "lost"
    assert run(executor, make.python("noise:no_end_then_returns")).failure == "lost"
    assert run(executor, make.python("os:getcwd")).outcome is Outcome.SUCCEEDED


def test_a_flood_from_a_worker_does_not_grow_the_engine(executor, make):
    before = _peak()
    run(executor, make.python("noise:flood"))
    assert _peak() - before < 20_000


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_memory_stays_flat_while_much_is_written(executor, make):
    executor.start(make.command("true"))
    ends(executor, 1)
    (worker,) = _workers(executor)
    attempt = make.script("head -c 300000000 /dev/zero")
    assert run(executor, attempt).output_bytes == 300_000_000
    status = Path(f"/proc/{worker}/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0])
    now = int(status.partition("VmRSS:")[2].split()[0])
    assert peak - now < 20_000
    Path(attempt.folder, "output.log").unlink()


@pytest.mark.case("C094")
def test_workers_are_replaced_as_often_as_they_are_killed(executor, make):
    assert run(executor, make.command("true")).outcome is Outcome.SUCCEEDED
    for _ in range(5):
        attempt = make.script("echo $$ > pid; exec sleep 1000")
        executor.start(attempt)
        until((make.project / "pid").exists, executor)
        pid = pid_in(make.project / "pid")
        (holder,) = [w for w in executor._workers.values() if w.attempt]
        os.kill(holder.pid, signal.SIGKILL)
        (lost,) = ends(executor, 1)
        assert (lost.outcome, lost.error) == (
            Outcome.LOST,
            "the worker process that ran it was killed by SIGKILL",
        )
        assert not lives(pid)
        (make.project / "pid").unlink()
    assert run(executor, make.command("true")).outcome is Outcome.SUCCEEDED


@pytest.mark.case("C094")
def test_workers_that_only_ever_die_are_an_error_in_the_end(executor, make, monkeypatch):
    monkeypatch.setattr(pool, "LOSS_LIMIT", 3)
    for _ in range(4):
        assert run(executor, make.python("noise:exits")).failure == "lost"
    with pytest.raises(KeeperError, match="4 worker processes ended one after the other"):
        executor.start(make.command("true"))


def test_an_idle_worker_that_is_killed_is_replaced_when_needed(executor, make):
    run(executor, make.command("true"))
    (before,) = _workers(executor)
    os.kill(before, signal.SIGKILL)
    until(lambda: before not in _workers(executor), executor)
    assert run(executor, make.command("true")).outcome is Outcome.SUCCEEDED


def test_an_attempt_given_to_a_worker_that_just_died_is_lost_not_forgotten(executor, make):
    run(executor, make.command("true"))
    (before,) = _workers(executor)
    os.kill(before, signal.SIGKILL)
    executor.start(make.command("true"))
    (ended,) = ends(executor, 1)
    assert ended.outcome is Outcome.LOST
    assert run(executor, make.command("true")).outcome is Outcome.SUCCEEDED


def test_a_stopped_worker_is_ended_by_the_timeout(executor, make):
    ended = run(executor, make.python("noise:stopped", timeout=0.5, grace=0.2))
    assert ended.failure == "timeout"


def test_a_function_deaf_to_term_is_killed_after_the_grace(executor, make):
    make.module(
        "deaf",
        "import os, signal, time\n"
        "def f():\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    open('pid', 'w').write(str(os.getpid()))\n"
        "    while True: time.sleep(0.01)\n",
    )
    ended = run(executor, make.python("deaf:f", timeout=0.5, grace=0.2))
    assert (ended.failure, ended.signal) == ("timeout", "SIGKILL")
    assert not lives(pid_in(make.project / "pid"))


@pytest.mark.parametrize("interrupt", [True, False])
@pytest.mark.parametrize("now", [True, False])
def test_a_function_is_cancelled_with_its_worker_and_children(executor, make, now, interrupt):
    make.module(
        "mine",
        "import os, subprocess, time\n"
        "def f():\n"
        "    deaf = 'trap \"\" TERM INT; sleep 1000; sleep 1000'\n"
        "    child = subprocess.Popen(['sh', '-c', deaf], start_new_session=True)\n"
        "    open('pid', 'w').write(str(child.pid)); time.sleep(1000)\n",
    )
    attempt = make.python("mine:f", grace=0.3)
    executor.start(attempt)
    pid = until(lambda: (make.project / "pid").exists() and pid_in(make.project / "pid"), executor)
    executor.cancel(attempt.task, 1, now=now, interrupt=interrupt)
    (ended,) = ends(executor, 1)
    assert (ended.outcome, ended.failure, ended.error) == (Outcome.CANCELLED, None, "cancelled")
    assert not lives(pid)


def test_a_function_that_answers_an_interrupt_may_clean_up(executor, make):
    make.module(
        "mine",
        "import time\n"
        "def f():\n"
        "    try:\n"
        "        open('began', 'w').close(); time.sleep(1000)\n"
        "    except KeyboardInterrupt:\n"
        "        open('cleaned', 'w').close(); raise\n",
    )
    attempt = make.python("mine:f", grace=60.0)
    executor.start(attempt)
    until((make.project / "began").exists, executor)
    executor.cancel(attempt.task, 1, now=False, interrupt=True)
    assert ends(executor, 1)[0].outcome is Outcome.CANCELLED
    assert (make.project / "cleaned").exists()


def test_an_attempt_that_waits_for_a_worker_can_be_cancelled(executor, make):
    attempts = [make.command("sleep", "1000") for _ in range(3)]
    for attempt in attempts:
        executor.start(attempt)
    for attempt in attempts:
        executor.cancel(attempt.task, 1, now=True)
    assert {end.outcome for end in ends(executor, 3)} == {Outcome.CANCELLED}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "import threading, time; threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
            "a thread",
        ),
        ("global kept; kept = open('/dev/null')", "a descriptor"),
        ("global kept; kept = b'x' * 100_000_000", "memory"),
    ],
)
def test_a_worker_with_leftovers_is_given_up_before_its_end_is_reported(executor, make, text, why):
    make.module("mine", f"import os\ndef f():\n    {text}\n    return os.getpid()\n")
    first = run(executor, make.python("mine:f"))
    assert first.outcome is Outcome.SUCCEEDED
    assert not lives(first.result), why
    assert run(executor, make.python("mine:f")).result != first.result


def test_a_worker_without_leftovers_serves_again(executor, make):
    make.module("mine", "import os\ndef f(): return os.getpid()")
    pids = {run(executor, make.python("mine:f")).result for _ in range(10)}
    assert len(pids) == 1


def test_a_worker_is_given_up_after_so_many_calls(make, monkeypatch):
    monkeypatch.setattr(callables, "CALL_LIMIT", 3)
    executor = LocalExecutor(Keeper.fork(), 1)
    make.module("mine", "import os\ndef f(): return os.getpid()")
    pids = [run(executor, make.python("mine:f")).result for _ in range(6)]
    executor.close()
    assert pids[0] == pids[1] == pids[2] != pids[3] == pids[4] == pids[5]


def test_a_module_changed_by_another_task_is_never_run_from_memory(executor, make):
    make.module("mine", "def f(): return 1")
    for value in range(2, 8):
        assert run(executor, make.python("mine:f")).result == value - 1
        text = f"def f(): return {value}\n"
        assert (
            run(executor, make.script(f"printf %s '{text}' > mine.py; touch -d @{value} mine.py")).failure
            is None
        )


def test_large_capacity_does_not_mean_many_workers(make):
    executor = LocalExecutor(Keeper.fork(), 10_000)
    for _ in range(3):
        executor.start(make.command("sleep", "0.05"))
    ends(executor, 3)
    assert len(executor._workers) <= 3
    executor.close()


@pytest.mark.case("C101")
def test_no_more_attempts_run_at_once_than_workers_may_be(make):
    executor = LocalExecutor(Keeper.fork(), 3)
    for _ in range(12):
        executor.start(make.script("echo + >> count; sleep 0.05; echo - >> count"))
    ends(executor, 12)
    executor.close()
    depth, deepest = 0, 0
    for mark in (make.project / "count").read_text().split():
        depth += 1 if mark == "+" else -1
        deepest = max(deepest, depth)
    assert deepest == 3


@pytest.mark.case("C097")
def test_threads_that_log_in_the_engine_stop_no_worker(make):
    executor = LocalExecutor(Keeper.fork(), 4)
    logger = logging.getLogger("crewflow.test")
    logger.addHandler(logging.FileHandler(os.devnull))
    logger.propagate = False
    done = threading.Event()

    def chatter():
        while not done.is_set():
            logger.warning("noise")

    threads = [threading.Thread(target=chatter) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            for _ in range(30):
                executor.start(make.python("os:getcwd"))
            assert {end.outcome for end in ends(executor, 30)} == {Outcome.SUCCEEDED}
            for worker in list(executor._workers.values()):
                os.kill(worker.pid, signal.SIGKILL)
            until(lambda: not executor._workers, executor)
    finally:
        done.set()
        for thread in threads:
            thread.join()
        logger.handlers.pop().close()
        executor.close()


def test_a_folder_that_cannot_be_written_fails_the_attempt(executor, make):
    make.tasks.parent.mkdir()
    make.tasks.write_text("no folder")
    for attempt in (make.command("true"), make.python("os:getcwd"), make.command("echo", "x" * 10_000)):
        ended = run(executor, attempt)
        assert (ended.outcome, ended.failure) == (Outcome.FAILED, "start")
        assert "folder of the attempt cannot be" in ended.error


def test_an_attempt_without_a_worker_yet_begins_as_soon_as_there_is_one(make):
    executor = LocalExecutor(Keeper.fork(), 2)
    began = time.monotonic()
    assert isinstance(run(executor, make.command(sys.executable, "-c", "pass")), Ended)
    assert time.monotonic() - began < 20
    executor.close()


def test_workers_do_without_the_folder_that_they_were_started_in(make, tmp_path, monkeypatch):
    (tmp_path / "start").mkdir()
    monkeypatch.chdir(tmp_path / "start")
    executor = LocalExecutor(Keeper.fork(), 1)
    monkeypatch.chdir(make.project)
    (tmp_path / "start").rmdir()
    for attempt in (make.script("pwd"), make.python("os:getcwd")):
        assert run(executor, attempt).outcome is Outcome.SUCCEEDED
    executor.close()


def test_the_log_of_a_lost_attempt_is_kept(executor, make):
    make.module("mine", "import os\ndef f(): print('so far', flush=True); os._exit(1)")
    attempt = make.python("mine:f")
    ended = run(executor, attempt)
    assert log(attempt) == b"so far\n"
    assert ended.output_bytes == 7
