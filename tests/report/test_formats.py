"""Each format of `validate` against what its readers publish, with texts of any kind."""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crewflow.errors import Note, Place, Problem, Severity
from crewflow.report.formats.checked import Checked, fingerprints
from crewflow.report.formats.table import FORMATS, written
from crewflow.report.problems import visible
from crewflow.report.rules import catalogue
from crewflow.spec.ignore import Ignored
from crewflow.spec.schema import schema

PUBLISHED = Path(__file__).parents[1] / "formats"
GITLAB_SEVERITIES = {"info", "minor", "major", "critical", "blocker"}
NASTY = [
    "plain",
    "a::b,c=d%0A%",
    "two\nlines\r\nand\rmore",
    '<a href="x">&amp;</a> ]]> <![CDATA[ \'',
    "\x00\x01\x1b[31mred\x1b[0m\x7f\x85\u2028",
    "\U0001f600 \ufffe \uffff e\u0301 \u202e",
    " blank at the ends \t",
    "",
]


def problem(message="it is wrong", file="workflows/f.yaml", **more):
    place = more.pop("place", Place(file, 3, 5, 4))
    return Problem("CF201", place, message, **{"hint": "do it", "source_line": "    abc def", **more})


def checked(*problems, **more):
    return Checked(tuple(problems), **more)


a_law = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

texts = st.sampled_from(NASTY) | st.text(max_size=20)
names = (st.sampled_from(NASTY) | st.text(max_size=12)).filter(lambda text: "\x00" not in text and text)
places = st.builds(Place, names, st.integers(1, 999), st.integers(1, 999), st.integers(0, 99))
problems = st.builds(
    Problem,
    rule=st.sampled_from(["CF201", "CF113", "CF001"]),
    place=places,
    message=texts,
    hint=st.none() | texts,
    severity=st.sampled_from(Severity),
    notes=st.lists(st.builds(Note, places, texts), max_size=2).map(tuple),
    source_line=st.none() | texts,
)
warnings = problems.map(lambda told: replace(told, severity=Severity.WARNING))
outcomes = st.builds(
    Checked,
    problems=st.lists(problems, max_size=4).map(tuple),
    ignored=st.lists(st.builds(Ignored, warnings, texts), max_size=1).map(tuple),
    files=st.lists(names, max_size=2).map(tuple),
    project=st.just("/repo/shop"),
    repository=st.just("/repo"),
    strict=st.booleans(),
)


# --- readers ------------------------------------------------------------------------------------------


@cache
def validator(name):
    data = json.loads((PUBLISHED / name).read_text(encoding="utf-8"))
    return jsonschema.validators.validator_for(data, default=jsonschema.Draft7Validator)(data)


def read_sarif(text):
    log = json.loads(text)
    validator("sarif-schema-2.1.0.json").validate(log)
    return log["runs"][0]


def read_gitlab(text):
    issues = json.loads(text)
    for issue in issues:
        validator("gitlab-codeclimate.json").validate(issue)
        assert issue["severity"] in GITLAB_SEVERITIES
    return issues


def read_junit(text):
    return ET.fromstring(text.encode("utf-8"))


def read_json(text):
    document = json.loads(text)
    jsonschema.Draft202012Validator(schema("problems")).validate(document)
    return document


def read_github(text):
    """The commands as the runner of GitHub reads them: line by line, properties and data unescaped."""
    return [read_command(line) for line in re.split(r"\r\n|\r|\n", text) if line]


def read_command(line):
    name, properties, data = re.fullmatch(r"::(\w+) ([^:]*?)::(.*)", line).groups()
    pairs = (item.split("=", 1) for item in properties.split(","))
    return name, {key: unescaped(value) for key, value in pairs}, unescaped(data)


def unescaped(text):
    for code, character in {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}.items():
        text = text.replace(code, character)
    return text


READERS = {
    "json": read_json,
    "github": read_github,
    "gitlab": read_gitlab,
    "sarif": read_sarif,
    "junit": read_junit,
}


# --- of every format ------------------------------------------------------------------------------------


def test_every_format_but_text_has_a_reader_here():
    assert set(READERS) == set(FORMATS) - {"text"}


@pytest.mark.parametrize("name", READERS)
def test_an_empty_result_is_a_valid_document(name):
    READERS[name](written(name, checked()))


