"""Groups, calls, and fan-outs whose legs only the run gives: events in, instructions out."""

import pytest
from scope_plans import ASKED, GIVEN, ScopeHand, call, group, leaf, plan_of

from crewflow.graph.plan import Condition
from crewflow.run.events import (
    AskCondition,
    AskInputs,
    AskLegs,
    AskOutcome,
    AttemptEnded,
    AttemptStarted,
    CancelAttempt,
    Cause,
    GenerationBegan,
    Refused,
    RunEnded,
    TaskEnded,
)
from crewflow.run.machine import Machine
from crewflow.run.states import Outcome, RunState, TaskState
from crewflow.spec.model import OnFailure, Retry

PENDING, DECIDING, RUNNING = TaskState.PENDING, TaskState.DECIDING, TaskState.RUNNING
SUCCEEDED, FAILED = TaskState.SUCCEEDED, TaskState.FAILED
SKIPPED, CANCELLED = TaskState.SKIPPED, TaskState.CANCELLED
GUARDED, STATUS = Condition.GUARDED, Condition.STATUS
FINISH, STOP, CANCEL = OnFailure
TWICE = Retry(max_attempts=2)

# --- a container is open while what is inside it runs ------------------------------------------------


def test_a_container_is_open_from_its_turn_until_all_in_it_has_ended():
    hand = ScopeHand(leaf("a"), group("g", leaf("x"), leaf("y", "x"), needs=("a",)), leaf("b", "g"))
    assert hand.fill() == ["a"]
    assert (hand.state("g"), hand.state("g/x")) == (PENDING, PENDING)
    hand.end("a")
    assert hand.state("g") is RUNNING
    assert hand.fill() == ["g/x"]
    assert hand.end("g/x") == [TaskEnded("g/x", SUCCEEDED)]
    assert hand.fill() == ["g/y"]
    assert hand.end("g/y") == [TaskEnded("g/y", SUCCEEDED), TaskEnded("g", SUCCEEDED)]
    assert hand.fill() == ["b"]


def test_a_container_takes_no_slot():
    hand = ScopeHand(group("g", group("h", leaf("x"))), slots=1)
    assert hand.fill() == ["g/h/x"]
    assert hand.machine.running == 1


def test_a_container_with_nothing_in_it_succeeds_at_once():
    hand = ScopeHand(group("g", group("h")), began=False)
    assert hand.begin() == [
        TaskEnded("g/h", SUCCEEDED),
        TaskEnded("g", SUCCEEDED),
        RunEnded(RunState.SUCCEEDED),
    ]


@pytest.mark.seed("S7")
def test_each_leg_of_a_group_is_a_chain_of_its_own():
    hand = ScopeHand(group("g", leaf("x"), leaf("y", "x"), legs=2), leaf("b", "g"))
    assert hand.fill() == ["g[0]/x", "g[1]/x"]
    hand.end("g[1]/x")
    assert hand.fill() == ["g[1]/y"]
    hand.end("g[1]/y")
    assert hand.state("g[1]") is SUCCEEDED
    assert hand.fill() == []
    hand.end("g[0]/x")
    assert hand.run_until_it_ends() is RunState.SUCCEEDED
    assert hand.state("b") is SUCCEEDED


def test_a_container_without_if_that_needs_a_failed_step_ends_with_all_that_is_in_it():
    hand = ScopeHand(leaf("a"), group("g", group("h", leaf("x")), leaf("y", legs=GIVEN), needs=("a",)))
    hand.fill()
    assert hand.fail("a") == [
        TaskEnded("a", FAILED),
        TaskEnded("g/h/x", SKIPPED, Cause("enclosing", "g/h", "a")),
        TaskEnded("g/h", SKIPPED, Cause("enclosing", "g", "a")),
        TaskEnded("g/y", SKIPPED, Cause("enclosing", "g", "a")),
        TaskEnded("g", SKIPPED, Cause("need_failed", "a", "a")),
        RunEnded(RunState.FAILED),
    ]


def test_an_if_that_says_no_keeps_a_container_and_all_in_it_from_running():
    hand = ScopeHand(group("g", leaf("x"), leaf("tidy", final=True), condition=GUARDED))
    assert hand.state("g") is DECIDING
    assert hand.answer("g", value=False) == [
        TaskEnded("g/x", SKIPPED, Cause("enclosing", "g", "g")),
        TaskEnded("g/tidy", SKIPPED, Cause("enclosing", "g", "g")),
        TaskEnded("g", SKIPPED, Cause("condition")),
        RunEnded(RunState.SUCCEEDED),
    ]


def test_an_if_without_a_value_fails_a_container():
    hand = ScopeHand(group("g", leaf("x"), condition=GUARDED))
    hand.answer("g", value=False, error="why")
    assert (hand.state("g"), hand.state("g/x")) == (FAILED, SKIPPED)
    assert hand.machine.state is RunState.FAILED


def test_the_if_of_a_step_in_a_container_is_asked_when_the_container_has_opened():
    hand = ScopeHand(leaf("a"), group("g", leaf("x", condition=GUARDED), needs=("a",)))
    hand.fill()
    assert hand.end("a") == [
        TaskEnded("a", SUCCEEDED),
        AskCondition("g/x", success=True, failure=False, cancelled=False),
    ]


