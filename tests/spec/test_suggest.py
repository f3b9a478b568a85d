import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.spec.suggest import did_you_mean, nearest

KEYS = ["run", "python", "needs", "timeout", "max_parallel", "for_each", "if"]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("rn", "run"),
        ("runn", "run"),
        ("urn", "run"),
        ("need", "needs"),
        ("tiemout", "timeout"),
        ("max-parallel", "max_parallel"),
        ("ForEach", "for_each"),
        ("fi", "if"),
    ],
)
def test_a_slip_finds_its_name(word, name):
    assert nearest(word, KEYS) == name


@pytest.mark.parametrize("word", ["", "zebra", "x", "q" * 10_000])
def test_what_is_near_nothing_gets_no_answer(word):
    assert nearest(word, KEYS) is None
    assert did_you_mean(word, KEYS) is None


def test_the_hint_is_a_question():
    assert did_you_mean("tets", ["build", "test"]) == "did you mean `test`?"


def test_of_equally_near_names_the_first_wins():
    assert nearest("ab", ["abx", "aby"]) == "abx"


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=5))
def test_the_answer_is_one_of_the_names_and_a_name_is_nearest_to_itself(word, names):
    assert nearest(word, names) in {None, *names}
    if word in names:
        assert nearest(word, [word]) == word
