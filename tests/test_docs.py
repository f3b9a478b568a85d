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
from crewflow.spec.words import NOT_BUILT

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MASKS = [
    (re.compile(r"\d{8}-\d{6}-\w{6}"), "RUN"),
    (re.compile(r"\d+(\.\d)? s\b"), "TIME"),
    (re.compile(r"at most \d+ at once"), "at most N at once"),
]


def read(page):
    return page.read_text(encoding="utf-8")


def masked(text):
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return sorted(line.rstrip() for line in text.splitlines() if line.strip())


def commands_of(block):
    """The commands of a console block, each with the output that is shown for it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


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
        named = re.match(r"# ([\w/.-]+\.ya?ml)\n", block)
        if language == "yaml" and named:
            (tmp_path / named[1]).parent.mkdir(parents=True, exist_ok=True)
            # the first line names the file and is not part of it
            (tmp_path / named[1]).write_text(block.partition("\n")[2], encoding="utf-8")
        elif language == "console":
            for command, shown in commands_of(block):
                code, out = run_in_shell(command, tmp_path, code)
                assert masked(out) == masked(shown), command


def test_the_make_targets_that_the_readme_names_exist():
    named = re.findall(r"^make (\w+)", read(ROOT / "README.md"), re.MULTILINE)
    makefile = read(ROOT / "Makefile")
    assert {"demo", "test"} <= set(named)
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_table_of_exit_codes_is_the_one_in_the_code():
    section = read(ROOT / "docs" / "reference.md").partition("## Exit codes")[2].partition("\n## ")[0]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)} == set(
        map(int, ExitCode)
    )


def test_every_command_is_in_the_reference():
    section = read(ROOT / "docs" / "reference.md").partition("## Commands")[2].partition("\n## ")[0]
    assert set(re.findall(r"`crewflow (\w+)", section)) == set(COMMANDS)


def test_what_is_refused_is_listed_whole():
    section = read(ROOT / "docs" / "reference.md").partition("## What this version refuses")[2]
    rows = dict(re.findall(r"^\| (\w+) \| (.*) \|$", section, re.MULTILINE))
    listed = {where: set(re.findall(r"`([^`]+)`", row)) for where, row in rows.items()}
    for level, keys in NOT_BUILT.items():
        assert listed[level] == set(keys), level
    assert listed["commands"] == {*cli.NOT_BUILT, *(f"runs {name}" for name in cli.NOT_BUILT_RUNS)}
    assert listed["options"] == set(cli.NOT_BUILT_OPTIONS)


def test_every_link_between_pages_leads_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", read(page)):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
