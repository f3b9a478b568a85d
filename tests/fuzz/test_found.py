"""What mutated files have found, each as small as it was."""

import pytest
from cases import failure_of

from crewflow.spec.suggest import did_you_mean

FOUND = {
    "an unknown alias in place of a script": "kind: workflow\nname: w\nsteps: {a: {run: *b}}\n",
    "a pattern with a set that may mean another one day": (
        'kind: workflow\nname: w\nsteps: {a: {run: b}}\ninputs: {a: {pattern: "[[a]--b]", default: a}}\n'
    ),
    "a value of two lines that an exclusion names": (
        "kind: workflow\nname: w\nsteps:\n  t: {run: x, matrix: {e: [a], exclude: [{e: 'a\n\n  b'}]}}\n"
    ),
    "a gate that shows an expression": (
        "kind: workflow\nname: w\nsteps: {c: {approval: {show: ['${{inputs.e}}']}}}\n"
    ),
    "a prompt file of two lines": (
        'kind: workflow\nname: w\nteam: default\nsteps: {c: {role: critic, prompt_file: "a\\nb"}}\n'
    ),
    "a key twice whose text is of two lines": 'kind: workflow\nname: w\n"x-a\\n": 1\n"x-a\\n": 2\n',
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_what_was_found_is_found_no_more(text, tmp_path):
    assert failure_of(text.encode(), tmp_path) is None


def test_a_name_of_two_lines_is_suggested_in_one():
    assert did_you_mean("abc", ["abc\n"]) == "did you mean `abc\\n`?"
