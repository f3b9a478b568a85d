"""From a workflow and its inputs to the `Plan`: check, fan out, fold what is known, weigh.

    problems = check_workflow(project, workflow)            what `validate` tells
    plan = compile_workflow(project, workflow, inputs)      what `plan` and `apply` start from

Both go the same way. `check_workflow` has no inputs, so it leaves open what depends on them, does not go
into called workflows, and throws the tasks away.

What decides: all that is in the plan. The order of the steps in the file is part of it, since of two tasks
with equally long paths behind them the first starts first. The order of other keys, comments and spacing
are not: objects have their keys in the order of the alphabet.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from crewflow.errors import SpecError
from crewflow.graph.folding import Known
from crewflow.graph.plan import Plan, in_order
from crewflow.graph.scopes import Compiler, Surroundings
from crewflow.graph.sheet import Sheet
from crewflow.spec.source import collector_off

if TYPE_CHECKING:
    from crewflow.errors import Problem
    from crewflow.spec.model import Project, Workflow


@collector_off()
def check_workflow(project: Project, workflow: Workflow) -> tuple[Problem, ...]:
    """Every fault of a workflow that does not depend on the values of its inputs, in order of place."""
    sheet = Sheet(project, workflow)
    known = Known(project, workflow, None, sheet.findings)
    with contextlib.suppress(SpecError):  # more tasks than a plan may have: told like the rest
        for _ in Compiler(project, descends=False).body(sheet, sheet.tree.root, Surroundings(known)):
            pass
    return sheet.findings.problems()


@collector_off()
def compile_workflow(project: Project, workflow: Workflow, inputs: dict[str, Any]) -> Plan:
    """The plan of a workflow with these inputs. Raises SpecError with every problem found."""
    compiler = Compiler(project, descends=True)
    sheet = compiler.sheet(workflow)
    compiler.refuse_endless_calls()
    known = Known(project, workflow, in_order(inputs), sheet.findings)
    units = list(compiler.body(sheet, sheet.tree.root, Surroundings(known)))
    compiler.refuse_faults()
    return Plan(
        workflow=workflow.name,
        project=project.name,
        inputs=known.inputs or {},
        env=in_order(known.env),
        max_parallel=workflow.max_parallel,
        on_failure=workflow.on_failure,
        steps=tuple(step for step, _ in units),
        tasks=tuple(task for _, tasks in units for task in tasks),
        later=in_order(workflow.later),
    )
