"""From a workflow and its inputs to the `Plan`: check, fan out, fold what is known, weigh.

    problems = check_workflow(project, workflow)            what `validate` tells
    plan = compile_workflow(project, workflow, inputs)      what `plan` and `apply` start from

Both go the same way. `check_workflow` has no inputs, so it leaves open what depends on them, and throws
the tasks away.

What decides: all that is in the plan. The order of the steps in the file is part of it, since of two tasks
with equally long paths behind them the first starts first. The order of other keys, comments and spacing
are not: objects have their keys in the order of the alphabet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from crewflow.errors import Severity, SpecError
from crewflow.graph.dag import path_lengths
from crewflow.graph.declared import Types, is_fan_out
from crewflow.graph.edges import check_edges, known_edges
from crewflow.graph.findings import Findings
from crewflow.graph.folding import Known
from crewflow.graph.legs import find_legs
from crewflow.graph.names import check_names, occurrences
from crewflow.graph.plan import Plan, PlannedStep, in_order
from crewflow.graph.references import matrix_names
from crewflow.graph.tasks import TaskMaker
from crewflow.graph.typed import check_types
from crewflow.spec.source import collector_off

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crewflow.errors import Problem
    from crewflow.graph.plan import Task
    from crewflow.spec.model import Project, Step, Workflow


@collector_off()
def check_workflow(project: Project, workflow: Workflow) -> tuple[Problem, ...]:
    """Every fault of a workflow that does not depend on the values of its inputs, in order of place."""
    compiler = _Compiler(project, workflow, None)
    compiler.check()
    for _ in compiler.steps():
        pass
    return compiler.findings.problems()


@collector_off()
def compile_workflow(project: Project, workflow: Workflow, inputs: dict[str, Any]) -> Plan:
    """The plan of a workflow with these inputs. Raises SpecError with every problem found."""
    compiler = _Compiler(project, workflow, in_order(inputs))
    compiler.check()
    pairs = list(compiler.steps())
    errors = [one for one in compiler.findings.problems() if one.severity is Severity.ERROR]
    if errors:
        raise SpecError(tuple(errors))
    return compiler.plan(pairs)


@dataclass
class _Compiler:
    """Holds what every step is compiled with; made for one workflow and thrown away."""

    project: Project
    workflow: Workflow
    inputs: dict[str, Any] | None

    @cached_property
    def findings(self) -> Findings:
        return Findings(self.workflow.source)

    @cached_property
    def known(self) -> Known:
        return Known(self.project, self.workflow, self.inputs, self.findings)

    @cached_property
    def unknown(self) -> Known:
        """What is known whatever the inputs are."""
        return Known(self.project, self.workflow, None, self.findings)

    @cached_property
    def types(self) -> Types:
        return Types(self.workflow)

    def check(self) -> None:
        check_edges(self.workflow, self.findings)
        check_names(self.project, self.workflow, self.types, self.findings)
        check_types(self.workflow, self.types, self.findings)

    def steps(self) -> Iterator[tuple[Step, list[Task]]]:
        """Each step with its tasks, those of `finally` last. Faults are told on the way."""
        edges = known_edges(self.workflow)
        weights = path_lengths(edges, dict.fromkeys(edges, 1.0))
        read = frozenset(_read_results(self.workflow.steps))
        for step in sorted(self.workflow.steps, key=lambda step: step.final):
            weight = weights.get(step.id, 1.0)
            maker = TaskMaker(step, self.types, self.findings, weight=weight, is_read=step.id in read)
            yield step, list(self.tasks(step, maker))

    def tasks(self, step: Step, maker: TaskMaker) -> Iterator[Task]:
        if not is_fan_out(step):
            yield maker.make(step.id, {}, self.known.values({}))
            return
        names = frozenset(matrix_names(step))
        legs = find_legs(step, self.known.values({}), self.findings)
        if not legs:  # made for its faults alone; what there is no task for may lack inputs
            known = self.known if legs is None else self.unknown
            maker.make(step.id, {}, known.values(None, names))
        for leg in legs or ():
            values = self.known.values(leg.context, names)
            yield maker.make(f"{step.id}[{leg.label}]", leg.context, values)

    def plan(self, pairs: Iterable[tuple[Step, list[Task]]]) -> Plan:
        pairs = list(pairs)
        return Plan(
            workflow=self.workflow.name,
            project=self.project.name,
            inputs=self.inputs or {},
            env=in_order(self.known.env),
            max_parallel=self.workflow.max_parallel,
            on_failure=self.workflow.on_failure,
            steps=tuple(_planned_step(step, tasks) for step, tasks in pairs),
            tasks=tuple(task for _, tasks in pairs for task in tasks),
        )


def _read_results(steps: Iterable[Step]) -> Iterator[str]:
    """The steps whose `result` some expression asks for."""
    for step in steps:
        for occurrence in occurrences(step):
            for reference in occurrence.expression.paths:
                match reference.keys:
                    case ("steps", str(name), "result", *_):
                        yield name


def _planned_step(step: Step, tasks: list[Task]) -> PlannedStep:
    return PlannedStep(
        id=step.id,
        tasks=tuple(task.id for task in tasks),
        needs=tuple(dict.fromkeys(step.needs)),
        after=tuple(dict.fromkeys(step.after)),
        final=step.final,
        fan_out=is_fan_out(step),
        max_parallel=step.max_parallel,
    )
