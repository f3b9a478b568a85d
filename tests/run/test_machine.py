"""Events in, instructions out."""

import itertools
import sys

import pytest
from run_plans import Hand, plan_of, step

from crewflow.graph.plan import Condition
from crewflow.run.course import IllegalTransitionError
from crewflow.run.events import (
    AskCondition,
    AttemptEnded,
    AttemptStarted,
    CancelAttempt,
    CancelRequested,
    Cause,
    ConditionDecided,
    DelayRetry,
    GenerationBegan,
    Refused,
    RetryDue,
    RunEnded,
    TaskEnded,
)
from crewflow.run.machine import Machine
from crewflow.run.states import NOT_STARTED, TERMINAL, TRANSITIONS, Outcome, RunState, TaskState
from crewflow.spec.model import OnFailure, Retry

SUCCEEDED, FAILED = TaskState.SUCCEEDED, TaskState.FAILED
SKIPPED, CANCELLED = TaskState.SKIPPED, TaskState.CANCELLED
GUARDED, STATUS = Condition.GUARDED, Condition.STATUS
TWICE = Retry(max_attempts=2)

# --- order ----------------------------------------------------------------------------------------


def test_a_run_of_nothing_succeeds_at_once():
    assert Hand(began=False).begin() == [RunEnded(RunState.SUCCEEDED)]


def test_nothing_is_ready_before_a_generation_began():
    hand = Hand(step("a"), began=False)
    assert hand.fill() == []
    assert hand.machine.state is RunState.PENDING


def test_a_chain_goes_one_by_one_to_its_end():
    hand = Hand(step("a"), step("b", "a"))
    assert hand.fill() == ["a"]
    assert hand.end("a") == [TaskEnded("a", SUCCEEDED)]
    assert hand.fill() == ["b"]
    assert hand.end("b") == [TaskEnded("b", SUCCEEDED), RunEnded(RunState.SUCCEEDED)]


@pytest.mark.seed("S7")
def test_a_task_waits_only_for_what_it_needs():
    """No waves: `c` starts beside `slow`, which became ready long before it."""
    hand = Hand(step("slow"), step("a"), step("b", "a"), step("c", "b"), slots=2)
    assert hand.fill() == ["slow", "a"]
    hand.end("a")
    assert hand.fill() == ["b"]
    hand.end("b")
    assert hand.fill() == ["c"]


@pytest.mark.seed("S7")
def test_never_more_run_than_there_are_slots():
    hand = Hand(step("a", legs=5), slots=2)
    assert hand.fill() == ["a[0]", "a[1]"]
    hand.end("a[1]")
    assert hand.fill() == ["a[2]"]


def test_the_heaviest_ready_task_is_first_and_equals_go_in_the_plans_order():
    hand = Hand(step("x", weight=1), step("y", weight=3), step("z", weight=3), step("w", weight=2))
    assert hand.fill() == ["y", "z", "w", "x"]


def test_a_heavier_task_that_comes_later_passes_lighter_ones():
    hand = Hand(step("first", weight=9), step("heavy", "first", weight=8), step("light", weight=1), slots=1)
    assert hand.fill() == ["first"]
    hand.end("first")
    assert hand.fill() == ["heavy"]


def test_a_step_without_slots_of_its_own_left_lets_others_pass():
    hand = Hand(step("fan", legs=3, max_parallel=1, weight=5), step("other"), slots=3)
    assert hand.fill() == ["fan[0]", "other"]
    assert hand.machine.tasks["fan[1]"].waits_for == "limit"
    hand.end("fan[0]")
    assert hand.fill() == ["fan[1]"]


def test_legs_that_wait_for_their_limit_go_by_weight_whenever_they_came():
    hand = Hand(step("fan", legs=3, max_parallel=1, condition=GUARDED, weights=(1, 3, 2)), slots=3)
    hand.answer("fan[0]", value=True)
    assert hand.fill() == ["fan[0]"]
    for leg in ("fan[2]", "fan[1]"):
        hand.answer(leg, value=True)
        assert hand.fill() == []
    hand.end("fan[0]")
    assert hand.fill() == ["fan[1]"]


def test_a_failed_leg_that_waits_for_its_delay_gives_its_place_to_another():
    hand = Hand(step("fan", legs=2, max_parallel=1, retry=TWICE), slots=3)
    assert hand.fill() == ["fan[0]"]
    hand.fail("fan[0]")
    assert hand.fill() == ["fan[1]"]
    hand.due("fan[0]")
    assert hand.fill() == []
    hand.end("fan[1]")
    assert hand.fill() == ["fan[0]"]


# --- failures and skips ---------------------------------------------------------------------------


def test_what_needs_a_failed_step_is_skipped_with_its_first_cause():
    hand = Hand(step("a"), step("b", "a"), step("c", "b"))
    hand.fill()
    assert hand.fail("a") == [
        TaskEnded("a", FAILED),
        TaskEnded("b", SKIPPED, Cause("need_failed", "a", "a")),
        TaskEnded("c", SKIPPED, Cause("need_skipped", "b", "a")),
        RunEnded(RunState.FAILED),
    ]


