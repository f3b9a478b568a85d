"""One suite for every executor: what a run may rely on, wherever its attempts run."""

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from trials import Maker, ends, lives, log, pid_in, run, until

from crewflow.engine import procs
from crewflow.engine.executor import Ended, Spawned
from crewflow.engine.inline import InlineExecutor
from crewflow.engine.keeper import Keeper
from crewflow.engine.pool import LocalExecutor
from crewflow.run.states import Outcome
from crewflow.spec.model import Output


@pytest.fixture
def make(tmp_path):
    before = set(sys.modules)
    yield Maker(tmp_path)
    for name in sys.modules.keys() - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]  # the next test has a module of that name too


@pytest.fixture(params=["local", "inline"])
def executor(request):
    made = LocalExecutor(Keeper.fork(), 2) if request.param == "local" else InlineExecutor()
    yield made
    made.close()


def facts(ended):
    return ended.outcome, ended.failure, ended.exit_code, ended.signal


def test_a_command_that_ends_well_succeeds_and_leaves_no_files(executor, make):
    attempt = make.command("true")
    ended = run(executor, attempt)
    assert facts(ended) == (Outcome.SUCCEEDED, None, 0, None)
    assert (ended.task, ended.number, ended.error, ended.outputs, ended.result) == ("t1", 1, None, {}, None)
    assert os.listdir(attempt.folder) == []


@pytest.mark.case("C079")
@pytest.mark.parametrize(
    ("text", "code", "name", "error"),
    [
        ("exit 300", 44, None, "exit code 44"),
        ("exit 1", 1, None, "exit code 1"),
        ("nosuchcmd_zz", 127, None, "exit code 127 (command not found)"),
        ("./plain", 126, None, "exit code 126 (found, but could not be executed)"),
        ("kill -9 $$", None, "SIGKILL", "killed by SIGKILL"),
        ("kill -TERM $$", None, "SIGTERM", "killed by SIGTERM"),
    ],
)
def test_how_a_script_ended_is_told_apart(executor, make, text, code, name, error):
    (make.project / "plain").write_text("echo no")
    ended = run(executor, make.script(text))
    assert (ended.outcome, ended.exit_code, ended.signal) == (Outcome.FAILED, code, name)
    assert ended.failure == ("signal" if name else "exit")
    assert ended.error == error


@pytest.mark.case("C079")
@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("nosuchcmd_zz",), "program `nosuchcmd_zz` was not found"),
        (("./nothing",), "program `./nothing` was not found"),
        (("./plain",), "`./plain` is not executable"),
        (("./folder",), "`./folder` is a folder, no program"),
        (("./shebangless",), "`./shebangless` is no program and has no `#!` line"),
        (("./lost",), "`./lost` needs an interpreter that was not found; see its `#!` line"),
        (
            ("echo", "a\0b"),
            "argument 1 holds a NUL byte, which no process can be given; pass it by `artifacts`",
        ),
        (
            ("echo", "x" * 131_001),
            "argument 1 has 131,001 bytes, more than a process can be given; pass it by `artifacts`",
        ),
    ],
)
def test_a_command_that_cannot_start_says_why(executor, make, words, error):
    (make.project / "plain").write_text("echo no")
    (make.project / "folder").mkdir()
    for name, text in (("shebangless", "hello"), ("lost", "#!/no/such/interpreter\n")):
        (make.project / name).write_text(text)
        (make.project / name).chmod(0o755)
    ended = run(executor, make.command(*words))
    assert facts(ended) == (Outcome.FAILED, "start", None, None)
    assert ended.error == error


def test_a_folder_that_is_not_there_is_a_start_failure(executor, make):
    gone = str(make.project / "gone")
    for attempt in (make.script("true", cwd=gone), make.python("os:getcwd", cwd=gone)):
        ended = run(executor, attempt)
        assert (ended.failure, ended.error) == (
            "start",
            f"`cwd` cannot be entered: no such file or directory: `{gone}`",
        )


@pytest.mark.parametrize("env", [{"A=B": "x"}, {"": "x"}, {"A": "a\0b"}, {"A": "x" * 131_000}])
def test_an_environment_that_cannot_be_passed_is_a_start_failure(executor, make, env):
    assert run(executor, make.command("true", env=env)).failure == "start"


