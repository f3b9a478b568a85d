"""What the README and the docs show is tried: files written, commands run, tables held against the code."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from crewflow import cli
from crewflow.commands.arguments import COMMANDS
from crewflow.errors import ExitCode
from crewflow.graph import references
from crewflow.spec import filters
from crewflow.spec.schema import schema
from crewflow.spec.schema_words import levels_of
from crewflow.spec.words import KINDS, NOT_RUN

ROOT = Path(__file__).parents[1]
LANGUAGE = ROOT / "docs" / "language.md"
REFERENCE = ROOT / "docs" / "reference.md"
SECTIONS = {
    "project": "crewflow.yaml",
    "paths": "crewflow.yaml",
    "defaults": "crewflow.yaml",
    "workflow": "Workflow",
    "input": "Inputs",
    "value": "Inputs",
    "step": "Step",
    "retry": "Failure and retry",
    "output": "Outputs and results",
    **dict.fromkeys(("team", "role", "fallback", "batch", "hints"), "Team"),
    **dict.fromkeys(
        (
            "agent",
            "flags of an agent",
            "access of an agent",
            "variables of an access level",
            "reading",
            "number of an agent",
            "usage of an agent",
            "error of an agent",
            "output of an agent",
            "failure of an agent",
        ),
        "Agent",
    ),
    "schedule": "Schedule",
    **dict.fromkeys(
        (
            "approval",
            "approval before writes",
            "rework",
            "budget",
            "budget of a run",
            "budget of a day",
            "concurrency",
            "expect",
            "expand",
            "hooks",
            "pool",
        ),
        "Read and not run yet",
    ),
    "estimate": "Step",
}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# ([\w/.-]+\.(?:ya?ml|py))\n")
MASKS = [
    (re.compile(r"\d{8}-\d{6}-\w{6}"), "RUN"),
    (re.compile(r"\d+(\.\d)? s\b"), "TIME"),
    (re.compile(r"at most \d+ at once"), "at most N at once"),
]


def read(page):
    return page.read_text(encoding="utf-8")


def section(page, title):
    """The text below a heading of the second level."""
    return read(page).partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def masked(text):
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return sorted(line.rstrip() for line in text.splitlines() if line.strip())


def commands_of(block):
    """The commands of a console block, each with the output that is shown for it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def write_named(block, folder):
    """Write the file that the first line of a block names, without that line; a block may have no name."""
    named = FILE_NAME.match(block)
    if named:
        (folder / named[1]).parent.mkdir(parents=True, exist_ok=True)
        (folder / named[1]).write_text(block[named.end() :], encoding="utf-8")


def run_in_shell(command, folder, last_code):
    env = {**os.environ, "NO_COLOR": "1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    script = f"(exit {last_code}); {command}"
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, env=env, timeout=60, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_is_what_happens(page, tmp_path):
    code = 0
    for language, block in BLOCK.findall(read(page)):
        if language in {"yaml", "python"}:
            write_named(block, tmp_path)
        elif language == "console":
            for command, shown in commands_of(block):
                code, out = run_in_shell(command, tmp_path, code)
                assert masked(out) == masked(shown), command


def test_every_example_of_the_language_is_valid(tmp_path):
    for _, block in BLOCK.findall(read(LANGUAGE)):
        write_named(block, tmp_path)
    code, out = run_in_shell("crewflow validate --strict", tmp_path, 0)
    assert code == 0, out


def test_every_example_of_the_language_is_applied():
    blocks = BLOCK.findall(read(LANGUAGE))
    named = {word for _, block in blocks for word in re.findall(r"\A# workflows/([\w-]+)\.yaml\n", block)}
    shown = "".join(block for language, block in blocks if language == "console")
    default = re.search(r"^default_workflow: (\w+)$", read(LANGUAGE), re.MULTILINE)[1]
    assert named
    assert named == {
        name or default for name in re.findall(r"^\$ crewflow apply ?((?!-)[\w-]*)", shown, re.MULTILINE)
    }


def test_every_key_of_the_schemas_is_in_the_section_of_its_level():
    for kind in KINDS:
        for level, keys in levels_of(schema(kind)).items():
            text = section(LANGUAGE, SECTIONS[level])
            assert [key for key in keys if f"`{key}`" not in text] == [], f"{kind}: {level}"


def test_every_word_that_a_key_takes_is_in_the_reference():
    page = read(LANGUAGE)
    step = schema("workflow")["$defs"]["step"]["properties"]
    retry = schema("workflow")["$defs"]["retry"]["properties"]
    words = [
        *schema("workflow")["properties"]["on_failure"]["enum"],
        *schema("workflow")["$defs"]["typeWord"]["enum"],
        *retry["backoff"]["enum"],
        *step["matrix"]["properties"],
    ]
    assert [word for word in words if f"`{word}`" not in page] == []


def test_every_name_and_filter_of_expressions_is_in_the_reference():
    page = read(LANGUAGE)
    names = [
        *(f"run.{name}" for name in references.RUN_NAMES),
        *(f"attempt.{name}" for name in references.ATTEMPT_NAMES),
        *(name for name in references.STEP_NAMES if name not in {"outputs", "artifacts"}),
        "outputs.<name>",
        "artifacts.<name>",
        *filters.PARAMETERS,
    ]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_the_make_targets_that_the_readme_names_exist():
    named = re.findall(r"^make (\w+)", read(ROOT / "README.md"), re.MULTILINE)
    makefile = read(ROOT / "Makefile")
    assert {"demo", "test"} <= set(named)
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_table_of_exit_codes_is_the_one_in_the_code():
    text = section(REFERENCE, "Exit codes")
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == set(map(int, ExitCode))


def test_every_command_is_in_the_reference():
    text = section(REFERENCE, "Commands")
    assert set(re.findall(r"`crewflow (\w+)", text)) == set(COMMANDS)


def test_what_is_refused_is_listed_whole():
    text = section(REFERENCE, "What this version refuses")
    rows = dict(re.findall(r"^\| (\w+) \| (.*) \|$", text, re.MULTILINE))
    listed = {where: set(re.findall(r"`([^`]+)`", row)) for where, row in rows.items()}
    for level in ("project", "workflow", "step"):
        assert listed[level] == set(NOT_RUN[level]), level
    actions = {f"{command} {name}" for command, names in cli.NOT_BUILT_ACTIONS.items() for name in names}
    assert listed["commands"] == {*cli.NOT_BUILT} | actions
    assert listed["options"] == set(cli.NOT_BUILT_OPTIONS)


def test_every_link_between_pages_leads_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", read(page)):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
