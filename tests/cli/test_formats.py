"""`validate --format`, `ignore` and `explain` as a user meets them."""

import json
import os
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from crewflow import cli
from crewflow.report.formats.table import FORMATS
from crewflow.report.rules import catalogue

ODD = "steps: {a: {run: x}, b: {run: x, needs: [a, a]}}"
WRONG = "steps: {a: {run: x, needs: b}}"
GOOD = "steps: {a: {run: x}}"


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@dataclass(frozen=True)
class Inside:
    """A project in which the command line is run in this process: a program for each would take its time."""

    root: Any
    capfdbinary: Any
    monkeypatch: Any

    def run(self, *words, env=None):
        with self.monkeypatch.context() as patch:
            for name in [name for name in os.environ if name.startswith(("CREWFLOW_", "GITHUB_"))]:
                patch.delenv(name)
            for name, value in {"NO_COLOR": "1", **(env or {})}.items():
                patch.setenv(name, value)
            patch.chdir(self.root)
            code = cli.run(words)
        out, err = (stream.decode() for stream in self.capfdbinary.readouterr())
        return Said(code, out, err)


@pytest.fixture
def inside(project, capfdbinary, monkeypatch):
    """Makes a project as `project` does."""
    return lambda *files: Inside(project(*files).root, capfdbinary, monkeypatch)


def settings(ignore):
    return {"crewflow.yaml": f"kind: project\nname: p\nignore: {ignore}\n"}


# --- formats --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_stdout_is_the_document_and_the_exit_code_says_whether_it_failed(inside, name):
    wrong = inside(WRONG).run("validate", "--format", name)
    assert (wrong.code, wrong.err) == (3, "")
    assert "CF201" in wrong.out
    good = inside(GOOD, "good").run("validate", "--format", name, "-q")
    assert (good.code, good.err) == (0, "")


def test_each_document_of_the_program_is_what_its_reader_takes(project):
    here = project(WRONG)
    for name, read in {
        "json": json.loads,
        "gitlab": json.loads,
        "sarif": json.loads,
        "junit": ET.fromstring,
    }.items():
        assert read(here.run("validate", "--format", name).out), name
    assert here.run("validate", "--format", "github").out.startswith("::error file=workflows/w.yaml,line=3,")


@pytest.mark.parametrize("name", ["github", "gitlab", "sarif", "junit"])
def test_two_formats_contradict_each_other(inside, name):
    here = inside(GOOD)
    for words, env in (
        (["--json", "--format", name], {}),
        (["--json"], {"CREWFLOW_FORMAT": name}),
        (["--format", name], {"CREWFLOW_JSON": "1"}),
    ):
        done = here.run("validate", *words, env=env)
        assert done.code == 2
        assert f"`--json` and `--format {name}` ask for two formats" in done.out + done.err
        assert "CREWFLOW_FORMAT" in done.out + done.err


@pytest.mark.parametrize("name", ["text", "json"])
def test_json_and_what_does_not_contradict_it_is_json(inside, name):
    done = inside(WRONG).run("validate", "--json", "--format", name)
    assert (done.code, done.json["errors"]) == (3, 1)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "text"])
def test_no_document_for_a_machine_has_colours(inside, name):
    done = inside(WRONG).run("validate", "--format", name, "--color", "always")
    assert "\x1b" not in done.out
    assert "\x1b[31;1m" in inside(WRONG).run("validate", "--color", "always").out


def test_files_that_are_checked_are_test_cases(inside):
    files = {
        name: f"kind: workflow\nname: {name[10]}\n{GOOD}\n"
        for name in ("workflows/a b.yaml", "workflows/c.yaml")
    }
    done = inside(files).run("validate", "--format", "junit")
    names = [case.get("name") for case in ET.fromstring(done.out).iter("testcase")]
    assert names == ["workflows/a b.yaml", "workflows/c.yaml"]


def test_paths_are_those_of_the_repository_for_ci_and_those_of_the_project_for_people(inside):
    here = inside({"sub/workflows/w.yaml": f"kind: workflow\nname: w\n{WRONG}\n"})
    (here.root / ".git").mkdir()
    run = ("-C", "sub", "validate", "--format")
    assert "file=sub/workflows/w.yaml," in here.run(*run, "github").out
    assert here.run(*run, "gitlab").json[0]["location"]["path"] == "sub/workflows/w.yaml"
    assert here.run(*run, "json").json["problems"][0]["file"] == "workflows/w.yaml"
    assert here.run(*run, "text").out.startswith("workflows/w.yaml:3:")


def test_on_github_text_comes_with_annotations_beside_it(inside):
    here = inside(WRONG)
    plain = here.run("validate")
    done = here.run("validate", env={"GITHUB_ACTIONS": "true"})
    assert (done.code, done.out) == (plain.code, plain.out)
    assert done.err == here.run("validate", "--format", "github").out
    for words in (["--json"], ["--format", "sarif"]):
        assert here.run("validate", *words, env={"GITHUB_ACTIONS": "true"}).err == ""


def test_annotations_beside_a_quiet_text_are_of_what_fails(inside):
    here = inside(ODD)
    on_github = {"GITHUB_ACTIONS": "true"}
    assert here.run("validate", env=on_github).err.startswith("::warning file=workflows/w.yaml,")
    assert here.run("validate", "-q", env=on_github).err == ""
    assert here.run("validate", "-q", "--strict", env=on_github).err.startswith("::warning ")


