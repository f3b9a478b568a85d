"""The three clocks, behind one protocol that tests can move by hand.

Attempts are timed by the monotonic clock, what people see and schedule by the wall clock,
heartbeats by boot time, which also counts while the machine sleeps.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where time comes from. All values are seconds."""

    def wall(self) -> float:
        """Seconds since 1970 in UTC; may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds since some instant; never goes back, stands still while the machine sleeps."""
        ...

    def boot(self) -> float:
        """Seconds since the machine started, sleep included."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def wall(self) -> float:
        """Seconds since 1970 in UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some instant."""
        return time.monotonic()

    def boot(self) -> float:
        """Seconds since the machine started."""
        # CLOCK_BOOTTIME is Linux's name; elsewhere the monotonic clock is the nearest thing.
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
