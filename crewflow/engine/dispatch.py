"""The loop, in two sentences.

Fill free slots from the ready tasks in order of critical path. Wait for one thing to happen, record it, and
tell the machine.

There are no waves. A record is appended before anything is done about it: `attempt.started` before the
process, the result before a dependent is released. Syncing to the device is grouped (`_sync_when_due`).
The loop is the only writer of the run, and single-threaded.
"""

from __future__ import annotations

import heapq
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, Protocol
from zlib import crc32

from crewflow.engine.ask import decide_condition, find_legs, give_inputs, give_outcome, is_allowed
from crewflow.engine.executor import Ended, Spawned
from crewflow.engine.render import render_attempt
from crewflow.run.events import (
    AskCondition,
    AskInputs,
    AskLegs,
    AskOutcome,
    CancelAttempt,
    DelayRetry,
    Refused,
    RetryDue,
    RunEnded,
    TaskEnded,
)
from crewflow.run.states import Outcome, RunState, TaskState
from crewflow.spec.expression import RenderError
from crewflow.state import codec
from crewflow.state.results import bring_back, move_large

if TYPE_CHECKING:
    from collections.abc import Callable

    from crewflow.clock import Clock
    from crewflow.engine.executor import Attempt, Executor
    from crewflow.engine.executor import Event as ExecutorEvent
    from crewflow.engine.snapshots import Snapshots
    from crewflow.engine.view import View
    from crewflow.run.events import Event, Instruction
    from crewflow.run.machine import Machine
    from crewflow.state.journal import Journal
    from crewflow.state.lease import Lease
    from crewflow.state.paths import RunPaths

IDLE_BEFORE_SYNC: Final = (0.002, 0.05)
"""Seconds without news after which unsynced records are synced: five times the last sync, within these.

The loop stands still while it syncs, so on a slow or busy disk it must not do so between any two tasks.
"""
OLDEST_UNSYNCED: Final = (0.05, 0.5)
"""The age at which they are synced anyway: ten times the last sync, within these seconds."""


class Observer(Protocol):
    """Told of every record once it is written. What it does must be quick: the loop waits for it."""

    def see(self, record: dict[str, Any]) -> None:
        """Take note of one record, whose `type` and facts are those of the journal."""
        ...


class Interrupts(Protocol):
    """Where the loop learns that someone pressed Ctrl-C or sent a signal."""

    def take(self) -> list[str]:
        """The names of the signals since the last call, in order."""
        ...