@pytest.mark.parametrize("name", FORMATS)
@a_law
@given(found=outcomes)
def test_texts_of_any_kind_can_be_written_and_read_back(name, found):
    text = written(name, found)
    READERS.get(name, str)(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "json"])
def test_what_is_ignored_is_in_no_report_for_machines_that_would_show_it(name):
    ignored = Ignored(problem("very odd", severity=Severity.WARNING), "because")
    assert "very odd" not in written(name, checked(problem(), ignored=(ignored,)))


@pytest.mark.parametrize("name", ["github", "gitlab", "sarif", "junit"])
def test_paths_are_those_of_the_repository(name):
    text = written(name, checked(problem(file="flows/a b.yaml"), project="/repo/sub", repository="/repo"))
    assert "sub/flows/a b.yaml" in unquote(text)
    assert "/repo/" not in text


@pytest.mark.parametrize("name", ["github", "gitlab", "sarif", "junit"])
def test_a_file_outside_of_the_repository_keeps_its_whole_path(name):
    text = written(name, checked(problem(file="/else/a.yaml"), project="/repo", repository="/repo"))
    assert "/else/a.yaml" in text


def test_a_name_that_is_no_utf_8_is_written_all_the_same():
    name = b"a\xff.yaml".decode("utf-8", "surrogateescape")
    for form, reader in READERS.items():
        reader(written(form, checked(problem(file=name))))
    assert '"a%FF.yaml"' in written("sarif", checked(problem(file=name)))


# --- text -----------------------------------------------------------------------------------------------


def test_ignored_warnings_are_counted_in_the_last_line_of_text():
    ignored = Ignored(problem(severity=Severity.WARNING), "because")
    text = written("text", checked(problem(), ignored=(ignored, ignored)))
    assert text.endswith("\n\n1 error, 2 ignored")


def test_a_quiet_text_shows_what_fails_and_counts_all():
    warning = problem("less so", severity=Severity.WARNING)
    text = written("text", checked(problem(), warning, quiet=True))
    assert "less so" not in text
    assert text.endswith("\n\n1 error, 1 warning")
    assert "less so" in written("text", checked(warning, quiet=True, strict=True))
    assert written("text", checked(warning, quiet=True)) == ""


# --- json -----------------------------------------------------------------------------------------------


def test_every_member_of_the_schema_of_problems_is_described_and_every_object_closed():
    document = schema("problems")
    for item in (document, *document["$defs"].values()):
        assert item["additionalProperties"] is False
        assert set(item["required"]) == set(item["properties"])
        assert all(value["title"] and value["description"] for value in item["properties"].values())


@a_law
@given(outcomes)
def test_json_holds_every_text_as_it_is(found):
    document = read_json(written("json", replace(found, ignored=())))
    told = [(item["message"], item["hint"], item["file"]) for item in document["problems"]]
    assert told == [(p.message, p.hint, p.place.file) for p in found.problems]


def test_json_lists_what_is_ignored_with_its_reason():
    ignored = Ignored(problem(severity=Severity.WARNING), "because")
    document = read_json(written("json", checked(ignored=(ignored,))))
    assert (document["warnings"], document["problems"]) == (0, [])
    assert document["ignored"][0]["reason"] == "because"
    assert document["ignored"][0]["rule"] == "CF201"


# --- github ---------------------------------------------------------------------------------------------


def test_a_command_of_github_has_the_place_the_title_and_the_hint():
    note = Note(Place("other.yaml", 7, 1), "first here")
    text = written("github", checked(problem("50% wrong", notes=(note,))))
    assert text == (
        "::error file=workflows/f.yaml,line=3,endLine=3,col=5,endColumn=9,"
        f"title=CF201%3A {catalogue()['CF201'].title}"
        "::50%25 wrong%0Anote: other.yaml:7: first here%0Ahint: do it"
    )


@a_law
@given(outcomes)
def test_github_gets_one_command_for_each_problem(found):
    commands = read_github(written("github", found))
    assert [name for name, _, _ in commands] == [str(p.severity) for p in found.problems]
    for (_, properties, data), told in zip(commands, found.problems, strict=True):
        assert properties["file"] == visible(found.path(told.place.file))
        assert (int(properties["line"]), int(properties["col"])) == (told.place.line, told.place.column)
        assert data.partition("\n")[0] == visible(told.message)


# --- gitlab ---------------------------------------------------------------------------------------------


