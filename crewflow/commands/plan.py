"""`crewflow plan`: what would run, in what order, and why. Writes nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from crewflow.commands.project import choose, compile_chosen
from crewflow.engine.apply import slots_of
from crewflow.errors import ExitCode
from crewflow.report.plan import plan_document, plan_text
from crewflow.spec.source import collector_off

if TYPE_CHECKING:
    from crewflow.commands.project import Inputs
    from crewflow.report.console import Console


@collector_off()  # a plan of many tasks is made, printed and gone
def run(
    console: Console, folder: str, *, workflow: str | None, inputs: Inputs, jobs: int | None, output: str
) -> int:
    """Print the plan of a workflow."""
    plan = compile_chosen(choose(folder, workflow), inputs)
    slots = slots_of(plan, jobs or os.cpu_count() or 1)
    if console.as_json or output == "json":
        console.document(plan_document(plan, slots))
    else:
        console.data(plan_text(plan, slots))
    return int(ExitCode.DONE)
