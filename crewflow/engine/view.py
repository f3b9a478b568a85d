"""What expressions may ask of a run while it goes on: inputs, legs, and what the steps before gave.

A `View` is fed the same records as the journal, live or replayed, and answers paths such as
`("steps", "build", "outputs", "version")`. Which task asks decides what `matrix`, `item` and `attempt` mean.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from crewflow.run.states import Outcome, TaskState
from crewflow.spec.expression import UNDEFINED, RenderError
from crewflow.spec.lookup import look_up
from crewflow.spec.model import Kind
from crewflow.spec.template import render_text, render_tree
from crewflow.state.codec import ENDED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crewflow.graph.plan import Plan, Task
    from crewflow.run.machine import Machine
    from crewflow.run.standing import ScopeRun, StepRun, TaskRun
    from crewflow.spec.template import Text

Keys = tuple[str | int, ...]


class View:
    """Answers what expressions ask. `given` holds the last `attempt.ended` record of each task."""

    def __init__(self, plan: Plan, machine: Machine, run_id: str) -> None:
        self._plan = plan
        self._machine = machine
        self._run_id = run_id
        self.given: dict[str, dict[str, Any]] = {}
        self._envs: dict[str, dict[str, str]] = {}  # of open containers
        self._inputs: dict[str, dict[str, Any]] = {}  # of open calls
        self.env = self._rendered(plan.env, self._inside(machine.root))

    def take(self, record: dict[str, Any]) -> None:
        """Remember what an attempt gave."""
        if record["type"] == ENDED:
            self.given[record["task"]] = record

    def resolver(self, task: Task, number: int | None = None) -> Callable[[Keys], Any]:
        """What a task's expressions ask; `number` is that of the attempt, if not of its last one."""
        run = self._machine.tasks[task.id]
        return lambda path: self._resolve(run.step.scope, run, path, number)

    def env_of(self, task: Task) -> dict[str, str]:
        """The variables that a task takes from what is around it."""
        return self._env(self._machine.tasks[task.id].step.scope)

    def cwd_of(self, task: Task) -> str:
        """The folder that a task runs in: its own, or that of the nearest group around that names one."""
        run = self._machine.tasks[task.id]
        for one in (run, *_around(run.step.scope)):
            if one.task.kind is Kind.CALL:
                break
            if one.task.cwd:
                return render_text(one.task.cwd, self.resolver(one.task))
        return ""

    def inputs_of(self, call: TaskRun) -> dict[str, Any]:
        """The inputs of a called workflow. Raises RenderError if one has no value."""
        name = call.task.id
        if name not in self._inputs:
            given = render_tree(call.task.arguments, self.resolver(call.task))
            self._inputs[name] = {key: _whole(call.task.declared.get(key), given[key]) for key in given}
        return self._inputs[name]

    def given_by(self, container: TaskRun) -> dict[str, Any]:
        """What a container gives, by name. Raises RenderError if it has no value."""
        if container.inner is None:
            return {}
        result: dict[str, Any] = render_tree(container.task.given, self._inside(container.inner))
        return result

    def result_of(self, task: Task, name: str) -> tuple[Any, Any]:
        """What a step that a task names gave: its result and its outputs; None where there is none."""
        scope = self._machine.tasks[task.id].step.scope
        found = [self._step_value(scope, [name, fact]) for fact in ("result", "outputs")]
        result, outputs = (None if _says_nothing(value) else value for value in found)
        return result, outputs

    def _inside(self, scope: ScopeRun) -> Callable[[Keys], Any]:
        """What the expressions of a scope as a whole ask."""
        return lambda path: self._resolve(scope, None, path)

    def _rendered(self, texts: dict[str, Text], resolve: Callable[[Keys], Any]) -> dict[str, str]:
        return {name: render_text(text, resolve) for name, text in texts.items()}

    def _env(self, scope: ScopeRun) -> dict[str, str]:
        """The variables of a scope: a called workflow has its own, a group adds to those around it."""
        container = scope.task
        if container is None:
            return self.env
        name = container.task.id
        if name not in self._envs:
            if container.task.kind is Kind.CALL:
                self._envs[name] = self._rendered(container.task.env, self._inside(scope))
            else:
                own = self._rendered(container.task.env, self.resolver(container.task))
                self._envs[name] = {**self._env(container.step.scope), **own}
        return self._envs[name]

    def _resolve(self, scope: ScopeRun, run: TaskRun | None, path: Keys, number: int | None = None) -> Any:
        root, *rest = path
        match root:
            case "inputs":
                return look_up(self._inputs_in(scope), rest)
            case "env":
                return look_up(self._env(scope), rest)
            case "run":
                return self._run_fact(rest)
            case "steps":
                return self._step_value(scope, rest)
            case "attempt" if run is not None:
                return look_up(self._attempt_facts(run, number), rest)
        return self._of_leg(scope, run, path)

    def _inputs_in(self, scope: ScopeRun) -> dict[str, Any]:
        for container in _around(scope):
            if container.task.kind is Kind.CALL:
                return self.inputs_of(container)
        return self._plan.inputs

    def _of_leg(self, scope: ScopeRun, run: TaskRun | None, path: Keys) -> Any:
        """What `matrix` or `item` means: in the task's own leg, or in that of a group around it."""
        for one in (run, *_around(scope)):
            found = UNDEFINED if one is None else look_up(one.task.context, path)
            if found is not UNDEFINED:
                return found
            if one is not run and one is not None and one.task.kind is Kind.CALL:
                break
        return UNDEFINED

    def _run_fact(self, rest: list[str | int]) -> Any:
        match rest:
            case ["state"]:
                return _run_word(self._machine)
            case ["failed", *inner]:
                tasks = self._machine.tasks.values()
                failed = [one.task.id for one in tasks if one.state is TaskState.FAILED]
                return look_up(failed, inner)
        facts = {
            "id": self._run_id,
            "workflow": self._plan.workflow,
            "project": self._plan.project,
            "scheduled_at": None,
        }
        return look_up(facts, rest)

    def _attempt_facts(self, run: TaskRun, number: int | None) -> dict[str, Any]:
        return {"number": number or max(run.attempts, 1), "last_error": run.error}

    def _step_value(self, scope: ScopeRun, rest: list[str | int]) -> Any:
        if len(rest) < 2:  # noqa: PLR2004  (a step and one of its properties)
            return UNDEFINED
        name, fact, *inner = rest
        step = self._step(scope, str(name))
        read = _FACTS.get(str(fact))
        if step is None or read is None:
            return UNDEFINED
        if fact in _OF_THE_WHOLE and step.planned.fan_out:
            return look_up(_OF_THE_WHOLE[str(fact)](step), inner)
        if fact in {"outputs", "artifacts"} and inner:
            return look_up(self._each(step, lambda run: look_up(read(self, run), inner[:1])), inner[1:])
        return look_up(self._each(step, lambda run: read(self, run)), inner)

    def _step(self, scope: ScopeRun, name: str) -> StepRun | None:
        """The step that a name means in a scope: one in it, or in the groups around it."""
        for container in _around(scope):
            step = self._machine.steps.get(f"{container.task.id}/{name}")
            if step is not None or container.task.kind is Kind.CALL:
                return step
        return self._machine.steps.get(name)

    def _each(self, step: StepRun, read: Callable[[TaskRun], Any]) -> Any:
        """The value of a single task; of a fan-out the list over its legs, null where a leg has none."""
        values = [read(run) for run in step.tasks]
        if step.planned.fan_out:
            return [None if value is UNDEFINED else value for value in values]
        return values[0] if values else UNDEFINED

    def _of(self, run: TaskRun, fact: str) -> Any:
        return self.given.get(run.task.id, {}).get(fact)


