"""The loop, with an executor that finishes attempts in a given order, and a clock that moves when told."""

import json
from pathlib import Path

import pytest

from crewflow.run.states import Outcome, RunState

FAILED = Outcome.FAILED

DIAMOND = """
    steps:
      a: {run: "true"}
      b: {needs: a, run: "true"}
      c: {needs: a, run: "true"}
      d: {needs: [b, c], run: "true"}
"""


def test_a_diamond_runs_in_order_and_succeeds(scripted):
    run = scripted(DIAMOND).apply(["a", "c", "b", "d"])

    assert run.log == "+a -a +b +c -c -b +d -d"
    assert run.state is RunState.SUCCEEDED
    assert set(run.states.values()) == {"succeeded"}


@pytest.mark.seed("S7")
@pytest.mark.case("C100")
def test_a_ready_task_never_waits_for_what_it_does_not_need(scripted):
    """Two chains beside each other: the one goes on while the first task of the other still runs."""
    run = scripted(
        """
        steps:
          slow: {run: "true"}
          a: {run: "true"}
          b: {needs: a, run: "true"}
          c: {needs: b, run: "true"}
        """,
        slots=2,
    ).apply(["a", "b", "c", "slow"])

    assert run.log.endswith("-a +b -b +c -c -slow")


@pytest.mark.seed("S7")
def test_the_first_that_ends_is_taken_in_at_once_and_its_slot_filled(scripted):
    run = scripted("steps: {t: {for_each: [1, 2, 3, 4, 5], run: 'true'}}", slots=2).apply(["t[1]", "t[0]"])

    assert run.log.startswith("+t[0] +t[1] -t[1] +t[2] -t[0] +t[3]")
    assert run.executor.most == 2


@pytest.mark.case("C101")
@pytest.mark.parametrize("slots", [1, 2, 3, 7])
def test_never_more_run_than_there_are_slots_retries_included(scripted, slots):
    text = """
        steps:
          t:
            matrix: {n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}
            run: "true"
            retry: {max_attempts: 2, delay: 1s}
        """
    outcomes = {(f"t[{n}]", 1): FAILED for n in range(1, 13, 2)}
    run = scripted(text, slots=slots).apply((), outcomes)

    assert run.executor.most == slots
    assert run.state is RunState.SUCCEEDED


def test_the_limit_of_a_fan_out_leaves_slots_to_others(scripted):
    run = scripted(
        """
        steps:
          t: {for_each: [1, 2, 3], max_parallel: 1, run: "true"}
          other: {run: "true"}
        """
    ).apply(["t[0]", "t[1]", "t[2]", "other"])

    assert run.log == "+t[0] +other -t[0] +t[1] -t[1] +t[2] -t[2] -other"


def test_the_longest_path_goes_first(scripted):
    run = scripted(
        """
        steps:
          short: {run: "true"}
          long: {run: "true"}
          then: {needs: long, run: "true"}
        """,
        slots=1,
    ).apply()

    assert run.started[0] == "long"


@pytest.mark.seed("S2")
def test_a_result_that_comes_twice_is_refused_and_recorded(scripted):
    class Twice:
        """Says the end of `a` once more."""

        def __call__(self, executor):
            executor.running["a"] = executor.attempts[0]
            executor.order.insert(0, "a")

    run = scripted("steps: {a: {run: 'true'}, b: {needs: a, run: 'true'}}").apply(
        ["a", Twice(), "b"], {"a": Outcome.SUCCEEDED}
    )

    [refused] = run.records("event.refused")
    assert (refused["task"], refused["event"]) == ("a", "AttemptEnded")
    assert run.states == {"a": "succeeded", "b": "succeeded"}


# --- what is recorded, and when -------------------------------------------------------------------


def test_an_attempt_is_recorded_before_it_is_started_and_its_end_before_a_dependent_is(scripted):
    run = scripted("steps: {a: {run: 'true'}, b: {needs: a, run: 'true'}}").apply()

    kinds = [(r["type"], r.get("task")) for r in run.records()]
    assert kinds == [
        ("run.generation", None),
        ("attempt.started", "a"),
        ("attempt.spawned", "a"),
        ("attempt.ended", "a"),
        ("attempt.started", "b"),
        ("attempt.spawned", "b"),
        ("attempt.ended", "b"),
        ("run.ended", None),
    ]


def test_what_observers_are_told_is_what_is_recorded(scripted):
    run = scripted(DIAMOND).apply((), {"b": FAILED})

    own = {"seq", "mono", "chain", "synced", "ts", "format", "generation", "run", "workflow", "plan", "slots"}

    def told(records):
        return [{name: value for name, value in record.items() if name not in own} for record in records]

    assert told(run.seen) == told(run.records())