def test_independent_branches_are_finished():
    hand = Hand(step("a"), step("b"), step("c", "b"))
    hand.fill()
    hand.fail("a")
    hand.end("b")
    assert hand.fill() == ["c"]
    assert hand.end("c")[-1] == RunEnded(RunState.FAILED)


def test_after_waits_for_the_end_and_not_for_success():
    hand = Hand(step("a"), step("b", after=("a",)))
    assert hand.fill() == ["a"]
    hand.fail("a")
    assert hand.fill() == ["b"]


def test_a_step_that_is_both_needed_and_come_after_counts_once():
    hand = Hand(step("a"), step("b", "a", "a", after=("a",)))
    hand.fill()
    hand.end("a")
    assert hand.fill() == ["b"]


def test_an_allowed_failure_counts_as_success():
    hand = Hand(step("a"), step("b", "a"))
    hand.fill()
    assert hand.fail("a", allowed=True) == [TaskEnded("a", SUCCEEDED)]
    assert hand.machine.tasks["a"].outcome is Outcome.FAILED
    assert hand.run_to_its_end() == {"a": "succeeded", "b": "succeeded"}
    assert hand.said[-1] == RunEnded(RunState.SUCCEEDED)


@pytest.mark.seed("S9")
def test_an_attempt_lost_with_its_worker_fails_its_task_and_the_run_goes_on():
    hand = Hand(step("a"), step("b"), step("c", "b"))
    hand.fill()
    assert hand.end("a", Outcome.LOST, "lost", error="its worker died") == [TaskEnded("a", FAILED)]
    assert hand.machine.tasks["a"].error == "its worker died"
    assert hand.run_to_its_end()["b"] == "running"
    hand.end("b")
    assert hand.fill() == ["c"]


def test_a_cancelled_attempt_that_nobody_asked_for_fails_the_run():
    hand = Hand(step("a"), step("b", "a"))
    hand.fill()
    assert hand.end("a", Outcome.CANCELLED) == [
        TaskEnded("a", CANCELLED, Cause("cancelled")),
        TaskEnded("b", SKIPPED, Cause("need_cancelled", "a", "a")),
        RunEnded(RunState.FAILED),
    ]


def test_stop_starts_nothing_more_and_lets_what_runs_finish():
    hand = Hand(step("a"), step("b"), step("c", "b"), step("d"), slots=2, on_failure=OnFailure.STOP)
    assert hand.fill() == ["a", "b"]
    assert hand.fail("a") == [
        TaskEnded("a", FAILED),
        TaskEnded("c", SKIPPED, Cause("stopped", "a", "a")),
        TaskEnded("d", SKIPPED, Cause("stopped", "a", "a")),
    ]
    assert hand.fill() == []
    assert hand.end("b") == [TaskEnded("b", SUCCEEDED), RunEnded(RunState.FAILED)]


def test_a_failure_while_stopping_is_not_tried_again():
    hand = Hand(step("a"), step("b", retry=TWICE), on_failure=OnFailure.STOP)
    hand.fill()
    hand.fail("a")
    assert hand.fail("b") == [TaskEnded("b", FAILED), RunEnded(RunState.FAILED)]


@pytest.mark.parametrize("delay_has_passed", [False, True])
def test_stop_leaves_a_task_between_two_attempts_failed_whether_or_not_its_delay_has_passed(delay_has_passed):
    """A replay knows of no delays, so the two must not differ."""
    hand = Hand(step("a"), step("b", retry=TWICE), on_failure=OnFailure.STOP)
    hand.fill()
    hand.fail("b")
    if delay_has_passed:
        hand.due("b")
    assert hand.fail("a") == [
        TaskEnded("a", FAILED),
        TaskEnded("b", FAILED, Cause("stopped", "a", "a")),
        RunEnded(RunState.FAILED),
    ]


def test_cancel_on_failure_ends_what_runs_and_the_run_is_cancelled():
    hand = Hand(step("a"), step("b"), step("c", "b"), on_failure=OnFailure.CANCEL)
    hand.fill()
    assert hand.fail("a") == [
        TaskEnded("a", FAILED),
        TaskEnded("c", CANCELLED, Cause("cancelled", "a", "a")),
        CancelAttempt("b", 1, now=False),
    ]
    assert hand.end("b", Outcome.CANCELLED) == [
        TaskEnded("b", CANCELLED, Cause("cancelled")),
        RunEnded(RunState.CANCELLED),
    ]


@pytest.mark.parametrize("policy", [OnFailure.STOP, OnFailure.CANCEL])
def test_a_second_failure_has_nothing_left_to_stop(policy):
    hand = Hand(step("a"), step("b"), step("c"), step("tidy", final=True), on_failure=policy)
    hand.fill()
    hand.fail("a")
    assert hand.fail("b") == [TaskEnded("b", FAILED)]


