"""What only the executor in this process does."""

import os

import pytest
from trials import Maker, ends, log, run

from crewflow.engine.inline import InlineExecutor
from crewflow.run.states import Outcome


@pytest.fixture
def make(tmp_path):
    return Maker(tmp_path)


@pytest.fixture
def executor():
    made = InlineExecutor()
    yield made
    made.close()


def test_functions_run_in_this_process_while_somebody_waits(executor, make):
    attempt = make.python("os:getpid")
    executor.start(attempt)
    assert not os.path.exists(attempt.folder)
    assert ends(executor, 1)[0].result == os.getpid()


def test_one_attempt_after_the_other_in_the_order_of_their_start(executor, make):
    made = [
        make.script("true"),
        make.python("os:getpid"),
        make.script("exit 3"),
        make.command("nosuchcmd_zz"),
    ]
    for attempt in made:
        executor.start(attempt)
    assert [end.task for end in ends(executor, 4)] == [attempt.task for attempt in made]


def test_an_attempt_that_waits_its_turn_can_be_cancelled(executor, make):
    executor.start(make.command("sleep", "1000"))
    executor.start(make.python("os:getpid"))
    executor.cancel("t2", 1, now=False)
    executor.cancel("t1", 1, now=True)
    assert {(end.task, end.outcome) for end in ends(executor, 2)} == {
        ("t1", Outcome.CANCELLED),
        ("t2", Outcome.CANCELLED),
    }


def test_output_of_a_function_is_its_log_though_stdout_is_somebody_elses(executor, make, capsys):
    attempt = make.python("builtins:print", arguments={"end": "no newline"})
    assert run(executor, attempt).outcome is Outcome.SUCCEEDED
    assert log(attempt) == b"no newline"
    assert capsys.readouterr().out == ""
