"""Files that are large or full of faults cost little, and what is left out is said."""

import pytest

from crewflow.errors import Severity
from crewflow.spec.lines import MAX_DOCUMENTS, MAX_FAULTS, Lines
from crewflow.spec.load import load_file
from crewflow.spec.source import read_documents
from crewflow.spec.suggest import nearest

TOP = "kind: workflow\nname: w\n"


@pytest.fixture
def load(tmp_path):
    """The project and the problems of one file."""

    def load(text):
        file = tmp_path / "file.yaml"
        file.write_text(text, encoding="utf-8")
        return load_file(str(file), str(tmp_path))

    return load


def steps(count, body):
    return TOP + "steps:\n" + "".join(f"  s{number}: {body}\n" for number in range(count))


def test_a_text_is_read_up_to_its_thousandth_fault():
    documents, problems = read_documents("f", b"kind: workflow\n" + b"a: 1\n" * 5_000)
    assert documents == ()
    assert len(problems) == MAX_FAULTS + 1
    assert problems[-1].message == "the file has too many faults"
    assert problems[-1].place.line == MAX_FAULTS + 2


def test_a_file_holds_so_many_documents():
    documents, problems = read_documents("f", b"a: 1\n---\n" * MAX_DOCUMENTS + b"a: 1\n")
    assert len(documents) == MAX_DOCUMENTS
    assert [problem.message for problem in problems] == ["the file holds too many documents"]


def test_one_document_less_is_read():
    documents, problems = read_documents("f", b"a: 1\n---\n" * (MAX_DOCUMENTS - 1) + b"a: 1\n")
    assert (len(documents), problems) == (MAX_DOCUMENTS, ())


def test_a_document_with_too_many_faults_is_told_of_and_not_built(load):
    project, problems = load(steps(MAX_FAULTS + 1, "{run: [x], bad: 1}"))
    assert len(problems) == MAX_FAULTS + 1
    assert [problem.rule for problem in problems].count("CF011") == 1
    assert project.workflows == {}


def test_a_document_with_just_so_many_faults_is_built(load):
    project, problems = load(steps(MAX_FAULTS, "{run: [x], bad: 1}"))
    assert {problem.rule for problem in problems} == {"CF101"}
    assert len(problems) == MAX_FAULTS
    assert len(project.workflows["w"].steps) == MAX_FAULTS


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("bad: {run: x, bad: 1}", "CF101"),
        ("bad: {run: 1}", "CF103"),
        ("b d: {run: x}", "CF104"),
        ("bad: {run: x, timeout: soon}", "CF108"),
    ],
)
def test_one_fault_among_many_steps_is_told_as_among_few(line, rule, load):
    """What is right in a large mapping is left out before jsonschema reads it."""
    few, many = (load(f"{steps(count, '{run: [x]}')}  {line}\n")[1] for count in (3, 300))
    assert [problem.rule for problem in many] == [rule]
    assert [(p.message, p.hint, p.place.column) for p in many] == [
        (p.message, p.hint, p.place.column) for p in few
    ]


def test_expressions_with_too_many_faults_are_told_of(load):
    _, problems = load(steps(MAX_FAULTS + 9, "{run: [x, '${{ 1 + }}']}"))
    told = [problem.rule for problem in problems]
    assert (told.count("CF110"), told.count("CF011")) == (MAX_FAULTS, 1)


def test_faults_of_one_long_line_share_its_text(load):
    _, problems = load(
        TOP + "steps: {" + ", ".join(f"s{n}: {{run: [x], bad: 1}}" for n in range(200)) + "}\n"
    )
    assert len({id(problem.source_line) for problem in problems}) == 1


def test_lines_are_told_apart_whatever_was_asked_before():
    lines = Lines("f", "a\nb\r\nc")
    assert [lines.line_text(number) for number in (1, 2, 1, 3, 4, 0, 3)] == [
        "a",
        "b",
        "a",
        "c",
        None,
        None,
        "c",
    ]


def test_openings_that_are_never_closed_are_told_a_few_times(load):
    _, problems = load(TOP + "steps: {a: {run: ['" + "${{ + }} " * 500 + "']}}\n")
    assert 1 < len([p for p in problems if p.severity is Severity.ERROR]) <= 20


@pytest.mark.parametrize(
    ("word", "meant"), [("tets", "test"), ("buidl", "build"), ("lint", "lint"), ("zzz", None)]
)
def test_what_is_plainly_too_far_is_left_out_and_nothing_else(word, meant):
    assert nearest(word, ["test", "build", "lint", "a-much-longer-name"]) == meant
