"""kill -9 of the engine and of workers, signals of a terminal, and what is left of it all: nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from crewflow.state.lease import holder

PYTHON = sys.executable


def marked(project):
    """The processes that still have this project's name in their environment, as every attempt has."""
    mark = f"CREWFLOW_PROJECT={project.root}\0".encode()
    return [pid for pid in psutil.pids() if mark in _environment(pid)]


def _environment(pid):
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def kill(process):
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=60)


def close(process):
    for stream in (process.stdout, process.stderr):
        stream.close()


STEPS = """
    steps:
      a: {run: 'echo a >> done'}
      b: {needs: a, run: 'echo b >> tried; touch up; test -e go || exec sleep 600'}
      other: {run: 'echo other >> done'}
      c: {needs: b, run: 'echo c >> done'}
    finally:
      clean: {run: 'echo clean >> done'}
"""


@pytest.mark.case("C086")
@pytest.mark.case("C112")
@pytest.mark.parametrize("times", [1, 2])
def test_after_a_kill_of_the_engine_status_says_interrupted_and_resume_goes_on(project, until, times):
    here = project(STEPS)
    words = ["apply"]
    for count in range(times):
        running = here.start(*words)
        until(lambda count=count: len(here.lines("tried")) > count, process=running)
        until(lambda: "other" in here.lines("done"), process=running)
        assert here.status()["state"] == "running"
        kill(running)
        close(running)
        assert here.status()["state"] == "interrupted"
        assert holder(here.paths()) is None
        words = ["resume"]

    (here.root / "go").touch()
    done = here.run("resume")
    assert done.code == 0, done
    assert sorted(here.lines("done")) == ["a", "c", "clean", "other"]
    assert here.lines("tried") == ["b"] * (times + 1)
    assert here.status()["generation"] == times + 1
    assert marked(here) == []


@pytest.mark.case("C112")
def test_a_dead_run_does_not_stand_in_the_way_of_a_new_one(project, until):
    here = project(STEPS)
    running = here.start("apply")
    until((here.root / "up").exists, process=running)
    kill(running)
    close(running)

    (here.root / "go").touch()
    assert here.run("apply").code == 0
    listed = here.run("runs", "list", "--json").json["runs"]
    assert [row["state"] for row in listed] == ["succeeded", "interrupted"]


@pytest.mark.case("C086")
def test_at_no_time_are_there_two_copies_of_a_task(project, until):
    """It ignores TERM, so that it lives on for a while; resume waits for its end."""
    script = """
        trap '' TERM
        mkdir alone || echo twice >> faults
        touch up
        while ! test -e go; do sleep 0.02; done
        rmdir alone
        """
    here = project(f"steps:\n  a:\n    grace: 1s\n    run: |\n{script}".replace("\n        ", "\n      "))
    running = here.start("apply")
    until((here.root / "up").exists, process=running)
    until(lambda: here.records("attempt.spawned"), process=running)
    [pid] = {r["pid"] for r in here.records("attempt.spawned")}
    kill(running)
    close(running)
    resuming = here.start("resume")
    until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie", process=resuming)
    (here.root / "alone").rmdir()
    (here.root / "go").touch()
    _, err = resuming.communicate(timeout=60)

    assert resuming.returncode == 0, err
    assert here.lines("faults") == []
    assert b"attempt 1 ended with its engine" in err


@pytest.mark.case("C113")
def test_a_process_that_has_the_id_of_a_dead_holder_by_now_is_left_alone(project):
    here = project("steps: {a: {run: 'test -e go'}}")
    here.run("apply")
    with subprocess.Popen(("sleep", "600")) as bystander:
        text = Path(here.paths().lease_text)
        text.write_text(json.dumps({**json.loads(text.read_text()), "pid": bystander.pid, "start": 1}))
        (here.root / "go").touch()

        assert here.run("resume").code == 0
        assert bystander.poll() is None
        bystander.kill()


@pytest.mark.case("C167")
def test_a_task_that_may_run_once_only_is_not_run_again_after_a_kill(project, until):
    here = project("steps: {a: {run: 'echo a >> f; touch up; exec sleep 600', idempotent: false}}")
    running = here.start("apply")
    until((here.root / "up").exists, process=running)
    kill(running)
    close(running)

    done = here.run("resume")
    assert done.code == 2
    assert done.err.startswith("error: `a` may have run and may not run twice (`idempotent: false`)\nhint: ")
    assert here.lines("f") == ["a"]


