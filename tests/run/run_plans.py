"""Short factories for plans, and a hand that turns the machine's wheel."""

from dataclasses import dataclass, field

from crewflow.graph.plan import Condition, Plan, PlannedStep, Task
from crewflow.run.events import (
    AttemptEnded,
    AttemptStarted,
    ConditionDecided,
    GenerationBegan,
    RetryDue,
)
from crewflow.run.machine import Machine
from crewflow.run.states import Outcome
from crewflow.spec.model import Kind, OnFailure, Retry


@dataclass(frozen=True)
class Sketch:
    """What matters of a step here. `legs` None: no fan-out; `weights`: of its legs, else `weight`."""

    id: str
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    legs: int | None = None
    final: bool = False
    max_parallel: int | None = None
    condition: Condition = Condition.SUCCESS
    retry: Retry = field(default_factory=Retry)
    weight: float = 1.0
    weights: tuple[float, ...] = ()
    idempotent: bool = True

    def task_ids(self):
        if self.legs is None:
            return (self.id,)
        return tuple(f"{self.id}[{leg}]" for leg in range(self.legs))


def step(name, *needs, **more):
    """A step that needs others: `step("test", "build", legs=3)`."""
    return Sketch(name, needs=needs, **more)


def plan_of(*sketches, on_failure=OnFailure.FINISH):
    return Plan(
        workflow="flow",
        project="project",
        inputs={},
        env={},
        max_parallel=None,
        on_failure=on_failure,
        steps=tuple(_planned(sketch) for sketch in sketches),
        tasks=tuple(task for sketch in sketches for task in _tasks(sketch)),
    )


def _planned(sketch):
    return PlannedStep(
        id=sketch.id,
        tasks=sketch.task_ids(),
        needs=sketch.needs,
        after=sketch.after,
        final=sketch.final,
        fan_out=sketch.legs is not None,
        max_parallel=sketch.max_parallel,
    )


def _tasks(sketch):
    for leg, name in enumerate(sketch.task_ids()):
        yield Task(
            id=name,
            step=sketch.id,
            kind=Kind.SCRIPT,
            action="true",
            script_env={},
            shell=("sh", "-e"),
            arguments={},
            env={},
            cwd="",
            condition=sketch.condition,
            condition_text=None if sketch.condition is Condition.SUCCESS else "asked",
            context={},
            timeout=None,
            grace=10.0,
            retry=sketch.retry,
            outputs=(),
            artifacts={},
            allow_failure=False,
            idempotent=sketch.idempotent,
            keeps_stdout=False,
            weight=sketch.weights[leg] if sketch.weights else sketch.weight,
        )


class Hand:
    """Feeds a machine, checks its invariants after every event, and keeps all that it said."""

    def __init__(self, *sketches, slots=8, on_failure=OnFailure.FINISH, began=True):
        self.machine = Machine(plan_of(*sketches, on_failure=on_failure), slots)
        self.said = []
        if began:
            self.begin()

    def feed(self, event):
        instructions = self.machine.handle(event)
        self.machine.check_invariants()
        self.said += instructions
        return instructions

    def begin(self):
        return self.feed(GenerationBegan(self.machine.generation + 1))

    def fill(self):
        """Start all that may start; their names in order."""
        names = []
        while (name := self.machine.next_ready()) is not None:
            self.start(name)
            names.append(name)
        self.machine.check_invariants()
        return names

    def start(self, name):
        return self.feed(AttemptStarted(name, self.machine.tasks[name].attempts + 1))

    def end(self, name, outcome=Outcome.SUCCEEDED, failure=None, **more):
        return self.feed(
            AttemptEnded(name, self.machine.tasks[name].attempts, outcome, failure=failure, **more)
        )

    def fail(self, name, exit_code=1, **more):
        return self.end(name, Outcome.FAILED, "exit", exit_code=exit_code, **more)

    def answer(self, name, value, error=None):
        return self.feed(ConditionDecided(name, value, error))

    def due(self, name):
        return self.feed(RetryDue(name))

    def states(self):
        """Every task's state as a word, in the plan's order."""
        return {name: str(task.state) for name, task in self.machine.tasks.items()}

    def run_to_its_end(self):
        """Let every attempt succeed, oldest first; conditions say yes."""
        for name in [name for name, task in self.machine.tasks.items() if task.state == "deciding"]:
            self.answer(name, value=True)
        while names := self.fill():
            for name in names:
                self.end(name)
        return self.states()
