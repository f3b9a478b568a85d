"""Beginning runs and taking them up again, with the real files and a scripted executor."""

import contextlib
import json
import os
import shutil
from pathlib import Path

import pytest

from crewflow.errors import HeldError, StateError, UsageError
from crewflow.graph.plan import to_json
from crewflow.run.states import Outcome, RunState
from crewflow.state.journal import Journal
from crewflow.state.lease import acquire, holder
from crewflow.state.paths import RunPaths
from crewflow.state.replay import tell_story
from crewflow.state.results import file_hash
from crewflow.state.runs import create_run, new_run_id

FAILED = Outcome.FAILED

CHAIN = """
    steps:
      a: {run: "true"}
      b: {needs: a, run: "true"}
      c: {needs: b, run: "true"}
    finally:
      clean: {run: "true"}
"""


class Crash(BaseException):
    """The engine dies: nothing after it happens."""


def crash(_):
    raise Crash


def crashed(run, order, outcomes=None):
    """A run whose engine died after `order`."""
    with pytest.raises(Crash):
        run.apply([*order, crash], outcomes)
    return run


def test_a_run_ends_with_its_lease_free_its_executor_closed_and_its_snapshots_true(scripted):
    run = scripted(CHAIN).apply()

    assert holder(run.paths) is None
    assert run.executor.closed
    snapshot = json.loads(Path(run.paths.run_snapshot).read_text())
    assert (snapshot["state"], snapshot["counts"]) == ("succeeded", {"succeeded": 4})
    assert snapshot["seq"] == run.records()[-1]["seq"]


def test_resume_runs_again_what_did_not_succeed_and_finally(scripted):
    run = scripted(CHAIN).apply((), {("b", 1): FAILED})
    assert run.started == ["a", "b", "clean"]

    run.resume()
    assert run.started == ["b", "c", "clean"]
    assert run.state is RunState.SUCCEEDED
    assert [a.number for a in run.executor.attempts] == [2, 1, 2]


def test_what_was_made_before_a_resume_is_part_of_the_story_after_it(scripted):
    text = "steps: {a: {run: 'true', artifacts: {o: o.txt}}, b: {needs: a, run: 'true'}}"
    run = scripted(text)
    run.apply((), {"a": made(run, "good"), "b": FAILED})

    run.resume()
    assert [artifact["path"] for artifact in run.story.artifacts()] == ["o.txt"]


def test_a_run_that_succeeded_is_not_resumed(scripted):
    run = scripted(CHAIN).apply()
    with pytest.raises(UsageError, match="nothing is left to do"):
        run.resume()


@pytest.mark.case("C086")
def test_resume_after_a_crash_says_what_was_lost_and_goes_on(scripted):
    run = crashed(scripted(CHAIN), ["a"])
    assert tell_story(run.paths).shown_state() is RunState.INTERRUPTED

    run.resume()
    assert run.started == ["b", "c", "clean"]
    assert [(r["task"], r["attempt"]) for r in run.records("attempt.lost")] == [("b", 1)]
    assert run.state is RunState.SUCCEEDED


@pytest.mark.parametrize("count", range(4))
def test_a_run_that_crashes_again_and_again_comes_to_its_end(scripted, count):
    run = crashed(scripted(CHAIN), ["a"])
    for _ in range(count):
        with pytest.raises(Crash):
            run.resume([crash])
    run.resume()

    assert run.state is RunState.SUCCEEDED
    assert [r["generation"] for r in run.records("run.generation")] == list(range(1, count + 3))
    assert max(r["attempt"] for r in run.records("attempt.started") if r["task"] == "a") == 1


@pytest.mark.case("C167")
def test_what_may_not_run_twice_and_may_have_run_is_not_run_again(scripted):
    text = "steps: {a: {run: 'true', idempotent: false}, b: {run: 'true'}}"
    run = crashed(scripted(text), ["b"])

    with pytest.raises(UsageError, match=r"`a` may have run and may not run twice"):
        run.resume()
    assert run.executor.started == []
    assert run.records("run.generation")[-1]["generation"] == 1


