"""The steps of a body as planned steps with their tasks; containers with all that is inside them.

    for step, tasks in Compiler(project, descends=True).body(sheet, sheet.tree.root, Surroundings(known)):

A body is compiled once for each leg of the group that holds it. A fan-out over values that only the run
gives is compiled once, as the pattern of its legs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NoReturn

from crewflow.errors import Severity, SpecError
from crewflow.graph.calls import ENDLESS_CALL, called_inputs
from crewflow.graph.declared import is_fan_out, matrix_names
from crewflow.graph.fanout import MOST_LEGS, Leg
from crewflow.graph.folding import Known
from crewflow.graph.legs import find_legs
from crewflow.graph.occurrences import condition_of
from crewflow.graph.plan import PlannedStep, Task, Unfold, in_order
from crewflow.graph.sheet import Sheet, lengths
from crewflow.graph.tasks import TaskMaker, Whose
from crewflow.spec.model import CONTAINERS, Kind
from crewflow.spec.template import OPENING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.errors import Problem
    from crewflow.graph.folding import Values
    from crewflow.graph.tree import Body
    from crewflow.spec.model import Project, Step, Workflow

    Unit = tuple[PlannedStep, list[Task]]

_WRITTEN_OUT: Final = frozenset({Kind.SCRIPT, Kind.COMMAND, Kind.PYTHON})

MOST_TASKS: Final = 200_000
"""Of one plan, so that calls within fan-outs within calls cannot fill the memory."""


@dataclass(frozen=True)
class Surroundings:
    """What a body is compiled in.

    Attributes:
        known: what is known in its workflow.
        within: the container; None for the run itself.
        context: what `matrix`, `item` and `item_index` of the groups around mean; None: not known.
        names: what `matrix.` may be followed by in the groups around.
        hidden: variables that the groups around set.
        priority: that of the container.
        tail: length of the longest path from the end of the body to the end of the run.
    """

    known: Known
    within: str | None = None
    context: dict[str, Any] | None = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    priority: int = 0
    tail: float = 0.0

    @cached_property
    def whose(self) -> Whose:
        """What all tasks take from it; names in it begin with that of the container."""
        prefix = "" if self.within is None else f"{self.within}/"
        return Whose(prefix=prefix, priority=self.priority)

    def values(self, context: dict[str, Any] | None, names: frozenset[str] = frozenset()) -> Values:
        """What fields mean in a task with this context of its own; None: not known."""
        merged = None if context is None or self.context is None else _merged(self.context, context)
        return self.known.values(merged, self.names | names, self.hidden)


class Compiler:
    """Compiles bodies.

    Args:
        project: where called workflows, teams and agents are looked up.
        descends: go into called workflows.
    """

    def __init__(self, project: Project, *, descends: bool) -> None:
        self._project = project
        self._descends = descends
        self._sheets: dict[str, Sheet] = {}
        self._behind: dict[int, dict[str, float]] = {}  # by body: its steps' lengths to its end
        self._sizes: dict[int, int] = {}  # by body: how many tasks it has at least
        self._count = 0

    def sheet(self, workflow: Workflow) -> Sheet:
        """A workflow with all that it calls, checked once."""
        waiting = [] if workflow.name in self._sheets else [workflow]
        while waiting:
            one = waiting.pop()
            if one.name in self._sheets:
                continue
            self._sheets[one.name] = sheet = Sheet(self._project, one)
            for step in sheet.tree.steps() if self._descends else ():
                called = self._called(step)
                if called is not None:
                    waiting.append(called)
        return self._sheets[workflow.name]

    def refuse_endless_calls(self) -> None:
        """Raise SpecError with every error, if there is a call that can never end."""
        if any(problem.rule == ENDLESS_CALL for problem in self._problems()):
            self.refuse_faults()

    def refuse_faults(self) -> None:
        """Raise SpecError with every error that has been told so far, if there is one."""
        errors = tuple(problem for problem in self._problems() if problem.severity is Severity.ERROR)
        if errors:
            raise SpecError(errors)

    def _problems(self) -> list[Problem]:
        return [problem for sheet in self._sheets.values() for problem in sheet.findings.problems()]

    def body(self, sheet: Sheet, body: Body, around: Surroundings) -> Iterator[Unit]:
        """Each step with its tasks, and all that is inside them; those of `finally` last."""
        self._refuse_if_too_many(sheet, body)
        behind = self._lengths(sheet, body)
        for step in sorted(body.steps, key=lambda step: _is_final(body, step)):
            weight = behind.get(step.id, 1.0) + around.tail
            yield from self._step(sheet, body, step, around, weight)

    def _step(
        self, sheet: Sheet, body: Body, step: Step, around: Surroundings, weight: float
    ) -> Iterator[Unit]:
        if not self._descends and _is_plain(step) and not sheet.tree.occurrences(step):
            return  # without values nothing of it can be at fault
        if step.condition is not None and _is_left_out(step, around):
            around = replace(around, known=_without_inputs(self._project, sheet, around))
        maker = self._maker(sheet, step, around, weight)
        planned = _planned(body, step, around)
        if not is_fan_out(step):
            task = self._with_given(sheet, maker.make(planned.id, {}, around.values({})), step, around, {})
            yield planned, [self._counted(sheet, step, task)]
            if step.kind in CONTAINERS:
                yield from self._inside(sheet, step, task, around, {}, weight)
            return
        legs = find_legs(step, around.values({}), sheet.findings)
        if not legs:
            yield self._without_legs(sheet, step, maker, planned, around, weight, unknown=legs is None)
            return
        names = frozenset(matrix_names(step))
        tasks = [self._leg(sheet, step, maker, planned.id, around, leg, names) for leg in legs]
        yield replace(planned, tasks=tuple(task.id for task in tasks)), tasks
        for leg, task in zip(legs, tasks, strict=True):
            yield from self._inside(sheet, step, task, around, leg.context, weight)

    def _maker(self, sheet: Sheet, step: Step, around: Surroundings, weight: float) -> TaskMaker:
        whose = around.whose
        if step.kind is Kind.PROMPT:
            from crewflow.graph.prompts import find_prompt  # noqa: PLC0415  (many workflows ask no agent)
            from crewflow.graph.roles import describe_agent, resolve_agent  # noqa: PLC0415  (as above)

            prompt = find_prompt(self._project, sheet.workflow, step, sheet.findings)
            role = resolve_agent(self._project, sheet.workflow, step).role
            agent = describe_agent(self._project, sheet.workflow, step)
            context = "auto" if role is None else role.context
            whose = replace(whose, prompt=prompt, agent=agent, context=context)
        is_read = step.id in sheet.read_results
        return TaskMaker(step, sheet.types, sheet.findings, weight=weight, is_read=is_read, whose=whose)

    def _leg(
        self,
        sheet: Sheet,
        step: Step,
        maker: TaskMaker,
        step_id: str,
        around: Surroundings,
        leg: Leg,
        names: frozenset[str],
    ) -> Task:
        task = maker.make(f"{step_id}[{leg.label}]", leg.context, around.values(leg.context, names))
        return self._counted(sheet, step, self._with_given(sheet, task, step, around, leg.context))

    def _without_legs(
        self,
        sheet: Sheet,
        step: Step,
        maker: TaskMaker,
        planned: PlannedStep,
        around: Surroundings,
        weight: float,
        *,
        unknown: bool,
    ) -> Unit:
        """A fan-out whose legs are not known yet, or that has none: compiled for its faults, as a pattern."""
        known = around if unknown else replace(around, known=_without_inputs(self._project, sheet, around))
        names = frozenset(matrix_names(step))
        task = maker.make(planned.id, {}, known.values(None, names))
        task = self._with_given(sheet, task, step, known, None)
        inner = list(self._inside(sheet, step, task, known, None, weight))
        if not unknown or around.values({}).knows([step.for_each, step.matrix]):
            return planned, []
        unfold = Unfold(
            for_each=around.values({}).tree((*step.path, "for_each"), step.for_each),
            matrix=None if step.matrix is None else _axes(around, step),
            include=tuple(in_order(list(step.include))),
            exclude=tuple(in_order(list(step.exclude))),
            tasks=(task, *(one for _, tasks in inner for one in tasks)),
            steps=tuple(one for one, _ in inner),
            most=MOST_LEGS,
        )
        return replace(planned, unfold=unfold), []

    def _inside(
        self,
        sheet: Sheet,
        step: Step,
        task: Task,
        around: Surroundings,
        context: dict[str, Any] | None,
        weight: float,
    ) -> Iterator[Unit]:
        """All that is inside a container; nothing for other tasks."""
        tail = weight - self._length(sheet, step)
        if step.kind is Kind.GROUP:
            yield from self.body(sheet, sheet.tree.inside(step), _in_group(step, task, around, context, tail))
        elif step.kind is Kind.CALL and self._descends:
            called = self._project.workflow(step.workflow or "")
            if called is not None:
                inner = self.sheet(called)
                known = self._known_to(called, inner, task, around)
                place = Surroundings(known, within=task.id, priority=task.priority, tail=tail)
                yield from self.body(inner, inner.tree.root, place)

    def _known_to(self, called: Workflow, inner: Sheet, task: Task, around: Surroundings) -> Known:
        known = {name: value for name, value in task.arguments.items() if name not in task.declared}
        return Known(self._project, called, in_order(known), inner.findings, around.known.run_of)

    def _with_given(
        self, sheet: Sheet, task: Task, step: Step, around: Surroundings, context: dict[str, Any] | None
    ) -> Task:
        """A container's task with what it gives, its variables and, for a call, its inputs."""
        if step.kind not in CONTAINERS:
            return task
        if step.kind is Kind.GROUP:
            place = _in_group(step, task, around, context, 0.0)
            path = (*step.path, "outputs")
            given = {name: place.values({}).tree((*path, name), text) for name, text in step.given.items()}
            return replace(task, given=in_order(given))
        called = self._project.workflow(step.workflow or "") if self._descends and step.workflow else None
        if called is None:
            return task
        arguments, declared = called_inputs(called, step, task.arguments, sheet.findings)
        task = replace(task, arguments=in_order(arguments), declared=in_order(declared))
        inner = self.sheet(called)
        known = self._known_to(called, inner, task, around)
        given = {name: known.values({}).tree(("outputs", name), text) for name, text in called.given.items()}
        slots = _least(task.slots, called.max_parallel)
        return replace(task, given=in_order(given), env=in_order(known.env), slots=slots)

    def _length(self, sheet: Sheet, step: Step) -> float:
        """The length of one task of a step, in seconds; that of a container is its longest path."""
        inside = self._body_of(sheet, step)
        return step.estimate or 1.0 if inside is None else max(self._lengths(*inside).values(), default=0.0)

    def _body_of(self, sheet: Sheet, step: Step) -> tuple[Sheet, Body] | None:
        """What is inside a step; None for one that is no container, or is not gone into."""
        if step.kind is Kind.GROUP:
            return sheet, sheet.tree.inside(step)
        called = self._called(step) if step.kind is Kind.CALL and self._descends else None
        return None if called is None else ((inner := self.sheet(called)), inner.tree.root)

    def _lengths(self, sheet: Sheet, body: Body) -> dict[str, float]:
        """See `lengths`; worked out once for each body, however often it is called."""
        if id(body) not in self._behind:
            self._behind[id(body)] = lengths(body, lambda step: self._length(sheet, step))
        return self._behind[id(body)]

    def _size(self, sheet: Sheet, body: Body) -> int:
        """How many tasks a body has at least: each fan-out counts as one leg."""
        if id(body) not in self._sizes:
            inside = [self._body_of(sheet, step) for step in body.steps]
            inner = sum(self._size(*one) for one in inside if one is not None)
            self._sizes[id(body)] = len(body.steps) + inner
        return self._sizes[id(body)]

    def _refuse_if_too_many(self, sheet: Sheet, body: Body) -> None:
        """Raise SpecError before anything is made of calls within calls that come to too many tasks."""
        if self._descends and body is sheet.tree.root and self._size(sheet, body) > MOST_TASKS:
            self._tell_too_many(sheet, body.steps[0])

    def _called(self, step: Step) -> Workflow | None:
        return self._project.workflow(step.workflow) if step.workflow else None

    def _counted(self, sheet: Sheet, step: Step, task: Task) -> Task:
        """The task, counted. Raises SpecError at once when there are too many."""
        self._count += 1
        if self._count > MOST_TASKS:
            self._tell_too_many(sheet, step)
        return task

    def _tell_too_many(self, sheet: Sheet, step: Step) -> NoReturn:
        message = f"the plan has more than {MOST_TASKS:,} tasks"
        sheet.findings.tell("CF310", step.path, message, "make the fan-outs or calls around it fewer")
        raise SpecError(sheet.findings.problems())