def test_a_step_gets_the_callers_environment_and_its_own_on_top(executor, make, monkeypatch):
    attempt = make.script(
        'printf "%s|%s|%s" "$A" "$HOME" "$CREWFLOW_OUTPUT"', env={"A": "x\ny=", "HOME": "/h"}
    )
    run(executor, attempt)
    assert log(attempt).decode() == f"x\ny=|/h|{attempt.folder}/outputs"


def test_the_program_is_looked_up_with_the_steps_path_and_folder(executor, make):
    tools = make.project / "sub" / "tools"
    tools.mkdir(parents=True)
    (tools / "mine").write_text("#!/bin/sh\npwd\n")
    (tools / "mine").chmod(0o755)
    attempt = make.command("mine", env={"PATH": "tools:/bin:/usr/bin"}, cwd=str(make.project / "sub"))
    run(executor, attempt)
    assert log(attempt).decode() == f"{make.project}/sub\n"


def test_a_step_is_a_session_without_input_or_inherited_signals(executor, make):
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        attempt = make.script(
            "cat; ps -o sid= -p $$; echo $$; grep -E 'Sig(Ign|Blk)' /proc/self/status; ls /proc/$$/fd"
        )
        assert run(executor, attempt).outcome is Outcome.SUCCEEDED
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    session, pid, *rest = log(attempt).decode().split()
    assert session == pid
    assert (rest[0], int(rest[1], 16), rest[2]) == ("SigBlk:", 0, "SigIgn:")
    own_of_the_c_library = 1 << 31 | 1 << 32
    assert int(rest[3], 16) & ~own_of_the_c_library == 0
    given = {name for name in os.listdir("/proc/self/fd") if _is_inheritable(int(name))}
    assert set(rest[4:]) - given <= {"0", "1", "2", "10"}, "10 is the shell's own"


def _is_inheritable(fd):
    try:
        return os.get_inheritable(fd)
    except OSError:
        return False


@pytest.mark.case("C073")
def test_much_on_both_streams_reaches_the_log_as_a_whole(executor, make):
    attempt = make.script(
        "head -c 10000000 /dev/zero | tr '\\0' x; head -c 10000000 /dev/zero | tr '\\0' y >&2; echo end"
    )
    ended = run(executor, attempt)
    assert facts(ended) == (Outcome.SUCCEEDED, None, 0, None)
    assert ended.output_bytes == 20_000_004
    text = log(attempt)
    assert (text.count(b"x"), text.count(b"y"), text[-4:]) == (10_000_000, 10_000_000, b"end\n")


@pytest.mark.case("C074")
def test_full_pipes_are_no_timeout(executor, make):
    attempt = make.script("seq 1 60000", timeout=20.0)
    assert run(executor, attempt).outcome is Outcome.SUCCEEDED
    assert log(attempt).splitlines()[-1] == b"60000"


@pytest.mark.case("C076")
def test_bytes_that_are_no_text_are_kept_as_they_are(executor, make):
    attempt = make.script("printf 'a\\377b\\n'; echo after; exit 3", keeps_stdout=True)
    ended = run(executor, attempt)
    assert ended.exit_code == 3
    assert log(attempt) == log(attempt, "stdout.log") == b"a\xffb\nafter\n"
    assert ended.result == "a\N{REPLACEMENT CHARACTER}b\nafter"


@pytest.mark.case("C077")
def test_characters_and_carriage_returns_come_through_whole(executor, make):
    attempt = make.script(
        "i=0; while [ $i -lt 5000 ]; do printf '\\303\\251'; i=$((i+1)); done; printf '10%%\\r20%%\\rend'",
        keeps_stdout=True,
    )
    ended = run(executor, attempt)
    assert ended.result == "é" * 5000 + "10%\r20%\rend"
    assert log(attempt).decode() == ended.result


def test_only_the_end_of_a_long_stdout_is_the_result(executor, make):
    attempt = make.script("yes é | head -n 50000", keeps_stdout=True)
    result = run(executor, attempt).result
    assert set(result.strip().splitlines()) == {"é"}
    assert 65_530 <= len(result.encode()) <= 65_536


@pytest.mark.case("C089")
def test_a_script_longer_than_an_argument_may_be_runs_from_a_file(executor, make):
    attempt = make.script("echo ........\n" * 12_000 + "exit 7\n")
    ended = run(executor, attempt)
    assert ended.exit_code == 7
    assert log(attempt).count(b"\n") == 12_000


