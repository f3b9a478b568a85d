"""Short factories for plans with groups, calls and fan-outs in them, and a hand that answers their questions.

`group("g", leaf("x"), leaf("y", "x"))` is a step `g` that holds two. `legs` is a number for a fan-out that
the plan knows, `GIVEN` for one whose legs only the run gives. Names of needs are those of the same scope.
"""

from dataclasses import dataclass, field

from run_plans import Hand

from crewflow.graph.fanout import Leg
from crewflow.graph.plan import Condition, Plan, PlannedStep, Task, Unfold
from crewflow.run.events import CancelRequested, InputsGiven, LegsGiven, OutcomeGiven
from crewflow.run.machine import Machine
from crewflow.spec.expression import parse_expression
from crewflow.spec.model import Kind, OnFailure, Retry
from crewflow.spec.template import Template

GIVEN = "given"
ASKED = Template((parse_expression("inputs.x"),))
"""Text that only the run can turn into a value."""


@dataclass(frozen=True)
class Part:
    """What matters of a step here.

    `slots` limits what is inside a container, `max_parallel` the legs of a fan-out. `allow` is
    `allow_failure`. A call with `declared` is asked for its inputs, a container with `given` what it gives.
    """

    id: str
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    kind: Kind = Kind.SCRIPT
    inside: tuple["Part", ...] = ()
    legs: int | str | None = None
    final: bool = False
    max_parallel: int | None = None
    slots: int | None = None
    condition: Condition = Condition.SUCCESS
    retry: Retry = field(default_factory=Retry)
    weight: float = 1.0
    priority: int = 0
    idempotent: bool = True
    on_failure: OnFailure | None = None
    allow: object = False
    declared: bool = False
    given: bool = False


def leaf(name, *needs, **more):
    return Part(name, needs, **more)


def group(name, *inside, needs=(), **more):
    return Part(name, needs, kind=Kind.GROUP, inside=inside, **more)


def call(name, *inside, needs=(), **more):
    return Part(name, needs, kind=Kind.CALL, inside=inside, **more)


def plan_of(*parts, on_failure=OnFailure.FINISH):
    steps, tasks = _compiled(parts, "", None)
    return Plan("flow", "project", {}, {}, None, on_failure, tuple(steps), tuple(tasks))


def leg_names(name, legs):
    return [name] if legs is None else [f"{name}[{leg}]" for leg in range(legs)]


def _compiled(parts, prefix, within):
    steps, tasks = [], []
    for part in parts:
        own_steps, own_tasks = _step(part, prefix, within)
        steps += own_steps
        tasks += own_tasks
    return steps, tasks


def _step(part, prefix, within):
    name = f"{prefix}{part.id}"
    if part.legs == GIVEN:
        inner, pattern = _task(part, name, name)
        unfold = Unfold([ASKED], None, (), (), tuple(pattern), tuple(inner), 10_000)
        return [_planned(part, prefix, within, (), unfold)], []
    ids = tuple(leg_names(name, part.legs))
    steps, tasks = [_planned(part, prefix, within, ids, None)], []
    for task in ids:
        inner, own = _task(part, name, task)
        steps += inner
        tasks += own
    return steps, tasks


def _planned(part, prefix, within, ids, unfold):
    return PlannedStep(
        id=f"{prefix}{part.id}",
        tasks=ids,
        needs=tuple(f"{prefix}{name}" for name in part.needs),
        after=tuple(f"{prefix}{name}" for name in part.after),
        final=part.final,
        fan_out=part.legs is not None,
        max_parallel=part.max_parallel,
        within=within,
        on_failure=part.on_failure,
        unfold=unfold,
    )


def _task(part, step, name):
    """The steps inside a task, and the task with all that is in it."""
    steps, tasks = _compiled(part.inside, f"{name}/", name)
    own = Task(
        id=name,
        step=step,
        kind=part.kind,
        action="true",
        script_env={},
        shell=("sh", "-e"),
        arguments={},
        env={},
        cwd="",
        condition=part.condition,
        condition_text=None if part.condition is Condition.SUCCESS else "asked",
        context={},
        timeout=None,
        grace=10.0,
        retry=part.retry,
        outputs=(),
        artifacts={},
        allow_failure=part.allow,
        idempotent=part.idempotent,
        keeps_stdout=False,
        weight=part.weight,
        priority=part.priority,
        slots=part.slots,
        given={"x": ASKED} if part.given else {},
        declared={"x": {}} if part.declared else {},
    )
    return steps, [own, *tasks]


class ScopeHand(Hand):
    """A hand that knows what containers and fan-outs ask."""

    def __init__(self, *parts, slots=8, on_failure=OnFailure.FINISH, began=True):
        self.machine = Machine(plan_of(*parts, on_failure=on_failure), slots)
        self.said = []
        if began:
            self.begin()

    def give_legs(self, name, count, error=None):
        legs = None if count is None else tuple(Leg(str(leg), {"item_index": leg}) for leg in range(count))
        return self.feed(LegsGiven(name, legs, error))

    def give_inputs(self, name, error=None):
        return self.feed(InputsGiven(name, error))

    def give_outcome(self, name, error=None, *, allowed=False):
        return self.feed(OutcomeGiven(name, allowed, error))

    def cancel(self, *, now=False):
        return self.feed(CancelRequested("enough", now=now))

    def state(self, name):
        return self.machine.tasks[name].state

    def cause(self, name):
        return self.machine.tasks[name].cause

    def run_until_it_ends(self):
        """Let every attempt succeed; what is asked has been answered."""
        while names := self.fill():
            for name in names:
                self.end(name)
        return self.machine.state
