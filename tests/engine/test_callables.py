"""A function in this process: what it can break, and how the process is told to be given up."""

import os
import sys

import pytest
from trials import Maker, log, run

from crewflow.engine import callables, procs, restore, spawn
from crewflow.engine.callables import Host
from crewflow.engine.keeper import Keeper
from crewflow.engine.pool import LocalExecutor
from crewflow.run.states import Outcome

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


@pytest.fixture
def local():
    """A single worker at a time: what one step breaks, the next would meet."""
    made = LocalExecutor(Keeper.fork(), 1)
    yield made
    made.close()


LOWEST = """for limit in range(1, 1000):
        try:
            sys.setrecursionlimit(limit)
            break
        except RecursionError:
            pass"""

ORDINARY = """
import decimal, gc, json, locale, os, resource, socket, subprocess, sys, time
def f():
    print("printed")
    said = subprocess.run(["echo", "child"], capture_output=True, text=True, check=True).stdout
    return json.loads(json.dumps({
        "pid": os.getpid(),
        "child": said,
        "argv": sys.argv,
        "recursion": sys.getrecursionlimit(),
        "gc": [gc.isenabled(), *gc.get_threshold()],
        "zone": [time.timezone, time.tzname, time.localtime(0).tm_hour],
        "socket": socket.getdefaulttimeout(),
        "decimal": str(decimal.Decimal(1) / 3),
        "limits": [resource.getrlimit(kind) for kind in range(16)],
        "user": [os.getuid(), os.geteuid(), os.getgid(), os.getegid()],
        "nice": os.nice(0),
        "locale": locale.setlocale(locale.LC_ALL),
        "root": os.stat("/").st_ino,
        "finders": len(sys.meta_path),
        "encoding": sys.stdout.encoding,
    }))
"""


def _spoil(local, make, body):
    """How an attempt with `body` ended, and what an ordinary one found before it and after."""
    make.module("ordinary", ORDINARY)
    make.module("spoiler", f"import os, sys\ndef f():\n    {body}\n    return 'spoilt'\n")
    found = []
    for action in ("ordinary:f", "spoiler:f", "ordinary:f"):
        attempt = make.python(action)
        found.append(run(local, attempt))
        if action == "ordinary:f":
            assert found[-1].outcome is Outcome.SUCCEEDED, found[-1].error
            assert log(attempt) == b"printed\n"
    before, spoilt, after = found
    pids = before.result.pop("pid"), after.result.pop("pid")
    assert after.result == before.result
    return spoilt, pids[0] == pids[1]


@pytest.mark.parametrize(
    "body",
    [
        "sys.stdout.close(); sys.stderr.close()",
        "sys.stdout.detach()",
        "sys.stdout.reconfigure(encoding='ascii')",
        LOWEST,
        "import gc; gc.disable(); gc.set_threshold(1, 2, 3)",
        "import time; os.environ['TZ'] = 'XYZ5'; time.tzset()",
        "import time; os.environ['TZ'] = 'XYZ5'; time.mktime(time.gmtime()); del os.environ['TZ']",
        "import socket; socket.setdefaulttimeout(0.001)",
        "import decimal; decimal.getcontext().prec = 3",
        "sys.argv[:] = ['mine']",
        "sys.argv = None",
        "sys.path = None",
        "del sys.stdout, sys.path, sys.argv",
        "sys.settrace(lambda *_: 1 / 0)",
        "import locale; locale.setlocale(locale.LC_ALL, 'C')",
    ],
)
def test_what_a_function_changes_is_put_back_in_the_same_worker(local, make, body):
    spoilt, same_worker = _spoil(local, make, body)
    assert (spoilt.outcome, spoilt.result, same_worker) == (Outcome.SUCCEEDED, "spoilt", True)


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="nobody else may do that")


@pytest.mark.parametrize(
    "body",
    [
        "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (5, 5))",
        "import resource as r; r.setrlimit(r.RLIMIT_AS, (1 << 20, r.getrlimit(r.RLIMIT_AS)[1]))",
        "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (0, 0))",
        "import builtins; builtins.print = None",
        "import builtins; builtins.leaked = 1",
        "import builtins; vars(builtins).clear()",
        "import json; json.dumps = json.loads = None",
        "import json; del json.loads",
        "import time; time.monotonic = time.sleep = None",
        "os.dup2 = os.open = os.close = os.write = os.getpid = os.waitpid = None",
        "import select, signal; select.poll = signal.signal = signal.setitimer = None",
        "sys.modules.clear()",
        "sys.modules = {}",
        "sys.meta_path.clear(); sys.path_hooks.clear()",
        "os.nice(19)",
        "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); os.nice(1)",
        pytest.param("os.mkdir('jail'); os.chroot('jail')", marks=as_root),
        pytest.param("os.seteuid(65534)", marks=as_root),
    ],
)
def test_a_function_that_breaks_its_process_has_it_given_up(local, make, body):
    spoilt, same_worker = _spoil(local, make, body)
    assert (spoilt.outcome, spoilt.result, same_worker) == (Outcome.SUCCEEDED, "spoilt", False), spoilt.error


@as_root
def test_a_function_that_becomes_another_user_loses_at_most_its_own_outputs(local, make):
    spoilt, same_worker = _spoil(local, make, "os.setgid(65534); os.setuid(65534)")
    assert (spoilt.error, same_worker) == ("the output file cannot be read: permission denied", False)


def test_a_broken_process_says_why_it_goes(host, make):
    import json  # noqa: PLC0415  # what is broken here

    kept = json.dumps
    ended, why = _call(host, make, "import json\ndef f(): json.dumps = None; return 1")
    assert (ended.result, why, json.dumps) == (1, "`json` was changed", kept)


@pytest.mark.parametrize(("code", "exit_code"), [("0", 1), ("", 1), ("3", 3), ("'words'", 1)])
def test_a_module_that_ends_while_it_is_imported_fails_its_step(local, make, code, exit_code):
    make.module("ending", f"import sys\nsys.exit({code})\ndef f(): return 1")
    attempt = make.python("ending:f")
    ended = run(local, attempt)
    assert (ended.outcome, ended.failure, ended.exit_code) == (Outcome.FAILED, "exit", exit_code)
    assert ended.error == "module `ending` ended (`sys.exit`) while it was imported"
    assert log(attempt) == (b"words\n" if code == "'words'" else b"")


def test_a_function_that_exits_by_zero_succeeds(local, make):
    make.module("ending", "import sys\ndef f(): sys.exit(0)")
    assert run(local, make.python("ending:f")).outcome is Outcome.SUCCEEDED


def test_a_child_of_a_function_ends_by_a_hangup(local, make):
    make.module(
        "child", "import subprocess\ndef f(): return subprocess.run(['sh', '-c', 'kill -HUP $$']).returncode"
    )
    assert run(local, make.python("child:f")).result == -1