@pytest.mark.case("C070")
def test_a_timeout_ends_the_real_work_too(executor, make):
    attempt = make.script('sh -c "sleep 60; touch late" & wait', timeout=0.2)
    ended = run(executor, attempt)
    assert (ended.outcome, ended.failure, ended.error) == (Outcome.FAILED, "timeout", "timed out after 0.2s")
    assert ended.survivors == ()
    assert ended.seconds < 20


@pytest.mark.case("C071")
def test_a_leftover_that_holds_the_pipe_delays_nothing_and_is_named(executor, make):
    attempt = make.script("setsid sleep 300 & echo $! > pid; echo started; sleep 300", timeout=0.3)
    ended = run(executor, attempt)
    pid = pid_in(make.project / "pid")
    assert ended.failure == "timeout"
    assert not lives(pid)
    assert log(attempt).decode() == f"started\ncrewflow: ended leftover process {pid} (sleep)\n"


def test_what_ignores_term_is_killed_after_the_grace(executor, make):
    attempt = make.script("trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done", timeout=0.3, grace=0.3)
    ended = run(executor, attempt)
    assert (ended.failure, ended.signal) == ("timeout", "SIGKILL")
    assert not lives(pid_in(make.project / "pid"))


def test_a_stopped_process_is_woken_to_end(executor, make):
    attempt = make.script(
        "trap 'echo bye; exit 5' TERM; kill -STOP $$; sleep 100 & wait", timeout=0.3, grace=20.0
    )
    ended = run(executor, attempt)
    assert (ended.failure, ended.exit_code) == ("timeout", 5)
    assert log(attempt) == b"bye\n"


def test_leftovers_of_a_step_that_ended_well_are_ended_and_named(executor, make):
    attempt = make.script(
        "(trap '' TERM; sleep 300; sleep 300) & echo $! > pid; nohup sleep 300 >/dev/null 2>&1 &"
    )
    ended = run(executor, attempt)
    assert ended.outcome is Outcome.SUCCEEDED
    assert not lives(pid_in(make.project / "pid"))
    assert log(attempt).decode().count("crewflow: ended leftover process") >= 2


def test_what_only_finishes_its_writing_is_left_to_do_so(executor, make):
    attempt = make.script("(sleep 0.03; echo late) & echo soon")
    assert run(executor, attempt).outcome is Outcome.SUCCEEDED
    assert log(attempt) == b"soon\nlate\n"


@pytest.mark.parametrize("kind", ["polite", "now", "interrupt"])
def test_a_cancelled_attempt_is_ended_as_asked(executor, make, kind):
    attempt = make.script(
        "trap 'echo term; exit' TERM; trap 'echo int; exit' INT; echo $$ > pid; while :; do sleep 0.02; done"
    )
    executor.start(attempt)
    pid = until(lambda: (make.project / "pid").exists() and pid_in(make.project / "pid"), executor)
    executor.cancel(attempt.task, 1, now=kind == "now", interrupt=kind == "interrupt")
    (ended,) = ends(executor, 1)
    assert (ended.outcome, ended.failure, ended.error) == (Outcome.CANCELLED, None, "cancelled")
    said = [line for line in log(attempt).split() if line in {b"term", b"int"}]
    assert said == {"polite": [b"term"], "now": [], "interrupt": [b"int"]}[kind]
    assert not lives(pid)


def test_an_impatient_second_cancel_kills(executor, make):
    attempt = make.script("trap '' INT TERM; echo $$ > pid; while :; do sleep 0.02; done", grace=1000.0)
    executor.start(attempt)
    pid = until(lambda: (make.project / "pid").exists() and pid_in(make.project / "pid"), executor)
    executor.cancel(attempt.task, 1, now=False, interrupt=True)
    assert executor.wait(0.1) == [] or lives(pid)
    executor.cancel(attempt.task, 1, now=True)
    (ended,) = ends(executor, 1)
    assert (ended.outcome, ended.signal) == (Outcome.CANCELLED, "SIGKILL")


def test_cancelling_what_does_not_run_does_nothing(executor, make):
    executor.cancel("nobody", 3, now=True)
    assert executor.wait(0.0) == []
    assert run(executor, make.command("true")).outcome is Outcome.SUCCEEDED


def test_a_process_that_lasts_is_reported_with_its_start_time(executor, make):
    attempt = make.script("echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done")
    executor.start(attempt)
    events = until(lambda: executor.wait(1.0))
    stat = Path(f"/proc/{pid_in(make.project / 'pid')}/stat").read_text()
    assert events == [
        Spawned("t1", 1, pid_in(make.project / "pid"), int(stat.rpartition(")")[2].split()[19]))
    ]
    (make.project / "go").touch()
    assert ends(executor, 1)[0].outcome is Outcome.SUCCEEDED


