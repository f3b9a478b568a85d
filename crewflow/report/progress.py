"""Plain progress: a line when a task ends, is tried again or is skipped; with `-v` when it starts too.

The end of a container is a line only when it did not succeed; what is inside one that never began is none.
With `-v` both are, and so is what a fan-out became.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from crewflow.report.words import cause_text, duration, plural, shown_path
from crewflow.run.states import Outcome, TaskState
from crewflow.state import codec
from crewflow.state.records import GENERATION

if TYPE_CHECKING:
    from collections.abc import Callable

    from crewflow.report.console import Console
    from crewflow.state.story import Story


class Progress:
    """Told of every record of a run; keeps its story and says a line about what a person waits for."""

    def __init__(self, story: Story, console: Console) -> None:
        self._story = story
        self._console = console
        self._tellers: dict[str, Callable[[dict[str, Any]], str | None]] = {
            GENERATION: self._began,
            codec.STARTED: self._started,
            codec.ENDED: self._ended,
            codec.RETRYING: self._retrying,
            codec.TASK_ENDED: self._task_ended,
            codec.CANCEL: self._cancel,
            codec.LOST: self._lost,
            codec.UNFOLDED: self._unfolded,
        }

    def see(self, record: dict[str, Any]) -> None:
        """Take note of one record and say a line about it if it is worth one."""
        self._story.see(record)
        teller = self._tellers.get(record["type"])
        line = teller(record) if teller is not None else None
        if line is not None:
            self._console.talk(line)

    def _began(self, record: dict[str, Any]) -> str | None:
        torn = record.get("torn")
        if torn is None:
            return None
        text = f"the last {plural(torn['size'], 'byte')} of {shown_path(torn['file'])} are what a crash left"
        return self._line("note", "yellow", f"{text}; they are kept beside it, and count for nothing")

    def _started(self, record: dict[str, Any]) -> str | None:
        if not self._console.verbose:
            return None
        again = f" (attempt {record['attempt']})" if record["attempt"] > 1 else ""
        return self._line("start", "dim", f"{record['task']}{again}")

    def _ended(self, record: dict[str, Any]) -> str | None:
        seconds = duration(record.get("seconds", 0.0))
        left = ", ".join(map(str, record.get("survivors", ())))
        named = f"; processes that could not be ended: {left}" if left else ""
        if record["outcome"] == "succeeded":
            return self._succeeded(f"{record['task']}  {seconds}{named}", worth_it=bool(left))
        words = {"failed": ("FAILED", "red"), "lost": ("LOST", "red")}
        label, style = words.get(record["outcome"], ("ended", "yellow"))
        if record.get("allowed"):
            label, style = "allowed", "yellow"
        reason = record.get("error") or record["outcome"]
        return self._line(label, style, f"{record['task']}  {seconds}  {reason}{named}")

    def _succeeded(self, text: str, *, worth_it: bool) -> str | None:
        return self._line("ok", "green", text) if worth_it or not self._console.quiet else None

    def _retrying(self, record: dict[str, Any]) -> str:
        text = f"{record['task']}  attempt {record['attempt']} in {duration(record['seconds'])}"
        return self._line("retry", "yellow", text)

    def _task_ended(self, record: dict[str, Any]) -> str | None:
        """The end of what had no attempt: of a container, or of a task that never began."""
        run = self._story.machine.tasks.get(record["task"])
        if record["state"] == TaskState.FAILED:
            return self._line("FAILED", "red", f"{record['task']}  {record.get('error', '')}".rstrip())
        cause = record.get("cause")
        minor = cause is None or cause["kind"] == "enclosing"
        if self._console.quiet:
            return None
        if run is not None and run.inner is not None and run.outcome == Outcome.FAILED:
            return self._line("allowed", "yellow", f"{record['task']}  {run.error or ''}".rstrip())
        if minor and not self._console.verbose:
            return None
        if cause is None:
            return self._line("ok", "green", f"{record['task']}  all in it has ended")
        text = cause_text(cause, run_cancelled=self._story.machine.cancelled)
        return self._line(record["state"], "dim", f"{record['task']}  {text}")

    def _unfolded(self, record: dict[str, Any]) -> str | None:
        legs = record.get("legs")
        if legs is None or not self._console.verbose:
            return None
        what = plural(len(legs), "task") if legs else "no tasks: its list is empty"
        return self._line("fan-out", "dim", f"{record['task']}: {what}")

    def _cancel(self, record: dict[str, Any]) -> str:
        if record["now"]:
            return self._line("cancel", "yellow", f"{record['reason']} again: ending everything at once")
        return self._line(
            "cancel", "yellow", f"{record['reason']}: ending what runs; once more ends it at once"
        )

    def _lost(self, record: dict[str, Any]) -> str:
        return self._line(
            "lost", "yellow", f"{record['task']}  attempt {record['attempt']} ended with its engine"
        )

    def _line(self, label: str, style: str, text: str) -> str:
        return f"{self._console.paint(f'{label:>9}', style, sys.stderr)}  {text}"