def test_a_failed_condition_takes_hold_of_the_failure_policy_too():
    hand = Hand(step("a", condition=GUARDED), step("b"), on_failure=OnFailure.STOP)
    assert hand.answer("a", value=False, error="`env.X` is not set") == [
        TaskEnded("a", FAILED),
        TaskEnded("b", SKIPPED, Cause("stopped", "a", "a")),
        RunEnded(RunState.FAILED),
    ]


# --- conditions -----------------------------------------------------------------------------------


def test_a_step_without_if_is_not_asked():
    assert Hand(step("a"), began=False).begin() == []


def test_an_if_that_is_true_makes_the_task_ready_and_one_that_is_false_skips_it():
    hand = Hand(step("a", condition=GUARDED), step("b", condition=GUARDED), began=False)
    assert hand.begin() == [
        AskCondition("a", success=True, failure=False, cancelled=False),
        AskCondition("b", success=True, failure=False, cancelled=False),
    ]
    assert hand.fill() == []
    assert hand.answer("a", value=True) == []
    assert hand.answer("b", value=False) == [TaskEnded("b", SKIPPED, Cause("condition"))]
    assert hand.fill() == ["a"]


@pytest.mark.case("C184")
def test_the_table_of_skips():
    """`e` and `f` have ifs with status functions: they are asked, all others follow their needs."""
    hand = Hand(
        step("ok"),
        step("failed"),
        step("a", condition=GUARDED),
        step("b", "a"),
        step("c", "b"),
        step("d", "a", "ok"),
        step("e", "c", condition=STATUS),
        step("f", "failed", condition=STATUS),
        step("g", "e"),
    )
    assert hand.fill() == ["ok", "failed"]
    assert hand.answer("a", value=False) == [
        TaskEnded("a", SKIPPED, Cause("condition")),
        TaskEnded("b", SKIPPED, Cause("need_skipped", "a", "a")),
        TaskEnded("c", SKIPPED, Cause("need_skipped", "b", "a")),
        AskCondition("e", success=False, failure=False, cancelled=False),
    ]
    assert hand.fail("failed") == [
        TaskEnded("failed", FAILED),
        AskCondition("f", success=False, failure=True, cancelled=False),
    ]
    assert hand.end("ok") == [
        TaskEnded("ok", SUCCEEDED),
        TaskEnded("d", SKIPPED, Cause("need_skipped", "a", "a")),
    ]
    hand.answer("e", value=True)
    hand.answer("f", value=True)
    assert hand.fill() == ["e", "f"]
    assert hand.end("e") == [TaskEnded("e", SUCCEEDED)]
    assert hand.fill() == ["g"]


@pytest.mark.case("C184")
def test_what_needs_a_step_that_ran_although_its_own_need_was_skipped_runs():
    hand = Hand(step("a", condition=GUARDED), step("b", "a", condition=STATUS), step("c", "b"))
    hand.answer("a", value=False)
    hand.answer("b", value=True)
    hand.fill()
    hand.end("b")
    assert hand.fill() == ["c"]


def test_failure_is_true_after_a_skip_that_a_failure_caused():
    hand = Hand(step("a"), step("b", "a"), step("c", "b", condition=STATUS))
    hand.fill()
    assert hand.fail("a")[-1] == AskCondition("c", success=False, failure=True, cancelled=False)


def test_failure_is_true_for_a_failed_after_which_is_no_reason_to_skip():
    hand = Hand(step("a"), step("b", after=("a",), condition=STATUS))
    hand.fill()
    assert hand.fail("a")[-1] == AskCondition("b", success=True, failure=True, cancelled=False)


def test_failure_is_false_after_a_skip_that_no_failure_caused():
    """`c` was skipped for `b`'s `if`; that it also came after the failed `a` has nothing to do with it."""
    hand = Hand(
        step("a"),
        step("b", condition=GUARDED),
        step("c", "b", after=("a",)),
        step("d", "c", condition=STATUS),
    )
    hand.fill()
    hand.answer("b", value=False)
    assert hand.fail("a") == [
        TaskEnded("a", FAILED),
        TaskEnded("c", SKIPPED, Cause("need_skipped", "b", "b")),
        AskCondition("d", success=False, failure=False, cancelled=False),
    ]


def test_failure_is_seen_through_an_empty_fan_out_that_was_skipped():
    hand = Hand(step("a"), step("none", "a", legs=0), step("b", "none"), step("c", "none", condition=STATUS))
    hand.fill()
    assert hand.fail("a") == [
        TaskEnded("a", FAILED),
        TaskEnded("b", SKIPPED, Cause("need_skipped", "none", "a")),
        AskCondition("c", success=False, failure=True, cancelled=False),
    ]