@pytest.mark.case("C167")
def test_attempts_that_were_used_up_before_a_crash_count_after_it(scripted):
    text = "steps: {a: {run: 'true', retry: {max_attempts: 3, delay: 1s}}}"
    run = crashed(scripted(text), ["a"], {"a": FAILED})

    run.resume((), {"a": FAILED})
    assert [a.number for a in run.executor.attempts] == [2, 3]
    assert run.state is RunState.FAILED


@pytest.mark.case("C080")
def test_a_run_that_someone_holds_is_not_resumed(scripted):
    run = scripted(CHAIN).apply((), {"b": FAILED})
    lease = acquire(run.paths, purpose="run", clock=run.clock)
    try:
        with pytest.raises(HeldError, match=f"held by process {os.getpid()}"):
            run.resume()
    finally:
        lease.release()
    assert run.resume().state is RunState.SUCCEEDED


@pytest.mark.case("C103")
@pytest.mark.parametrize(
    "torn", [b'{"seq":99,"ts":1.0,"ty', b'{"m":"caf\xc3', b'{"m":\n\n', b"\0" * 4096], ids=repr
)
def test_a_torn_end_of_the_journal_is_cut_told_and_kept_aside(scripted, torn):
    run = crashed(scripted(CHAIN), ["a"])
    with Path(run.paths.segment(1)).open("ab") as journal:
        journal.write(torn)
    before = len(run.records())

    run.resume()
    assert run.state is RunState.SUCCEEDED
    assert Path(run.paths.torn(1)).read_bytes() == torn
    assert [r["seq"] for r in run.records()] == list(range(1, len(run.records()) + 1))
    assert len(run.records()) > before
    told = [r for r in run.seen if r["type"] == "run.generation" and "torn" in r]
    assert [r["torn"]["size"] for r in told] == [len(torn)]


@pytest.mark.case("C131")
def test_a_run_that_was_copied_along_belongs_where_it_was_made(scripted, tmp_path):
    run = scripted(CHAIN).apply((), {"b": FAILED})
    shutil.copytree(run.root, tmp_path / "copy")
    original, run.paths = run.paths, RunPaths(str(tmp_path / "copy/.crewflow/runs" / run.paths.run_id))

    with pytest.raises(UsageError, match="is a copy of"):
        run.resume()
    run.paths = original
    assert run.resume().state is RunState.SUCCEEDED


@pytest.mark.case("C191")
def test_a_plan_that_was_changed_is_refused_with_both_hashes(scripted):
    run = scripted(CHAIN).apply((), {"b": FAILED})
    plan = Path(run.paths.plan())
    plan.write_bytes(plan.read_bytes().replace(b'"true"', b'"evil"'))

    with pytest.raises(StateError, match=r"was changed: its sha256 is `[0-9a-f]{64}`, and .* `[0-9a-f]{64}`"):
        run.resume()
    assert run.executor.started == []


@pytest.mark.case("C191")
def test_a_plan_of_a_newer_format_is_refused(scripted):
    run = scripted(CHAIN)
    state = run.apply().paths.root.rpartition("/runs/")[0]
    newer = json.dumps({**to_json(run.plan), "format": 999}).encode()
    run.paths = create_run(state, new_run_id(run.clock.wall()), newer)

    with pytest.raises(StateError, match="no plan that this version reads"):
        run.resume()


def test_a_run_that_died_before_its_first_record_is_pending_and_begun_by_resume(scripted):
    run = scripted(CHAIN)
    state = run.apply().paths.root.rpartition("/runs/")[0]
    run.paths = create_run(state, new_run_id(run.clock.wall()), run.plan.to_bytes())

    assert tell_story(run.paths).shown_state() is RunState.PENDING
    run.resume()
    assert run.state is RunState.SUCCEEDED
    assert [r["generation"] for r in run.records("run.generation")] == [1]