def test_failure_is_told_within_a_scope_and_not_across_its_border():
    """`g` runs because something failed; the first step in it has nothing before it that did."""
    hand = ScopeHand(leaf("a"), group("g", leaf("x", condition=STATUS), needs=("a",), condition=STATUS))
    hand.fill()
    assert hand.fail("a")[-1] == AskCondition("g", success=False, failure=True, cancelled=False)
    assert hand.answer("g", value=True) == [
        AskCondition("g/x", success=True, failure=False, cancelled=False),
    ]


# --- what a container ends as ---------------------------------------------------------------------


def test_a_container_fails_with_its_first_failure_when_all_in_it_has_ended():
    hand = ScopeHand(group("g", leaf("x"), leaf("y"), leaf("z", "x")), leaf("b", "g"))
    hand.fill()
    assert hand.fail("g/x", 7, error="exit code 7") == [
        TaskEnded("g/x", FAILED),
        TaskEnded("g/z", SKIPPED, Cause("need_failed", "g/x", "g/x")),
    ]
    assert hand.state("g") is RUNNING
    assert hand.end("g/y") == [
        TaskEnded("g/y", SUCCEEDED),
        TaskEnded("g", FAILED),
        TaskEnded("b", SKIPPED, Cause("need_failed", "g", "g")),
        RunEnded(RunState.FAILED),
    ]
    g = hand.machine.tasks["g"]
    assert (g.failure, g.exit_code, g.error) == ("exit", 7, "`g/x` failed: exit code 7")


def test_a_container_names_the_innermost_failure():
    hand = ScopeHand(group("g", group("h", leaf("x"))))
    hand.fill()
    hand.fail("g/h/x")
    assert hand.machine.tasks["g"].error == "`g/h/x` failed"


def test_a_container_whose_steps_were_all_skipped_by_their_if_has_succeeded():
    hand = ScopeHand(group("g", leaf("x", condition=GUARDED)), leaf("b", "g"))
    assert hand.answer("g/x", value=False)[-1] == TaskEnded("g", SUCCEEDED)
    assert hand.fill() == ["b"]


def test_a_container_in_which_a_step_was_cancelled_is_cancelled_and_fails_what_is_around_it():
    hand = ScopeHand(group("g", leaf("x")), leaf("b", "g"))
    hand.fill()
    assert hand.end("g/x", Outcome.CANCELLED) == [
        TaskEnded("g/x", CANCELLED, Cause("cancelled")),
        TaskEnded("g", CANCELLED, Cause("cancelled")),
        TaskEnded("b", SKIPPED, Cause("need_cancelled", "g", "g")),
        RunEnded(RunState.FAILED),
    ]


def test_an_allowed_failure_of_a_container_counts_as_success():
    hand = ScopeHand(group("g", leaf("x"), allow=True), leaf("b", "g"))
    hand.fill()
    assert hand.fail("g/x") == [TaskEnded("g/x", FAILED), TaskEnded("g", SUCCEEDED)]
    assert hand.machine.tasks["g"].outcome is Outcome.FAILED
    assert hand.run_until_it_ends() is RunState.SUCCEEDED


@pytest.mark.parametrize(("second", "end"), [("exit", SUCCEEDED), ("timeout", FAILED)])
def test_a_list_of_failures_that_are_allowed_must_cover_every_failure_in_a_container(second, end):
    hand = ScopeHand(group("g", leaf("x"), group("h", leaf("y")), allow=("exit",)))
    hand.fill()
    hand.fail("g/x")
    hand.end("g/h/y", Outcome.FAILED, second)
    assert hand.state("g") is end


def test_whether_the_failure_of_a_container_is_allowed_may_be_for_the_run_to_say():
    hand = ScopeHand(group("g", leaf("x"), allow=ASKED))
    hand.fill()
    assert hand.fail("g/x") == [TaskEnded("g/x", FAILED), AskOutcome("g", failed=True)]
    assert hand.give_outcome("g", allowed=True) == [
        TaskEnded("g", SUCCEEDED),
        RunEnded(RunState.SUCCEEDED),
    ]


def test_an_allowance_without_a_value_leaves_the_failure_and_says_both():
    hand = ScopeHand(group("g", leaf("x"), allow=ASKED))
    hand.fill()
    hand.fail("g/x", 3)
    hand.give_outcome("g", error="`allow_failure`: why")
    g = hand.machine.tasks["g"]
    assert (g.state, g.failure, g.exit_code) == (FAILED, "exit", 3)
    assert g.error == "`g/x` failed; `allow_failure`: why"


def test_what_a_container_gives_is_asked_when_it_succeeded_and_before_its_dependents_begin():
    hand = ScopeHand(call("c", leaf("x"), given=True), leaf("b", "c"))
    hand.fill()
    assert hand.end("c/x") == [TaskEnded("c/x", SUCCEEDED), AskOutcome("c", failed=False)]
    assert hand.fill() == []
    assert hand.give_outcome("c") == [TaskEnded("c", SUCCEEDED)]
    assert hand.fill() == ["b"]


