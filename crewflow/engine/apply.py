"""Begin a run, or take one up again: lease, replay, journal, loop, and everything let go of at the end."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from crewflow import durable
from crewflow.engine.dispatch import Dispatch
from crewflow.engine.snapshots import Snapshots
from crewflow.engine.view import View
from crewflow.errors import CrewflowError, HeldError, UsageError
from crewflow.run.events import GenerationBegan
from crewflow.run.machine import Machine
from crewflow.run.states import RunState, TaskState
from crewflow.spec.expression import RenderError
from crewflow.state import codec
from crewflow.state.folder import is_foreign
from crewflow.state.journal import Journal, read_journal
from crewflow.state.lease import acquire
from crewflow.state.records import GENERATION
from crewflow.state.replay import recorded_plan, replay
from crewflow.state.results import bring_back, file_hash
from crewflow.state.runs import create_run, new_run_id, plan_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crewflow.clock import Clock
    from crewflow.engine.dispatch import Interrupts, Observer
    from crewflow.engine.executor import Executor
    from crewflow.graph.plan import Plan
    from crewflow.state.journal import Reading
    from crewflow.state.paths import RunPaths
    from crewflow.state.records import Record

_PATIENCE_WITH_LEFTOVERS = 20.0  # seconds: the keeper's longest grace and some


class Crew(Protocol):
    """Makes the executor of a run once it is known how many slots it has and which file shows its life."""

    def executor(self, slots: int, alive: str) -> Executor:
        """The executor; its processes hold a shared lock on `alive` as long as they live."""
        ...


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run is begun with, beside its plan.

    Attributes:
        project: absolute path of the project; `state`: of its state folder.
        slots: how many tasks may run at once, as far as the workflow's own limit allows.
        observe: called with the run and all its past records once the new generation is recorded, before
            the first task; what it gives is told of every record from then on.
    """

    project: str
    state: str
    slots: int
    crew: Crew
    clock: Clock
    interrupts: Interrupts
    observe: Callable[[RunPaths, Machine, Sequence[Record]], Observer]


def begin_run(plan: Plan, setting: Setting) -> tuple[RunPaths, RunState]:
    """Create a run of this plan and run it to its end.

    Raises:
        UsageError: the workflow's `env` has a value that cannot be passed.
        StateError: the state folder cannot be written; HeldError: someone else has taken the run.
    """
    data = plan.to_bytes()
    run_id = new_run_id(setting.clock.wall())
    machine = Machine(plan, slots_of(plan, setting.slots))
    view = _view(plan, machine, run_id)
    run = create_run(setting.state, run_id, data)
    with contextlib.closing(_Held(run, setting.clock)) as held:
        return run, _generation(held, machine, view, None, plan_hash(data), setting)


def resume_run(run: RunPaths, setting: Setting) -> RunState:
    """Go on with a run, trying again what did not succeed.

    Raises:
        UsageError: it succeeded, a task that may not run twice was lost, an artifact has changed, or the
            run belongs to another folder.
        HeldError: someone else runs it, or processes of it still live.
        StateError: its files are damaged.
    """
    _refuse_foreign(run)
    with contextlib.closing(_Held(run, setting.clock)) as held:
        if not durable.wait_alone(run.alive, _PATIENCE_WITH_LEFTOVERS):
            raise HeldError(
                f"processes of run `{run.run_id}` still live, though its engine is gone",
                hint="look for them with `ps`, and try again once they have ended",
            )
        reading = read_journal(run)
        plan, recorded = recorded_plan(run, reading)
        machine = Machine(plan, slots_of(plan, setting.slots))
        view = _view(plan, machine, run.run_id)
        replay(machine, (bring_back(record, run) for record in reading.records), view.take)
        _check_resumable(run, machine)
        _check_artifacts(run, machine, view, setting.project)
        return _generation(held, machine, view, reading, recorded, setting)


def slots_of(plan: Plan, jobs: int) -> int:
    """How many tasks may run at once: what was asked for, within the workflow's own limit."""
    return min(jobs, plan.max_parallel) if plan.max_parallel is not None else jobs


