"""Every exit code of the table, from real runs."""

import os
import resource
import signal
from pathlib import Path

import pytest

from crewflow.clock import SystemClock
from crewflow.errors import ExitCode
from crewflow.state.journal import Journal, read_journal
from crewflow.state.lease import acquire


def check(done, code):
    assert "Traceback" not in done.out + done.err
    assert done.code == code, done
    return done


@pytest.mark.case("C080")
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("steps: {a: {run: 'true'}}", ExitCode.DONE),
        ("steps: {a: {run: 'false'}}", ExitCode.RUN_FAILED),
        ("steps: {a: {run: 'false', allow_failure: true}}", ExitCode.DONE),
        ("steps: {a: {run: 'true'}}\nfinally: {b: {run: 'false'}}", ExitCode.RUN_FAILED),
        ("on_failure: cancel\nsteps: {a: {run: 'false'}}", ExitCode.CANCELLED),
        ("steps: {a: {rum: 'true'}}", ExitCode.INVALID),
        ("steps: {a: {run: 'true', reuse: true}}", ExitCode.INVALID),
        ("steps: {a: {needs: b, run: 'true'}}", ExitCode.INVALID),
    ],
)
@pytest.mark.parametrize("executor", ["local", "inline"])
def test_how_a_run_ends_is_what_apply_exits_with(project, text, code, executor):
    check(project(text).run("apply", "--executor", executor), code)


def test_a_policy_of_the_command_line_decides(project):
    here = project("steps: {a: {run: 'false'}}")
    check(here.run("apply", "--on-failure", "cancel"), ExitCode.CANCELLED)
    check(here.run("apply", "--on-failure=stop"), ExitCode.RUN_FAILED)


def test_wrong_usage(project):
    here = project({"workflows/a.yaml": "kind: workflow\nname: a\nsteps: {a: {run: 'true'}}\n"})
    for words in (["apply", "b"], ["apply", "nowhere.yaml"], ["apply", "-j", "x"], ["resume"], ["status"]):
        check(here.run(*words), ExitCode.USAGE)
    here.write({"workflows/b.yaml": "kind: workflow\nname: b\nsteps: {a: {run: 'true'}}\n"})
    done = check(here.run("apply"), ExitCode.USAGE)
    assert done.err == (
        "error: this project has several workflows, and no `default_workflow`\nhint: name one: `a`, `b`\n"
    )
    check(here.run("apply", "b"), ExitCode.DONE)
    check(here.run("apply", "workflows/a.yaml"), ExitCode.DONE)
    check(here.run("resume"), ExitCode.USAGE)


@pytest.mark.parametrize("words", [["resume"], ["resume", "@latest", "--json"]])
def test_a_run_that_is_under_way_is_held(project, until, words):
    here = project("steps: {a: {run: 'touch up; while test ! -e go; do sleep 0.05; done'}}")
    running = here.start("apply")
    until((here.root / "up").exists, process=running)

    done = check(here.run(*words), ExitCode.HELD)
    said = done.json["error"]["message"] if "--json" in words else done.err
    assert f"is held by process {running.pid}" in said
    if "--json" in words:
        assert done.json["error"]["reason"] == "held"
    (here.root / "go").touch()
    running.communicate(timeout=60)
    assert running.returncode == 0


@pytest.mark.case("C110")
@pytest.mark.parametrize("damage", ["a file", "a link", "read-only"])
def test_a_state_folder_that_cannot_be_written_stops_apply_before_the_first_task(project, damage):
    here = project("steps: {a: {run: 'touch ran'}}")
    state = here.root / ".crewflow"
    if damage == "a file":
        state.write_text("mine")
    elif damage == "a link":
        state.symlink_to(here.root / "elsewhere")
    else:
        if os.geteuid() == 0:
            pytest.skip("root may write anywhere")
        state.mkdir(mode=0o500)

    assert here.run("validate").code == 0
    assert here.run("plan").code == 0
    done = check(here.run("apply"), ExitCode.STATE)
    assert str(state) in done.err
    assert not (here.root / "ran").exists()


