"""Words, options, the environment, and what is said about what is wrong with them."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from crewflow import cli

WORKFLOW = """
    inputs: {n: {type: integer, default: 3}, s: {type: string, default: plain}}
    steps: {a: {run: 'echo "${{ inputs.n }}|${{ inputs.s }}"'}}
"""

SEE = "hint: `crewflow {} --help` lists what there is\n"


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
    """A project in which the command line is run in this process: what is wrong with words needs no other."""

    here: Any
    capfdbinary: Any
    monkeypatch: Any

    def run(self, *words, env=None):
        with self.monkeypatch.context() as patch:
            for name, value in {"NO_COLOR": "1", **(env or {})}.items():
                patch.setenv(name, value)
            patch.chdir(self.here.root)
            code = cli.run(words)
        out, err = self.capfdbinary.readouterr()
        return Said(code, out.decode(), err.decode())


@pytest.fixture
def inside(project, capfdbinary, monkeypatch):
    return Inside(project(WORKFLOW), capfdbinary, monkeypatch)


def error(done):
    """What was said on stderr, with nothing on stdout."""
    assert done.out == ""
    assert "Traceback" not in done.err
    return done.err


@pytest.mark.parametrize("command", cli.NOT_BUILT)
def test_a_command_that_is_not_built_is_refused_by_name(inside, command):
    done = inside.run(command, "more", "--words")
    assert done.code == 2
    assert error(done).startswith(f"error: `{command}` is not available in this version\n")


@pytest.mark.parametrize("action", cli.NOT_BUILT_ACTIONS["runs"])
def test_so_is_an_action_of_runs(inside, action):
    done = inside.run("runs", action, "x")
    assert done.code == 2
    assert error(done).startswith(f"error: `runs {action}` is not available in this version\n")


@pytest.mark.parametrize(("command", "options"), sorted(cli._LATER_OPTIONS.items()))
def test_so_are_options_with_or_without_a_value_and_in_the_environment(inside, command, options):
    words = [command, "list"] if command == "runs" else [command]
    for option in options:
        refused = f"error: `{option}` is not available in this version\n"
        for given in ([option], [option, "x"], [f"{option}=x"]):
            done = inside.run(*words, *given)
            assert (done.code, error(done).startswith(refused)) == (2, True), given
        variable = "CREWFLOW_" + option[2:].upper().replace("-", "_")
        done = inside.run(*words, env={variable: "1"})
        assert (done.code, f"`{option}` is not available" in done.err) == (2, True), variable
    assert inside.here.run_ids == []


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["plan", "--format=markdown"], "markdown"),
        (["plan", "--format", "markdown"], "markdown"),
        (["agents", "try"], "agents try"),
        (["schedule", "start"], "schedule start"),
        (["apply", "saved.json"], "saved.json"),
    ],
)
def test_so_are_values_that_the_language_names(inside, words, name):
    done = inside.run(*words)
    assert done.code == 2
    assert f"`{name}`" in error(done)
    assert "not available in this version" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["aply"], "error: there is no command `aply`\nhint: did you mean `apply`?\n"),
        (["xyzzy"], "error: there is no command `xyzzy`\nhint: `crewflow --help` lists what there is\n"),
        ([], "error: a command is missing\nhint: `crewflow --help` lists what there is\n"),
        (["ls"], "error: there is no command `ls`\nhint: did you mean `crewflow runs list`?\n"),
        (["run", "x"], "error: there is no command `run`\nhint: did you mean `crewflow apply`?\n"),
        (["runs"], "error: `ACTION` is missing\nhint: `crewflow runs --help` lists what there is\n"),
        (["runs", "lst"], "error: there is no `runs lst`\nhint: did you mean `list`?\n"),
        (
            ["apply", "--on-failur", "stop"],
            "error: there is no option `--on-failur`\nhint: did you mean `--on-failure`?\n",
        ),
        (["status", "a", "b"], "error: `b` is one word too many\nhint: see `crewflow status --help`\n"),
        (
            ["apply", "-j", "0"],
            "error: `-j/--jobs`: `0` is no whole number from 1 to 10000\n" + SEE.format("apply"),
        ),
        (
            ["apply", "-i", "n"],
            "error: `-i`: `n` is no `KEY=VALUE`\n" + SEE.format("apply"),
        ),
        (
            ["status", "--color", "pink"],
            "error: `--color`: `pink` is none of `auto`, `always`, `never`\n" + SEE.format("status"),
        ),
        (
            ["-C", "nowhere", "status"],
            "error: there is no folder `nowhere`\nhint: give an existing one with `-C`\n",
        ),
        (["status"], "error: no runs here yet\nhint: start one with `crewflow apply`\n"),
        (["apply", "-i", "m=1"], "error: workflow `w` has no input `m`\nhint: its inputs: `n`, `s`\n"),
    ],
)
def test_wrong_words_are_answered_with_what_failed_and_what_to_type(inside, words, said):
    done = inside.run(*words)
    assert (done.code, error(done)) == (2, said)


@pytest.mark.case("C101")
@pytest.mark.parametrize("jobs", ["0", "-1", "auto", "2.5", "10001", "", "٣"])
def test_a_number_of_jobs_that_is_none_is_refused(inside, jobs):
    for done in (inside.run("apply", f"-j{jobs}"), inside.run("apply", f"--jobs={jobs}")):
        assert done.code == 2
        assert "error:" in error(done)
    assert inside.here.run_ids == []


def test_help_is_shown_for_the_program_and_every_command(project):
    here = project({})
    listed = here.run("--help")
    assert (listed.code, listed.err) == (0, "")
    for command in cli.COMMANDS:
        assert f"\n    {command}" in listed.out
        shown = here.run(command, "--help")
        assert (shown.code, shown.err) == (0, "")
        assert shown.out.startswith(f"usage: crewflow {command}")


@pytest.mark.parametrize("words", [["--json", "version"], ["version", "--json"], ["-q", "version", "--json"]])
def test_global_options_stand_before_or_after_the_command(project, words):
    assert project({}).run(*words).json["schema_version"] == 1


def test_dash_c_acts_elsewhere_for_files_too(project, tmp_path):
    here = project(WORKFLOW).write({"s.txt": "from a file"})
    for words in (["-C", here.root, "plan"], ["plan", "-C", here.root]):
        done = here.run(*words, "-i", "s=@s.txt", cwd=tmp_path)
        assert (done.code, 's = "from a file"' in done.out) == (0, True)


@pytest.mark.parametrize(
    ("variable", "value", "words", "shown"),
    [
        ("CREWFLOW_JSON", "1", ["version"], '"schema_version": 1'),
        ("CREWFLOW_JOBS", "7", ["plan", "--format", "json"], '"slots": 7'),
        ("CREWFLOW_FORMAT", "json", ["plan"], '"slots":'),
        ("CREWFLOW_FORMAT", "mermaid", ["graph"], "flowchart TD"),
        ("CREWFLOW_COLOR", "always", ["validate"], ""),
    ],
)
def test_a_long_option_can_be_given_in_the_environment(project, variable, value, words, shown):
    done = project(WORKFLOW).run(*words, env={variable: value})
    assert (done.code, shown in done.out) == (0, True)


def test_the_words_win_over_the_environment_and_an_empty_variable_says_nothing(project):
    here = project(WORKFLOW)
    assert here.run("plan", "-j2", "--json", env={"CREWFLOW_JOBS": "7"}).json["slots"] == 2
    assert here.run("version", env={"CREWFLOW_JSON": ""}).out.startswith("crewflow ")
    assert here.run("version", env={"CREWFLOW_JSON": "0"}).out.startswith("crewflow ")


def test_a_variable_with_a_wrong_value_is_named_and_harms_only_commands_that_ask_it(project):
    here = project(WORKFLOW)
    done = here.run("plan", env={"CREWFLOW_JOBS": "many"})
    assert (done.code, error(done).splitlines()[0]) == (
        2,
        "error: `CREWFLOW_JOBS`: `many` is no whole number from 1 to 10000",
    )
    assert here.run("version", env={"CREWFLOW_JOBS": "many"}).code == 0


def test_what_an_attempt_finds_in_its_environment_does_not_disturb_a_crewflow_within(project):
    here = project(
        """
        steps:
          a: {run: 'crewflow version && crewflow plan w >/dev/null && crewflow runs list'}
        """
    )
    done = here.run("apply", "--on-failure", "stop", "-v")
    assert done.code == 0, done
    assert "running" in here.run("logs", "a").out


# --- --json -------------------------------------------------------------------------------------------

DOCUMENTS = [
    ["version"],
    ["schema"],
    ["schema", "workflow"],
    ["explain"],
    ["workflows"],
    ["teams"],
    ["agents", "list"],
    ["schedule", "list"],
    ["validate"],
    ["plan"],
    ["graph"],
    ["apply"],
    ["runs", "list"],
    ["runs", "show"],
    ["status"],
    ["logs"],
    ["logs", "a"],
    ["events"],
    ["events", "-f"],
    ["logs", "-f"],
    ["resume"],
    ["init", "elsewhere"],
]


def test_every_command_prints_one_document_with_json(project):
    here = project(WORKFLOW)
    for words in DOCUMENTS:
        done = here.run(*words, "--json")
        assert json.loads(done.out)["schema_version"] == 1, words
    assert {words[0] for words in DOCUMENTS} == set(cli.COMMANDS)


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["aply"], 2, "usage"),
        (["approve"], 2, "usage"),
        (["apply", "-j", "0"], 2, "usage"),
        (["status", "nope"], 2, "usage"),
        (["-C", "nowhere", "status"], 2, "usage"),
    ],
)
def test_so_do_errors(inside, words, code, reason):
    done = inside.run("--json", *words)
    assert (done.code, done.err) == (code, "")
    assert done.json["schema_version"] == 1
    assert (done.json["error"]["reason"], done.json["error"]["exit_code"]) == (reason, code)


def test_faults_of_the_files_are_one_document_too(project):
    done = project("steps: {a: {rum: x}}").run("apply", "--json")
    assert (done.code, done.err) == (3, "")
    assert done.json["schema_version"] == 1
    assert done.json["errors"] >= 1


def test_the_version_can_be_asked_for_as_other_tools_are_asked(project):
    here = project({})
    assert here.run("--version").out == here.run("version").out