# --- what fails, and what is shown ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 0),
        (["--strict"], 3),
        (["--fail-level", "warning"], 3),
        (["--fail-level", "error"], 0),
        (["--strict", "--fail-level", "error"], 3),
    ],
)
def test_warnings_fail_when_they_are_to(inside, words, code):
    here = inside(ODD)
    done = here.run("validate", *words)
    assert (done.code, done.out.splitlines()[-1]) == (code, "1 warning")
    assert here.run("validate", *words, "-q").out == ("" if code == 0 else done.out)


def test_quiet_is_silent_where_all_is_well(inside):
    here = inside(GOOD)
    assert here.run("validate", "-q").err == ""
    assert here.run("validate").err == "1 workflow checked: no faults\n"


# --- ignore -----------------------------------------------------------------------------------------------


@pytest.fixture
def ignoring(inside):
    files = {"workflows/w.yaml": f"kind: workflow\nname: w\n{ODD}\n"}
    return lambda text: inside({**files, **settings(text)})


def test_what_is_ignored_is_counted_and_listed_and_strict_does_not_bring_it_back(ignoring):
    here = ignoring('[{rule: CF113, path: "workflows/*", reason: one-off}]')
    done = here.run("validate", "--strict")
    assert (done.code, done.out, done.err) == (0, "", "1 workflow checked: no faults, 1 ignored\n")
    listed = here.run("validate", "--strict", "--json").json
    assert (listed["warnings"], listed["problems"]) == (0, [])
    assert [(item["rule"], item["reason"]) for item in listed["ignored"]] == [("CF113", "one-off")]


def test_a_stale_entry_is_a_warning_of_the_whole_project_only(ignoring):
    here = ignoring('[{rule: CF116, path: "workflows/*", reason: x}]')
    done = here.run("validate", "--json").json
    assert [problem["rule"] for problem in done["problems"]] == ["CF296", "CF113"]
    done = here.run("validate", "workflows/w.yaml", "--json").json
    assert [problem["rule"] for problem in done["problems"]] == ["CF113"]


def test_an_error_is_not_ignored_and_its_entry_is_told(inside):
    files = {"workflows/w.yaml": f"kind: workflow\nname: w\n{WRONG}\n"}
    done = inside({**files, **settings('[{rule: CF201, path: "**", reason: x}]')}).run("validate")
    assert done.code == 3
    assert "error CF295: `CF201` is an error here, and only warnings can be ignored" in done.out
    assert "error CF201" in done.out
    assert done.out.endswith("\n2 errors\n")


def test_files_that_are_named_are_checked_with_what_the_project_ignores(ignoring):
    here = ignoring('[{rule: CF113, path: "workflows/*", reason: one-off}]')
    done = here.run("validate", "workflows/w.yaml")
    assert (done.out, done.err) == ("", "1 workflow checked: no faults, 1 ignored\n")


# --- schema and explain -----------------------------------------------------------------------------------


def test_the_schema_of_problems_is_printed(inside):
    here = inside({})
    assert here.run("schema", "problems").json["title"] == "problems"
    assert "problems" in here.run("schema").out.splitlines()


@pytest.mark.parametrize("word", ["CF201", "cf201"])
def test_a_rule_is_explained(inside, word):
    done = inside({}).run("explain", word)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("CF201: an unknown step\n\n`needs` or `after` names a step")
    assert "\nexample, workflows/example.yaml:\n    kind: workflow\n" in done.out
    assert "\ninstead, workflows/example.yaml:\n    kind: workflow\n" in done.out


def test_every_rule_is_listed_below_its_family(inside):
    done = inside({}).run("explain")
    assert [line.split()[0] for line in done.out.splitlines() if line.startswith("  ")] == list(catalogue())
    assert done.out.startswith("CF0xx: ")


def test_an_explanation_is_data_too(inside):
    here = inside({})
    data = here.run("explain", "CF201", "--json").json
    assert list(data) == ["schema_version", "rule", "title", "what", "why", "example", "fix"]
    assert data["example"][0]["file"] == "workflows/example.yaml"
    listed = here.run("explain", "--json").json["rules"]
    assert [item["rule"] for item in listed] == list(catalogue())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["CF21"],
            "there is no rule `CF21`\nhint: did you mean `CF201`? `crewflow explain` lists the rules\n",
        ),
        (["cfx"], "there is no rule `cfx`\nhint: `crewflow explain` lists the rules\n"),
        (
            ["build"],
            (
                "`build` is no rule, and there is no run whose task it could be\n"
                "hint: `crewflow explain` lists the"
            ),
        ),
        (["@latest", "a"], "no runs here yet\n"),
        (["CF201", "a"], "no runs here yet\n"),
        (["a", "b", "c"], "`c` is one word too many\n"),
    ],
)
def test_what_is_no_rule_is_refused(inside, words, said):
    done = inside({}).run("explain", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {said}")


def test_colours_of_an_explanation_are_for_who_wants_them(inside):
    here = inside({})
    assert "\x1b[1mCF201" in here.run("explain", "CF201", "--color", "always").out
    assert "\x1b" not in here.run("explain", "CF201").out
