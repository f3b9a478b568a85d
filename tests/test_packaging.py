from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, entry_points
from importlib.resources import files
from pathlib import Path

import pytest

from crewflow import __version__

CHECKOUT = Path(__file__).parents[1]
GNU_MAKE = shutil.which("make")


def is_installed_as_a_wheel():
    try:
        origin = distribution("crewflow").read_text("direct_url.json")
    except PackageNotFoundError:
        return False
    return '"editable": true' not in (origin or "")


needs_wheel = pytest.mark.skipif(not is_installed_as_a_wheel(), reason="asks the installed package")
needs_make = pytest.mark.skipif(
    GNU_MAKE is None or not (CHECKOUT / "Makefile").exists(), reason="needs make and a checkout"
)


@needs_wheel
@pytest.mark.parametrize("folder", ["schemas", "workflows"])
def test_the_installed_package_holds_the_files_of_the_checkout(folder):
    installed = files("crewflow") / "_data" / folder
    for path in (CHECKOUT / folder).rglob("*.*"):
        assert (
            installed.joinpath(*path.relative_to(CHECKOUT / folder).parts).read_bytes() == path.read_bytes()
        )
    assert any(each.name.endswith((".json", ".yaml")) for each in installed.iterdir())


@needs_wheel
def test_the_installed_package_holds_no_tests_and_no_benchmarks():
    tops = {path.parts[0] for path in distribution("crewflow").files or ()}
    assert not tops & {"tests", "bench", "docs", "schemas", "workflows"}


@needs_wheel
def test_the_program_is_installed_and_says_its_version():
    [script] = entry_points(group="console_scripts", name="crewflow")
    assert script.value == "crewflow.__main__:main"
    program = Path(sys.executable).parent / "crewflow"
    done = subprocess.run((program, "version"), capture_output=True, text=True, check=True)
    assert __version__ in done.stdout


def test_python_m_crewflow_is_the_same_program():
    done = subprocess.run(
        (sys.executable, "-P", "-m", "crewflow", "version"), capture_output=True, text=True, check=True
    )
    assert __version__ in done.stdout


def test_every_dependency_has_a_tested_version():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    pinned = {plain_name(line) for line in constraints()}
    assert {plain_name(requirement) for requirement in asked} <= pinned


def test_the_constraints_are_versions_in_order_and_name_no_place():
    lines = constraints()
    assert lines == sorted(lines, key=str.lower)
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line) for line in lines)


def test_continuous_integration_runs_the_same_command_as_everybody():
    script = CHECKOUT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "exec make test"


@needs_make
def test_the_tests_are_the_last_thing_that_make_test_does(bare):
    steps = [line for line in make(bare, "-n", "test").stdout.splitlines() if ".venv/bin/" in line]
    programs = [re.search(r"\.venv/bin/([\w-]+)( format| check)?", line)[0] for line in steps]
    bins = [program.removeprefix(".venv/bin/") for program in programs]
    assert bins[-5:] == ["ruff format", "ruff check", "mypy", "lint-imports", "pytest"]


@needs_make
def test_every_run_of_the_tests_has_a_new_seed_and_a_given_one_is_kept(bare):
    seeds = [re.search(r"--hypothesis-seed=(\d+)", make(bare, "-n", "test").stdout)[1] for _ in range(2)]
    assert seeds[0] != seeds[1]
    assert "--hypothesis-seed=7 " in make(bare, "-n", "test", "HYPOTHESIS_SEED=7").stdout


@needs_make
def test_help_lists_what_there_is(bare):
    shown = make(bare).stdout
    assert all(f"\n  make {target} " in f"\n{shown}" for target in ("demo", "test", "bench", "clean"))


@needs_make
def test_an_old_python_is_refused_with_its_version(bare, tmp_path):
    python = fake_python(tmp_path, '*version_info*) exit 1 ;;\n--version*) echo "Python 3.9.2" ;;')
    done = make(bare, "demo", f"PYTHON={python}")
    assert done.returncode
    assert (
        f"crewflow needs Python 3.11 or later: `{python}` is Python 3.9.2\nhint: name another" in done.stderr
    )
    assert not (bare / ".venv").exists()


@needs_make
def test_a_python_that_is_not_there_is_named(bare):
    done = make(bare, "demo", "PYTHON=python-of-nobody")
    assert done.returncode
    assert "`python-of-nobody` does not run" in done.stderr


@needs_make
def test_a_python_without_venv_names_the_package_to_install(bare, tmp_path):
    python = fake_python(tmp_path, "*ensurepip*) exit 1 ;;")
    done = make(bare, "test", f"PYTHON={python}")
    assert done.returncode
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"apt install python{version}-venv" in done.stderr
    assert not (bare / ".venv").exists()


@needs_make
def test_a_half_made_environment_is_not_left_behind(bare, tmp_path):
    python = fake_python(tmp_path, '"-m venv"*) mkdir -p .venv/bin; exit 1 ;;')
    done = make(bare, "demo", f"PYTHON={python}")
    assert done.returncode
    assert "cannot make a virtual environment" in done.stderr
    assert not (bare / ".venv").exists()


@needs_make
def test_an_environment_that_was_moved_is_made_anew(bare, tmp_path):
    (bare / ".venv" / "stale").mkdir(parents=True)
    (bare / ".venv" / ".made").write_text("/somewhere/else")
    python = fake_python(tmp_path, '"-m venv"*) mkdir .venv || exit 3 ;;')
    make(bare, ".venv/.made", f"PYTHON={python}")
    assert (bare / ".venv" / ".made").read_text() == str(bare)
    assert not (bare / ".venv" / "stale").exists()


@pytest.fixture
def bare(tmp_path):
    """A folder with a space in its name that holds the Makefile and nothing else."""
    folder = tmp_path / "check out"
    folder.mkdir()
    shutil.copy(CHECKOUT / "Makefile", folder)
    return folder


def make(folder, *arguments):
    # What the make around these tests was told does not concern the one under test.
    private = {"PYTHON", "HYPOTHESIS_SEED", "PYTEST_ARGS"}
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MAKE") and name not in private
    }
    return subprocess.run(
        (GNU_MAKE, *arguments), cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60
    )


def fake_python(folder, cases):
    """A program that does what `cases` says for some arguments, and else what this Python does."""
    program = folder / "fake-python"
    program.write_text(f'#!/bin/sh\ncase "$*" in\n{cases}\n*) exec "{sys.executable}" "$@" ;;\nesac\n')
    program.chmod(0o755)
    return program


def constraints():
    lines = (CHECKOUT / "constraints.txt").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def plain_name(requirement):
    return re.split(r"[<>=!~ \[;]", requirement)[0].lower().replace("_", "-")