class Dispatch:
    """One generation of a run, from `GenerationBegan` to `RunEnded`."""

    def __init__(
        self,
        *,
        machine: Machine,
        view: View,
        executor: Executor,
        journal: Journal,
        lease: Lease,
        snapshots: Snapshots,
        run: RunPaths,
        project: str,
        clock: Clock,
        observer: Observer,
        interrupts: Interrupts,
    ) -> None:
        self._machine = machine
        self._view = view
        self._executor = executor
        self._journal = journal
        self._lease = lease
        self._snapshots = snapshots
        self._run = run
        self._project = project
        self._clock = clock
        self._observer = observer
        self._interrupts = interrupts
        self._retries: list[tuple[float, str]] = []  # heap of (monotonic time, task)
        self._next_beat = clock.monotonic()
        self._signals = 0
        self._interrupted = False  # by Ctrl-C, so attempts get INT and not TERM
        self._acts: dict[type, Callable[[Any], None]] = {
            AskCondition: self._ask,
            AskLegs: self._ask_legs,
            AskInputs: self._ask_inputs,
            AskOutcome: self._ask_outcome,
            DelayRetry: self._delay,
            CancelAttempt: self._cancel,
            TaskEnded: self._tell_end,
            Refused: self._tell_refused,
            RunEnded: self._tell_run_end,
        }

    def run(self, began: Event) -> RunState:
        """Run until nothing is left to do.

        Args:
            began: the `GenerationBegan` whose record stands in the journal already.

        Raises:
            StateError: a record could not be written; the caller ends what runs.
        """
        self._tell(began)
        self._fill()
        while self._machine.state is RunState.RUNNING:
            for event in self._news():
                self._on_executor(event)
            self._on_time()
            self._on_interrupts()
            self._fill()
        self._journal.sync()
        return self._machine.state

    # --- fill free slots ------------------------------------------------------------------------

    def _fill(self) -> None:
        while (name := self._machine.next_ready()) is not None:
            self._start(name)

    def _start(self, name: str) -> None:
        task = self._machine.tasks[name].task
        number = self._machine.tasks[name].attempts + 1
        attempt = self._rendered(name, number)
        self._record_event(codec.STARTED, {"task": name, "attempt": number})
        if isinstance(attempt, str):
            error = attempt
            self._on_executor(Ended(name, number, Outcome.FAILED, failure="start", error=error))
            return
        if not task.idempotent:
            self._journal.sync()  # that it may have run must be known before it can
        self._executor.start(attempt)

    def _rendered(self, name: str, number: int) -> Attempt | str:
        try:
            return render_attempt(
                self._machine.tasks[name].task, number, self._view, self._run, self._project
            )
        except RenderError as error:
            return error.message

    # --- one thing has happened -------------------------------------------------------------------

    def _on_executor(self, event: Spawned | Ended) -> None:
        if isinstance(event, Spawned):
            facts = {"task": event.task, "attempt": event.number, "pid": event.pid, "start": event.start}
            self._record(codec.SPAWNED, facts)
            return
        self._record_event(codec.ENDED, self._end_facts(event))

    def _end_facts(self, ended: Ended) -> dict[str, Any]:
        facts: dict[str, Any] = {"task": ended.task, "attempt": ended.number, "outcome": ended.outcome}
        facts |= {name: value for name in _ENDED_FACTS if _says_something(value := getattr(ended, name))}
        facts["seconds"] = round(ended.seconds, 6)
        if ended.outcome in {Outcome.FAILED, Outcome.LOST}:
            facts |= self._failure_facts(ended)
        return move_large(facts, self._run)

    def _failure_facts(self, ended: Ended) -> dict[str, Any]:
        seed = f"{self._run.run_id}/{ended.task}/{ended.number}".encode()
        facts: dict[str, Any] = {"fraction": round(crc32(seed) / 2**32, 6)}
        try:
            if is_allowed(self._machine.tasks[ended.task].task, ended.failure, ended.exit_code, self._view):
                facts["allowed"] = True
        except RenderError as error:
            facts["error"] = f"{ended.error}; `allow_failure`: {error.message}"
        return facts

    def _on_time(self) -> None:
        now = self._clock.monotonic()
        while self._retries and self._retries[0][0] <= now:
            self._retry(heapq.heappop(self._retries)[1])
        if now >= self._next_beat:
            self._next_beat = now + self._lease.heartbeat()
        self._sync_when_due(now)
        self._snapshots.write_when_due(now, self._journal.seq)

    def _retry(self, name: str) -> None:
        """A delay has passed; it says nothing any more if a cancel or a stop has ended its task meanwhile."""
        if self._machine.tasks[name].waits_for == "retry":
            self._tell(RetryDue(name))

    def _sync_when_due(self, now: float) -> None:
        first = self._journal.first_unsynced
        if first is not None and now >= first + self._within(10, OLDEST_UNSYNCED):
            self._journal.sync()

    def _within(self, factor: int, bounds: tuple[float, float]) -> float:
        """So many times the duration of the last sync, but within bounds. Seconds."""
        low, high = bounds
        return min(high, max(low, factor * self._journal.last_sync_seconds))

    def _news(self) -> list[ExecutorEvent]:
        """What happens next. If nothing does for a moment, what is recorded so far is synced meanwhile."""
        if self._journal.unsynced:
            news = self._executor.wait(min(self._within(5, IDLE_BEFORE_SYNC), self._patience()))
            if news or self._patience() <= 0:
                return news
            self._journal.sync()
        return self._executor.wait(self._patience())

    def _patience(self) -> float:
        """Seconds until something is due by itself: a retry, a heartbeat, a snapshot."""
        due = [
            self._next_beat,
            *(due for due, _ in self._retries[:1]),
            *self._snapshots.due(self._journal.seq),
        ]
        return max(0.0, min(due) - self._clock.monotonic())

    def _on_interrupts(self) -> None:
        for signal in self._interrupts.take():
            if self._machine.state is not RunState.RUNNING:
                return  # its last word is written
            self._signals += 1
            self._interrupted = self._interrupted or signal == "SIGINT"
            self._record_event(codec.CANCEL, {"reason": signal, "now": self._signals > 1})
            self._journal.sync()

    # --- record, tell, do ---------------------------------------------------------------------------

    def _record(self, kind: str, facts: dict[str, Any]) -> dict[str, Any]:
        self._journal.append(kind, facts)
        record = {"type": kind, "ts": self._clock.wall(), **facts}
        self._observer.see(record)
        return record

    def _record_event(self, kind: str, facts: dict[str, Any]) -> None:
        record = bring_back(self._record(kind, facts), self._run)
        self._view.take(record)
        event = codec.from_record(record)
        if event is not None:
            self._tell(event)

    def _tell(self, event: Event) -> None:
        for instruction in self._machine.handle(event):
            self._do(instruction)

    def _do(self, instruction: Instruction) -> None:
        self._acts[type(instruction)](instruction)

    def _ask(self, asked: AskCondition) -> None:
        if self._machine.tasks[asked.task].state is not TaskState.DECIDING:
            return
        facts: dict[str, Any] = {"task": asked.task, "value": False}
        try:
            facts["value"] = decide_condition(self._machine.tasks[asked.task].task, asked, self._view)
        except RenderError as error:
            facts["error"] = f"`if`: {error.message}"
        self._record_event(codec.CONDITION, facts)

    def _ask_legs(self, asked: AskLegs) -> None:
        run = self._machine.tasks.get(asked.task)
        if run is None or run.state is not TaskState.DECIDING:
            return
        facts: dict[str, Any] = {"task": asked.task}
        try:
            facts |= find_legs(run.step.planned, run.task, asked, self._view)
        except RenderError as error:
            facts["error"] = error.message
        self._record_event(codec.UNFOLDED, move_large(facts, self._run))

    def _ask_inputs(self, asked: AskInputs) -> None:
        facts = {"task": asked.task} | give_inputs(self._machine.tasks[asked.task], self._view)
        self._record_event(codec.INPUTS, facts)

    def _ask_outcome(self, asked: AskOutcome) -> None:
        facts = {"task": asked.task} | give_outcome(self._machine.tasks[asked.task], asked, self._view)
        self._record_event(codec.OUTCOME, facts)

    def _delay(self, delay: DelayRetry) -> None:
        heapq.heappush(self._retries, (self._clock.monotonic() + delay.seconds, delay.task))
        facts = {"task": delay.task, "attempt": delay.number, "seconds": round(delay.seconds, 3)}
        self._record(codec.RETRYING, facts)

    def _cancel(self, cancel: CancelAttempt) -> None:
        self._executor.cancel(cancel.task, cancel.number, now=cancel.now, interrupt=self._interrupted)

    def _tell_end(self, end: TaskEnded) -> None:
        """Record the ends that no attempt's record tells of."""
        run = self._machine.tasks[end.task]
        if end.cause is None and run.tried:
            return
        facts: dict[str, Any] = {"task": end.task, "state": end.state}
        if end.cause is not None:
            facts["cause"] = {name: value for name, value in asdict(end.cause).items() if value is not None}
        if run.error is not None and end.state is TaskState.FAILED:
            facts["error"] = run.error
        self._record(codec.TASK_ENDED, facts)

    def _tell_refused(self, refused: Refused) -> None:
        kind = type(refused.event).__name__
        self._record(codec.REFUSED, {"event": kind, "reason": refused.reason} | _task_of(refused.event))

    def _tell_run_end(self, end: RunEnded) -> None:
        self._record(codec.RUN_ENDED, {"state": end.state})


_ENDED_FACTS: Final = (
    "failure",
    "exit_code",
    "signal",
    "error",
    "outputs",
    "result",
    "artifacts",
    "output_bytes",
    "survivors",
)


def _says_something(value: Any) -> bool:
    """Whether a fact is worth its bytes; 0 and false are, as an exit code or a result."""
    return value is not None and value not in ((), {})


def _task_of(event: Event) -> dict[str, Any]:
    task = getattr(event, "task", None)
    return {} if task is None else {"task": task}
