"""Large results: beside the journal, found again, and not taken when they were changed."""

import json
from pathlib import Path

import pytest

from crewflow.errors import StateError
from crewflow.run.states import Outcome
from crewflow.state.paths import RunPaths
from crewflow.state.results import LARGEST_IN_RECORD, bring_back, file_hash, move_large


@pytest.fixture
def run(tmp_path):
    paths = RunPaths(str(tmp_path / "run"))
    Path(paths.attempt("a", 1)).mkdir(parents=True)
    return paths


def facts(**more):
    return {"task": "a", "attempt": 1, "outcome": "succeeded", **more}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"result": None},
        {"result": "short"},
        {"outputs": {"x": "y" * 1000}},
        {"result": "x" * (LARGEST_IN_RECORD - len('{"result":""}'))},
    ],
)
def test_small_results_stay_in_the_record(run, given):
    assert move_large(facts(**given), run) == facts(**given)
    assert list(Path(run.attempt("a", 1)).iterdir()) == []


@pytest.mark.parametrize(
    "given",
    [
        {"result": "x" * (LARGEST_IN_RECORD - len('{"result":""}') + 1)},
        {"result": [1] * LARGEST_IN_RECORD},
        {"outputs": {"x": "é" * LARGEST_IN_RECORD}, "result": 1},
        {"outputs": {"x": "\ud83d" + "y" * LARGEST_IN_RECORD}},
    ],
)
def test_large_results_are_kept_in_a_file_and_brought_back_as_they_were(run, given):
    kept = move_large(facts(**given), run)

    assert len(json.dumps(kept)) < 300
    assert kept["stored"]["size"] == Path(run.attempt("a", 1), "result.json").stat().st_size
    back = bring_back(kept, run)
    assert {name: back[name] for name in given} == given


def test_a_record_without_large_results_is_brought_back_as_it_is(run):
    assert bring_back(facts(result=1), run) == facts(result=1)


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("{}")])
def test_a_stored_result_that_was_changed_is_refused_and_named(run, damage):
    kept = move_large(facts(result="x" * 20_000), run)
    path = Path(run.attempt("a", 1), "result.json")
    damage(path)

    with pytest.raises(StateError, match=r"result\.json` is missing or was changed.*result of `a`"):
        bring_back(kept, run)


def test_the_hash_of_a_file_that_is_not_there_is_none(tmp_path):
    assert file_hash(str(tmp_path / "none")) is None
    assert file_hash(str(tmp_path)) is None


def test_a_large_output_moves_between_steps_and_survives_a_resume(scripted):
    text = """
        steps:
          a: {run: "true", outputs: {x: string}}
          b: {needs: a, run: [tell, "${{ steps.a.outputs.x | length }}"]}
        """
    big = "x" * 100_000
    outcomes = {
        "a": {"outcome": Outcome.SUCCEEDED, "outputs": {"x": big}},
        ("b", 1): Outcome.FAILED,
    }
    run = scripted(text)
    run.apply((), outcomes)
    assert run.attempt("b").action == ("tell", "100000")
    assert big not in Path(run.paths.segment(1)).read_text()

    run.resume()
    assert run.started == ["b"]
    assert run.attempt("b", 2).action == ("tell", "100000")
    assert run.states == {"a": "succeeded", "b": "succeeded"}


def test_a_large_output_that_was_changed_stops_a_resume(scripted):
    run = scripted("steps: {a: {run: 'true', outputs: {x: string}}, b: {needs: a, run: 'true'}}")
    big = {"outcome": Outcome.SUCCEEDED, "outputs": {"x": "x" * 100_000}}
    run.apply((), {"a": big, "b": Outcome.FAILED})
    Path(run.paths.attempt("a", 1), "result.json").write_text("{}")

    with pytest.raises(StateError, match="missing or was changed"):
        run.resume()
    assert run.executor.started == []