def test_a_container_that_failed_is_not_asked_what_it_gives():
    hand = ScopeHand(call("c", leaf("x"), given=True))
    hand.fill()
    assert hand.fail("c/x") == [
        TaskEnded("c/x", FAILED),
        TaskEnded("c", FAILED),
        RunEnded(RunState.FAILED),
    ]


def test_what_is_given_and_has_no_value_fails_the_container():
    hand = ScopeHand(call("c", leaf("x"), given=True))
    hand.fill()
    hand.end("c/x")
    assert hand.give_outcome("c", error="why") == [TaskEnded("c", FAILED), RunEnded(RunState.FAILED)]
    c = hand.machine.tasks["c"]
    assert (c.failure, c.error) == ("bad_output", "why")


@pytest.mark.parametrize("allow", [True, ("bad_output",)])
def test_a_value_that_cannot_be_given_is_a_failure_that_may_be_allowed(allow):
    hand = ScopeHand(call("c", leaf("x"), given=True, allow=allow))
    hand.fill()
    hand.end("c/x")
    assert hand.give_outcome("c", error="why")[0] == TaskEnded("c", SUCCEEDED)
    assert hand.machine.tasks["c"].outcome is Outcome.FAILED


def test_a_value_that_cannot_be_given_asks_whether_that_is_allowed():
    hand = ScopeHand(call("c", leaf("x"), given=True, allow=ASKED))
    hand.fill()
    hand.end("c/x")
    assert hand.give_outcome("c", error="why") == [AskOutcome("c", failed=True)]
    assert hand.give_outcome("c", allowed=True)[0] == TaskEnded("c", SUCCEEDED)


# --- calls: inputs, and a `finally` of their own ----------------------------------------------------


def test_a_call_opens_when_its_inputs_are_known():
    hand = ScopeHand(call("c", leaf("x"), declared=True), began=False)
    assert hand.begin() == [AskInputs("c")]
    assert hand.fill() == []
    assert hand.give_inputs("c") == []
    assert hand.fill() == ["c/x"]


def test_inputs_that_do_not_fit_fail_the_call_and_end_all_that_is_in_it():
    hand = ScopeHand(call("c", leaf("x"), leaf("tidy", final=True), declared=True), leaf("b", "c"))
    assert hand.give_inputs("c", "input `x` must be a number") == [
        TaskEnded("c/x", SKIPPED, Cause("enclosing", "c", "c")),
        TaskEnded("c/tidy", SKIPPED, Cause("enclosing", "c", "c")),
        TaskEnded("c", FAILED),
        TaskEnded("b", SKIPPED, Cause("need_failed", "c", "c")),
        RunEnded(RunState.FAILED),
    ]
    c = hand.machine.tasks["c"]
    assert (c.failure, c.error) == ("start", "input `x` must be a number")


def test_inputs_that_do_not_fit_may_be_allowed_by_their_class():
    hand = ScopeHand(call("c", leaf("x"), declared=True, allow=("start",)))
    assert hand.give_inputs("c", "why")[-2:] == [TaskEnded("c", SUCCEEDED), RunEnded(RunState.SUCCEEDED)]


def test_the_finally_of_a_call_runs_before_its_dependents():
    hand = ScopeHand(call("c", leaf("x"), leaf("tidy", final=True)), leaf("b", "c"))
    assert hand.fill() == ["c/x"]
    hand.end("c/x")
    assert hand.fill() == ["c/tidy"]
    hand.end("c/tidy")
    assert hand.fill() == ["b"]


def test_the_finally_of_a_call_runs_after_its_main_part_has_failed_and_sees_that():
    hand = ScopeHand(call("c", leaf("x"), leaf("tidy", final=True, condition=STATUS)))
    hand.fill()
    assert hand.fail("c/x") == [
        TaskEnded("c/x", FAILED),
        AskCondition("c/tidy", success=True, failure=True, cancelled=False),
    ]
    hand.answer("c/tidy", value=True)
    assert hand.fill() == ["c/tidy"]
    assert hand.end("c/tidy")[1:] == [TaskEnded("c", FAILED), RunEnded(RunState.FAILED)]


def test_a_failure_in_the_finally_of_a_call_fails_the_call():
    hand = ScopeHand(call("c", leaf("x"), leaf("tidy", final=True)))
    hand.fill()
    hand.end("c/x")
    hand.fill()
    assert hand.fail("c/tidy")[1:] == [TaskEnded("c", FAILED), RunEnded(RunState.FAILED)]


def test_failure_in_a_finally_is_not_that_of_its_unordered_neighbours():
    """It would depend on who was faster."""
    finals = [leaf("t0", final=True), leaf("t1", final=True), leaf("t2", "t0", final=True, condition=STATUS)]
    hand = ScopeHand(call("c", leaf("x"), *finals))
    hand.fill()
    hand.end("c/x")
    hand.fill()
    hand.fail("c/t1")
    assert hand.end("c/t0")[-1] == AskCondition("c/t2", success=True, failure=False, cancelled=False)


