"""What is known when a plan is made, put in place of the expressions that ask for nothing else.

    values = known.values(context)            what a leg's `matrix` or `item` is; None: not known
    values.text(path, step.cwd)               text, or the template that is left
    values.seconds(path, step.timeout)        and so on, by what the field takes

What cannot be folded is told at its place, and the template stays; so one fault brings no others.
Plain values are given back as they are.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Final

from crewflow.spec.durations import DurationFault, parse_duration
from crewflow.spec.expression import Expression, evaluate_condition
from crewflow.spec.expression_values import described
from crewflow.spec.lookup import look_up
from crewflow.spec.patterns import WILD_HINT, is_wild, wild_value
from crewflow.spec.template import RenderError, Template, Text, fold, text_form
from crewflow.spec.words import quoted

if TYPE_CHECKING:
    from crewflow.graph.findings import Findings
    from crewflow.spec.model import Path, Project, Workflow

    Keys = tuple[str | int, ...]

LARGEST: Final = 131_000
"""Bytes of one argument or environment variable: Linux takes no more than 128 KiB, the name included."""


class Known:
    """The values that hold for every task of a plan.

    Attributes:
        inputs: those whose values are known, by name; None as long as none is.
        env: variables of project and workflow.
        run_of: the workflow that the run is of, which may call this one.
    """

    def __init__(
        self,
        project: Project,
        workflow: Workflow,
        inputs: dict[str, Any] | None,
        findings: Findings,
        run_of: str | None = None,
    ) -> None:
        self.findings = findings
        self.inputs = inputs
        self.run_of = run_of or workflow.name
        self.env: dict[str, Text] = {}
        self._facts: dict[str, Any] = {
            "inputs": inputs or {},
            "env": self.env,
            "run": {"workflow": self.run_of, "project": project.name},
        }
        values = self.values({})
        own = {name: values.text(("env", name), text) for name, text in workflow.env.items()}
        self.env.update({**project.env, **own})

    def values(
        self,
        context: dict[str, Any] | None,
        names: frozenset[str] = frozenset(),
        hidden: frozenset[str] = frozenset(),
    ) -> Values:
        """What fields mean in one task.

        Args:
            context: its `matrix`, or its `item` and `item_index`; None as long as its legs are not known.
            names: what `matrix.` may be followed by in this step; not every leg has all of them.
            hidden: variables that a group around it sets, so that only the run knows them.
        """
        return Values(self, context, names, hidden)

    def look_up(self, context: dict[str, Any], keys: Keys) -> Any:
        """The value of a path, or UNDEFINED."""
        return look_up(context if keys[0] in context else self._facts, keys)

    def is_known(self, keys: Keys) -> bool:
        """Whether a path that does not depend on the leg has a value now."""
        match keys:
            case ("inputs", str(name), *_):
                return self.inputs is not None and name in self.inputs
            case ("env", str(name)):
                return isinstance(self.env.get(name), str)
            case ("run", "workflow" | "project"):
                return True
        return False


class Values:
    """Reads the fields of one task. Each method takes the path of the value, for faults."""

    def __init__(
        self,
        known: Known,
        context: dict[str, Any] | None,
        names: frozenset[str],
        hidden: frozenset[str],
    ) -> None:
        self._known = known
        self._context = context
        self._names = names
        self._hidden = hidden
        self._findings = known.findings

    def tree(self, path: Path, value: Any) -> Any:
        """A value of any shape; an expression that is all of a text keeps its type."""
        if isinstance(value, Template):
            return self._folded(path, value)
        if isinstance(value, dict):
            return {key: self.tree((*path, key), inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.tree((*path, index), inner) for index, inner in enumerate(value)]
        return value

    def text(self, path: Path, text: Text) -> Text:
        """Text, as what an argument or a variable can be."""
        return text if isinstance(text, str) else self._as_text(path, text, self._folded(path, text))

    def texts(self, path: Path, texts: dict[str, Text]) -> dict[str, Text]:
        """A mapping of names to text."""
        return {name: self.text((*path, name), text) for name, text in texts.items()}

    def words(self, path: Path, word: Text) -> list[Text]:
        """A word of a command; those of a list that is all of it."""
        if isinstance(word, str):
            return [word]
        value = self._folded(path, word)
        items = value if isinstance(value, list) else [value]
        return [self._as_text(path, word, item) for item in items]

    def inner_path(self, path: Path, text: Text) -> Text:
        """A path or pattern that must stay in the project."""
        folded = self.text(path, text)
        if isinstance(text, Template) and isinstance(folded, str):
            self._check_inside(path, folded)
        return folded

    def pattern(self, path: Path, text: Text) -> Text:
        """A pattern; the values in it are literal text, so those that would read as patterns are refused."""
        parts = text.parts if isinstance(text, Template) else ()
        for part in parts:
            value = self.text(path, Template((part,))) if isinstance(part, Expression) else ""
            if isinstance(value, str) and is_wild(value):
                self._tell("CF213", path, text, wild_value(value), WILD_HINT)
                return text
        return self.inner_path(path, text)

    def seconds(self, path: Path, value: Any) -> Any:
        """Seconds, or the template that yields a duration."""
        if not isinstance(value, Text):
            return value
        text = self.text(path, value)
        if isinstance(text, Template):
            return text
        try:
            seconds = parse_duration(text)
        except DurationFault as fault:
            self._tell("CF108", path, value, f"`{path[-1]}` {fault.message}", fault.hint)
            return value
        if seconds == 0 and path[-1] == "timeout":
            self._tell("CF108", path, value, "`timeout` is no time at all", "give a longer one")
        return seconds

    def boolean(self, path: Path, value: Any) -> Any:
        """True or false, or what yields one; a list of failure classes as it is."""
        folded = self.tree(path, value)
        if not isinstance(folded, Template | bool | tuple):
            self._tell(
                "CF211", path, value, f"`{path[-1]}` must be true or false, and is {described(folded)}"
            )
            return value
        return folded

    def list(self, path: Path, value: Any) -> list[Any] | None:
        """The values of a fan-out; None as long as they are not known, or where there is no list."""
        folded = self.tree(path, value)
        if isinstance(folded, list):
            return folded
        if not isinstance(folded, Template):
            message = f"`{path[-1]}` must yield a list, and yields {described(folded)}"
            self._tell("CF304", path, value, message, "name an input that is an `array`")
        return None

    def knows(self, value: Any) -> bool:
        """Whether all that the expressions in a value ask for is known."""
        if isinstance(value, Template):
            parts = [part for part in value.parts if isinstance(part, Expression)]
            return all(self._is_known(path.keys) for part in parts for path in part.paths)
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return all(map(self.knows, items))

    def says_no(self, condition: Expression) -> bool:
        """Whether it is known that a condition is false."""
        if condition.functions or not all(self._is_known(one.keys) for one in condition.paths):
            return False
        try:
            return not evaluate_condition(condition, self._resolve)
        except RenderError:
            return False

    def check_condition(self, path: Path, condition: Expression) -> None:
        """Tell a condition that has no boolean value, as far as that is known before anything runs."""
        if condition.functions or not all(self._is_known(one.keys) for one in condition.paths):
            return
        try:
            evaluate_condition(condition, self._resolve)
        except RenderError as error:
            at = self._findings.within(path, condition.source, 0, len(condition.source))
            self._findings.tell_first("CF211", path, error.message, None, at)

    def _folded(self, path: Path, template: Template) -> Any:
        try:
            return fold(template, self._resolve, self._is_known)
        except RenderError as error:
            self._tell("CF210", path, Template((self._culprit(template),)), error.message)
            return template

    def _as_text(self, path: Path, template: Template, value: Any) -> Text:
        if isinstance(value, Template):
            return value
        try:
            text = text_form(value)
        except RenderError:
            message = f"`{_source(template)}` is null, which has no text; give one with `| default('')`"
            self._tell("CF210", path, template, message)
            return template
        fault = _unfit(text)
        if fault is not None:
            self._tell("CF210", path, template, f"the value of `{_key(path)}` {fault[0]}", fault[1])
        return text

    def _tell(self, rule: str, path: Path, text: Text, message: str, hint: str | None = None) -> None:
        """Tell a fault at the one expression that is all of a text, else at the text."""
        one = text.whole if isinstance(text, Template) else None
        at = None if one is None else self._findings.within(path, one.source, one.offset, len(one.source))
        self._findings.tell_first(rule, path, message, hint, at)

    def _culprit(self, template: Template) -> Expression:
        """The first expression that has no text: only what is at fault is looked at one by one."""
        expressions = [part for part in template.parts if isinstance(part, Expression)]
        for expression in expressions:
            try:
                # A second part makes it one within text, where null is a fault as well.
                fold(Template((" ", expression)), self._resolve, self._is_known)
            except RenderError:
                return expression
        return expressions[0]

    def _resolve(self, keys: Keys) -> Any:
        return self._known.look_up(self._context or {}, keys)

    def _is_known(self, keys: Keys) -> bool:
        match keys:
            case ("matrix", str(name), *_):
                return self._context is not None and name in self._names
            case ("item" | "item_index", *_):
                return self._context is not None and keys[0] in self._context
            case ("env", str(name)) if name in self._hidden:
                return False
        return self._known.is_known(keys)

    def _check_inside(self, path: Path, text: str) -> None:
        if text.startswith(("/", "~")) or posixpath.normpath(text).split("/")[0] == "..":
            hint = "a path here is relative to the project, and stays in it"
            self._findings.tell("CF104", path, f"{quoted(text)} leads out of the project", hint)


def _key(path: Path) -> str:
    """The key that a path ends in, or that holds the list it ends in."""
    return str(next(part for part in reversed(path) if isinstance(part, str)))


def _source(template: Template) -> str:
    return template.whole.source if template.whole is not None else ""


def _unfit(text: str) -> tuple[str, str] | None:
    """Why a text can be no argument or variable of a process, and what to do about it."""
    if "\0" in text:
        return "holds a NUL character", "pass it as a file"
    if len(text) > LARGEST // 4 and len(text.encode("utf-8", "surrogatepass")) > LARGEST:
        return f"is larger than {LARGEST:,} bytes", "pass it as a file"
    return None
