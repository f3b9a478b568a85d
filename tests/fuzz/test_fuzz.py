"""Files that were good and bad examples before something happened to them: validate keeps its promises.

Each run mutates anew. `FUZZ_SEED=N` brings the cases back that a failure names, `FUZZ_CASE=M` one of them.
`make long` tries 100,000.
"""

import os
import random
import signal
from collections import Counter

import pytest
from cases import failure_of, seed_texts, shrunk, told
from mutate import mutated
from promise import Broken, Hang, alarm, check_place, check_problems, check_words

from crewflow.errors import Place, Problem
from crewflow.graph.compile import check_workflow
from crewflow.spec.load import load_file

CASES = 5_000
PARTS = 10
SEED = int(os.environ.get("FUZZ_SEED") or random.SystemRandom().randrange(2**32))
ONLY = os.environ.get("FUZZ_CASE")
TEXTS = seed_texts()


@pytest.mark.parametrize("part", range(PARTS) if ONLY is None else [int(ONLY) % PARTS])
def test_a_mutated_file_breaks_no_promise(part, tmp_path):
    for case in range(part, CASES, PARTS) if ONLY is None else [int(ONLY)]:
        failure = told(SEED, case, TEXTS, tmp_path)
        assert failure is None, f"{failure}\n(seed {SEED}, case {case})"


# --- the tools ----------------------------------------------------------------------------------------


def test_a_case_is_the_same_each_time_and_another_in_another_seed():
    assert mutated(TEXTS, 1, 5) == mutated(TEXTS, 1, 5)
    assert mutated(TEXTS, 1, 5) != mutated(TEXTS, 2, 5)


def test_mutated_files_reach_every_stage(tmp_path):
    """Bad characters and syntax, the schema, expressions, the graph; and some files stay valid."""
    file = tmp_path / "file.yaml"
    seen = Counter()
    for case in range(300):
        file.write_bytes(mutated(TEXTS, 0, case)[0])
        project, problems = load_file(str(file), str(tmp_path))
        found = [*problems]
        for workflow in project.workflows.values():
            found += check_workflow(project, workflow)
        seen.update({problem.rule[:3] for problem in found} or {"valid"} if project.workflows else ())
    assert min(seen[stage] for stage in ("CF0", "CF1", "CF2", "CF3", "valid")) > 3, seen


def test_a_failure_is_made_small(tmp_path, monkeypatch):
    def check(data, _folder):
        if b"needle" in data:
            raise Broken("found")

    monkeypatch.setattr("cases.check", check)
    failure = failure_of(b"a: 1\nb: needle and more\nc: 2\n" * 20, tmp_path)
    assert failure == "Broken in what was told: found"
    assert shrunk(b"a: 1\nb: needle and more\nc: 2\n" * 20, failure, tmp_path) == b"needle"


def test_a_hang_is_noticed():
    with pytest.raises(Hang), alarm(0.01):
        signal.pause()


@pytest.mark.parametrize(
    "words", ["a <class 'int'>", "NoneType has no", "Traceback (most", "KeyError('a')", "two\nlines", ""]
)
def test_words_of_the_machinery_are_noticed(words):
    with pytest.raises(Broken):
        check_words(words)


def test_names_of_the_authors_may_be_any_words():
    check_words("unknown step `Traceback`")


@pytest.mark.parametrize("place", [(0, 1, 1), (3, 1, 1), (1, 5, 0), (1, 2, 3)])
def test_a_place_outside_of_the_file_is_noticed(place):
    with pytest.raises(Broken):
        check_place(Place("f", *place), "f", ["abc", ""])


def test_a_capital_at_the_beginning_is_noticed():
    with pytest.raises(Broken, match="capital"):
        check_problems([Problem("CF101", Place("f", 1, 1), "Not so")], "f", b"abc")