def test_the_finally_of_the_run_does_not_see_failures_that_a_container_kept_to_itself():
    hand = ScopeHand(group("g", leaf("x"), allow=True), leaf("tidy", final=True, condition=STATUS))
    hand.fill()
    assert hand.fail("g/x")[-1] == AskCondition("tidy", success=True, failure=False, cancelled=False)


def test_the_finally_of_a_call_runs_after_a_first_cancel():
    hand = ScopeHand(call("c", leaf("x"), leaf("y", "x"), leaf("tidy", final=True)))
    hand.fill()
    assert hand.cancel() == [
        TaskEnded("c/y", CANCELLED, Cause("cancelled")),
        CancelAttempt("c/x", 1, now=False),
    ]
    hand.end("c/x", Outcome.CANCELLED)
    assert hand.fill() == ["c/tidy"]
    assert hand.end("c/tidy") == [
        TaskEnded("c/tidy", SUCCEEDED),
        TaskEnded("c", CANCELLED, Cause("cancelled")),
        RunEnded(RunState.CANCELLED),
    ]


def test_a_second_cancel_drops_the_finally_of_a_call():
    hand = ScopeHand(call("c", leaf("x"), leaf("tidy", final=True)))
    hand.fill()
    hand.cancel()
    assert hand.cancel(now=True) == [
        TaskEnded("c/tidy", CANCELLED, Cause("cancelled")),
        CancelAttempt("c/x", 1, now=True),
    ]
    assert hand.end("c/x", Outcome.CANCELLED)[-1] == RunEnded(RunState.CANCELLED)


def test_a_second_cancel_ends_the_finally_of_a_call_that_runs():
    hand = ScopeHand(call("c", leaf("x"), leaf("tidy", final=True, retry=TWICE)))
    hand.fill()
    hand.cancel()
    hand.end("c/x", Outcome.CANCELLED)
    hand.fill()
    assert hand.cancel(now=True) == [CancelAttempt("c/tidy", 1, now=True)]
    assert hand.fail("c/tidy")[0] == TaskEnded("c/tidy", FAILED)


def test_a_call_that_waits_for_its_inputs_is_cancelled_with_all_that_is_in_it():
    hand = ScopeHand(call("c", leaf("x"), leaf("tidy", final=True), declared=True))
    assert hand.cancel() == [
        TaskEnded("c/x", CANCELLED, Cause("enclosing", "c", "c")),
        TaskEnded("c/tidy", CANCELLED, Cause("enclosing", "c", "c")),
        TaskEnded("c", CANCELLED, Cause("cancelled")),
        RunEnded(RunState.CANCELLED),
    ]


def test_a_call_whose_main_part_was_done_before_the_cancel_has_succeeded():
    hand = ScopeHand(call("c", leaf("x"), leaf("tidy", final=True)), leaf("b", "c"))
    hand.fill()
    hand.end("c/x")
    hand.fill()
    hand.cancel()
    assert hand.end("c/tidy")[1] == TaskEnded("c", SUCCEEDED)
    assert hand.machine.state is RunState.CANCELLED


# --- what a failure meets -------------------------------------------------------------------------


def test_the_policy_of_the_run_reaches_into_open_containers_and_leaves_their_finally():
    hand = ScopeHand(
        leaf("a"), call("c", leaf("x"), leaf("y", "x"), leaf("tidy", final=True)), on_failure=STOP
    )
    assert hand.fill() == ["a", "c/x"]
    assert hand.fail("a") == [TaskEnded("a", FAILED), TaskEnded("c/y", SKIPPED, Cause("stopped", "a", "a"))]
    hand.end("c/x")
    assert hand.fill() == ["c/tidy"]
    assert hand.end("c/tidy")[1] == TaskEnded("c", CANCELLED, Cause("cancelled"))
    assert hand.machine.state is RunState.FAILED


def test_a_failure_in_a_container_meets_the_policy_of_the_run_at_once():
    hand = ScopeHand(group("g", leaf("x"), leaf("y")), leaf("b"), slots=1, on_failure=STOP)
    assert hand.fill() == ["g/x"]
    assert hand.fail("g/x") == [
        TaskEnded("g/x", FAILED),
        TaskEnded("g/y", SKIPPED, Cause("stopped", "g", "g")),
        TaskEnded("b", SKIPPED, Cause("stopped", "g", "g")),
        TaskEnded("g", FAILED),
        RunEnded(RunState.FAILED),
    ]


def test_a_policy_of_its_own_governs_the_rest_of_a_fan_out_and_nothing_else():
    hand = ScopeHand(leaf("fan", legs=2, on_failure=STOP), leaf("b"), slots=1)
    assert hand.fill() == ["fan[0]"]
    assert hand.fail("fan[0]") == [
        TaskEnded("fan[0]", FAILED),
        TaskEnded("fan[1]", SKIPPED, Cause("stopped", "fan", "fan")),
    ]
    assert hand.fill() == ["b"]