def _run_word(machine: Machine) -> str:
    """What the run would end as, so that a step under `finally` can tell."""
    if machine.cancelled:
        return "cancelled"
    return "failed" if machine.any_failed else "running"


def _state_word(step: StepRun) -> str:
    """The state of a fan-out as a whole."""
    return str(step.state) if step.ended else str(TaskState.RUNNING)


def _outcome_word(step: StepRun) -> str:
    """The outcome of a fan-out as a whole: as its state, but that an allowed failure is one."""
    if step.ended and any(_outcome(run) == Outcome.FAILED for run in step.tasks):
        return str(Outcome.FAILED)
    return _state_word(step)


_OF_THE_WHOLE: dict[str, Callable[[StepRun], str]] = {"state": _state_word, "outcome": _outcome_word}
"""What a fan-out has one of, where everything else of it is a list: a word that can be compared."""


def _outcome(run: TaskRun) -> str:
    if run.outcome is None or run.state in {TaskState.SKIPPED, TaskState.CANCELLED}:
        return str(run.state)
    return str(Outcome.FAILED if run.outcome is Outcome.LOST else run.outcome)


def _outputs(view: View, run: TaskRun) -> Any:
    if run.inner is not None:
        return _given_or_nothing(view, run)
    declared = {output.name: output.default for output in run.task.outputs if output.has_default}
    return {**declared, **(view._of(run, "outputs") or {})}  # noqa: SLF001  (a row of this module's table)


