"""Each file in `examples/valid` is checked without a word; each in `examples/invalid` says its `.out`.

That is what `crewflow validate FILE` prints. A new case is a new file. `WRITE_OUT=1 pytest
tests/test_examples.py` writes the `.out` files anew: read the difference before you keep it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import jsonschema_rs
import pytest

from crewflow.commands import validate
from crewflow.graph.compile import check_workflow, compile_workflow
from crewflow.report.console import Console
from crewflow.spec.inputs import resolve_inputs
from crewflow.spec.kinds import kind_of
from crewflow.spec.load import load_file
from crewflow.spec.schema import schema
from crewflow.spec.source import read_documents

EXAMPLES = Path(__file__).parent / "examples"
VALID = sorted((EXAMPLES / "valid").glob("*.yaml"))
INVALID = sorted((EXAMPLES / "invalid").glob("*.yaml"))
GIVEN = {"everything": [("goal", "fix")]}
"""Inputs of valid examples that need some."""


def name_of(path):
    return path.stem


def problems_of(file):
    project, problems = load_file(str(file), str(file.parent))
    checked = (check_workflow(project, workflow) for workflow in project.workflows.values())
    return [*problems, *(problem for found in checked for problem in found)]


def said_by_validate(file, capsys):
    """What the command prints of a file, and its exit code."""
    code = validate.run(
        Console(color="never"),
        str(file.parent),
        paths=[file.name],
        output="text",
        strict=False,
        fail_level="error",
    )
    sys.stdout.flush()
    return capsys.readouterr().out, code


@pytest.fixture
def alone(tmp_path):
    """A copy of a file in a folder that is no project."""
    return lambda file: Path(shutil.copy(file, tmp_path))


@pytest.mark.parametrize("file", VALID, ids=name_of)
def test_a_valid_example_has_no_problems(file, alone, capsys):
    assert said_by_validate(alone(file), capsys) == ("", 0)


@pytest.mark.parametrize("file", VALID, ids=name_of)
def test_a_valid_example_can_be_compiled(file):
    project, _ = load_file(str(file), str(file.parent))

    for workflow in project.workflows.values():
        inputs = resolve_inputs(workflow, GIVEN.get(file.stem, []))
        assert compile_workflow(project, workflow, inputs).tasks


@pytest.mark.parametrize("file", INVALID, ids=name_of)
def test_an_invalid_example_says_exactly_what_stands_beside_it(file, alone, capsys):
    said, code = said_by_validate(alone(file), capsys)
    expected = file.with_suffix(".out")
    if os.environ.get("WRITE_OUT"):
        expected.write_text(said, encoding="utf-8")

    assert said == expected.read_text(encoding="utf-8")
    assert code == (3 if ": error " in said else 0)


@pytest.mark.parametrize("file", [INVALID[0], INVALID[-1], EXAMPLES / "invalid" / "graph.yaml"], ids=name_of)
def test_the_command_line_says_the_same(file, alone):
    copy = alone(file)
    command = [sys.executable, "-P", "-m", "crewflow", "validate", copy.name, "--color", "never"]
    done = subprocess.run(command, cwd=copy.parent, capture_output=True, text=True, timeout=60, check=False)

    assert (done.stdout, done.stderr, done.returncode) == (
        file.with_suffix(".out").read_text(encoding="utf-8"),
        "",
        3,
    )


@pytest.mark.parametrize("file", INVALID, ids=name_of)
def test_no_message_is_long_or_speaks_of_the_machinery(file):
    for problem in problems_of(file):
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