@pytest.mark.seed("S10")
def test_a_run_whose_ready_tasks_are_all_skipped_ends(scripted):
    run = scripted(
        """
        steps:
          a: {if: "false", run: "true"}
          b: {needs: a, run: "true"}
          c: {needs: [a, b], run: "true"}
        """
    ).apply()

    assert run.states == dict.fromkeys("abc", "skipped")
    assert run.state is RunState.SUCCEEDED
    assert run.started == []


@pytest.mark.case("C187")
@pytest.mark.seed("S11")
def test_an_empty_fan_out_succeeds_with_an_empty_result_and_the_run_ends(scripted):
    text = """
        inputs: {items: {type: array, default: []}}
        steps:
          each:
            for_each: "${{ inputs.items }}"
            run: 'echo "${{ item }}"'
            outputs: {x: {type: string, from: stdout}}
          join:
            needs: each
            run: [tell, "${{ steps.each.outputs.x }}", "${{ steps.each.outputs.x | to_json }}"]
          asked: {needs: each, if: "steps.each.state == 'succeeded'", run: "true"}
          last: {needs: join, for_each: "${{ inputs.items }}", run: "true"}
        """
    run = scripted(text).apply()

    assert run.state is RunState.SUCCEEDED
    assert run.states == {"join": "succeeded", "asked": "succeeded"}
    assert run.attempt("join").action == ("tell", "[]")


# --- failures -------------------------------------------------------------------------------------


def test_a_failure_skips_what_needs_it_and_nothing_else(scripted):
    run = scripted(
        """
        steps:
          a: {run: "true"}
          b: {needs: a, run: "true"}
          c: {needs: b, run: "true"}
          other: {run: "true"}
          after: {needs: other, run: "true"}
        """
    ).apply(["a", "other"], {"a": FAILED})

    assert run.states == {
        "a": "failed",
        "b": "skipped",
        "c": "skipped",
        "other": "succeeded",
        "after": "succeeded",
    }
    assert run.state is RunState.FAILED
    causes = {r["task"]: r["cause"] for r in run.records("task.ended")}
    assert causes == {
        "b": {"kind": "need_failed", "step": "a", "root": "a"},
        "c": {"kind": "need_skipped", "step": "b", "root": "a"},
    }


@pytest.mark.parametrize(
    ("policy", "states", "end"),
    [
        ("finish", {"a": "failed", "b": "succeeded", "c": "succeeded"}, RunState.FAILED),
        ("stop", {"a": "failed", "b": "succeeded", "c": "skipped"}, RunState.FAILED),
        ("cancel", {"a": "failed", "b": "cancelled", "c": "cancelled"}, RunState.CANCELLED),
    ],
)
def test_the_failure_policy_of_a_run(scripted, policy, states, end):
    text = f"""
        on_failure: {policy}
        steps:
          a: {{run: "true"}}
          b: {{run: "true"}}
          c: {{needs: b, run: "true"}}
        finally:
          clean: {{run: "true"}}
        """
    run = scripted(text).apply(["a", "b"], {"a": FAILED})

    assert run.states == {**states, "clean": "succeeded"}
    assert run.state is end


def test_a_failed_attempt_is_tried_again_after_its_delay(scripted):
    text = (
        "steps: {a: {run: 'true', retry: {max_attempts: 3, delay: 1h, backoff: exponential, max_delay: 3h}}}"
    )
    run = scripted(text).apply((), {("a", 1): FAILED, ("a", 2): FAILED})

    assert [r["seconds"] for r in run.records("task.retrying")] == [3600, 7200]
    assert [a.number for a in run.executor.attempts] == [1, 2, 3]
    assert run.clock.passed >= 3 * 3600
    assert run.states == {"a": "succeeded"}


@pytest.mark.parametrize(
    ("retry", "failure", "attempts"),
    [
        ("{max_attempts: 2}", {"failure": "exit", "exit_code": 3}, 2),
        ("{max_attempts: 2, when: ['exit:75']}", {"failure": "exit", "exit_code": 3}, 1),
        ("{max_attempts: 2, when: ['exit:1-5']}", {"failure": "exit", "exit_code": 3}, 2),
        ("{max_attempts: 2, unless: ['exit:3']}", {"failure": "exit", "exit_code": 3}, 1),
        ("{max_attempts: 2}", {"failure": "start", "exit_code": None}, 1),
        ("{max_attempts: 2, when: [start]}", {"failure": "start", "exit_code": None}, 2),
        ("{max_attempts: 2, when: [timeout]}", {"failure": "timeout", "exit_code": None}, 2),
    ],
)
def test_the_class_of_a_failure_decides_whether_it_is_tried_again(scripted, retry, failure, attempts):
    run = scripted(f"steps: {{a: {{run: 'true', retry: {retry}}}}}").apply(
        (), {"a": {"outcome": FAILED, **failure}}
    )

    assert len(run.executor.attempts) == attempts
    assert run.states == {"a": "failed"}