def test_a_policy_of_a_group_governs_all_its_legs():
    hand = ScopeHand(group("g", leaf("x"), leaf("y", "x"), legs=2, on_failure=CANCEL), leaf("b"))
    assert hand.fill() == ["g[0]/x", "g[1]/x", "b"]
    assert hand.fail("g[0]/x") == [
        TaskEnded("g[0]/x", FAILED),
        TaskEnded("g[0]/y", CANCELLED, Cause("cancelled", "g", "g")),
        TaskEnded("g[1]/y", CANCELLED, Cause("cancelled", "g", "g")),
        CancelAttempt("g[1]/x", 1, now=False),
        TaskEnded("g[0]", FAILED),
    ]
    assert hand.end("g[1]/x", Outcome.CANCELLED)[-1] == TaskEnded("g[1]", CANCELLED, Cause("cancelled"))
    assert hand.end("b")[-1] == RunEnded(RunState.FAILED)


def test_once_a_step_with_its_own_policy_has_failed_as_a_whole_that_meets_the_policy_around_it():
    hand = ScopeHand(leaf("fan", legs=2, on_failure=FINISH), leaf("b"), leaf("c", "b"), on_failure=STOP)
    hand.fill()
    assert hand.fail("fan[0]") == [TaskEnded("fan[0]", FAILED)]
    assert hand.end("fan[1]") == [
        TaskEnded("fan[1]", SUCCEEDED),
        TaskEnded("c", SKIPPED, Cause("stopped", "fan", "fan")),
    ]


def test_the_nearest_policy_counts():
    hand = ScopeHand(
        group("g", group("h", leaf("x"), leaf("y"), on_failure=FINISH), leaf("z"), on_failure=STOP),
        slots=1,
        on_failure=CANCEL,
    )
    assert hand.fill() == ["g/h/x"]
    assert hand.fail("g/h/x") == [TaskEnded("g/h/x", FAILED)]
    assert hand.fill() == ["g/h/y"]
    assert hand.end("g/h/y")[:3] == [
        TaskEnded("g/h/y", SUCCEEDED),
        TaskEnded("g/h", FAILED),
        TaskEnded("g/z", SKIPPED, Cause("stopped", "g", "g")),
    ]
    assert hand.machine.state is RunState.CANCELLED  # the group as a whole has failed


def test_a_container_whose_failure_is_allowed_keeps_the_inherited_policy_inside():
    hand = ScopeHand(group("g", leaf("x"), leaf("y"), allow=True), leaf("b"), slots=1, on_failure=STOP)
    assert hand.fill() == ["g/x"]
    assert hand.fail("g/x") == [
        TaskEnded("g/x", FAILED),
        TaskEnded("g/y", SKIPPED, Cause("stopped", "g/x", "g/x")),
        TaskEnded("g", SUCCEEDED),
    ]
    assert hand.run_until_it_ends() is RunState.SUCCEEDED


def test_a_cancel_that_a_container_keeps_to_itself_does_not_cancel_the_run():
    hand = ScopeHand(group("g", leaf("x"), leaf("y"), allow=True), leaf("b"), on_failure=CANCEL)
    hand.fill()
    assert hand.fail("g/x") == [TaskEnded("g/x", FAILED), CancelAttempt("g/y", 1, now=False)]
    hand.end("g/y", Outcome.CANCELLED)
    assert (hand.state("g"), hand.state("b")) == (SUCCEEDED, RUNNING)
    assert hand.end("b")[-1] == RunEnded(RunState.SUCCEEDED)


def test_a_leg_whose_failure_is_allowed_leaves_the_other_legs_alone():
    hand = ScopeHand(group("g", leaf("x"), leaf("y", "x"), legs=2, allow=True, on_failure=STOP))
    hand.fill()
    hand.fail("g[0]/x")
    hand.end("g[1]/x")
    assert hand.fill() == ["g[1]/y"]


def test_a_failure_that_turns_out_not_to_be_allowed_meets_the_policy_when_the_container_has_ended():
    hand = ScopeHand(group("g", leaf("x"), allow=("timeout",)), leaf("b"), leaf("c", "b"), on_failure=STOP)
    hand.fill()
    assert hand.fail("g/x") == [
        TaskEnded("g/x", FAILED),
        TaskEnded("g", FAILED),
        TaskEnded("c", SKIPPED, Cause("stopped", "g", "g")),
    ]


def test_a_failure_under_finally_only_fails_its_scope():
    hand = ScopeHand(
        call("c", leaf("x"), leaf("t1", final=True), leaf("t2", final=True), on_failure=CANCEL), slots=1
    )
    hand.fill()
    hand.end("c/x")
    assert hand.fill() == ["c/t1"]
    assert hand.fail("c/t1") == [TaskEnded("c/t1", FAILED)]
    assert hand.fill() == ["c/t2"]


def test_a_failure_in_the_finally_of_a_call_meets_the_policy_around_when_the_call_has_failed():
    hand = ScopeHand(
        call("c", leaf("t1", final=True), leaf("t2", final=True)), leaf("z"), slots=2, on_failure=STOP
    )
    assert hand.fill() == ["c/t1", "c/t2"]
    assert hand.fail("c/t1") == [TaskEnded("c/t1", FAILED)]
    assert hand.end("c/t2")[-3:] == [
        TaskEnded("c", FAILED),
        TaskEnded("z", SKIPPED, Cause("stopped", "c", "c")),
        RunEnded(RunState.FAILED),
    ]