def test_the_limit_of_a_workflow_holds_after_a_resume_too(scripted):
    text = "max_parallel: 2\nsteps: {t: {for_each: [1, 2, 3, 4, 5], run: 'true'}}"
    run = scripted(text, slots=4).apply((), {f"t[{n}]": FAILED for n in range(5)})
    assert run.executor.most == 2

    run.resume()
    assert run.executor.most == 2
    assert [r["slots"] for r in run.records("run.generation")] == [2, 2]


# --- artifacts ------------------------------------------------------------------------------------


def made(run, text):
    path = run.root / "o.txt"
    path.write_text(text)
    artifact = {"id": "o", "path": "o.txt", "sha256": file_hash(str(path)), "size": len(text)}
    return {"outcome": Outcome.SUCCEEDED, "artifacts": (artifact,)}


@pytest.mark.case("C193")
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("other")])
def test_an_artifact_that_changed_since_it_was_made_stops_a_resume_and_is_named(scripted, damage):
    text = "steps: {a: {run: 'true', artifacts: {o: o.txt}}, b: {needs: a, run: 'true'}}"
    run = scripted(text)
    run.apply((), {"a": made(run, "good"), "b": FAILED})
    damage(run.root / "o.txt")

    with pytest.raises(UsageError, match=r"`o\.txt` of `a`"):
        run.resume()
    assert run.executor.started == []
    (run.root / "o.txt").write_text("good")
    assert run.resume().state is RunState.SUCCEEDED


@pytest.mark.case("C121")
def test_what_a_failed_attempt_made_is_no_artifact_and_is_made_again(scripted):
    text = "steps: {a: {run: 'true', artifacts: {o: o.txt}}, b: {needs: a, run: 'true'}}"
    run = scripted(text)
    run.apply((), {"a": {**made(run, "half"), "outcome": FAILED}})
    assert run.states == {"a": "failed", "b": "skipped"}
    assert run.story.artifacts() == []

    (run.root / "o.txt").unlink()
    run.resume()
    assert run.started == ["a", "b"]


# --- failures of the system -----------------------------------------------------------------------


class FullDisk:
    """A disk that takes no more records after some."""

    def __init__(self, monkeypatch, count):
        self.left = count
        original = Journal.append

        def append(journal, kind, facts):
            self.left -= 1
            if self.left < 0:
                raise StateError("no space left on the device")
            return original(journal, kind, facts)

        monkeypatch.setattr(Journal, "append", append)


@pytest.mark.case("C106")
@pytest.mark.parametrize("count", range(12))
def test_a_disk_that_is_full_stops_the_run_and_resume_goes_on_where_it_was(scripted, monkeypatch, count):
    run = scripted(CHAIN)
    with monkeypatch.context() as patch:
        FullDisk(patch, count)
        with pytest.raises(StateError, match="no space left"):
            run.apply()
    assert run.executor.closed
    assert holder(run.paths) is None
    ended = {r["task"] for r in run.records("attempt.ended")}

    run.resume()
    assert run.state is RunState.SUCCEEDED
    assert not {"a", "b", "c"} & ended & set(run.started)


@pytest.mark.seed("S21")
@pytest.mark.parametrize("order", [[], ["a"], ["a", "b"], ["a", "b", "clean"]])
def test_a_replayed_run_is_in_the_state_that_the_engine_was_in(scripted, order):
    run = scripted(CHAIN)
    with contextlib.suppress(Crash):
        run.apply([*order, crash], {"b": FAILED})

    story = tell_story(run.paths)
    assert {name: str(task.state) for name, task in story.tasks.items()} == run.states


def test_a_run_whose_very_last_record_is_missing_has_ended_all_the_same(scripted, monkeypatch):
    run = scripted(CHAIN)
    with monkeypatch.context() as patch:
        FullDisk(patch, 12)
        with pytest.raises(StateError):
            run.apply()

    assert tell_story(run.paths).shown_state() is RunState.SUCCEEDED
