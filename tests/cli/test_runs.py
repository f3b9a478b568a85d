"""Looking at runs: status, logs, events, the list, while they run, when they are damaged, and in copies."""

import hashlib
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest


def digest(root):
    """Every file below, with its content and time of change."""
    return {
        str(path): (path.lstat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        if path.is_file()
        else path.lstat().st_mtime_ns
        for path in sorted(Path(root).rglob("*"))
    }


@pytest.mark.case("C119")
def test_reading_changes_nothing_not_even_a_torn_end(project):
    here = project("steps: {a: {run: 'echo x; exit 1'}}")
    assert here.run("validate").code == here.run("plan").code == here.run("graph").code == 0
    assert sorted(os.listdir(here.root)) == ["workflows"]
    here.run("apply")
    with Path(here.paths().segment(1)).open("ab") as journal:
        journal.write(b'{"seq":')
    before = digest(here.root)

    for words in (["status"], ["logs"], ["events"], ["runs", "list"], ["plan"], ["validate"], ["graph"]):
        assert here.run(*words).code == 0, words
    assert digest(here.root) == before


@pytest.mark.case("C194")
def test_status_is_whole_at_every_moment_of_a_run(project):
    numbers = ", ".join(map(str, range(150)))
    here = project(f"steps: {{t: {{for_each: [{numbers}], run: [echo, x]}}}}")
    running = here.start("apply", "-j4", "-q")
    done = threading.Event()
    seen = []

    def look():
        while not done.is_set():
            seen.append(here.run("status", "--json"))

    looking = threading.Thread(target=look)
    looking.start()
    running.communicate(timeout=60)
    done.set()
    looking.join()

    assert running.returncode == 0
    states = []
    for said in seen:
        if said.code == 2:
            assert not states, "a run that was there is there"
            assert "no runs here yet" in said.json["error"]["message"] or "there is no run" in said.out
            continue
        assert (said.code, said.err) == (0, "")
        assert sum(said.json["counts"].values()) == len(said.json["tasks"]) == 150
        states.append(said.json["state"])
    order = ["pending", "running", "succeeded"]
    assert states == sorted(states, key=order.index)
    assert here.status()["counts"] == {"succeeded": 150}


@pytest.mark.seed("S21")
def test_status_is_the_same_without_snapshots(project):
    here = project("steps: {a: {run: 'true'}, b: {needs: a, run: 'exit 3'}}")
    here.run("apply")
    before = (here.run("status").out, here.run("runs", "list").out)
    for name in (here.paths().run_snapshot, here.paths().tasks_snapshot):
        os.unlink(name)
    assert (here.run("status").out, here.run("runs", "list").out) == before


@pytest.mark.case("C109")
def test_a_snapshot_that_is_no_use_is_not_used(project):
    here = project("steps: {a: {run: 'exit 3'}}")
    here.run("apply")
    before = (here.run("status").out, here.run("runs", "list").out)
    for content in ("", "{", '{"format": 999, "seq": 1}', '{"format":1,"seq":9,"state":"succeeded"}', "[]"):
        Path(here.paths().run_snapshot).write_text(content)
        Path(here.paths().tasks_snapshot).write_text(content)
        assert (here.run("status").out, here.run("runs", "list").out) == before, content
        assert Path(here.paths().run_snapshot).read_text() == content


def test_a_run_whose_second_generation_was_killed_is_not_listed_as_its_first_one_ended(project, until):
    here = project("steps: {a: {run: 'echo x >> tried; test -e up && exec sleep 600; touch up; exit 1'}}")
    here.run("apply")
    resuming = here.start("resume")
    until(lambda: len(here.lines("tried")) == 2, process=resuming)
    resuming.kill()
    resuming.communicate(timeout=60)

    [row] = here.run("runs", "list", "--json").json["runs"]
    assert row["state"] == here.status()["state"] == "interrupted"


@pytest.mark.case("C125")
def test_damaged_runs_are_listed_as_such_and_harm_no_other(project):
    here = project("steps: {a: {run: 'exit 3'}}")
    for _ in range(3):
        here.run("apply")
    newest, middle, oldest = here.run_ids[::-1]
    shutil.rmtree(here.paths(middle).root)
    Path(here.paths(middle).root).mkdir(mode=0o700)
    Path(here.paths(oldest).plan()).write_text("{}")
    Path(here.paths(oldest).run_snapshot).unlink()

    rows = here.run("runs", "list", "--json").json["runs"]
    assert [(row["run"], row["state"]) for row in rows] == [
        (newest, "failed"),
        (middle, "damaged"),
        (oldest, "damaged"),
    ]
    text = here.run("runs", "list").out
    assert "plan.json` was changed" in text
    assert here.run("status").code == 0
    assert here.run("status", middle).code == 10


@pytest.mark.case("C131")
def test_in_a_copy_of_the_project_runs_are_foreign_and_new_ones_start(project, tmp_path):
    here = project("steps: {a: {run: 'test -e go'}}")
    here.run("apply")
    run_id = here.run_ids[0]
    shutil.copytree(here.root, tmp_path / "copy")
    copy = project({}, name="copy")

    assert "foreign" in copy.run("runs", "list").out
    status = copy.run("status")
    assert status.code == 0
    assert status.err.startswith("note: `")
    assert "is a copy of" in status.err
    refused = copy.run("resume", run_id)
    assert refused.code == 2
    assert "is a copy of" in refused.err
    (copy.root / "go").touch()
    assert copy.run("apply").code == 0
    assert here.status()["state"] == "failed"


@pytest.mark.case("C124")
def test_what_is_written_is_for_its_owner_alone_and_what_init_writes_is_as_usual(project):
    here = project({})
    line = ("sh", "-c", "umask 0; crewflow init demo >/dev/null 2>&1; umask 0; crewflow -C demo apply -q")
    subprocess.run(line, cwd=here.root, env=here.env, check=True, capture_output=True)
    demo = here.root / "demo"

    for path in (demo / ".crewflow", *(demo / ".crewflow").rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
    for name in ("crewflow.yaml", "workflows/hello.yaml"):
        assert (demo / name).stat().st_mode & 0o777 == 0o666, name


@pytest.mark.case("C116")
def test_a_link_in_the_place_of_a_file_of_the_state_is_refused(project, tmp_path):
    here = project("steps: {a: {run: 'exit 3'}}")
    here.run("apply")
    precious = tmp_path / "precious"
    precious.write_text("mine")
    for name in ("lease", "lease.json", "events.2.jsonl"):
        path = Path(here.paths().root, name)
        path.unlink(missing_ok=True)
        path.symlink_to(precious)
        done = here.run("resume")
        assert done.code in {6, 10}, done
        assert precious.read_text() == "mine"
        path.unlink()


# --- references to runs ---------------------------------------------------------------------------


def test_a_run_is_meant_by_its_id_a_beginning_of_it_or_latest(project):
    here = project("steps: {a: {run: 'exit 3'}}")
    here.run("apply")
    here.run("apply")
    first, second = here.run_ids
    for reference, meant in ((first, first), (first[:-1], first), ("@latest", second), (None, second)):
        words = ["status", "--json"] if reference is None else ["status", reference, "--json"]
        assert here.run(*words).json["run"] == meant
    assert here.run("logs", "-r", first).code == 0
    several = here.run("status", "20")
    assert several.code == 2
    assert "`20` means 2 runs" in several.err
    for nonsense in ("../..", "", "no such"):
        assert here.run("status", nonsense).code == 2


# --- logs and events ------------------------------------------------------------------------------


def test_logs_of_all_tasks_come_in_the_order_of_their_start_with_the_last_attempt_of_each(project):
    here = project(
        """
        steps:
          late: {needs: early, run: 'echo l1; echo l2'}
          early:
            run: 'echo "try $CREWFLOW_ATTEMPT"; printf unended; test "$CREWFLOW_ATTEMPT" = 2'
            retry: {max_attempts: 2, delay: 0s}
          silent: {needs: late, run: "true"}
        """
    )
    assert here.run("apply").code == 0
    early = "early | try 2\nearly | unended\n"
    assert here.run("logs").out == f"{early}late | l1\nlate | l2\n"
    assert here.run("logs", "-f").out == f"early | try 1\nearly | unended\n{early}late | l1\nlate | l2\n"
    assert here.run("logs", "early").out == "try 2\nunended"
    logs = here.run("logs", "--json").json["logs"]
    assert [(log["task"], log["attempt"], log["text"]) for log in logs] == [
        ("early", 2, "try 2\nunended"),
        ("late", 1, "l1\nl2\n"),
        ("silent", 1, ""),
    ]
    assert Path(logs[0]["path"]).exists()


@pytest.mark.parametrize("name", ["t[3.11]", "t:3.11"])
def test_a_leg_of_a_fan_out_is_named_in_two_ways(project, name):
    here = project('steps: {t: {matrix: {p: ["3.11", "3.12"]}, run: \'echo "${{ matrix.p }}"\'}}')
    here.run("apply")
    assert here.run("logs", name).out == "3.11\n"
    wrong = here.run("logs", "t:3.13")
    assert wrong.code == 2
    assert wrong.err.splitlines()[-1] in {"hint: did you mean `t[3.11]`?", "hint: did you mean `t[3.12]`?"}


def test_a_run_can_be_followed_to_its_end_by_logs_and_events(project, until):
    here = project(
        """
        steps:
          a: {run: 'echo first; touch up; while ! test -e go; do sleep 0.02; done; echo last'}
          b: {needs: a, run: 'echo b'}
        """
    )
    running = here.start("apply", "-q")
    until((here.root / "up").exists, process=running)
    logs, events = here.start("logs", "-f"), here.start("events", "-f", "--json")
    assert logs.stdout.readline() == b"a | first\n"
    (here.root / "go").touch()

    assert logs.communicate(timeout=60)[0] == b"a | last\nb | b\n"
    document = json.loads(events.communicate(timeout=60)[0])
    assert running.wait(timeout=60) == logs.returncode == events.returncode == 0
    assert [r["type"] for r in document["events"]] == [r["type"] for r in here.records()]
    assert document["run"] == here.run_ids[0]


def test_following_ends_when_the_engine_is_killed(project, until):
    here = project("steps: {a: {run: 'touch up; exec sleep 600'}}")
    running = here.start("apply", "-q")
    until((here.root / "up").exists, process=running)
    following = here.start("events", "-f")
    following.stdout.readline()
    running.kill()
    running.communicate(timeout=60)
    following.communicate(timeout=60)
    assert following.returncode == 0


def test_following_a_run_that_was_resumed_does_not_end_with_its_first_generation(project, until):
    script = "test -e one || { touch one; exit 1; }; while ! test -e go; do sleep 0.02; done"
    here = project(f"steps: {{a: {{run: '{script}'}}}}")
    here.run("apply")
    resuming = here.start("resume", "-q")
    until(lambda: len(here.records("run.generation")) == 2, process=resuming)
    following = here.start("events", "-f", "--json")
    assert b"events" in following.stdout.readline()
    (here.root / "go").touch()
    resuming.communicate(timeout=60)
    rest = b'{"events": [' + following.communicate(timeout=60)[0]
    assert [r["state"] for r in json.loads(rest)["events"] if r["type"] == "run.ended"] == [
        "failed",
        "succeeded",
    ]


# --- init -----------------------------------------------------------------------------------------


def test_init_writes_a_project_that_runs_at_once_and_touches_nothing_that_exists(project):
    here = project({})
    done = here.run("init", "my shop")
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines() == [
        "wrote my shop/crewflow.yaml",
        "wrote my shop/workflows/hello.yaml",
        "hint: `crewflow -C 'my shop' plan` shows what would run, `crewflow -C 'my shop' apply` runs it",
    ]
    assert here.run("-C", "my shop", "validate", "--strict").code == 0
    assert here.run("-C", "my shop", "apply", "-i", "who=you").code == 0
    assert here.run("-C", "my shop", "logs", "greet").out == "hello, you\n"

    (here.root / "my shop/workflows/hello.yaml").write_text("mine")
    (here.root / "my shop/crewflow.yaml").unlink()
    again = here.run("init", "my shop")
    assert again.code == 2
    assert again.err.startswith("error: `workflows/hello.yaml` exists already\n")
    assert not (here.root / "my shop/crewflow.yaml").exists()


@pytest.mark.parametrize("name", ["7up", "-x", "é", "a b", "x" * 100])
def test_init_makes_a_valid_name_of_any_folder(project, name):
    here = project({}, name=f"in-{len(name)}")
    assert here.run("init", f"./{name}").code == 0
    assert here.run("-C", f"./{name}", "validate").code == 0