def test_a_lost_attempt_is_tried_again_unless_it_may_not_run_twice(scripted):
    text = """
        steps:
          a: {run: "true", retry: {max_attempts: 2}}
          b: {run: "true", retry: {max_attempts: 2}, idempotent: false}
        """
    lost = {"outcome": Outcome.LOST, "failure": "lost", "error": "its worker died"}
    run = scripted(text).apply((), {("a", 1): lost, ("b", 1): lost})

    assert run.states == {"a": "succeeded", "b": "failed"}
    assert run.started.count("b") == 1


def test_what_may_run_once_only_is_known_to_the_disk_before_it_starts(scripted):
    """Its record is synced already when the executor gets it: the next record says so."""
    run = scripted("steps: {a: {run: 'true', idempotent: false}}").apply()

    started, spawned = run.records("attempt.started")[0], run.records("attempt.spawned")[0]
    assert spawned["synced"] >= started["seq"]


# --- signals --------------------------------------------------------------------------------------


def press(run, name):
    return lambda _: run.interrupts.pressed.append(name)


FINALLY = """
    steps:
      a: {run: "true"}
      b: {needs: a, run: "true"}
    finally:
      clean: {run: "true"}
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_one_signal_cancels_what_runs_and_runs_finally(scripted, name):
    run = scripted(FINALLY)
    run.apply([press(run, name), "clean"])

    assert run.executor.cancelled == [("a", 1, False, name == "SIGINT")]
    assert run.states == {"a": "cancelled", "b": "cancelled", "clean": "succeeded"}
    assert run.state is RunState.CANCELLED


def test_a_second_signal_ends_everything_at_once_and_drops_finally(scripted):
    run = scripted(FINALLY)
    run.apply([press(run, "SIGINT"), press(run, "SIGINT")], obeys=False)

    assert run.executor.cancelled == [("a", 1, False, True), ("a", 1, True, True)]
    assert run.states["clean"] == "cancelled"
    assert run.state is RunState.CANCELLED


def test_a_second_signal_while_finally_runs_ends_that_too(scripted):
    run = scripted(FINALLY)
    run.apply([press(run, "SIGTERM"), press(run, "SIGTERM")])

    assert run.executor.cancelled[-1] == ("clean", 1, True, False)
    assert run.states["clean"] == "cancelled"


def test_a_result_that_crosses_a_cancel_is_what_it_was(scripted):
    run = scripted(FINALLY)
    run.apply([press(run, "SIGINT"), "a", "clean"], obeys=False)

    assert run.states == {"a": "succeeded", "b": "cancelled", "clean": "succeeded"}
    assert run.state is RunState.CANCELLED


@pytest.mark.case("C181")
@pytest.mark.parametrize("cut", range(12))
def test_nothing_but_finally_starts_after_a_cancel(scripted, cut):
    chain = "".join(f"  s{n}: {{run: 'true'{f', needs: s{n - 1}' if n else ''}}}\n" for n in range(10))
    run = scripted(f"steps:\n{chain}finally:\n  clean: {{run: 'true'}}\n")
    order = [f"s{n}" for n in range(10)] + ["clean"]
    run.apply([*order[:cut], press(run, "SIGINT")])

    kinds = [(r["type"], r.get("task")) for r in run.records()]
    if ("cancel.requested", None) in kinds:
        after = kinds[kinds.index(("cancel.requested", None)) :]
        assert {task for kind, task in after if kind == "attempt.started"} <= {"clean"}
        assert run.state is RunState.CANCELLED
    else:
        assert run.state is RunState.SUCCEEDED
    assert kinds[-1] == ("run.ended", None)


@pytest.mark.case("C166")
def test_a_cancel_cuts_a_retry_delay_short(scripted):
    run = scripted("steps: {a: {run: 'true', retry: {max_attempts: 5, delay: 2m}}}")
    run.apply(["a", press(run, "SIGTERM")], {"a": FAILED})

    assert len(run.executor.attempts) == 1
    assert run.states == {"a": "cancelled"}
    assert run.clock.passed < 120


def test_a_stop_makes_what_waits_for_its_next_attempt_failed(scripted):
    text = """
        on_failure: stop
        steps:
          a: {run: "true", retry: {max_attempts: 5, delay: 1h}}
          b: {run: "true"}
        """
    run = scripted(text).apply(["a", "b"], {"a": FAILED, "b": FAILED})

    assert run.states == {"a": "failed", "b": "failed"}
    assert run.clock.passed < 3600
    assert [r["task"] for r in run.records("task.ended")] == ["a"]


# --- time -----------------------------------------------------------------------------------------


def test_a_holder_gives_signs_of_life_while_a_task_takes_long(scripted):
    run = scripted("steps: {a: {run: 'true'}}")
    before = []

    def hour(executor):
        before.append(run.clock.boot())
        executor.clock.move(3600)

    run.apply([hour, lambda _: None, "a"])

    assert json.loads(Path(run.paths.lease_text).read_text())["boot"] >= before[0] + 3600