def test_a_policy_to_cancel_ends_what_runs_though_the_run_has_been_stopped_already():
    hand = ScopeHand(
        leaf("a"), group("g", leaf("x"), leaf("y"), allow=True, on_failure=CANCEL), on_failure=STOP
    )
    hand.fill()
    hand.fail("a")
    assert hand.fail("g/x") == [TaskEnded("g/x", FAILED), CancelAttempt("g/y", 1, now=False)]


def test_a_policy_does_not_tell_again_what_a_cancel_has_told_to_end():
    hand = ScopeHand(leaf("fan", legs=2, on_failure=CANCEL))
    hand.fill()
    hand.cancel(now=True)
    assert hand.fail("fan[0]") == [TaskEnded("fan[0]", FAILED)]


def test_a_container_that_was_stopped_before_all_was_done_is_cancelled_though_another_cause_came_first():
    """The step's own cause is that of its first leg, which its `if` had skipped."""
    hand = ScopeHand(
        group("g", leaf("fan", legs=2, condition=GUARDED, max_parallel=1)), leaf("a"), on_failure=STOP
    )
    hand.answer("g/fan[0]", value=False)
    hand.fill()
    assert hand.fail("a") == [
        TaskEnded("a", FAILED),
        TaskEnded("g/fan[1]", SKIPPED, Cause("stopped", "a", "a")),
        TaskEnded("g", CANCELLED, Cause("cancelled")),
        RunEnded(RunState.FAILED),
    ]


# --- limits at several levels -----------------------------------------------------------------------


def test_the_limit_of_a_container_counts_all_that_runs_in_it_at_any_depth():
    hand = ScopeHand(group("g", group("h", leaf("x")), leaf("y"), leaf("z"), slots=2), leaf("b"))
    assert hand.fill() == ["g/h/x", "g/y", "b"]
    hand.end("g/h/x")
    assert hand.fill() == ["g/z"]


def test_max_parallel_of_a_group_with_a_fan_out_counts_its_open_legs():
    hand = ScopeHand(group("g", leaf("x"), leaf("y"), legs=3, max_parallel=1))
    assert hand.fill() == ["g[0]/x", "g[0]/y"]
    assert hand.machine.tasks["g[1]"].waits_for == "limit"
    hand.end("g[0]/x")
    assert hand.fill() == []
    hand.end("g[0]/y")
    assert hand.fill() == ["g[1]/x", "g[1]/y"]


def test_a_task_that_its_fan_out_holds_lets_another_have_the_place_that_became_free_further_out():
    hand = ScopeHand(
        group("g", leaf("w"), leaf("fan", legs=3, max_parallel=1, weight=5), leaf("z"), slots=2),
        leaf("first", weight=9),
    )
    assert hand.fill() == ["first", "g/fan[0]", "g/w"]
    hand.end("g/w")
    assert hand.fill() == ["g/z"]


def test_a_task_that_ends_while_it_is_ready_lets_another_have_its_place():
    """`fan[0]` was woken for the place of `x`; its step is stopped, and the place is for `z`."""
    hand = ScopeHand(
        group(
            "g",
            leaf("x", weight=9),
            leaf("fan", legs=2, condition=GUARDED, on_failure=STOP, weight=5),
            leaf("z"),
            slots=1,
        )
    )
    hand.answer("g/fan[0]", value=True)
    assert hand.fill() == ["g/x"]
    hand.end("g/x")
    hand.answer("g/fan[1]", value=False, error="why")
    assert hand.state("g/fan[0]") is SKIPPED
    assert hand.fill() == ["g/z"]


def test_a_higher_priority_goes_before_a_longer_path():
    hand = ScopeHand(leaf("a", weight=9), leaf("b", priority=1), leaf("c", priority=-1, weight=9), slots=1)
    order = []
    while names := hand.fill():
        order += names
        hand.end(names[0])
    assert order == ["b", "a", "c"]


# --- fan-outs whose legs the run gives -----------------------------------------------------------------


def test_legs_take_the_place_of_what_stood_for_them():
    hand = ScopeHand(leaf("a"), leaf("fan", "a", legs=GIVEN), leaf("b", "fan"))
    hand.fill()
    assert hand.end("a") == [
        TaskEnded("a", SUCCEEDED),
        AskLegs("fan", success=True, failure=False, cancelled=False),
    ]
    assert hand.give_legs("fan", 2) == []
    assert "fan" not in hand.machine.tasks
    assert hand.fill() == ["fan[0]", "fan[1]"]
    hand.end("fan[0]")
    assert hand.fill() == []
    hand.end("fan[1]")
    assert hand.fill() == ["b"]


def test_legs_stand_in_the_order_of_the_plan_where_the_fan_out_stood():
    hand = ScopeHand(leaf("fan", legs=GIVEN), leaf("b"), slots=1)
    hand.give_legs("fan", 2)
    assert hand.fill() == ["fan[0]"]
    hand.end("fan[0]")
    assert hand.fill() == ["fan[1]"]


def test_no_legs_are_a_success_and_the_run_ends():
    hand = ScopeHand(leaf("fan", legs=GIVEN))
    assert hand.give_legs("fan", 0) == [RunEnded(RunState.SUCCEEDED)]