@pytest.mark.case("C106")
def test_a_disk_that_is_full_ends_the_run_with_the_path_and_resume_goes_on(project):
    """A limit on the size of files stands for the disk; the journal meets it in the middle of the run."""
    text = "".join(
        f"  s{n}: {{run: 'echo {n} >> done'{f', needs: s{n - 1}' if n else ''}}}\n" for n in range(20)
    )
    here = project(f"steps:\n{text}")
    limit = (6000, 6000)
    done = check(
        here.run("apply", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)),
        ExitCode.STATE,
    )
    assert "events.1.jsonl`: no space left" in done.err
    assert f"hint: once that is mended, `crewflow resume {here.run_ids[0]}` goes on" in done.err
    before = here.lines("done")
    assert 0 < len(before) < 20
    assert here.status()["state"] == "interrupted"

    check(here.run("resume"), ExitCode.DONE)
    lines = here.lines("done")
    assert lines[: len(before)] == before
    assert sorted(map(int, set(lines))) == list(range(20))
    assert len(lines) <= 21, "at most the one whose end could not be recorded ran twice"


@pytest.mark.case("C109")
@pytest.mark.parametrize("damage", ["plan.json", "events.1.jsonl"])
@pytest.mark.parametrize("content", ["", '{"a":', '{"schema": 999}\n'])
def test_a_damaged_run_is_named_and_harms_no_other(project, damage, content):
    here = project("steps: {a: {run: 'false'}}")
    here.run("apply")
    here.run("apply")
    path = Path(here.paths().root, damage)
    path.write_text(content)
    before = path.read_bytes()

    done = here.run("status")
    if damage == "plan.json" or done.code:
        check(done, ExitCode.STATE)
        assert str(path) in done.err
    listed = check(here.run("runs", "list", "--json"), ExitCode.DONE).json["runs"]
    assert [row["run"] for row in listed] == here.run_ids[::-1]
    assert here.run("status", here.run_ids[0]).code == 0
    assert path.read_bytes() == before


def test_a_bug_is_told_as_one_with_a_file_that_has_its_story(project):
    """A journal that is sound, with a record that no crewflow writes."""
    here = project("steps: {a: {run: 'false'}}")
    here.run("apply")
    paths, clock = here.paths(), SystemClock()
    reading = read_journal(paths)
    header = {name: reading.records[0][name] for name in ("run", "workflow", "plan", "slots")}
    lease = acquire(paths, purpose="run", clock=clock)
    journal = Journal.create(paths, 2, header, clock, reading)
    journal.append("attempt.started", {"nothing": "that is known"})
    journal.close()
    lease.release()

    done = check(here.run("status"), ExitCode.BUG)
    first, hint = done.err.splitlines()
    assert first.startswith("error: this is a bug in crewflow; what is known of it is in `")
    assert hint == "hint: please report it with that file"
    log = Path(first.split("`")[1])
    assert log.read_text().startswith("Traceback")
    assert check(here.run("status", "--json"), ExitCode.BUG).json["error"]["reason"] == "bug"
    assert check(here.run("version"), ExitCode.DONE)


@pytest.mark.seed("fault 14")
@pytest.mark.case("C085")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("executor", ["local", "inline"])
def test_a_signal_ends_the_run_politely_and_resume_goes_on(project, until, name, executor):
    text = """
        steps:
          a: {run: 'echo a >> done'}
          b: {needs: a, run: 'touch up; test -e go || sleep 600'}
          c: {needs: b, run: 'echo c >> done'}
        finally:
          clean: {run: 'echo "clean ${{ run.state }}" >> done'}
        """
    here = project(text)
    running = here.start("apply", "--executor", executor)
    until((here.root / "up").exists, process=running)
    os.kill(running.pid, signal.Signals[name])
    out, err = running.communicate(timeout=60)

    assert running.returncode == ExitCode[name], (out, err)
    assert here.states() == {"a": "succeeded", "b": "cancelled", "c": "cancelled", "clean": "succeeded"}
    assert here.status()["state"] == "cancelled"
    assert here.lines("done") == ["a", "clean cancelled"]
    assert b"hint: `crewflow resume" in err

    (here.root / "go").touch()
    check(here.run("resume"), ExitCode.DONE)
    assert here.lines("done") == ["a", "clean cancelled", "c", "clean running"]


@pytest.mark.parametrize(
    ("text", "plain", "asked"),
    [("steps: {a: {run: 'true'}}", 0, 0), ("steps: {a: {run: 'false'}}", 0, 1)],
)
def test_reading_exits_with_0_whatever_the_run_s_state_unless_it_is_asked_for(project, text, plain, asked):
    here = project(text)
    here.run("apply")
    for words in (["status"], ["runs", "show"]):
        assert here.run(*words).code == plain
        assert here.run(*words, "--exit-code").code == asked
    assert here.run("logs").code == here.run("events").code == here.run("runs", "list").code == 0