@pytest.mark.case("C169")
def test_another_try_sees_nothing_of_an_earlier_one(executor, make):
    outputs = (Output("a", "string", "output", True, "default"),)
    first = make.script('echo a=old > "$CREWFLOW_OUTPUT"; echo noise', task="t", outputs=outputs)
    assert run(executor, first).outputs == {"a": "old"}
    again = make.script("true", task="t", outputs=outputs)
    assert run(executor, again).outputs == {"a": "default"}
    assert os.listdir(again.folder) == []


def test_outputs_result_and_artifacts_come_with_the_end(executor, make):
    attempt = make.script(
        'echo "n=5" >> "$CREWFLOW_OUTPUT"; mkdir dist; printf data > dist/x.whl; echo hello',
        keeps_stdout=True,
        outputs=(Output("n", "integer"), Output("said", "string", "stdout")),
        artifacts={"wheel": ("dist/*.whl",)},
    )
    ended = run(executor, attempt)
    assert ended.outputs == {"n": 5, "said": "hello"}
    assert ended.result == "hello"
    digest = hashlib.sha256(b"data").hexdigest()
    assert ended.artifacts == ({"id": "wheel", "path": "dist/x.whl", "sha256": digest, "size": 4},)


def test_large_attempts_and_results_pass_too(executor, make):
    make.module("echo", "def back(**given): return given")
    given = {"a": "ä" * 100_000, "b": list(range(1000))}
    assert run(executor, make.python("echo:back", arguments=given)).result == given
    output = (Output("big", "string"),)
    attempt = make.script(
        'printf "big=" > "$CREWFLOW_OUTPUT"; printf %s "$BIG" >> "$CREWFLOW_OUTPUT"',
        env={"BIG": "x" * 100_000},
        outputs=output,
    )
    assert run(executor, attempt).outputs == {"big": "x" * 100_000}


def test_bad_output_fails_the_attempt(executor, make):
    ended = run(executor, make.script('echo "role=admin" >> "$CREWFLOW_OUTPUT"'))
    assert facts(ended) == (Outcome.FAILED, "bad_output", 0, None)
    assert ended.error == "output `role` is not declared under `outputs`"
    ended = run(executor, make.script("true", artifacts={"x": ("dist/*",)}))
    assert ended.error == "artifact `x` is missing: nothing matches `dist/*`"


def test_waiting_ends_when_the_caller_is_called(make):
    reader, writer = os.pipe()
    for executor in (InlineExecutor(reader), LocalExecutor(Keeper.fork(), 1, reader)):
        attempt = make.command("sleep", "300")
        executor.start(attempt)
        until(lambda executor=executor: [e for e in executor.wait(0.01) if isinstance(e, Spawned)])
        os.write(writer, b"!")
        assert executor.wait(None) == []
        os.read(reader, 1)
        executor.close()


def test_waiting_ends_when_its_time_is_over(executor):
    assert executor.wait(0.01) == []
    assert executor.wait(0) == []


def test_closing_ends_what_runs(executor, make):
    attempt = make.script("echo $$ > pid; exec sleep 300")
    executor.start(attempt)
    pid = until(lambda: (make.project / "pid").exists() and pid_in(make.project / "pid"), executor)
    executor.close()
    assert not lives(pid)


@pytest.mark.case("C092")
def test_many_short_tasks_leave_no_zombie(executor, make):
    under_way = 0
    left = [make.command("true") for _ in range(200)]
    ended = []
    while left or under_way:
        while left and under_way < executor.capacity:
            executor.start(left.pop())
            under_way += 1
        found = [event for event in executor.wait(10) if isinstance(event, Ended)]
        under_way -= len(found)
        ended += found
    assert [end.failure for end in ended] == [None] * 200
    table = procs.processes()
    family = {os.getpid()} | {pid for pid, proc in table.items() if proc.parent == os.getpid()}
    assert [proc for proc in table.values() if proc.state == "Z" and proc.parent in family] == []


# Python steps.


def test_a_function_is_called_with_keywords_and_its_value_is_the_result(executor, make):
    make.module("mine", "def add(a, b): return {'sum': a + b, 'pair': (a, b)}")
    ended = run(executor, make.python("mine:add", arguments={"a": 1, "b": 2}))
    assert facts(ended) == (Outcome.SUCCEEDED, None, 0, None)
    assert ended.result == {"sum": 3, "pair": [1, 2]}


