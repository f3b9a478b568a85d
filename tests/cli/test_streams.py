"""Where text goes, and what happens when nobody takes it."""

import os
import subprocess
from pathlib import Path

import pytest

from crewflow.report.console import Console, printable


@pytest.fixture
def here(project):
    """A project with one run that failed, and logs."""
    here = project(
        """
        steps:
          a: {run: 'echo out; echo err >&2; touch o.txt', artifacts: {o: o.txt}}
          b: {needs: a, run: 'seq 1 20000; exit 3'}
        """
    )
    done = here.run("apply")
    assert done.code == 1
    return here


READING = [["plan"], ["status"], ["logs"], ["logs", "b"], ["events"], ["runs", "list"], ["graph"], ["schema"]]


@pytest.mark.case("C091")
def test_a_reader_that_goes_is_no_fault(here):
    for words in READING:
        line = f"crewflow {' '.join(words)} | head -1"
        done = subprocess.run(line, shell=True, cwd=here.root, env=here.env, capture_output=True, check=True)
        assert (done.stderr, done.stdout.count(b"\n")) == (b"", 1), words


@pytest.mark.case("C091")
def test_a_full_disk_is_told_once_and_fails(here):
    for words in (*READING, ["status", "--json"], ["version"], ["--help"]):
        with Path("/dev/full").open("wb") as full:
            done = here.run(*words, stdout=full, stderr=subprocess.PIPE)
        told = "error: cannot write the output: no space left on device\n"
        assert (done.code, done.err) == (10, told), words


@pytest.mark.case("C091")
@pytest.mark.parametrize("closed", [">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_closed_streams_are_as_good_as_null(here, closed):
    """The journal of a run gets no number that was that of a stream, and nothing that is printed."""
    for words in (*READING, ["apply"]):
        line = f"crewflow {' '.join(words)} {closed}"
        done = subprocess.run(line, shell=True, cwd=here.root, env=here.env, capture_output=True, check=False)
        assert (done.returncode, b"Traceback" in done.stderr) == (words == ["apply"], False), words
    assert len(here.run_ids) == 2
    assert here.status()["state"] == "failed"


@pytest.mark.case("C091")
def test_a_run_is_not_killed_by_a_log_pipe_that_closes(project):
    here = project("steps: {t: {for_each: [1, 2, 3, 4, 5, 6], run: 'sleep 0.1; echo x >> done'}}")
    line = "crewflow apply -v -j2 2>&1 | head -1"
    done = subprocess.run(line, shell=True, cwd=here.root, env=here.env, capture_output=True, check=True)
    assert done.stdout.startswith(b"run ")
    assert len(here.lines("done")) == 6
    assert here.status()["state"] == "succeeded"


@pytest.mark.parametrize(("text", "code"), [("'true'", 0), ("'false'", 1)])
def test_a_run_exits_as_it_ended_though_nobody_reads(project, text, code):
    here = project(f"steps: {{a: {{run: {text}}}}}")
    reader, writer = os.pipe()
    os.close(reader)
    done = here.run("apply", "--json", stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.code, "Traceback" in done.err) == (code, False)


def test_data_is_on_stdout_and_talk_on_stderr(here):
    done = here.run("apply")
    assert done.out == "o: o.txt\n"
    assert "failed" in done.err
    quiet = here.run("apply", "-q")
    assert "ok  a" in done.err
    assert "ok  a" not in quiet.err
    assert "`b` failed: exit code 3" in quiet.err
    for words in READING:
        assert here.run(*words).err == ""


@pytest.mark.case("C076")
@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX"])
def test_what_is_no_utf_8_is_shown_and_kept_whatever_the_locale(project, locale):
    here = project(r"""
        steps: {a: {run: 'printf "a\377b\n"; echo é; echo after; exit 3'}}
        """)
    env = {"LANG": locale, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = here.run("apply", env=env)
    assert done.code == 1
    assert "after" in done.err
    for words in (["status"], ["logs"], ["events"], ["logs", "--json"], ["runs", "list"]):
        assert here.run(*words, env=env).code == 0, words
    log = Path(here.paths().attempt("a", 1), "output.log")
    assert log.read_bytes() == b"a\377b\n\xc3\xa9\nafter\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é\n", "plain é\n"),
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x1b[2J\r\x00\x9b", "\\x1b[2J\\r\\x00\\x9b"),
        ("\udcff", "\\udcff"),
    ],
)
def test_nothing_that_is_printed_steers_a_terminal(text, shown):
    class Stream:
        encoding = "utf-8"

    assert printable(text, Stream()) == shown


def test_no_name_in_a_file_steers_a_terminal(project):
    here = project(
        """
        steps: {a: {matrix: {m: ["\\e]0;x\\a"]}, run: 'exit 3'}}
        """
    )
    for done in (here.run("plan"), here.run("apply"), here.run("status"), here.run("events")):
        assert "\x1b" not in done.out + done.err
        assert "\x07" not in done.out + done.err


@pytest.mark.parametrize(
    ("option", "environment", "coloured"),
    [
        ("auto", {}, False),
        ("always", {}, True),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {}, False),
    ],
)
def test_colour_is_for_who_wants_it(monkeypatch, capsys, option, environment, coloured):
    import sys  # noqa: PLC0415  (as it is while the output is captured)

    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert (Console(color=option).paint("x", "red", sys.stderr) != "x") == coloured
