import pytest

from crewflow.spec.kinds import kind_of
from crewflow.spec.source import read_documents


def problem_of(text, file="f.yaml"):
    (document,), _ = read_documents(file, text.encode())
    return kind_of(document)[1]


@pytest.mark.parametrize("file", ["crewflow.yaml", "crewflow.yml"])
@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n"])
def test_settings_that_say_nothing_begin_with_their_own_kind(file, text):
    (problem,) = read_documents(file, text.encode())[1]

    assert problem.hint == "begin with `kind: project`"


def test_another_file_that_says_nothing_is_meant_to_be_a_workflow():
    assert read_documents("f.yaml", b"")[1][0].hint == "begin with `kind: workflow`"


def test_a_document_without_a_kind_is_guessed_by_its_file_and_its_keys():
    assert problem_of("name: a\n").hint == "begin with `kind: workflow`"
    assert problem_of("name: a\n", "crewflow.yaml").hint == "begin with `kind: project`"
    assert problem_of("default_workflow: a\n").hint == "begin with `kind: project`"


def test_a_workflow_of_github_is_known_as_one():
    problem = problem_of("name: CI\non: push\njobs: {a: {steps: [{run: make}]}}\n")

    assert problem.message.endswith("this looks like a GitHub Actions workflow")
    assert problem.hint.startswith("begin with `kind: workflow`")


@pytest.mark.parametrize("kind", ["agent", "team", "schedule"])
def test_a_document_in_the_folder_of_a_kind_begins_with_that_kind(kind):
    assert problem_of("name: x\n", f"{kind}s/x.yaml").hint == f"begin with `kind: {kind}`"


@pytest.mark.parametrize("kind", ["agent", "team", "schedule", "workflow", "project"])
def test_a_kind_of_the_language_is_known(kind):
    assert problem_of(f"kind: {kind}\n") is None
