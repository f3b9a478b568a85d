"""One attempt by itself: what it is started with, what its end is called, where its output goes."""

import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from trials import Maker, log

from crewflow.engine import attempt as attempts
from crewflow.engine import procs, spawn
from crewflow.run.states import Outcome

BASE = spawn.caller_environment()


@pytest.fixture(autouse=True)
def _adopting():
    procs.adopt_orphans()


@pytest.fixture
def make(tmp_path):
    return Maker(tmp_path)


def _finish(running):
    while running.ended is None:
        running.turn(None)
    return running.ended


@pytest.mark.parametrize(
    ("cause", "code", "expected"),
    [
        (None, 0, (Outcome.SUCCEEDED, None, None)),
        (None, 3, (Outcome.FAILED, "exit", "exit code 3")),
        (None, 127, (Outcome.FAILED, "exit", "exit code 127 (command not found)")),
        (None, -9, (Outcome.FAILED, "signal", "killed by SIGKILL")),
        (None, -40, (Outcome.FAILED, "signal", "killed by signal 40")),
        ("timeout", 0, (Outcome.FAILED, "timeout", "timed out after 90s")),
        ("timeout", -15, (Outcome.FAILED, "timeout", "timed out after 90s")),
        ("cancel", 0, (Outcome.CANCELLED, None, "cancelled")),
        ("cancel", None, (Outcome.CANCELLED, None, "cancelled")),
    ],
)
def test_what_became_of_a_process_has_one_name(cause, code, expected):
    assert attempts.verdict(cause, code, 90.0) == expected


@pytest.mark.case("C089")
@pytest.mark.parametrize(
    ("shell", "words"),
    [
        (("sh", "-e", "-c"), [b"sh", b"-e"]),
        (
            ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"),
            [b"bash", b"--noprofile", b"--norc", b"-eo", b"pipefail"],
        ),
        (("sh", "-ec"), [b"sh", b"-e"]),
        (("python", "-c"), [b"python"]),
    ],
)
def test_a_long_script_is_given_as_a_file_to_shells_that_take_one(make, shell, words):
    text = "#" * 100_001
    attempt = make.script(text, shell=shell)
    os.makedirs(attempt.folder)
    *before, path = spawn.arguments(attempt)
    assert before == words
    assert Path(os.fsdecode(path)).read_text() == text
    short = make.script("echo", shell=shell)
    assert spawn.arguments(short) == [*(word.encode() for word in shell), b"echo"]


def test_a_shell_of_ones_own_gets_the_script_as_its_last_word_or_says_that_it_is_too_long(make):
    shell = ("perl", "-e")
    assert spawn.arguments(make.script("#" * 120_000, shell=shell)) == [b"perl", b"-e", b"#" * 120_000]
    with pytest.raises(spawn.StartError, match="the script has 131,001 bytes"):
        spawn.arguments(make.script("#" * 131_001, shell=shell))


def test_reading_ends_though_somebody_outside_holds_the_pipe(make, tmp_path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        text = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(tmp_path / 's')!r})"
        text += "; socket.send_fds(s, [b'x'], [1]); print('done')"
        running = attempts.begin(make.command(sys.executable, "-c", text), BASE)
        with server.accept()[0] as peer:
            _, (held,), _, _ = socket.recv_fds(peer, 1, 1)
            os.write(held, b"early\n")
            ended = _finish(running)
            os.close(held)
    assert ended.outcome is Outcome.SUCCEEDED
    assert ended.output_bytes == len(b"early\ndone\n")


def test_children_that_were_there_before_are_left_alone(make):
    other = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    quick = subprocess.Popen(["true"])
    try:
        attempt = make.script("setsid sleep 1000 & sleep 1000", timeout=0.2)
        running = attempts.begin(attempt, BASE, procs.children_of_this())
        assert _finish(running).failure == "timeout"
        assert other.poll() is None
        assert quick.wait() == 0
    finally:
        other.kill()
        other.wait()


def test_an_attempt_leaves_no_descriptor_open(make):
    before = os.listdir("/proc/self/fd")
    for attempt in (
        make.command("true"),
        make.command("nosuchcmd_zz"),
        make.script("echo", keeps_stdout=True),
    ):
        _finish(attempts.begin(attempt, BASE))
    assert os.listdir("/proc/self/fd") == before


def test_a_log_that_cannot_be_written_loses_output_and_not_the_attempt(make):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    attempt = make.script("ulimit -f unlimited; seq 1 20000", timeout=30.0)
    keeping = make.script("seq 1 20000", keeps_stdout=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        ended = [_finish(attempts.begin(each, BASE)) for each in (attempt, keeping)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [end.exit_code for end in ended] == [0, 0]
    assert [end.failure for end in ended] == [None, "bad_output"]
    assert ended[1].error == "its output could not be kept: file too large"
    assert len(log(attempt)) == ended[0].output_bytes == 4096


def test_a_silent_attempt_makes_no_file(make):
    attempt = make.script("true", keeps_stdout=True)
    assert _finish(attempts.begin(attempt, BASE)).result == ""
    assert os.listdir(attempt.folder) == []


def test_the_folder_of_this_process_stays_what_it_was(make):
    before = os.getcwd()
    for attempt in (make.command("true"), make.command("nosuchcmd_zz")):
        running = attempts.begin(attempt, BASE)
        assert os.getcwd() == before
        _finish(running)


def test_a_signal_is_never_sent_to_another_process_with_the_same_pid():
    child = subprocess.Popen(["sleep", "1000"])
    try:
        found = procs.look(child.pid)
        procs.send(
            procs.Proc(child.pid, found.parent, found.group, found.start + 1, "S", "x"), signal.SIGKILL
        )
        assert child.poll() is None
        procs.send(found, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    finally:
        child.kill()
        child.wait()
