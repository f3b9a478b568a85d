"""The exact texts of a run, as a person reads them; ids, times and folders are masked.

`pytest tests/cli/test_texts.py --snapshot-update` writes them anew: read the difference before you keep it.
"""

import re

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class TextFile(SingleFileSnapshotExtension):
    """One file of plain text a snapshot."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def told(snapshot):
    return snapshot.use_extension(TextFile)


MASKS = (
    (r"\d{8}-\d{6}-[a-z0-9]{6}", "RUN"),
    (r"\d\d:\d\d:\d\d\.\d{3}", "HH:MM:SS.mmm"),
    (r"\b\d+\.\d s\b", "N s"),
    (r"pid=\d+ start=\d+", "pid=N start=N"),
    (r"(seconds|fraction)=[\d.e-]+", r"\1=N"),
    (r"\b[0-9a-f]{64}\b", "SHA256"),
    (r"fingerprint [0-9a-f]{16}", "fingerprint N"),
)


def masked(text):
    for pattern, mask in MASKS:
        text = re.sub(pattern, mask, text)
    return text


def shown(done):
    return masked(f"exit {done.code}\n--- stdout\n{done.out}--- stderr\n{done.err}")


EXAMPLE = """
    inputs: {who: {type: string, default: world}}
    steps:
      build:
        run: 'echo "built for ${{ inputs.who }}"; echo x > built.txt'
        artifacts: {package: built.txt}
      test:
        needs: build
        matrix: {py: ["3.11", "3.12"]}
        run: |
          echo "testing ${{ matrix.py }}"
          test "${{ matrix.py }}" != 3.12 || { echo "assertion failed" >&2; exit 3; }
        retry: {max_attempts: 2, delay: 0s}
      lint: {run: 'echo untidy; exit 1', allow_failure: true}
      publish: {needs: test, run: ./publish.sh}
      notice: {needs: build, if: failure(), run: 'true'}
    finally:
      clean: {run: 'echo "the run ${{ run.state }}"'}
"""


@pytest.fixture
def here(project):
    return project(EXAMPLE)


def test_a_run_that_failed(here, told):
    assert shown(here.run("apply", "-j1")) == told(name="apply")
    assert shown(here.run("status")) == told(name="status")
    assert shown(here.run("logs")) == told(name="logs")
    assert shown(here.run("runs", "list")) == told(name="runs")
    assert shown(here.run("resume", "-j1", "-v")) == told(name="resume")


def test_a_run_that_failed_said_in_few_words(here, told):
    assert shown(here.run("apply", "-j1", "-q")) == told


def test_a_run_that_succeeded(project, told):
    here = project("steps: {a: {run: 'true'}, b: {needs: a, if: 1 == 2, run: 'true'}}")
    assert shown(here.run("apply", "-j2")) == told(name="apply")
    assert shown(here.run("status")) == told(name="status")


def test_a_run_with_many_failures_shows_the_first_few(project, told):
    here = project("steps: {t: {for_each: [1, 2, 3, 4, 5, 6, 7], run: 'seq 1 20; exit 9'}}")
    assert shown(here.run("apply", "-j1", "-q")) == told


def test_a_step_that_cannot_start(project, told):
    here = project("steps: {a: {run: [no-such-program-here]}, b: {run: 'kill -9 $$'}}")
    assert shown(here.run("apply", "-j1", "-q")) == told