@pytest.mark.seed("S9")
@pytest.mark.parametrize(
    ("text", "failure", "code", "error"),
    [
        ("raise ValueError('bad\\nworse')", "exit", 1, "`mine:f` raised ValueError: bad"),
        ("import sys; sys.exit(3)", "exit", 3, "exit code 3"),
        ("import sys; sys.exit('words')", "exit", 1, "exit code 1"),
        ("import sys; sys.exit(0)", None, 0, None),
        ("raise KeyboardInterrupt", "exit", 1, "`mine:f` raised KeyboardInterrupt"),
        (
            "return lambda: 1",
            "bad_output",
            0,
            "the function returned what JSON cannot say: a value of type function is not JSON serializable",
        ),
        (
            "return (x for x in [])",
            "bad_output",
            0,
            "the function returned what JSON cannot say: a value of type generator is not JSON serializable",
        ),
        (
            "return open('/dev/null')",
            "bad_output",
            0,
            (
                "the function returned what JSON cannot say: "
                "a value of type TextIOWrapper is not JSON serializable"
            ),
        ),
        (
            "return float('nan')",
            "bad_output",
            0,
            "the function returned what JSON cannot say: Out of range float values are not JSON compliant",
        ),
        (
            "return 'x' * 2_000_000",
            "bad_output",
            0,
            "the function returned more than 1 MiB; pass it by `artifacts`",
        ),
        (
            "l = []; l.append(l); return l",
            "bad_output",
            0,
            "the function returned what JSON cannot say: Circular reference detected",
        ),
    ],
)
@pytest.mark.case("C095")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of the step's own
def test_a_function_that_goes_wrong_fails_its_own_attempt_only(executor, make, text, failure, code, error):
    make.module("mine", f"def f():\n    {text}\n")
    ended = run(executor, make.python("mine:f"))
    assert (ended.failure, ended.exit_code, ended.error) == (failure, code, error)
    assert run(executor, make.command("true")).outcome is Outcome.SUCCEEDED
    assert run(executor, make.python("os:getpid")).outcome is Outcome.SUCCEEDED


@pytest.mark.case("C095")
def test_the_original_traceback_is_in_the_log(executor, make):
    make.module(
        "mine",
        "class Two(Exception):\n"
        "    def __init__(self, a, b): super().__init__(a)\n"
        "def inner(): raise Two('first', 'second')\n"
        "def f(): inner()\n",
    )
    attempt = make.python("mine:f")
    assert run(executor, attempt).error == "`mine:f` raised mine.Two: first"
    text = log(attempt).decode()
    assert text.startswith("Traceback (most recent call last):\n")
    assert "in inner" in text
    assert "crewflow" not in text.replace(str(make.project), "")


@pytest.mark.parametrize(
    ("action", "error"),
    [
        ("nosuch:f", "module `nosuch` of `nosuch:f` was not found"),
        ("mine:nosuch", "module `mine` has no function `nosuch`"),
        ("mine:VALUE", "`mine:VALUE` is not a function"),
    ],
)
def test_a_function_that_is_not_there_is_a_start_failure(executor, make, action, error):
    make.module("mine", "VALUE = 1")
    ended = run(executor, make.python(action))
    assert (ended.failure, ended.error) == ("start", error)


def test_a_module_that_fails_to_load_shows_why(executor, make):
    make.module("broken", "import nosuch_inside")
    attempt = make.python("broken:f")
    ended = run(executor, attempt)
    assert ended.failure == "exit"
    assert "nosuch_inside" in ended.error


def test_what_a_function_writes_goes_to_its_log(executor, make):
    make.module(
        "mine",
        "import os, sys, subprocess\n"
        "def f():\n"
        "    print('out'); sys.stdout.flush(); print('err', file=sys.stderr, flush=True)\n"
        "    os.write(1, b'raw\\n'); subprocess.run(['echo', 'child'], check=True)\n",
    )
    attempt = make.python("mine:f")
    ended = run(executor, attempt)
    assert log(attempt) == b"out\nerr\nraw\nchild\n"
    assert ended.output_bytes == len(log(attempt))


def test_a_silent_function_leaves_no_files(executor, make):
    attempt = make.python("os:getcwd")
    assert run(executor, attempt).result == str(make.project)
    assert os.listdir(attempt.folder) == []