def _planned(body: Body, step: Step, around: Surroundings) -> PlannedStep:
    """A step with its edges. The legs of a fan-out are its tasks once they are known."""
    prefix, fan_out = around.whose.prefix, is_fan_out(step)
    return PlannedStep(
        id=f"{prefix}{step.id}",
        tasks=() if fan_out else (f"{prefix}{step.id}",),
        needs=tuple(dict.fromkeys(f"{prefix}{name}" for name in step.needs)),
        after=tuple(dict.fromkeys(f"{prefix}{name}" for name in step.after)),
        final=_is_final(body, step),
        fan_out=fan_out,
        max_parallel=step.max_parallel if fan_out else None,
        within=around.within,
        on_failure=step.on_failure,
    )


def _in_group(
    step: Step, task: Task, around: Surroundings, context: dict[str, Any] | None, tail: float
) -> Surroundings:
    """What the body of a group is compiled in."""
    merged = None if context is None or around.context is None else _merged(around.context, context)
    return Surroundings(
        known=around.known,
        within=task.id,
        context=merged,
        names=around.names | frozenset(matrix_names(step)),
        hidden=around.hidden | step.env.keys(),
        priority=task.priority,
        tail=tail,
    )


def _is_plain(step: Step) -> bool:
    """Whether a step is a single task that does what is written."""
    if step.kind is Kind.COMMAND and not (isinstance(step.run, tuple) and step.run and step.run[0]):
        return False
    if isinstance(step.run, str) and OPENING in step.run:
        return False
    return step.kind in _WRITTEN_OUT and not is_fan_out(step)


def _is_left_out(step: Step, around: Surroundings) -> bool:
    """Whether it is known that the `if` of a step says no, whatever the leg."""
    condition = condition_of(step)
    return condition is not None and around.values({}).says_no(condition)


def _merged(outer: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The context of a task inside a leg: its own values hide those around it."""
    matrix = {**outer.get("matrix", {}), **own.get("matrix", {})}
    return {**outer, **own, **({"matrix": matrix} if matrix else {})}


def _axes(around: Surroundings, step: Step) -> dict[str, Any]:
    values = around.values({})
    return {
        axis: values.tree((*step.path, "matrix", axis), given) for axis, given in (step.matrix or {}).items()
    }


def _without_inputs(project: Project, sheet: Sheet, around: Surroundings) -> Known:
    """What is known whatever the inputs are: what will not be run needs no values of theirs."""
    return Known(project, sheet.workflow, None, sheet.findings, around.known.run_of)


def _is_final(body: Body, step: Step) -> bool:
    return step.final and body.owner is None


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)
