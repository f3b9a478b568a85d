"""What `apply` and `resume` share: the executor, the signals, the progress, and the last word."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crewflow.clock import SystemClock
from crewflow.engine.apply import Setting
from crewflow.engine.interrupts import EXIT_CODES, Interrupts
from crewflow.errors import CrewflowError, ExitCode
from crewflow.report.console import ReaderGoneError
from crewflow.report.progress import Progress
from crewflow.report.summary import show_summary, summary_document
from crewflow.report.words import plural
from crewflow.run.states import RunState, TaskState
from crewflow.state.story import Story

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crewflow.engine.dispatch import Observer
    from crewflow.engine.executor import Executor
    from crewflow.engine.keeper import Keeper
    from crewflow.report.console import Console
    from crewflow.run.machine import Machine
    from crewflow.state.paths import RunPaths
    from crewflow.state.records import Record

_BY_STATE = {
    RunState.SUCCEEDED: ExitCode.DONE,
    RunState.FAILED: ExitCode.RUN_FAILED,
    RunState.CANCELLED: ExitCode.CANCELLED,
}


@dataclass
class Crewed:
    """One `apply` or `resume` under way. `notes` are said once the run has been taken up."""

    console: Console
    project: str
    keeper: Keeper | None
    interrupts: Interrupts
    notes: tuple[str, ...] = ()
    story: Story | None = field(default=None)
    setting: Setting = field(init=False)

    def executor(self, slots: int, alive: str) -> Executor:
        """Workers of the keeper, or this very process."""
        if self.keeper is None:
            from crewflow.engine.inline import InlineExecutor  # noqa: PLC0415  (seldom wanted)

            return InlineExecutor(self.interrupts.wake_fd)
        from crewflow.engine.pool import LocalExecutor  # noqa: PLC0415  (imported beside the keeper's work)

        executor = LocalExecutor(self.keeper, slots, self.interrupts.wake_fd)
        executor.hold(alive)
        return executor

    def observe(self, run: RunPaths, machine: Machine, past: Sequence[Record]) -> Observer:
        """Say that the run exists, and follow it."""
        self.story = Story(run, machine, held=True)
        for record in past:
            self.story.see(record)
        if not self.console.quiet:
            self.console.talk(f"run {run.run_id} of `{machine.plan.workflow}`: {_extent(machine)}")
            for note in self.notes:
                self.console.talk(note)
        return Progress(self.story, self.console)

    def finish(self) -> ExitCode:
        """Say the last word; the exit code tells how the run ended."""
        assert self.story is not None  # noqa: S101  (set by `observe`, which every run begins with)
        with contextlib.suppress(ReaderGoneError):  # how the run ended is told all the same
            self._show_end(self.story)
        state = self.story.machine.state
        if state is RunState.CANCELLED and self.interrupts.first is not None:
            return EXIT_CODES[self.interrupts.first]
        return _BY_STATE[state]

    def way_on(self) -> str | None:
        """What to type once what ended the run in the middle is mended; None if it never began."""
        if self.story is None:
            return None
        return f"once that is mended, `crewflow resume {self.story.run.run_id}` goes on"

    def _show_end(self, story: Story) -> None:
        if self.console.as_json:
            self.console.document(summary_document(story))
        else:
            show_summary(story, self.console, self.project)


def _extent(machine: Machine) -> str:
    """How much is to be done, at most."""
    tasks = [task for task in machine.tasks.values() if task.inner is None]
    done = sum(task.state is TaskState.SUCCEEDED and not task.step.planned.final for task in tasks)
    kept = f" ({done:,} succeeded before)" if done else ""
    return f"{plural(len(tasks), 'task')}{kept}, at most {machine.slots} at once"


@contextlib.contextmanager
def crewed(console: Console, project: str, state: str, slots: int, keeper: Keeper | None) -> Iterator[Crewed]:
    """Everything a run needs, let go of at the end."""
    with Interrupts() as interrupts:
        crew = Crewed(console, project, keeper, interrupts)
        crew.setting = Setting(
            project=project,
            state=state,
            slots=slots,
            crew=crew,
            clock=SystemClock(),
            interrupts=interrupts,
            observe=crew.observe,
        )
        try:
            yield crew
        except CrewflowError as error:
            error.hint = error.hint or crew.way_on()
            raise