def test_an_if_without_a_value_fails_the_task_with_the_reason():
    hand = Hand(step("a", condition=GUARDED), step("b", "a"))
    assert hand.answer("a", value=False, error="`steps.x.result` is null") == [
        TaskEnded("a", FAILED),
        TaskEnded("b", SKIPPED, Cause("need_failed", "a", "a")),
        RunEnded(RunState.FAILED),
    ]
    task = hand.machine.tasks["a"]
    assert (task.failure, task.exit_code, task.error, task.attempts) == (
        "start",
        None,
        "`steps.x.result` is null",
        0,
    )


# --- fan-out --------------------------------------------------------------------------------------


def test_what_needs_a_fan_out_waits_for_all_its_legs():
    hand = Hand(step("fan", legs=3), step("join", "fan"))
    hand.fill()
    hand.end("fan[2]")
    hand.end("fan[0]")
    assert hand.fill() == []
    hand.end("fan[1]")
    assert hand.fill() == ["join"]


@pytest.mark.case("C187")
def test_an_empty_fan_out_succeeds_and_so_does_what_needs_it():
    hand = Hand(step("gen"), step("each", "gen", legs=0), step("join", "each"))
    hand.fill()
    hand.end("gen")
    assert hand.fill() == ["join"]
    assert hand.end("join") == [TaskEnded("join", SUCCEEDED), RunEnded(RunState.SUCCEEDED)]


@pytest.mark.case("C187")
@pytest.mark.seed("S10")
@pytest.mark.parametrize("final", [False, True])
def test_a_run_that_ends_with_an_empty_fan_out_ends(final):
    hand = Hand(step("gen"), step("each", *(() if final else ("gen",)), legs=0, final=final))
    hand.fill()
    assert hand.end("gen") == [TaskEnded("gen", SUCCEEDED), RunEnded(RunState.SUCCEEDED)]


def test_an_empty_fan_out_in_finally_lets_what_comes_after_it_start():
    hand = Hand(step("none", legs=0, final=True), step("tidy", "none", final=True))
    assert hand.fill() == ["tidy"]


def test_chains_of_empty_fan_outs_end_at_once():
    hand = Hand(*(step(f"s{n}", *([f"s{n - 1}"] if n else []), legs=0) for n in range(3)), began=False)
    assert hand.begin() == [RunEnded(RunState.SUCCEEDED)]


@pytest.mark.case("C188")
def test_each_leg_is_asked_and_a_fan_out_with_every_leg_skipped_is_skipped():
    hand = Hand(step("fan", legs=2, condition=GUARDED), step("join", "fan"))
    hand.answer("fan[1]", value=False)
    assert hand.answer("fan[0]", value=False) == [
        TaskEnded("fan[0]", SKIPPED, Cause("condition")),
        TaskEnded("join", SKIPPED, Cause("need_skipped", "fan", "fan")),
        RunEnded(RunState.SUCCEEDED),
    ]


def test_a_fan_out_with_one_leg_skipped_succeeds():
    hand = Hand(step("fan", legs=2, condition=GUARDED), step("join", "fan"))
    hand.answer("fan[0]", value=False)
    hand.answer("fan[1]", value=True)
    hand.fill()
    hand.end("fan[1]")
    assert hand.fill() == ["join"]


def test_a_fan_out_with_one_leg_failed_fails_after_its_other_legs_ran():
    hand = Hand(step("fan", legs=3), step("join", "fan"), slots=1)
    hand.fill()
    assert hand.fail("fan[0]") == [TaskEnded("fan[0]", FAILED)]
    assert hand.fill() == ["fan[1]"]
    hand.end("fan[1]")
    hand.fill()
    assert hand.end("fan[2]") == [
        TaskEnded("fan[2]", SUCCEEDED),
        TaskEnded("join", SKIPPED, Cause("need_failed", "fan", "fan")),
        RunEnded(RunState.FAILED),
    ]


@pytest.mark.seed("S10")
def test_a_run_whose_every_task_is_skipped_ends():
    hand = Hand(step("a", condition=GUARDED), step("b", "a", legs=3), step("c", "b", "a"))
    assert hand.answer("a", value=False)[-1] == RunEnded(RunState.SUCCEEDED)


# --- finally --------------------------------------------------------------------------------------


def test_finally_waits_for_all_else_whatever_became_of_it():
    hand = Hand(step("a"), step("b"), step("tidy", final=True))
    assert hand.fill() == ["a", "b"]
    hand.fail("a")
    assert hand.fill() == []
    hand.end("b")
    assert hand.fill() == ["tidy"]
    assert hand.end("tidy") == [TaskEnded("tidy", SUCCEEDED), RunEnded(RunState.FAILED)]


def test_a_run_of_finally_alone_goes_on():
    hand = Hand(step("tidy", final=True))
    assert hand.fill() == ["tidy"]


def test_a_failure_in_finally_fails_the_run_and_stops_nothing():
    hand = Hand(step("a", final=True), step("b", final=True), slots=1, on_failure=OnFailure.STOP)
    hand.fill()
    assert hand.fail("a") == [TaskEnded("a", FAILED)]
    assert hand.fill() == ["b"]
    assert hand.end("b")[-1] == RunEnded(RunState.FAILED)


