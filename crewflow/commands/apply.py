"""`crewflow apply`: validate, compile, run."""

from __future__ import annotations

import gc
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from crewflow.engine.keeper import Keeper

if TYPE_CHECKING:
    from crewflow.commands.project import Inputs
    from crewflow.graph.plan import Plan
    from crewflow.report.console import Console


def run(
    console: Console,
    folder: str,
    *,
    workflow: str | None,
    inputs: Inputs,
    jobs: int | None,
    executor: str,
    on_failure: str | None,
) -> int:
    """Apply a workflow and say how it ended; the exit code is the run's."""
    # before anything is read or opened, so that the processes of the run inherit nothing of it
    keeper = Keeper.fork() if executor == "local" else None
    try:
        return _apply(console, folder, keeper, workflow, inputs, jobs, on_failure)
    finally:
        if keeper is not None:
            keeper.close()


def _apply(
    console: Console,
    folder: str,
    keeper: Keeper | None,
    workflow: str | None,
    inputs: Inputs,
    jobs: int | None,
    on_failure: str | None,
) -> int:
    # modules, nodes and plan stay: looking at them again and again would only cost time
    gc.disable()
    try:
        project, plan = _prepare(folder, workflow, inputs, on_failure)
    finally:
        gc.freeze()
        gc.enable()
    from crewflow.commands.crew import crewed  # noqa: PLC0415  (the keeper is forked first)
    from crewflow.engine.apply import begin_run  # noqa: PLC0415  (as above)
    from crewflow.state.folder import open_state  # noqa: PLC0415  (as above)

    state = open_state(project)
    with crewed(console, project, state, jobs or os.cpu_count() or 1, keeper) as crew:
        crew.notes = _notes(plan)
        begin_run(plan, crew.setting)
        return int(crew.finish())


def _notes(plan: Plan) -> tuple[str, ...]:
    """What a person has to know of a run before it: that prompts are written down, and nobody is asked."""
    patterns = [task for step in plan.steps if step.unfold is not None for task in step.unfold.tasks]
    if not any(task.agent for task in (*plan.tasks, *patterns)):
        return ()
    return ("note: agent `scaffold` asks nobody; prompts are written to `prompt.md` beside the logs",)


def _prepare(folder: str, workflow: str | None, inputs: Inputs, on_failure: str | None) -> tuple[str, Plan]:
    """The root of the project, and the plan that is to be run."""
    from crewflow.commands.project import choose, compile_chosen, refuse_unready  # noqa: PLC0415  (as above)
    from crewflow.spec.model import OnFailure  # noqa: PLC0415  (as above)

    chosen = choose(folder, workflow)
    plan = compile_chosen(chosen, inputs)
    refuse_unready(chosen)
    return chosen.project.root, plan if on_failure is None else replace(
        plan, on_failure=OnFailure(on_failure)
    )
