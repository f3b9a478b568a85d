"""Which failures are tried again, and after how long."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.run.retry import delay_before, is_among, is_retried
from crewflow.spec.model import DEFAULT_RETRY_WHEN, Backoff, Retry

CLASSES = (
    *("exit", "signal", "start", "timeout", "idle", "lost", "bad_output", "expect_failed"),
    *("scope_violation", "merge_conflict", "transient", "rate_limit", "quota", "auth", "budget"),
    *("turn_cap", "refused", "denied", "no_work", "crash"),
)
NAMES = st.one_of(
    st.sampled_from(CLASSES),
    st.integers(0, 255).map("exit:{}".format),
    st.tuples(st.integers(0, 255), st.integers(0, 255)).map(lambda ends: f"exit:{min(ends)}-{max(ends)}"),
)
POLICIES = st.builds(
    Retry,
    delay=st.floats(0, 1e6),
    backoff=st.sampled_from(Backoff),
    max_delay=st.floats(0, 1e6),
    jitter=st.floats(0, 1),
)


def delays(attempts=4, **policy):
    return [delay_before(Retry(**policy), attempt, 0.5) for attempt in range(1, attempts + 1)]


# --- classes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "exit_code", "covered"),
    [
        ("exit", 1, True),
        ("exit", 255, True),
        ("exit", None, True),
        ("exit:75", 75, True),
        ("exit:75", 7, False),
        ("exit:75", 175, False),
        ("exit:75", None, False),
        ("exit:64-78", 63, False),
        ("exit:64-78", 64, True),
        ("exit:64-78", 78, True),
        ("exit:64-78", 79, False),
        ("exit:75-75", 75, True),
        ("timeout", 75, False),
    ],
)
def test_an_exit_is_covered_by_its_word_its_code_or_a_range(name, exit_code, covered):
    assert is_among((name,), "exit", exit_code) is covered


@pytest.mark.parametrize("failure", CLASSES)
def test_a_class_covers_itself_and_no_other(failure):
    assert [name for name in CLASSES if is_among((name,), failure, 1)] == [failure]


@pytest.mark.parametrize("failure", [name for name in CLASSES if name != "exit"])
def test_a_code_never_covers_a_failure_that_is_no_exit(failure):
    assert not is_among(("exit:1", "exit:0-255"), failure, 1)


def test_nothing_is_among_no_classes():
    assert not is_among((), "exit", 1)


def test_without_a_word_the_default_classes_are_tried_again():
    assert tuple(name for name in CLASSES if is_retried(Retry(), name, 1)) == (
        *("exit", "signal", "timeout", "idle", "lost", "bad_output"),
        *("transient", "rate_limit", "crash"),
    )
    assert set(DEFAULT_RETRY_WHEN) <= set(CLASSES)


def test_unless_wins_over_when():
    policy = Retry(when=("exit", "timeout"), unless=("exit:2", "exit:64-78"))
    assert is_retried(policy, "exit", 1)
    assert not is_retried(policy, "exit", 2)
    assert not is_retried(policy, "exit", 70)
    assert is_retried(policy, "timeout", None)


@given(st.lists(NAMES), st.lists(NAMES), st.sampled_from(CLASSES), st.none() | st.integers(0, 255))
def test_a_policy_tries_what_when_covers_and_unless_does_not(when, unless, failure, exit_code):
    policy = Retry(when=tuple(when), unless=tuple(unless))
    covered = any(is_among((name,), failure, exit_code) for name in when)
    excepted = any(is_among((name,), failure, exit_code) for name in unless)
    assert is_retried(policy, failure, exit_code) == (covered and not excepted)


# --- delays ---------------------------------------------------------------------------------------


def test_a_fixed_delay_stays_the_same():
    assert delays(delay=2.0) == [2, 2, 2, 2]


def test_a_linear_delay_grows_by_itself():
    assert delays(delay=2.0, backoff=Backoff.LINEAR) == [2, 4, 6, 8]


def test_an_exponential_delay_doubles():
    assert delays(delay=2.0, backoff=Backoff.EXPONENTIAL) == [2, 4, 8, 16]


@pytest.mark.parametrize("backoff", Backoff)
def test_no_delay_is_longer_than_the_longest(backoff):
    assert max(delays(delay=2.0, backoff=backoff, max_delay=5.0)) <= 5


@pytest.mark.parametrize(("fraction", "seconds"), [(0.0, 8.0), (0.25, 9.0), (0.5, 10.0), (1.0, 12.0)])
def test_jitter_spreads_a_delay_to_both_sides(fraction, seconds):
    assert delay_before(Retry(delay=10.0, jitter=0.2), 1, fraction) == pytest.approx(seconds)


def test_a_delay_of_nothing_stays_nothing():
    assert delays(delay=0.0, backoff=Backoff.EXPONENTIAL, jitter=1.0) == [0, 0, 0, 0]


@given(POLICIES, st.integers(1, 10**9), st.floats(0, 1))
def test_a_delay_is_a_finite_number_between_nothing_and_the_longest(policy, attempt, fraction):
    delay = delay_before(policy, attempt, fraction)
    assert isinstance(delay, float)
    assert math.isfinite(delay)
    assert 0 <= delay <= policy.max_delay


@given(POLICIES, st.integers(1, 10**4), st.floats(0, 1))
def test_a_later_attempt_never_waits_less(policy, attempt, fraction):
    assert delay_before(policy, attempt, fraction) <= delay_before(policy, attempt + 1, fraction)


@given(POLICIES, st.integers(1, 100), st.floats(0, 1))
def test_without_jitter_where_the_dice_fall_does_not_matter(policy, attempt, fraction):
    still = Retry(delay=policy.delay, backoff=policy.backoff, max_delay=policy.max_delay)
    assert delay_before(still, attempt, fraction) == delay_before(still, attempt, 0.5)
