"""When a workflow is started by itself, as a frozen value: what is written, with defaults applied.

Times are kept as they are written: what they mean depends on the zone, and is found by `schedule`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crewflow.spec.model import Source
    from crewflow.spec.origin import Origin


@dataclass(frozen=True, slots=True)
class Schedule:
    """One schedule: exactly one of `cron`, `every` and `at` says when.

    Attributes:
        inputs: of the workflow; texts that hold expressions are templates.
        cron, at: as written, in order; empty where the schedule has none.
        every: seconds.
        catch_up: `none`, `latest` or `all`; `catch_up_window`: seconds.
        overlap: `skip`, `queue`, `replace` or `parallel`; `queue_limit` goes with `queue`.
        jitter: seconds, the longest delay.
        start, end: as written.
        on_remove: `keep` or `cancel`.
    """

    name: str
    description: str
    source: Source
    origin: Origin
    workflow: str
    inputs: dict[str, Any]
    cron: tuple[str, ...]
    every: float | None
    at: tuple[str, ...]
    timezone: str
    enabled: bool
    catch_up: str
    catch_up_window: float
    overlap: str
    queue_limit: int | None
    jitter: float
    start: str | None
    end: str | None
    on_remove: str

    @property
    def when(self) -> str:
        """When it starts its workflow, as it is written."""
        if self.cron:
            return f"cron {', '.join(self.cron)}"
        if self.at:
            return f"at {', '.join(self.at)}"
        return f"every {self.written_every}"

    @property
    def written_every(self) -> str:
        """The interval as a duration; empty where there is none."""
        from crewflow.spec.durations import show_duration  # noqa: PLC0415  # only lists show it

        return "" if self.every is None else show_duration(self.every)