def test_a_function_leaves_the_process_as_it_was(executor, make):
    make.module(
        "mine",
        "import os, signal, sys\n"
        "def look():\n"
        "    mask = os.umask(0); os.umask(mask)\n"
        "    return [os.getcwd(), mask, sys.path[:2], sorted(os.environ.items()),\n"
        "            str(signal.getsignal(signal.SIGUSR1)), str(signal.getsignal(signal.SIGTERM))]\n"
        "def spoil():\n"
        "    os.chdir('/'); os.umask(0); sys.path.insert(0, '/nowhere'); os.environ['SPOILT'] = '1'\n"
        "    del os.environ['PATH']\n"
        "    signal.signal(signal.SIGUSR1, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    os.close(0); os.close(1); os.close(2)\n",
    )
    folder = {"folder": str(make.tasks / "same")}
    before = run(executor, make.python("mine:look", **folder)).result
    assert run(executor, make.python("mine:spoil")).outcome is Outcome.SUCCEEDED
    assert run(executor, make.python("mine:look", **folder)).result == before
    attempt = make.script("echo fine; echo also >&2")
    assert run(executor, attempt).outcome is Outcome.SUCCEEDED
    assert log(attempt) == b"fine\nalso\n"


def test_a_changed_module_is_loaded_again(executor, make):
    make.module("mine", "def f(): return 'old'")
    assert run(executor, make.python("mine:f")).result == "old"
    make.module("mine", "def f(): return 'renewed'")
    assert run(executor, make.python("mine:f")).result == "renewed"


def test_the_project_comes_first_in_the_path(executor, make):
    make.module("mine", "import sys\ndef f(): return sys.path[0]")
    assert run(executor, make.python("mine:f")).result == str(make.project)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of the step's own
def test_children_of_a_function_are_ended_and_named(executor, make):
    make.module(
        "mine",
        "import subprocess\ndef f(): return subprocess.Popen(['sleep', '300'], start_new_session=True).pid",
    )
    attempt = make.python("mine:f")
    pid = run(executor, attempt).result
    assert not lives(pid)
    assert log(attempt).decode() == f"crewflow: ended leftover process {pid} (sleep)\n"


def test_a_fork_that_comes_back_from_the_function_says_nothing(executor, make):
    make.module("mine", "import os\ndef f(): return os.fork() and 'parent'")
    assert run(executor, make.python("mine:f")).result == "parent"
    assert run(executor, make.python("mine:f")).result == "parent"
    assert run(executor, make.command("true")).outcome is Outcome.SUCCEEDED


def test_a_function_that_does_not_return_in_time_fails_by_timeout(executor, make):
    make.module("mine", "import time\ndef f():\n    while True: time.sleep(0.01)")
    ended = run(executor, make.python("mine:f", timeout=0.5))
    assert (ended.outcome, ended.failure, ended.error) == (Outcome.FAILED, "timeout", "timed out after 0.5s")
    assert run(executor, make.python("os:getcwd")).outcome is Outcome.SUCCEEDED


def test_the_outputs_of_a_function_are_keys_of_its_value_or_in_the_file(executor, make):
    make.module(
        "mine",
        "import os\n"
        "def f():\n"
        "    with open(os.environ['CREWFLOW_OUTPUT'], 'w') as file: file.write('a=file\\n')\n"
        "    print('{\"x\": [1, 2]}')\n"
        "    return {'a': 'value', 'b': '7', 'c': None}\n",
    )
    outputs = (Output("a", "string"), Output("b", "integer"), Output("x", "integer", "json:/x/1"))
    ended = run(executor, make.python("mine:f", outputs=outputs))
    assert ended.outputs == {"a": "file", "b": 7, "x": 2}
    assert ended.result == {"a": "value", "b": "7", "c": None}


def test_ends_can_be_written_as_json(executor, make):
    ended = run(executor, make.script("exit 4"))
    assert json.loads(json.dumps([ended.outcome, ended.artifacts, ended.survivors])) == ["failed", [], []]


def test_a_step_may_remove_the_folder_it_runs_in(executor, make):
    for _ in range(2):
        (make.project / "sub").mkdir()
        attempt = make.script("rmdir ../sub; echo still", cwd=str(make.project / "sub"))
        assert run(executor, attempt).outcome is Outcome.SUCCEEDED
        assert log(attempt) == b"still\n"


def test_durations_are_measured(executor, make):
    began = time.monotonic()
    ended = run(executor, make.command(sys.executable, "-c", "pass"))
    assert 0 < ended.seconds <= time.monotonic() - began
