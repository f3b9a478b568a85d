"""A function in this process: what it can break, and how the process is told to be given up."""

import os
import sys

import pytest
from trials import Maker, log

from crewflow.engine import callables, procs, restore, spawn
from crewflow.engine.callables import Host

BASE = spawn.caller_environment()


@pytest.fixture
def make(tmp_path):
    procs.adopt_orphans()
    before = set(sys.modules)
    yield Maker(tmp_path)
    for name in sys.modules.keys() - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def host():
    return Host(sheltered=False)


def _call(host, make, text, **more):
    make.module("step", text)
    return host.call(make.python("step:f", **more), BASE, procs.children_of_this())


def test_a_call_without_leftovers_gives_no_reason_to_go(host, make):
    ended, why = _call(host, make, "def f(): return 1")
    assert (ended.result, why) == (1, None)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of the step's own
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            "import threading\n    global t; t = threading.Event(); threading.Thread(target=t.wait).start()",
            "a thread goes on",
        ),
        ("global kept; kept = open('/dev/null')", "files are left open"),
        ("global kept; kept = b'x' * 100_000_000", "memory has grown"),
    ],
)
def test_what_cannot_be_put_back_is_a_reason_to_go(host, make, body, why):
    _, reason = _call(host, make, f"def f():\n    {body}\n")
    step = sys.modules["step"]
    if hasattr(step, "t"):
        step.t.set()
    if hasattr(getattr(step, "kept", None), "close"):
        step.kept.close()
    assert reason == why


def test_so_many_calls_are_a_reason_to_go(host, make, monkeypatch):
    monkeypatch.setattr(callables, "CALL_LIMIT", 2)
    reasons = [_call(host, make, "def f(): return 1")[1] for _ in range(2)]
    assert reasons == [None, "enough calls"]


def test_a_changed_module_is_noticed_and_others_are_not(host, make):
    make.module("helper", "VALUE = 1")
    ended, _ = _call(host, make, "import helper\ndef f(): return helper.VALUE")
    assert ended.result == 1
    project = str(make.project)
    assert host.stale(project) is None
    make.module("helper", "VALUE = 22")
    assert host.stale(project) == "helper"
    host.forget_changed(project)
    assert host.stale(project) is None


def test_a_function_that_raises_in_words_of_its_own_is_still_reported(host, make):
    text = "class Odd(Exception):\n    def __str__(self): raise ValueError\ndef f(): raise Odd"
    attempt_end, _ = _call(host, make, text)
    assert attempt_end.error.startswith("`step:f` raised step.Odd")


def test_a_chained_exception_is_shown_as_a_whole(host, make):
    make.module(
        "step", "def f():\n    try: 1 / 0\n    except ZeroDivisionError as e: raise ValueError('b') from e"
    )
    attempt = make.python("step:f")
    host.call(attempt, BASE, procs.children_of_this())
    text = log(attempt).decode()
    assert "ZeroDivisionError: division by zero" in text
    assert "ValueError: b" in text


def test_the_names_of_a_function_may_have_dots(host, make):
    make.module("step", "class A:\n    @staticmethod\n    def f(): return 'inner'")
    ended, _ = host.call(make.python("step:A.f"), BASE, procs.children_of_this())
    assert ended.result == "inner"


def test_streams_lead_elsewhere_for_a_while_only(tmp_path):
    out, err = (os.open(tmp_path / name, os.O_WRONLY | os.O_CREAT) for name in ("out", "err"))
    before = [os.fstat(fd) for fd in range(3)]
    with restore.streams(out, err, fresh_objects=True):
        sys.stdout.write("to out\n")
        sys.stderr.write("to err\n")
        os.write(1, b"raw\n")
        assert sys.stdin.read() == ""
    assert [os.fstat(fd).st_ino for fd in range(3)] == [stat.st_ino for stat in before]
    assert (tmp_path / "out").read_text() == "to out\nraw\n"
    assert (tmp_path / "err").read_text() == "to err\n"
