"""Whether a failed attempt is tried again, and after how long. Pure.

A failure is described by its class and its exit code. A policy names classes: `exit` is any exit code,
`exit:75` one, `exit:64-78` a range; every other class stands for itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.spec.model import Backoff

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crewflow.spec.model import Retry


def is_retried(policy: Retry, failure: str, exit_code: int | None) -> bool:
    """Whether the policy tries again after this failure; attempts left are the machine's concern."""
    return is_among(policy.when, failure, exit_code) and not is_among(policy.unless, failure, exit_code)


def is_among(classes: Iterable[str], failure: str, exit_code: int | None) -> bool:
    """Whether one of the classes covers this failure."""
    return any(_covers(name, failure, exit_code) for name in classes)


def delay_before(policy: Retry, attempt: int, fraction: float) -> float:
    """Seconds to wait before the next attempt.

    Args:
        policy: the task's policy.
        attempt: number of the attempt that failed, from 1.
        fraction: where in the jitter's range to land, 0 to 1; 0.5 is no change.
    """
    grown = {
        Backoff.FIXED: lambda: policy.delay,
        Backoff.LINEAR: lambda: policy.delay * attempt,
        # past 2**62 any delay is over every limit, and a float could overflow
        Backoff.EXPONENTIAL: lambda: policy.delay * 2.0 ** min(attempt - 1, 62),
    }[policy.backoff]()
    spread = 1 + policy.jitter * (2 * fraction - 1)
    return float(min(policy.max_delay, grown * spread))


def _covers(name: str, failure: str, exit_code: int | None) -> bool:
    word, colon, codes = name.partition(":")
    if word != failure:
        return False
    if not colon:
        return True
    low, dash, high = codes.partition("-")
    return exit_code is not None and int(low) <= exit_code <= int(high if dash else low)