def test_no_legs_in_a_container_are_a_success_of_the_container():
    hand = ScopeHand(group("g", leaf("fan", legs=GIVEN)), leaf("b", "g"))
    assert hand.give_legs("g/fan", 0) == [TaskEnded("g", SUCCEEDED)]
    assert hand.fill() == ["b"]


def test_a_fan_out_is_skipped_without_being_asked_when_a_need_failed():
    hand = ScopeHand(leaf("a"), leaf("fan", "a", legs=GIVEN))
    hand.fill()
    assert hand.fail("a")[1:] == [
        TaskEnded("fan", SKIPPED, Cause("need_failed", "a", "a")),
        RunEnded(RunState.FAILED),
    ]


def test_a_fan_out_whose_if_has_a_status_function_is_asked_whatever_became_of_its_needs():
    hand = ScopeHand(leaf("a"), leaf("fan", "a", legs=GIVEN, condition=STATUS))
    hand.fill()
    assert hand.fail("a")[-1] == AskLegs("fan", success=False, failure=True, cancelled=False)


def test_an_if_that_asks_for_no_leg_may_skip_a_fan_out_as_a_whole():
    hand = ScopeHand(leaf("fan", legs=GIVEN, condition=GUARDED), leaf("b", "fan"))
    assert hand.give_legs("fan", None) == [
        TaskEnded("fan", SKIPPED, Cause("condition")),
        TaskEnded("b", SKIPPED, Cause("need_skipped", "fan", "fan")),
        RunEnded(RunState.SUCCEEDED),
    ]


def test_the_if_of_each_leg_is_asked():
    hand = ScopeHand(leaf("fan", legs=GIVEN, condition=GUARDED))
    assert hand.give_legs("fan", 2) == [
        AskCondition("fan[0]", success=True, failure=False, cancelled=False),
        AskCondition("fan[1]", success=True, failure=False, cancelled=False),
    ]
    hand.answer("fan[0]", value=False)
    hand.answer("fan[1]", value=True)
    assert hand.fill() == ["fan[1]"]


def test_legs_that_are_not_to_be_had_fail_the_step():
    hand = ScopeHand(leaf("fan", legs=GIVEN), leaf("b", "fan"))
    assert hand.give_legs("fan", None, "it must yield a list") == [
        TaskEnded("fan", FAILED),
        TaskEnded("b", SKIPPED, Cause("need_failed", "fan", "fan")),
        RunEnded(RunState.FAILED),
    ]
    assert hand.machine.tasks["fan"].error == "it must yield a list"


def test_the_legs_of_a_group_bring_all_that_is_in_them():
    hand = ScopeHand(
        group("g", leaf("x"), leaf("y", "x"), leaf("tidy", final=True), legs=GIVEN), leaf("b", "g")
    )
    hand.give_legs("g", 2)
    assert hand.fill() == ["g[0]/x", "g[1]/x"]
    hand.end("g[0]/x")
    hand.fail("g[1]/x")
    assert hand.fill() == ["g[0]/y", "g[1]/tidy"]
    assert hand.end("g[1]/tidy")[-1] == TaskEnded("g[1]", FAILED)


def test_fan_outs_unfold_inside_the_legs_of_another():
    hand = ScopeHand(group("g", leaf("gen"), leaf("each", "gen", legs=GIVEN), legs=GIVEN))
    hand.give_legs("g", 2)
    hand.fill()
    assert hand.end("g[1]/gen")[-1] == AskLegs("g[1]/each", success=True, failure=False, cancelled=False)
    hand.give_legs("g[1]/each", 2)
    assert hand.fill() == ["g[1]/each[0]", "g[1]/each[1]"]
    hand.end("g[1]/each[0]")
    assert hand.end("g[1]/each[1]")[-1] == TaskEnded("g[1]", SUCCEEDED)


def test_limits_hold_for_legs_that_the_run_gives():
    hand = ScopeHand(group("g", leaf("x"), leaf("y"), legs=GIVEN, max_parallel=1, slots=1))
    hand.give_legs("g", 2)
    assert hand.fill() == ["g[0]/x"]
    hand.end("g[0]/x")
    assert hand.fill() == ["g[0]/y"]
    hand.end("g[0]/y")
    assert hand.fill() == ["g[1]/x"]


# --- a later generation --------------------------------------------------------------------------------


def test_resume_tries_again_only_what_did_not_succeed_in_a_container():
    hand = ScopeHand(group("g", leaf("x"), leaf("y"), leaf("z", "x", "y")), leaf("b", "g"))
    hand.fill()
    hand.end("g/x")
    hand.fail("g/y")
    assert hand.begin() == []
    assert hand.state("g") is RUNNING
    assert hand.fill() == ["g/y"]
    assert hand.run_until_it_ends() is RunState.RUNNING
    hand.end("g/y")
    assert hand.run_until_it_ends() is RunState.SUCCEEDED
    assert hand.machine.tasks["g/x"].attempts == 1
    assert hand.machine.tasks["g"].error is None