def test_in_finally_failure_means_that_anything_failed():
    hand = Hand(step("a"), step("tidy", final=True, condition=STATUS))
    hand.fill()
    assert hand.fail("a") == [
        TaskEnded("a", FAILED),
        AskCondition("tidy", success=True, failure=True, cancelled=False),
    ]


def test_finally_follows_its_own_needs():
    hand = Hand(step("a"), step("x", "a", final=True), step("y", final=True), step("z", "y", final=True))
    hand.fill()
    assert hand.fail("a") == [
        TaskEnded("a", FAILED),
        TaskEnded("x", SKIPPED, Cause("need_failed", "a", "a")),
    ]
    assert hand.fill() == ["y"]
    hand.end("y")
    assert hand.fill() == ["z"]


def test_a_skip_in_finally_names_the_failure_that_stopped_the_run():
    hand = Hand(step("a"), step("b"), step("x", "b", final=True), slots=1, on_failure=OnFailure.STOP)
    hand.fill()
    assert hand.fail("a")[-2] == TaskEnded("x", SKIPPED, Cause("need_skipped", "b", "a"))


def test_finally_is_tried_again_after_a_polite_cancel():
    hand = Hand(step("a"), step("tidy", final=True, retry=TWICE))
    hand.fill()
    hand.feed(CancelRequested("enough"))
    hand.end("a", Outcome.CANCELLED)
    hand.fill()
    assert hand.fail("tidy") == [DelayRetry("tidy", 2, 1.0)]


# --- cancel ---------------------------------------------------------------------------------------


@pytest.mark.case("C181")
def test_nothing_but_finally_starts_after_a_cancel():
    hand = Hand(
        step("a"), step("b", "a"), step("c"), step("tidy", "a", final=True, condition=STATUS), slots=1
    )
    assert hand.fill() == ["a"]
    assert hand.feed(CancelRequested("enough")) == [
        TaskEnded("b", CANCELLED, Cause("cancelled")),
        TaskEnded("c", CANCELLED, Cause("cancelled")),
        CancelAttempt("a", 1, now=False),
    ]
    assert hand.fill() == []
    assert hand.end("a") == [
        TaskEnded("a", SUCCEEDED),
        AskCondition("tidy", success=True, failure=False, cancelled=True),
    ]
    hand.answer("tidy", value=True)
    assert hand.fill() == ["tidy"]
    assert hand.end("tidy") == [TaskEnded("tidy", SUCCEEDED), RunEnded(RunState.CANCELLED)]


@pytest.mark.case("C182")
@pytest.mark.parametrize(
    "prepare",
    [
        pytest.param(Hand.states, id="ready"),
        pytest.param(lambda hand: (hand.fill(), hand.fail("a")), id="backoff"),
        pytest.param(lambda hand: (hand.fill(), hand.fail("a"), hand.due("a")), id="ready again"),
    ],
)
def test_a_run_in_which_nothing_runs_is_cancelled_at_once(prepare):
    hand = Hand(step("a", retry=TWICE), step("asked", "a", condition=GUARDED))
    prepare(hand)
    assert hand.feed(CancelRequested("enough")) == [
        TaskEnded("a", CANCELLED, Cause("cancelled")),
        TaskEnded("asked", CANCELLED, Cause("cancelled")),
        RunEnded(RunState.CANCELLED),
    ]


@pytest.mark.case("C182")
def test_a_run_whose_if_is_being_asked_is_cancelled_at_once():
    hand = Hand(step("a", condition=STATUS))
    assert hand.feed(CancelRequested("enough"))[-1] == RunEnded(RunState.CANCELLED)
    late = ConditionDecided("a", value=True)
    assert hand.feed(late) == [Refused(late, "its `if` is not being asked")]


@pytest.mark.case("C166")
def test_a_task_cancelled_while_it_waits_for_its_next_attempt_is_not_tried_again():
    hand = Hand(step("a", retry=Retry(max_attempts=6, delay=30.0)))
    hand.fill()
    assert hand.fail("a") == [DelayRetry("a", 2, 30.0)]
    assert hand.feed(CancelRequested("enough")) == [
        TaskEnded("a", CANCELLED, Cause("cancelled")),
        RunEnded(RunState.CANCELLED),
    ]
    late = RetryDue("a")
    assert hand.feed(late) == [Refused(late, "it does not wait for a retry")]
    assert hand.fill() == []
    assert hand.machine.tasks["a"].attempts == 1


def test_a_result_after_a_cancel_is_kept_as_what_it_was():
    hand = Hand(step("a", retry=TWICE))
    hand.fill()
    hand.feed(CancelRequested("enough"))
    assert hand.fail("a") == [TaskEnded("a", FAILED), RunEnded(RunState.CANCELLED)]


