"""From a step to its tasks: what all legs share is worked out once, the rest for each leg.

Faults are told as they are met; a task that has one is made all the same, so that others are found too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from crewflow.graph.declared import is_fan_out
from crewflow.graph.occurrences import condition_of
from crewflow.graph.plan import Condition, Task, in_order
from crewflow.spec.expression import ExpressionFault
from crewflow.spec.model import CONTAINERS, Kind, Retry
from crewflow.spec.script import SafeScript, make_safe
from crewflow.spec.template import Placed, Template, split_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crewflow.graph.declared import Types
    from crewflow.graph.findings import Findings
    from crewflow.graph.folding import Values
    from crewflow.spec.expression import Expression
    from crewflow.spec.model import Path, Step
    from crewflow.spec.template import Text

SHELL_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "sh": ("sh", "-e", "-c"),
    "bash": ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"),
    "python": ("python3", "-c"),
}
"""What stands before the script for each short form of `shell`; a list is taken as it is."""

_READS_STDOUT: Final = ("stdout", "json")


@dataclass(frozen=True, slots=True)
class Whose:
    """What a step's tasks take from what is around the step.

    Attributes:
        prefix: what stands before their names: that of the container.
        priority: that of the container.
        prompt: the text of a prompt step; None for other kinds.
        agent: who is asked; `context`: what its role says of whose results it is told.
    """

    prefix: str = ""
    priority: int = 0
    prompt: Text | None = None
    agent: dict[str, Any] = field(default_factory=dict)
    context: str = "auto"


class TaskMaker:
    """Makes the tasks of one step.

    Args:
        step: what to make tasks of.
        types: those of its workflow.
        findings: where faults are told.
        weight: length of the longest path from the step to an end.
        is_read: some expression asks for the step's `result`.
        whose: what it takes from the steps around it.
    """

    def __init__(
        self, step: Step, types: Types, findings: Findings, *, weight: float, is_read: bool, whose: Whose
    ) -> None:
        self._types = types
        self._step = step
        self._findings = findings
        self._weight = weight
        self._whose = whose
        self._condition = condition_of(step)
        self._holds = step.kind in CONTAINERS  # `timeout` and `retry` of `defaults` are for what is inside
        self._placed: list[Placed] = []
        self._safe = self._safe_script()
        self._keeps = is_read or any(output.origin.startswith(_READS_STDOUT) for output in step.outputs)
        self._outputs = tuple(sorted(step.outputs, key=lambda output: output.name))

    def make(self, task_id: str, context: dict[str, Any], values: Values) -> Task:
        """The task with this id, whose expressions mean these values."""
        step, path = self._step, self._step.path
        if self._condition is not None:
            values.check_condition((*path, "if"), self._condition)
        return Task(
            id=task_id,
            step=f"{self._whose.prefix}{step.id}",
            kind=step.kind or Kind.COMMAND,
            action=self._action(values),
            script_env=in_order(self._script_env(values)),
            shell=_shell_words(step) if self._safe is not None else (),
            arguments=in_order(values.tree((*path, "with"), step.arguments)) if step.arguments else {},
            env=in_order(values.texts((*path, "env"), step.env)) if step.env else {},
            cwd="" if step.cwd is None else values.inner_path((*path, "cwd"), step.cwd),
            condition=self._condition_kind(),
            condition_text=step.condition,
            context=context,
            timeout=None if self._holds else values.seconds((*path, "timeout"), step.timeout),
            grace=values.seconds((*path, "grace"), step.grace),
            retry=Retry() if self._holds else step.retry,
            outputs=self._outputs,
            artifacts=in_order(self._artifacts(values)) if step.artifacts else {},
            allow_failure=values.boolean((*path, "allow_failure"), step.allow_failure),
            idempotent=step.idempotent,
            keeps_stdout=self._keeps,
            weight=self._weight,
            priority=self._whose.priority if step.priority is None else step.priority,
            estimate=step.estimate,
            slots=None if is_fan_out(step) or step.kind not in CONTAINERS else step.max_parallel,
            prompt="" if self._whose.prompt is None else values.text((*path, "prompt"), self._whose.prompt),
            agent=self._whose.agent,
            informed_by=_informed_by(step, self._whose.context),
            later={key: values.tree((*path, key), value) for key, value in sorted(step.later.items())},
        )

    def _safe_script(self) -> SafeScript | None:
        """The script without expressions in it; an empty one where it cannot be read, which is told."""
        script = self._step.run
        if not isinstance(script, str):
            return None
        rule = "CF110"
        try:
            self._placed = [part for part in split_text(script) if isinstance(part, Placed)]
            rule = "CF209"
            return make_safe(script, _shell_words(self._step), self._is_integer)
        except ExpressionFault as fault:
            path = (*self._step.path, "run")
            at = self._findings.within(path, "", fault.offset, fault.length)
            self._findings.tell(rule, path, fault.message, fault.hint, at=at)
            return SafeScript("")

    def _is_integer(self, expression: Expression) -> bool:
        return self._types.of(self._step, expression) == "integer"

    def _condition_kind(self) -> Condition:
        if self._condition is None:
            return Condition.SUCCESS
        return Condition.STATUS if self._condition.functions else Condition.GUARDED

    def _action(self, values: Values) -> str | tuple[Text, ...]:
        if self._safe is not None:
            return self._safe.text
        if self._step.python is not None:
            return self._step.python
        if self._step.workflow is not None:
            return self._step.workflow
        return self._words(values, self._step.run) if isinstance(self._step.run, tuple) else ()

    def _words(self, values: Values, authored: Iterable[Text]) -> tuple[Text, ...]:
        path: Path = (*self._step.path, "run")
        words = tuple(
            word for index, text in enumerate(authored) for word in values.words((*path, index), text)
        )
        if not words or not words[0]:
            left = "yields no words" if not words else "begins with an empty word"
            self._findings.tell("CF212", path, f"`run` {left}: there is no program to execute")
        return words

    def _script_env(self, values: Values) -> dict[str, Text]:
        if self._safe is None:
            return {}
        return {name: self._variable(values, expression) for name, expression in self._safe.variables}

    def _variable(self, values: Values, expression: Expression) -> Text:
        """The value of a variable of the script; where a number is made of it, the author's is told first."""
        path = (*self._step.path, "run")
        authored = next(
            (one.expression for one in self._placed if expression.source == f"({one.expression.source}) + 0"),
            expression,
        )
        text = values.text(path, Template((authored,)))
        known = isinstance(text, str) and authored is not expression
        return values.text(path, Template((expression,))) if known else text

    def _artifacts(self, values: Values) -> dict[str, tuple[Text, ...]]:
        path = (*self._step.path, "artifacts")
        return {
            name: tuple(
                values.pattern((*path, name, index), pattern) for index, pattern in enumerate(patterns)
            )
            for name, patterns in self._step.artifacts.items()
        }


def _informed_by(step: Step, of_role: str) -> tuple[str, ...]:
    """The steps whose results come with a prompt."""
    context = step.context or of_role
    if step.kind is not Kind.PROMPT or context == "none":
        return ()
    return step.needs if isinstance(context, str) else context


def _shell_words(step: Step) -> tuple[str, ...]:
    return SHELL_WORDS[step.shell] if isinstance(step.shell, str) else step.shell