def test_resume_keeps_a_container_that_succeeded_and_all_that_is_in_it():
    hand = ScopeHand(call("c", leaf("x"), leaf("tidy", final=True), allow=True), leaf("b", "c"))
    hand.fill()
    hand.fail("c/x")
    hand.fill()
    hand.end("c/tidy")
    hand.fill()
    hand.fail("b")
    hand.begin()
    assert hand.fill() == ["b"]
    assert (hand.state("c"), hand.state("c/x")) == (SUCCEEDED, FAILED)


def test_resume_runs_the_finally_of_a_call_again_that_did_not_succeed():
    hand = ScopeHand(call("c", leaf("x"), leaf("tidy", final=True)))
    hand.fill()
    hand.fail("c/x")
    hand.fill()
    hand.end("c/tidy")
    hand.begin()
    assert hand.fill() == ["c/x"]
    hand.end("c/x")
    assert hand.fill() == ["c/tidy"]


def test_resume_runs_a_group_under_finally_again_from_its_beginning():
    hand = ScopeHand(leaf("a"), group("tidy", group("h", leaf("x")), leaf("y"), final=True))
    hand.fill()
    hand.fail("a")
    hand.run_until_it_ends()
    hand.begin()
    hand.fill()
    hand.end("a")
    assert hand.fill() == ["tidy/h/x", "tidy/y"]


def test_resume_asks_the_if_in_a_container_again_when_something_before_the_container_is_tried_again():
    hand = ScopeHand(
        leaf("a"),
        group("g", leaf("x", condition=GUARDED), leaf("y"), needs=("a",), condition=STATUS),
    )
    hand.fill()
    hand.fail("a")
    hand.answer("g", value=True)
    hand.answer("g/x", value=False)
    hand.fill()
    hand.fail("g/y")
    hand.begin()
    hand.fill()
    hand.end("a")
    assert hand.answer("g", value=True) == [
        AskCondition("g/x", success=True, failure=False, cancelled=False),
    ]


def test_resume_keeps_the_legs_that_were_given():
    hand = ScopeHand(leaf("fan", legs=GIVEN))
    hand.give_legs("fan", 2)
    hand.fill()
    hand.end("fan[0]")
    hand.fail("fan[1]")
    assert hand.begin() == []
    assert hand.fill() == ["fan[1]"]


def test_resume_asks_for_legs_again_that_were_not_to_be_had():
    hand = ScopeHand(leaf("fan", legs=GIVEN))
    hand.give_legs("fan", None, "why")
    assert hand.begin() == [AskLegs("fan", success=True, failure=False, cancelled=False)]
    hand.give_legs("fan", 1)
    assert hand.run_until_it_ends() is RunState.SUCCEEDED


def test_resume_asks_for_inputs_again_after_a_crash():
    hand = ScopeHand(call("c", leaf("x"), declared=True))
    assert hand.begin() == [AskInputs("c")]
    hand.give_inputs("c")
    assert hand.run_until_it_ends() is RunState.SUCCEEDED


def test_what_was_stopped_in_a_container_starts_in_the_next_generation():
    hand = ScopeHand(group("g", leaf("x"), leaf("y", "x")), on_failure=STOP)
    hand.fill()
    hand.fail("g/x")
    hand.begin()
    assert hand.fill() == ["g/x"]
    assert hand.run_until_it_ends() is RunState.RUNNING
    hand.end("g/x")
    assert hand.run_until_it_ends() is RunState.SUCCEEDED


# --- what is refused --------------------------------------------------------------------------------


def test_answers_that_nobody_asked_for_are_refused():
    hand = ScopeHand(call("c", leaf("x"), declared=True, given=True), leaf("fan", legs=GIVEN))
    for said in (
        hand.give_outcome("c"),
        hand.give_legs("c", 1),
        hand.answer("fan", value=True),
        hand.give_inputs("fan"),
        hand.give_inputs("nobody"),
        hand.feed(AttemptStarted("c", 1)),
    ):
        assert [type(one) for one in said] == [Refused]
    hand.give_inputs("c")
    assert [type(one) for one in hand.give_inputs("c")] == [Refused]
    assert [type(one) for one in hand.feed(AttemptEnded("c", 0, Outcome.SUCCEEDED))] == [Refused]


def test_legs_are_given_once():
    hand = ScopeHand(leaf("fan", legs=GIVEN))
    hand.give_legs("fan", 1)
    assert [type(one) for one in hand.give_legs("fan", 2)] == [Refused]


# --- what it costs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [Outcome.SUCCEEDED, Outcome.FAILED])
def test_ten_thousand_groups_that_the_run_gives_are_no_problem(ends):
    machine = Machine(plan_of(group("g", leaf("x"), legs=GIVEN, max_parallel=50), leaf("b", "g")), slots=8)
    hand = ScopeHand.__new__(ScopeHand)  # without invariants, which look at everything
    hand.machine = machine
    hand.feed = machine.handle
    hand.feed(GenerationBegan(1))
    hand.give_legs("g", 10_000)
    while (name := machine.next_ready()) is not None:
        hand.start(name)
        hand.end(name, ends, "exit")
    machine.check_invariants()
    assert machine.state is (RunState.SUCCEEDED if ends is Outcome.SUCCEEDED else RunState.FAILED)