@pytest.mark.case("C103")
def test_a_torn_end_of_the_journal_is_told_and_costs_nothing(project, until):
    here = project(STEPS)
    running = here.start("apply")
    until((here.root / "up").exists, process=running)
    kill(running)
    close(running)
    with Path(here.paths().segment(1)).open("ab") as journal:
        journal.write(b'{"seq":99,"ts":17960')
    (here.root / "go").touch()

    assert here.status()["state"] == "interrupted"
    done = here.run("resume")
    assert done.code == 0
    assert "the last 20 bytes of .crewflow/runs/" in done.err
    assert here.lines("done").count("a") == 1
    assert here.status()["state"] == "succeeded"


@pytest.mark.seed("S9")
def test_a_worker_that_is_killed_costs_its_attempt_and_nothing_else(project):
    text = """
        steps:
          a:
            run: 'test "$CREWFLOW_ATTEMPT" = 2 || { kill -9 $PPID; exec sleep 600; }; echo a >> done'
            retry: {max_attempts: 2, delay: 0s}
          b: {run: 'echo b >> done'}
          c: {needs: a, run: 'echo c >> done'}
        """
    here = project(text)
    done = here.run("apply")

    assert done.code == 0, done
    assert [r["outcome"] for r in here.records("attempt.ended") if r["task"] == "a"] == ["lost", "succeeded"]
    assert sorted(here.lines("done")) == ["a", "b", "c"]


@pytest.mark.seed("S9")
def test_a_callable_that_raises_or_ends_its_process_fails_its_task_and_the_run_goes_on(project):
    here = project(
        """
        steps:
          raises: {python: "mod:raises"}
          exits: {python: "mod:exits"}
          missing: {python: "mod:none"}
          fine: {python: "mod:fine", with: {n: 2}}
        """
    ).write(
        {
            "mod.py": """
            import os

            def raises(): raise KeyError("what was looked for")

            def exits(): os._exit(3)

            def fine(n): return n + 1
            """
        }
    )
    done = here.run("apply")

    assert done.code == 1
    assert here.states() == {"raises": "failed", "exits": "failed", "missing": "failed", "fine": "succeeded"}
    assert "`raises` failed" in done.err
    assert "what was looked for" in done.err


# --- signals of a terminal --------------------------------------------------------------------------

COUNTS = """
import signal, sys, time
count = 0
def note(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, note)
open("up", "w").close()
while not count:
    time.sleep(0.02)
until = time.monotonic() + 0.5
while time.monotonic() < until:
    time.sleep(0.02)
open("f", "w").write(str(count))
"""


@pytest.mark.case("C082")
def test_ctrl_c_of_a_terminal_reaches_a_child_once_and_leaves_it_its_time(project, until):
    here = project({"counts.py": COUNTS}).write(
        {"workflows/w.yaml": f"kind: workflow\nname: w\nsteps: {{a: {{run: [{PYTHON}, counts.py]}}}}\n"}
    )
    running = here.start("apply")
    until((here.root / "up").exists, process=running)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the whole foreground group
    running.communicate(timeout=60)

    assert running.returncode == 130
    assert here.lines("f") == ["1"]
    assert marked(here) == []


STUBBORN = """
    steps:
      a: {run: 'trap "" INT TERM; touch up; while :; do sleep 0.1; done', grace: 10m}
    finally:
      clean: {run: 'echo clean >> done'}
"""


@pytest.mark.case("C083")
@pytest.mark.parametrize("group", [False, True])
def test_a_second_ctrl_c_ends_everything_at_once(project, until, group):
    here = project(STUBBORN)
    running = here.start("apply")
    until((here.root / "up").exists, process=running)
    press = os.killpg if group else os.kill
    press(running.pid, signal.SIGINT)
    until(lambda: here.records("cancel.requested"), process=running)
    assert here.status()["state"] == "running"
    press(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)

    assert running.returncode == 130, err
    assert here.status()["state"] == "cancelled"
    assert here.states() == {"a": "cancelled", "clean": "cancelled"}
    assert here.lines("done") == []
    assert marked(here) == []
    assert holder(here.paths()) is None


@pytest.mark.case("C092")
def test_ctrl_c_near_the_end_of_many_short_tasks_leaves_nothing(project, until):
    numbers = ", ".join(map(str, range(200)))
    here = project(f"steps: {{t: {{for_each: [{numbers}], run: [echo, x]}}}}")
    running = here.start("apply", "-j8", "-q")
    until(lambda: here.run_ids and len(here.records("attempt.ended")) > 150)
    os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=60)

    assert running.returncode in {0, 130}
    assert here.status()["state"] == {0: "succeeded", 130: "cancelled"}[running.returncode]
    assert marked(here) == []