@a_law
@given(outcomes)
def test_fingerprints_of_gitlab_are_unique(found):
    issues = read_gitlab(written("gitlab", found))
    assert len({issue["fingerprint"] for issue in issues}) == len(found.problems)


def test_errors_weigh_more_than_warnings_for_gitlab():
    issues = read_gitlab(written("gitlab", checked(problem(), problem(severity=Severity.WARNING))))
    assert [issue["severity"] for issue in issues] == ["major", "minor"]
    assert issues[0]["location"]["lines"]["begin"] == 3
    assert issues[0]["check_name"] == "CF201"


@a_law
@given(problems, st.integers(1, 500), st.integers(0, 20))
def test_a_fingerprint_stays_when_lines_move_and_the_indentation_changes(told, line, more):
    place = told.place
    moved = replace(
        told,
        place=Place(place.file, line, place.column + more, place.width),
        source_line=None if told.source_line is None else " " * more + told.source_line,
    )
    assert fingerprints(checked(told)) == fingerprints(checked(moved))


def test_a_fingerprint_differs_by_file_rule_and_message():
    told = problem()
    others = [problem("else"), problem(file="other.yaml"), replace(told, rule="CF202")]
    assert len({digest for digest, _ in fingerprints(checked(told, *others))}) == 4


# --- sarif ----------------------------------------------------------------------------------------------


@a_law
@given(outcomes)
def test_sarif_has_every_problem_at_its_place(found):
    run = read_sarif(written("sarif", found))
    assert run["columnKind"] == "unicodeCodePoints"
    for result, told in zip(run["results"], found.problems, strict=True):
        where = result["locations"][0]["physicalLocation"]
        uri = unquote(where["artifactLocation"]["uri"]).removeprefix("file://")
        assert uri == found.path(told.place.file)
        assert where["region"]["startColumn"] == told.place.column
        assert where["region"]["endColumn"] == told.place.column + told.place.width
        assert result["message"]["text"].startswith(visible(told.message))
        assert len(result.get("relatedLocations", [])) == len(told.notes)
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == told.rule


def test_rules_of_sarif_come_with_help():
    [rule] = read_sarif(written("sarif", checked(problem(), problem("else"))))["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == catalogue()["CF201"].title
    assert "```yaml" in rule["help"]["markdown"]
    assert catalogue()["CF201"].why in rule["help"]["text"]


@pytest.mark.parametrize("rule", catalogue())
def test_the_help_of_every_rule_is_valid_sarif(rule):
    read_sarif(written("sarif", checked(replace(problem(), rule=rule))))


# --- junit ----------------------------------------------------------------------------------------------


@a_law
@given(outcomes)
def test_junit_has_a_test_case_for_each_file_and_one_failure_for_each_that_fails(found):
    suite = read_junit(written("junit", found)).find("testsuite")
    failing = {told.place.file for told in found.failing}
    assert [case.get("name") for case in suite] == [visible(found.path(file)) for file in found.all_files]
    assert suite.get("tests") == str(len(suite))
    assert suite.get("failures") == str(len(suite.findall("testcase/failure"))) == str(len(failing))


def test_a_failure_of_junit_tells_all_problems_of_its_file():
    both = (problem("first ]]>"), problem("second\x00", severity=Severity.WARNING))
    suite = read_junit(written("junit", checked(*both, files=("workflows/f.yaml", "good.yaml")))).find(
        "testsuite"
    )
    good, bad = suite
    assert (good.get("name"), len(good)) == ("good.yaml", 0)
    [failure] = bad
    assert failure.get("message") == "1 error, 1 warning"
    assert "first ]]>" in failure.text
    assert "second\\x00" in failure.text


def test_warnings_are_output_of_a_passing_test_case_unless_they_fail():
    warning = problem(severity=Severity.WARNING)
    passing = read_junit(written("junit", checked(warning)))
    failing = read_junit(written("junit", checked(warning, strict=True)))
    assert "it is wrong" in passing.find("testsuite/testcase/system-out").text
    assert (passing.get("failures"), failing.get("failures")) == ("0", "1")


@a_law
@given(outcomes)
def test_junit_is_what_jenkins_reads(found):
    xmlschema = pytest.importorskip("xmlschema", reason="reads the schema that Jenkins publishes")
    _jenkins(xmlschema).validate(written("junit", found))


@cache
def _jenkins(xmlschema):
    return xmlschema.XMLSchema(str(PUBLISHED / "junit-10.xsd"))
