"""From a workflow and its inputs to the `Plan`: fan out, fold what is known, make scripts safe, weigh.

`check_workflow` finds what is wrong whatever the inputs are; `compile_workflow` does the same and then
makes the plan, or raises all problems at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from crewflow.errors import Problem, Severity, SpecError
from crewflow.graph.dag import path_lengths
from crewflow.graph.edges import check_edges, known_edges, problem_at
from crewflow.graph.fanout import MOST_LEGS, Leg, count_legs, list_legs, matrix_legs
from crewflow.graph.names import check_names, is_integer, occurrences
from crewflow.graph.plan import Condition, Plan, PlannedStep, Task
from crewflow.spec.durations import DurationFault, parse_duration
from crewflow.spec.expression import ExpressionFault, RenderError, parse_expression
from crewflow.spec.lookup import look_up
from crewflow.spec.model import Kind
from crewflow.spec.script import make_safe
from crewflow.spec.template import Template, fold, text_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crewflow.spec.expression import Expression
    from crewflow.spec.model import Path, Project, Step, Workflow
    from crewflow.spec.script import SafeScript
    from crewflow.spec.template import Text

    Fold = Callable[[str, Any], Any]

SHELL_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "sh": ("sh", "-e", "-c"),
    "bash": ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"),
    "python": ("python3", "-c"),
}
"""What stands before the script for each short form of `shell`; a list is taken as it is."""

READS_STDOUT: Final = ("stdout", "json")


def check_workflow(project: Project, workflow: Workflow) -> tuple[Problem, ...]:
    """Every fault of a workflow that does not depend on the values of its inputs."""
    problems = check_edges(workflow) + check_names(project, workflow)
    for step in workflow.steps:
        problems += _script_problems(workflow, step)
    return tuple(problems)


def compile_workflow(project: Project, workflow: Workflow, inputs: dict[str, Any]) -> Plan:
    """The plan of a workflow with these inputs. Raises SpecError with every problem found."""
    problems = [p for p in check_workflow(project, workflow) if p.severity is Severity.ERROR]
    if problems:
        raise SpecError(tuple(problems))
    return _Compiler(project, workflow, inputs).compile()


def _script_problems(workflow: Workflow, step: Step) -> list[Problem]:
    try:
        _safe_script(workflow, step)
    except ExpressionFault as fault:
        place = workflow.source.within((*step.path, "run"), fault.offset, fault.length)
        return [problem_at(workflow, place, "CF209", fault.message, fault.hint)]
    return []


def _safe_script(workflow: Workflow, step: Step) -> SafeScript | None:
    if not isinstance(step.run, str):
        return None
    words = _shell_words(step)
    return make_safe(step.run, words[0], lambda expression: is_integer(workflow, expression))


def _shell_words(step: Step) -> tuple[str, ...]:
    return SHELL_WORDS[step.shell] if isinstance(step.shell, str) else step.shell


@dataclass
class _Compiler:
    """Holds what every task is compiled with; made for one plan and thrown away."""

    project: Project
    workflow: Workflow
    inputs: dict[str, Any]

    def compile(self) -> Plan:
        """The plan. Raises SpecError."""
        self._problems: list[Problem] = []
        self._env: dict[str, Text] = {}
        self._env = self._workflow_env()
        self._kept = frozenset(_read_stdouts(self.workflow.steps))
        ordered = sorted(self.workflow.steps, key=lambda step: step.final)
        weights = self._weights()
        pairs = [(step, self._tasks(step, weights[step.id])) for step in ordered]
        if self._problems:
            raise SpecError(tuple(dict.fromkeys(self._problems)))
        return Plan(
            workflow=self.workflow.name,
            project=self.project.name,
            inputs=self.inputs,
            env=self._env,
            max_parallel=self.workflow.max_parallel,
            on_failure=self.workflow.on_failure,
            steps=tuple(_planned_step(step, tasks) for step, tasks in pairs),
            tasks=tuple(task for _, tasks in pairs for task in tasks),
        )

    def _workflow_env(self) -> dict[str, Text]:
        env: dict[str, Text] = {**self.project.env, **self.workflow.env}
        return {
            name: self._as_text(self._fold(text, {}, ("env", name)), ("env", name))
            for name, text in env.items()
        }

    def _weights(self) -> dict[str, float]:
        edges = known_edges(self.workflow)
        return path_lengths(edges, dict.fromkeys(edges, 1.0))

    def _tasks(self, step: Step, weight: float) -> list[Task]:
        make = self._task_maker(step, weight)
        if step.matrix is None and step.for_each is None:
            return [make(step.id, {})]
        tasks = [make(f"{step.id}[{leg.label}]", leg.context) for leg in self._legs(step)]
        if len({task.id.casefold() for task in tasks}) < len(tasks):
            self._doubled(step, tasks)
        return tasks

    def _task_maker(self, step: Step, weight: float) -> Callable[[str, dict[str, Any]], Task]:
        """What all legs of a step share is worked out once."""
        safe = _safe_script(self.workflow, step)
        condition = _condition_kind(step)
        kind = step.kind or Kind.COMMAND
        keeps = step.id in self._kept or any(o.origin.startswith(READS_STDOUT) for o in step.outputs)

        def make(task_id: str, context: dict[str, Any]) -> Task:
            def fold_key(key: str, value: Any) -> Any:
                return self._fold(value, context, (*step.path, key))

            def fold_text(key: str, value: Any) -> Any:
                return self._as_text(fold_key(key, value), (*step.path, key))

            def fold_seconds(key: str, value: Any) -> Any:
                if not isinstance(value, Template):
                    return value
                return self._as_seconds(fold_text(key, value), (*step.path, key))

            return Task(
                id=task_id,
                step=step.id,
                kind=kind,
                action=_action(step, safe, fold_key, fold_text),
                script_env={
                    name: fold_text("run", Template((expression,)))
                    for name, expression in (safe.variables if safe is not None else ())
                },
                shell=_shell_words(step) if safe is not None else (),
                arguments=fold_key("with", step.arguments),
                env=fold_text("env", step.env),
                cwd=fold_text("cwd", step.cwd or ""),
                condition=condition,
                condition_text=step.condition,
                context=context,
                timeout=fold_seconds("timeout", step.timeout),
                grace=fold_seconds("grace", step.grace),
                retry=step.retry,
                outputs=step.outputs,
                artifacts=fold_text("artifacts", step.artifacts),
                allow_failure=fold_key("allow_failure", step.allow_failure),
                idempotent=step.idempotent,
                keeps_stdout=keeps,
                weight=weight,
            )

        return make

    def _legs(self, step: Step) -> list[Leg]:
        if step.for_each is not None:
            items = self._values((*step.path, "for_each"), step.for_each)
            return list_legs(items) if self._fits(step, "for_each", len(items)) else []
        path = (*step.path, "matrix")
        axes = {axis: self._values((*path, axis), values) for axis, values in (step.matrix or {}).items()}
        if not self._fits(step, "matrix", count_legs(axes) + len(step.include)):
            return []
        include = self._fold(step.include, {}, (*path, "include"))
        exclude = self._fold(step.exclude, {}, (*path, "exclude"))
        return matrix_legs(axes, include, exclude)

    def _values(self, path: Path, values: Any) -> list[Any]:
        folded = self._fold(values, {}, path)
        if isinstance(folded, list | tuple):
            return list(folded)
        self._fault(path, "CF304", f"`{path[-1]}` must yield a list")
        return []

    def _fits(self, step: Step, key: str, count: int) -> bool:
        if count <= MOST_LEGS:
            return True
        message = f"step `{step.id}` fans out into {count:,} tasks; at most {MOST_LEGS:,} are allowed"
        self._fault((*step.path, key), "CF305", message)
        return False

    def _doubled(self, step: Step, tasks: list[Task]) -> None:
        seen: set[str] = set()
        for task in tasks:
            if task.id.casefold() in seen:
                message = f"two tasks of step `{step.id}` would be called `{task.id}`"
                self._fault((*step.path, "matrix"), "CF306", message)
                return
            seen.add(task.id.casefold())

    def _fold(self, value: Any, context: dict[str, Any], path: Path) -> Any:
        """The value with all that is known put in. Most values hold no expression and are their own."""
        known = {
            "inputs": self.inputs,
            "env": self._env,
            "run": {"workflow": self.workflow.name, "project": self.project.name},
            **context,
        }
        try:
            return fold(value, lambda keys: look_up(known, keys), self._is_static)
        except RenderError as error:
            self._fault(path, "CF210", error.message)
            return value

    def _as_text(self, value: Any, path: Path) -> Any:
        """The text form of every leaf that is no template: where a text is due, values have become known."""
        if isinstance(value, str | Template):
            return value
        if isinstance(value, dict):
            return {name: self._as_text(inner, path) for name, inner in value.items()}
        if isinstance(value, tuple):
            return tuple(self._as_text(inner, path) for inner in value)
        try:
            return text_form(value)
        except RenderError as error:
            self._fault(path, "CF210", error.message)
            return ""

    def _as_seconds(self, value: Any, path: Path) -> Any:
        if isinstance(value, Template):
            return value
        try:
            return parse_duration(value)
        except DurationFault as fault:
            self._fault(path, "CF108", f"`{path[-1]}` {fault.message}")
            return 0.0

    def _fault(self, path: Path, rule: str, message: str) -> None:
        self._problems.append(problem_at(self.workflow, self.workflow.source.place(path), rule, message))

    def _is_static(self, path: tuple[str | int, ...]) -> bool:
        match path:
            case ("inputs" | "matrix" | "item" | "item_index", *_) | ("run", "workflow" | "project"):
                return True
            case ("env", str(name)):
                return isinstance(self._env.get(name), str)
        return False


def _action(step: Step, safe: SafeScript | None, fold_key: Fold, fold_text: Fold) -> Any:
    if safe is not None:
        return safe.text
    if step.python is not None:
        return step.python
    return tuple(
        fold_text("run", word) for authored in step.run or () for word in _spliced(fold_key("run", authored))
    )


def _spliced(value: Any) -> list[Any]:
    """A word of a command; a list that a lone expression yields is several."""
    return value if isinstance(value, list) else [value]


def _condition_kind(step: Step) -> Condition:
    if step.condition is None:
        return Condition.SUCCESS
    return Condition.STATUS if parse_expression(step.condition).functions else Condition.GUARDED


def _planned_step(step: Step, tasks: list[Task]) -> PlannedStep:
    return PlannedStep(
        id=step.id,
        tasks=tuple(task.id for task in tasks),
        needs=tuple(dict.fromkeys(step.needs)),
        after=tuple(dict.fromkeys(step.after)),
        final=step.final,
        fan_out=step.matrix is not None or step.for_each is not None,
        max_parallel=step.max_parallel,
    )


def _read_stdouts(steps: Iterable[Step]) -> Iterable[str]:
    """The steps whose `result` some expression asks for."""
    for step in steps:
        for occurrence in occurrences(step):
            yield from _results_in(occurrence.expression)


def _results_in(expression: Expression) -> Iterable[str]:
    for reference in expression.paths:
        match reference.keys:
            case ("steps", str(name), "result", *_):
                yield name