def _view(plan: Plan, machine: Machine, run_id: str) -> View:
    try:
        return View(plan, machine, run_id)
    except RenderError as error:
        raise UsageError(f"`env` of workflow `{plan.workflow}`: {error.message}") from None


def _refuse_foreign(run: RunPaths) -> None:
    foreign = is_foreign(run.root)
    if foreign is not None:
        raise UsageError(foreign, hint="resume it there, or start a new one here with `crewflow apply`")


class _Held:
    """A run whose lease this process holds."""

    def __init__(self, run: RunPaths, clock: Clock) -> None:
        self.run = run
        self.lease = acquire(run, purpose="run", clock=clock)

    def close(self) -> None:
        self.lease.release()


def _check_resumable(run: RunPaths, machine: Machine) -> None:
    if machine.state is RunState.SUCCEEDED:
        raise UsageError(
            f"run `{run.run_id}` succeeded: nothing is left to do",
            hint="start a new one with `crewflow apply`",
        )
    lost = [t for t in machine.tasks.values() if t.state is TaskState.RUNNING and not t.task.idempotent]
    if lost:
        names = ", ".join(f"`{task.task.id}`" for task in lost)
        raise UsageError(
            f"{names} may have run and may not run twice (`idempotent: false`)",
            hint="find out what it did; to run it again in spite of that is not available in this version",
        )


def _check_artifacts(run: RunPaths, machine: Machine, view: View, project: str) -> None:
    """What succeeded is not run again, so what it made must still be there, as it was made."""
    made = {
        artifact["path"]: (name, artifact["sha256"])
        for name, record in view.given.items()
        if machine.tasks[name].state is TaskState.SUCCEEDED
        for artifact in record.get("artifacts", ())
    }
    changed = [
        f"`{path}` of `{name}`"
        for path, (name, digest) in made.items()
        if file_hash(os.path.join(project, path)) != digest
    ]
    if changed:
        raise UsageError(
            f"artifacts are gone or were changed since they were made: {', '.join(changed)}",
            hint=f"restore them and `crewflow resume {run.run_id}`, or start again with `crewflow apply`",
        )


def _generation(
    held: _Held,
    machine: Machine,
    view: View,
    past: Reading | None,
    plan: str,
    setting: Setting,
) -> RunState:
    run, slots = held.run, machine.slots
    number = past.generations + 1 if past else 1
    header = {"run": run.run_id, "workflow": machine.plan.workflow, "plan": plan, "slots": slots}
    running = (task for task in machine.tasks.values() if task.inner is None)
    lost = [task for task in running if task.state is TaskState.RUNNING]
    with _closing(Journal.create(run, number, header, setting.clock, past)) as journal:
        snapshots = Snapshots(run, machine, setting.clock)
        observer = setting.observe(run, machine, past.records if past else ())
        observer.see({"type": GENERATION, "ts": setting.clock.wall(), "generation": number, **_cut(past)})
        for task in lost:
            facts = {"task": task.task.id, "attempt": task.attempts}
            journal.append(codec.LOST, facts)
            observer.see({"type": codec.LOST, "ts": setting.clock.wall(), **facts})
        executor = setting.crew.executor(slots, run.alive)
        with _closing(executor):
            loop = Dispatch(
                machine=machine,
                view=view,
                executor=executor,
                journal=journal,
                lease=held.lease,
                snapshots=snapshots,
                run=run,
                project=setting.project,
                clock=setting.clock,
                observer=observer,
                interrupts=setting.interrupts,
            )
            state = loop.run(GenerationBegan(number))
        snapshots.write(journal.seq)
        return state


class _Closable(Protocol):
    def close(self) -> None: ...


_AnyClosable = TypeVar("_AnyClosable", bound=_Closable)


@contextlib.contextmanager
def _closing(thing: _AnyClosable) -> Iterator[_AnyClosable]:
    """As `contextlib.closing`, but that a failure of the close never hides the one that led to it."""
    try:
        yield thing
    except BaseException:
        with contextlib.suppress(CrewflowError):
            thing.close()
        raise
    thing.close()


def _cut(past: Reading | None) -> dict[str, Any]:
    """What a crash left at the end of the journal, and where it is kept now."""
    return {"torn": {"file": past.torn.file, "size": past.torn.size}} if past and past.torn else {}