def test_cancel_now_drops_finally_too():
    hand = Hand(step("a"), step("tidy", final=True), step("none", legs=0, final=True))
    hand.fill()
    assert hand.feed(CancelRequested("now!", now=True)) == [
        TaskEnded("tidy", CANCELLED, Cause("cancelled")),
        CancelAttempt("a", 1, now=True),
    ]
    assert hand.end("a", Outcome.CANCELLED)[-1] == RunEnded(RunState.CANCELLED)
    assert hand.fill() == []


def test_a_second_cancel_may_ask_for_more_haste():
    hand = Hand(step("a"), step("tidy", final=True))
    hand.fill()
    assert hand.feed(CancelRequested("enough")) == [CancelAttempt("a", 1, now=False)]
    assert hand.feed(CancelRequested("now!", now=True)) == [
        TaskEnded("tidy", CANCELLED, Cause("cancelled")),
        CancelAttempt("a", 1, now=True),
    ]


def test_a_cancel_during_finally_ends_it():
    hand = Hand(step("a"), step("x", final=True, retry=TWICE), step("y", "x", final=True))
    hand.fill()
    hand.end("a")
    hand.fill()
    assert hand.feed(CancelRequested("enough")) == [
        TaskEnded("y", CANCELLED, Cause("cancelled")),
        CancelAttempt("x", 1, now=False),
    ]
    assert hand.fail("x") == [TaskEnded("x", FAILED), RunEnded(RunState.CANCELLED)]


def test_legs_that_wait_for_their_limit_are_cancelled_and_give_no_place_away():
    hand = Hand(step("fan", legs=3, max_parallel=1))
    hand.fill()
    hand.feed(CancelRequested("enough"))
    assert hand.end("fan[0]") == [TaskEnded("fan[0]", SUCCEEDED), RunEnded(RunState.CANCELLED)]
    assert hand.states() == {"fan[0]": "succeeded", "fan[1]": "cancelled", "fan[2]": "cancelled"}


def test_a_cancel_after_the_end_is_refused():
    hand = Hand()
    late = CancelRequested("enough")
    assert hand.feed(late) == [Refused(late, "the run is not running")]


# --- retries --------------------------------------------------------------------------------------


def test_a_failed_attempt_is_tried_again_after_its_delay():
    hand = Hand(step("a", retry=TWICE), step("b", "a"))
    hand.fill()
    assert hand.fail("a") == [DelayRetry("a", 2, 1.0)]
    assert hand.fill() == []
    assert hand.due("a") == []
    assert hand.fill() == ["a"]
    assert hand.machine.tasks["a"].attempts == 2
    assert hand.fail("a")[0] == TaskEnded("a", FAILED)


def test_a_class_that_the_policy_does_not_name_is_not_tried_again():
    hand = Hand(step("a", retry=Retry(max_attempts=3, when=("timeout",))))
    hand.fill()
    assert hand.fail("a")[0] == TaskEnded("a", FAILED)


def test_the_policy_is_asked_before_an_allowed_failure_counts():
    hand = Hand(step("a", retry=TWICE))
    hand.fill()
    assert hand.fail("a", allowed=True) == [DelayRetry("a", 2, 1.0)]


def test_a_slot_is_free_while_a_task_waits_for_its_next_attempt():
    hand = Hand(step("a", retry=TWICE, weight=2), step("b"), slots=1)
    hand.fill()
    hand.fail("a")
    assert hand.fill() == ["b"]


@pytest.mark.case("C167")
def test_a_task_that_may_not_run_twice_is_not_tried_again_once_lost():
    hand = Hand(step("a", retry=TWICE, idempotent=False), step("b", retry=TWICE))
    hand.fill()
    assert hand.end("a", Outcome.LOST, "lost") == [TaskEnded("a", FAILED)]
    assert hand.end("b", Outcome.LOST, "lost") == [DelayRetry("b", 2, 1.0)]


def test_a_task_that_may_not_run_twice_is_tried_again_after_a_plain_failure():
    hand = Hand(step("a", retry=TWICE, idempotent=False))
    hand.fill()
    assert hand.fail("a") == [DelayRetry("a", 2, 1.0)]


