"""Each file in `examples/valid` loads without a word; each in `examples/invalid` says exactly its `.out`.

A new case is a new file. `WRITE_OUT=1 pytest tests/test_examples.py` writes the `.out` files anew: read
the difference before you keep it.
"""

import os
from pathlib import Path

import jsonschema
import jsonschema_rs
import pytest

from crewflow.report.problems import to_text
from crewflow.spec.kinds import kind_of
from crewflow.spec.load import load_file
from crewflow.spec.schema import schema
from crewflow.spec.source import read_documents

EXAMPLES = Path(__file__).parent / "examples"
VALID = sorted((EXAMPLES / "valid").glob("*.yaml"))
INVALID = sorted((EXAMPLES / "invalid").glob("*.yaml"))


def name_of(path):
    return path.stem


@pytest.mark.parametrize("file", VALID, ids=name_of)
def test_a_valid_example_has_no_problems(file):
    project, problems = load_file(str(file), str(file.parent))

    assert to_text(problems, color=False) == ""
    assert project.workflows


@pytest.mark.parametrize("file", INVALID, ids=name_of)
def test_an_invalid_example_says_exactly_what_stands_beside_it(file):
    _, problems = load_file(str(file), str(file.parent))
    said = to_text(problems, color=False)
    expected = file.with_suffix(".out")
    if os.environ.get("WRITE_OUT"):
        expected.write_text(said, encoding="utf-8")

    assert said == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", INVALID, ids=name_of)
def test_no_message_is_long_or_speaks_of_the_machinery(file):
    _, problems = load_file(str(file), str(file.parent))
    for problem in problems:
        told = f"{problem.message} {problem.hint}"
        assert len(problem.message) < 300
        assert not any(word in told for word in ("NoneType", "dict", "True", "False", "schema", "Traceback"))
        assert "given schemas" not in told
        assert problem.message[0].islower() or problem.message[0] == "`"


def test_no_expected_text_is_left_without_its_example():
    assert [out for out in INVALID[0].parent.glob("*.out") if not out.with_suffix(".yaml").is_file()] == []


@pytest.mark.parametrize("file", VALID + INVALID, ids=name_of)
def test_the_fast_validator_and_the_slow_one_agree(file):
    documents, _ = read_documents(file.name, file.read_bytes())
    for document in documents:
        kind, _ = kind_of(document)
        if kind is not None:
            fast = jsonschema_rs.Draft202012Validator(schema(kind)).is_valid(document.plain_data)
            slow = jsonschema.Draft202012Validator(schema(kind)).is_valid(document.plain_data)
            assert fast == slow