def _given_or_nothing(view: View, container: TaskRun) -> dict[str, Any]:
    """What a container gives; nothing while it has not succeeded and lacks a part of it."""
    try:
        return view.given_by(container)
    except RenderError:
        return {}


def _says_nothing(value: Any) -> bool:
    """Whether a value is nothing, or a list over legs of which none gave anything."""
    if isinstance(value, list):
        return all(map(_says_nothing, value))
    return value is UNDEFINED or value is None or value == {}


def _whole(declared: dict[str, Any] | None, value: Any) -> Any:
    """A whole number that was given as `2.0`, where an integer is declared, is the integer 2."""
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole and declared is not None and declared["type"] == "integer" else value


def _around(scope: ScopeRun) -> Iterator[TaskRun]:
    """The containers around a scope, from the inside out."""
    while scope.task is not None:
        yield scope.task
        scope = scope.task.step.scope


def _artifacts(view: View, run: TaskRun) -> Any:
    kept: dict[str, list[str]] = {}
    for artifact in view._of(run, "artifacts") or ():  # noqa: SLF001  (as above)
        kept.setdefault(artifact["id"], []).append(artifact["path"])
    return {name: _path_or_list(run.task.artifacts[name], paths) for name, paths in kept.items()}


def _path_or_list(patterns: tuple[Text, ...], paths: list[str]) -> str | list[str]:
    """One path where one is declared, else a list: what is found does not change the type."""
    literal = len(patterns) == 1 and not any(letter in _written(patterns[0]) for letter in "*?[{!")
    if not literal:
        return paths
    if isinstance(patterns[0], str):
        return posixpath.normpath(patterns[0])  # a folder stands for the files in it
    return paths[0] if len(paths) == 1 else posixpath.commonpath(paths)


def _written(text: Text) -> str:
    """What its author wrote around expressions, whose values are not patterns."""
    return text if isinstance(text, str) else "".join(part for part in text.parts if isinstance(part, str))


def _given(fact: str) -> Callable[[View, TaskRun], Any]:
    return lambda view, run: view._of(run, fact)  # noqa: SLF001  (as above)


_FACTS: dict[str, Callable[[View, TaskRun], Any]] = {
    "state": lambda _, run: str(run.state),
    "outcome": lambda _, run: _outcome(run),
    "exit_code": _given("exit_code"),
    "error": lambda _, run: run.error,
    "attempts": lambda _, run: run.attempts,
    "result": _given("result"),
    "outputs": _outputs,
    "artifacts": _artifacts,
}