def test_a_start_tells_that_the_delay_has_passed():
    """Delays that have passed are not recorded, so a replay sees the next start only."""
    hand = Hand(step("a", retry=TWICE))
    hand.fill()
    hand.fail("a")
    assert hand.feed(AttemptStarted("a", 2)) == []
    assert hand.states() == {"a": "running"}
    assert hand.fill() == []


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.seed("S2")
@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (AttemptEnded("a", 1, Outcome.FAILED, "exit"), "no such attempt is running"),
        (AttemptEnded("b", 2, Outcome.SUCCEEDED), "no such attempt is running"),
        (AttemptEnded("nobody", 1, Outcome.SUCCEEDED), "no such attempt is running"),
        (AttemptStarted("a", 2), "it is not ready for this attempt"),
        (AttemptStarted("b", 2), "it is not ready for this attempt"),
        (AttemptStarted("waits", 3), "it is not ready for this attempt"),
        (AttemptStarted("fan[1]", 1), "it is not ready for this attempt"),
        (AttemptStarted("next", 1), "it is not ready for this attempt"),
        (AttemptStarted("nobody", 1), "it is not ready for this attempt"),
        (ConditionDecided("a", value=False), "its `if` is not being asked"),
        (ConditionDecided("nobody", value=True), "its `if` is not being asked"),
        (RetryDue("a"), "it does not wait for a retry"),
        (RetryDue("fan[1]"), "it does not wait for a retry"),
        (RetryDue("nobody"), "it does not wait for a retry"),
        (GenerationBegan(1), "this generation has begun already"),
        (GenerationBegan(0), "this generation has begun already"),
    ],
)
def test_what_the_state_does_not_allow_is_refused_and_changes_nothing(event, reason):
    hand = Hand(
        step("a"),
        step("b"),
        step("waits", retry=TWICE),
        step("fan", legs=2, max_parallel=1),
        step("next", "b"),
    )
    hand.fill()
    hand.end("a")
    hand.fail("waits")
    before = hand.states()
    assert hand.feed(event) == [Refused(event, reason)]
    assert hand.states() == before
    assert hand.fill() == []
    hand.end("fan[0]")
    assert hand.fill() == ["fan[1]"]


@pytest.mark.seed("S2")
def test_a_doubled_result_is_refused():
    hand = Hand(step("a"), step("b"))
    hand.fill()
    result = AttemptEnded("a", 1, Outcome.SUCCEEDED)
    assert hand.feed(result) == [TaskEnded("a", SUCCEEDED)]
    assert hand.feed(result) == [Refused(result, "no such attempt is running")]


# --- generations ----------------------------------------------------------------------------------


def test_a_new_generation_keeps_what_succeeded_and_tries_the_rest():
    hand = Hand(step("a"), step("b", "a"), step("c", "b"), step("d"))
    hand.fill()
    hand.end("a")
    hand.end("d")
    hand.fill()
    hand.fail("b")
    assert hand.begin() == []
    assert hand.states() == {"a": "succeeded", "b": "ready", "c": "pending", "d": "succeeded"}
    assert hand.run_to_its_end() == dict.fromkeys("abcd", "succeeded")
    assert hand.said[-1] == RunEnded(RunState.SUCCEEDED)
    assert [hand.machine.tasks[name].attempts for name in "abcd"] == [1, 2, 1, 1]


def test_an_attempt_that_ran_when_the_holder_died_is_lost_and_runs_again():
    hand = Hand(step("a"))
    hand.fill()
    hand.begin()
    assert (hand.machine.tasks["a"].outcome, hand.machine.tasks["a"].failure) == (Outcome.LOST, "lost")
    assert hand.machine.running == 0
    late = AttemptEnded("a", 1, Outcome.SUCCEEDED)
    assert hand.feed(late) == [Refused(late, "no such attempt is running")]
    assert hand.fill() == ["a"]
    assert hand.feed(late) == [Refused(late, "no such attempt is running")]


@pytest.mark.case("C167")
def test_attempts_made_before_a_crash_count():
    hand = Hand(step("a", retry=Retry(max_attempts=3)))
    for number in (2, 3):
        hand.fill()
        assert hand.fail("a") == [DelayRetry("a", number, 1.0)]
        hand.begin()
    hand.fill()
    assert hand.fail("a") == [TaskEnded("a", FAILED), RunEnded(RunState.FAILED)]


def test_a_task_that_failed_for_good_gets_all_its_attempts_anew():
    hand = Hand(step("a", retry=TWICE))
    for first in (1, 3):
        hand.fill()
        assert hand.fail("a") == [DelayRetry("a", first + 1, 1.0)]
        hand.due("a")
        hand.fill()
        assert hand.fail("a")[-1] == RunEnded(RunState.FAILED)
        hand.begin()


def test_finally_runs_again_in_every_generation():
    hand = Hand(step("a"), step("tidy", final=True))
    hand.run_to_its_end()
    hand.begin()
    assert hand.fill() == ["tidy"]
    assert hand.machine.tasks["tidy"].attempts == 2


def test_what_its_if_skipped_stays_skipped_while_all_before_it_is_kept():
    hand = Hand(
        step("a"),
        step("b", "a", condition=GUARDED),
        step("c"),
        step("d", "c", condition=GUARDED),
        step("e"),
        step("f", "b", after=("e",)),
    )
    hand.fill()
    hand.end("a")
    hand.answer("b", value=False)
    hand.fail("c")
    hand.end("e")
    assert hand.states()["d"] == "skipped"
    assert hand.begin() == [TaskEnded("f", SKIPPED, Cause("need_skipped", "b", "b"))]
    assert hand.fill() == ["c"]
    assert hand.end("c") == [
        TaskEnded("c", SUCCEEDED),
        AskCondition("d", success=True, failure=False, cancelled=False),
    ]


def test_an_if_is_asked_again_when_something_before_it_runs_again():
    hand = Hand(step("a"), step("b", after=("a",), condition=STATUS))
    hand.fill()
    hand.fail("a")
    hand.answer("b", value=False)
    hand.begin()
    assert hand.states() == {"a": "ready", "b": "pending"}


def test_a_cancelled_run_goes_on_in_a_new_generation():
    hand = Hand(step("a"), step("b", "a"))
    hand.fill()
    hand.feed(CancelRequested("enough"))
    hand.end("a", Outcome.CANCELLED)
    hand.begin()
    assert hand.run_to_its_end() == {"a": "succeeded", "b": "succeeded"}
    assert hand.said[-1] == RunEnded(RunState.SUCCEEDED)


def test_only_the_legs_that_did_not_succeed_run_again():
    hand = Hand(step("fan", legs=3), step("join", "fan"))
    hand.fill()
    hand.end("fan[0]")
    hand.fail("fan[1]")
    hand.end("fan[2]")
    hand.begin()
    assert hand.fill() == ["fan[1]"]
    hand.end("fan[1]")
    assert hand.fill() == ["join"]


# --- the table of changes -------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "to"), list(itertools.product(TaskState, TaskState)))
def test_a_change_that_is_not_in_the_table_raises_with_the_tasks_story(before, to):
    task = (machine := Machine(plan_of(step("a")), slots=1)).tasks["a"]
    task.state, task.attempts = before, 3
    if to in TRANSITIONS.get(before, ()):
        machine._move(task, to)
        assert task.state is to
        return
    with pytest.raises(IllegalTransitionError, match=f"^task a: {before} -> {to} after 3 attempts"):
        machine._move(task, to)
    assert task.state is before


def test_the_table_has_a_row_for_every_state_but_the_terminal_ones():
    assert set(TRANSITIONS) == NOT_STARTED | {TaskState.RUNNING}
    assert set(TRANSITIONS) | TERMINAL == set(TaskState)


def test_what_has_not_started_can_be_skipped_and_cancelled():
    assert all({SKIPPED, CANCELLED} <= TRANSITIONS[state] for state in NOT_STARTED)


# --- the cost of an event -------------------------------------------------------------------------


def _fan_with_dependents(size):
    return [step("fan", legs=size), *(step(f"d{n}", "fan") for n in range(size)), step("tidy", final=True)]


SHAPES = {
    "chain": lambda size: [step(f"s{n}", *([f"s{n - 1}"] if n else [])) for n in range(size)],
    "fan-out and join": lambda size: [step("fan", legs=size), step("join", "fan")],
    "narrow fan-out": lambda size: [step("fan", legs=size, max_parallel=2), step("join", "fan")],
    "narrow fan-out of growing weight": lambda size: [
        step("fan", legs=size, max_parallel=1, weights=tuple(range(size)))
    ],
    "dependents of a fan-out": _fan_with_dependents,
    "steps that a step needs": lambda size: [
        *(step(f"s{n}") for n in range(size)),
        step("fan", *(f"s{n}" for n in range(size)), legs=size),
    ],
    "empty fan-outs": lambda size: [
        step(f"s{n}", *([f"s{n - 1}"] if n else []), legs=0) for n in range(size)
    ],
}


def _first_fails(machine, fails_first):
    """Drive to the end without invariants, which look at everything. Returns the number of instructions."""
    count = len(machine.handle(GenerationBegan(1)))
    outcome = Outcome.FAILED if fails_first else Outcome.SUCCEEDED
    while machine.state is RunState.RUNNING:
        under_way = []
        while (name := machine.next_ready()) is not None:
            machine.handle(AttemptStarted(name, machine.tasks[name].attempts + 1))
            under_way.append(name)
        assert under_way
        for name in under_way:
            count += len(machine.handle(AttemptEnded(name, 1, outcome)))
            outcome = Outcome.SUCCEEDED
    return count


@pytest.mark.parametrize("policy", OnFailure)
@pytest.mark.parametrize("fails_first", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_run_costs_grows_with_its_tasks_and_no_faster(shape, fails_first, policy):
    """Counted in calls, so that the answer is the same on every machine."""

    def calls(size):
        count = 0

        def seen(*_):
            nonlocal count
            count += 1

        machine = Machine(plan_of(*SHAPES[shape](size), on_failure=policy), slots=4)
        before = sys.getprofile()
        sys.setprofile(seen)
        try:
            _first_fails(machine, fails_first)
        finally:
            sys.setprofile(before)
        return count

    small, large = calls(100), calls(400)
    assert large <= 4.2 * small


@pytest.mark.parametrize("fails_first", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_ten_thousand_tasks_are_no_problem(shape, fails_first):
    machine = Machine(plan_of(*SHAPES[shape](10_000)), slots=8)
    instructions = _first_fails(machine, fails_first)
    assert instructions <= len(machine.tasks) + 1 + 8 * fails_first
    machine.check_invariants()
    assert all(task.state in TERMINAL for task in machine.tasks.values())
