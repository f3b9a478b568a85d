"""What one task does, line by line: its action, what it is given, its limits, what it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from crewflow.report.authored import (
    MOST_SHOWN,
    assignments,
    authored,
    cut,
    duration_text,
    line_text,
    list_text,
    some,
    value_text,
    word_text,
)
from crewflow.report.words import plural
from crewflow.run.states import TaskState
from crewflow.spec.durations import show_duration
from crewflow.spec.model import CONTAINERS, DEFAULT_RETRY_WHEN, Backoff, Kind
from crewflow.spec.template import Template

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crewflow.graph.plan import Task
    from crewflow.spec.model import Retry

_PROMPT_LINES: Final = 4


def task_lines(task: Task) -> Iterator[str]:
    """All that is worth a line about a task, but for its edges and its `if`."""
    yield from _action_lines(task)
    for name, value in task.script_env.items():
        yield f"  {name} = {value_text(value)}"
    if task.arguments:
        yield f"with {value_text(task.arguments)}"
    if task.env:
        yield f"env {assignments(task.env)}"
    if task.cwd:
        yield f"in {line_text(authored(task.cwd))}"
    yield from _limit_lines(task)
    yield from _result_lines(task)
    yield from later_lines(task.later)


def later_lines(later: dict[str, Any]) -> Iterator[str]:
    """The keys whose running comes later, under their own names."""
    for key, value in later.items():
        yield from _LATER.get(key, _plain_lines(key))(value)


def writes_undeclared(task: Task) -> bool:
    """Whether nothing is said of what a command changes; what an agent may change, its role says."""
    return task.kind in {Kind.SCRIPT, Kind.COMMAND, Kind.PYTHON} and "writes" not in task.later


def _action_lines(task: Task) -> Iterator[str]:
    if task.kind is Kind.PYTHON:
        yield f"python: {authored(task.action)}"
    elif task.kind is Kind.PROMPT:
        yield from _prompt_lines(task)
    elif task.kind is Kind.SCRIPT:
        yield from _first_lines("run: ", authored(task.action), MOST_SHOWN)
    elif task.kind not in {*CONTAINERS, Kind.GATE}:
        yield f"run: {cut(' '.join(word_text(word) for word in task.action))}"


def _prompt_lines(task: Task) -> Iterator[str]:
    words = (("role", "role"), ("model", "model"), ("access", "access"))
    known = [f"{word} {authored(task.agent[key])}" for key, word in words if task.agent.get(key)]
    who = authored(task.agent["name"]) if task.agent.get("name") else "an agent"
    yield f"asks {who}" + (f" ({', '.join(known)})" if known else "")
    yield from _first_lines("prompt: ", authored(task.prompt), _PROMPT_LINES)
    if task.informed_by:
        yield f"told the results of {some(task.informed_by)}"


def _first_lines(word: str, text: str, most: int) -> Iterator[str]:
    """A text of several lines behind its word; what is more is counted."""
    margin = " " * len(word)
    first, *rest = [line.rstrip() for line in text.strip("\n").splitlines() if line.strip()] or [""]
    yield f"{word}{cut(first.strip())}"
    yield from (f"{margin}{cut(line)}" for line in rest[: most - 1])
    if len(rest) >= most:
        yield f"{margin}... and {plural(len(rest) - most + 1, 'more line')}"


def _limit_lines(task: Task) -> Iterator[str]:
    if task.slots is not None:
        yield f"at most {plural(task.slots, 'task')} in it at once"
    if task.timeout is not None:
        yield f"timeout {duration_text(task.timeout)}"
    if task.retry.max_attempts > 1:
        yield _retry_line(task.retry)
    if task.priority:
        yield f"priority {task.priority}"
    if task.estimate is not None:
        yield f"takes about {show_duration(task.estimate)}"


def _retry_line(retry: Retry) -> str:
    delay = f"{show_duration(retry.delay)} apart"
    if retry.backoff is not Backoff.FIXED:
        delay += f", growing ({retry.backoff}) to at most {show_duration(retry.max_delay)}"
    line = f"up to {retry.max_attempts} attempts, {delay}"
    if retry.when != DEFAULT_RETRY_WHEN:
        line += f", on {some(retry.when) or 'nothing'}"
    return f"{line}, but not on {some(retry.unless)}" if retry.unless else line


def _result_lines(task: Task) -> Iterator[str]:
    if task.outputs or task.given:
        yield f"outputs {some([*(output.name for output in task.outputs), *task.given])}"
    if task.artifacts:
        patterns = [authored(pattern) for patterns in task.artifacts.values() for pattern in patterns]
        yield f"artifacts {cut(some(patterns))}"
    if task.allow_failure:
        yield _allowed_line(task.allow_failure)
    if not task.idempotent:
        yield "is not run again after it was lost"


def _allowed_line(allowed: Any) -> str:
    if isinstance(allowed, tuple):
        return f"a failure counts as {TaskState.SUCCEEDED} if it is {some(allowed)}"
    when = f" if {line_text(authored(allowed))}" if isinstance(allowed, Template) else ""
    return f"a failure counts as {TaskState.SUCCEEDED}{when}"


# --- keys whose running comes later, under their own names -----------------------------------------


def _plain_lines(key: str) -> Callable[[Any], Iterator[str]]:
    def lines(value: Any) -> Iterator[str]:
        yield f"{key} {value_text(value)}"

    return lines


def _gate_lines(gate: dict[str, Any]) -> Iterator[str]:
    """What a person is asked, who may answer, and what happens when nobody does."""
    if gate.get("before"):
        yield "a person must approve before the first task that writes"
    message = authored(gate.get("message", ""))
    if message:
        yield from _first_lines("asks: ", message, _PROMPT_LINES)
    if gate.get("show"):
        yield f"shows {list_text(gate['show'])}"
    needed = gate.get("min_approvals", 1)
    if gate.get("approvers"):
        yield f"approvers {list_text(gate['approvers'])}" + (f"; {needed} must agree" if needed > 1 else "")
    elif needed > 1:
        yield f"{needed} people must agree"
    if gate.get("inputs"):
        yield f"inputs {some(list(gate['inputs']))}"
    yield from _gate_end_lines(gate)


def _gate_end_lines(gate: dict[str, Any]) -> Iterator[str]:
    if "timeout" in gate:
        then = _AFTER_TIMEOUT.get(gate.get("on_timeout", "reject"), "it is rejected")
        yield f"after {duration_text(gate['timeout'])} without an answer {then}"
    rework = gate.get("rework")
    if rework:
        steps = rework["steps"]
        yield f"a rejection runs {list_text(steps)} again, at most {rework.get('max', 3)} times"


_AFTER_TIMEOUT: Final = {
    "reject": "it is rejected",
    "approve": "it is approved",
    "wait": "it goes on waiting",
}


def _set_lines(key: str) -> Callable[[Any], Iterator[str]]:
    def lines(patterns: Any) -> Iterator[str]:
        yield f"{key} {list_text(patterns) if patterns else 'nothing'}"

    return lines


def _secret_lines(secrets: dict[str, str]) -> Iterator[str]:
    named = [name if name == source else f"{name} (from {source})" for name, source in secrets.items()]
    yield f"secrets {some(named)}"


def _pool_lines(pools: dict[str, Any]) -> Iterator[str]:
    named = [f"{name} ({weight} slots)" if weight != 1 else name for name, weight in pools.items()]
    yield f"pools {some(named)}"


def _budget_lines(budget: dict[str, Any]) -> Iterator[str]:
    words = {"usd": "{} USD", "tokens": "{:,} tokens"}
    yield f"budget {some([words[key].format(budget[key]) for key in words if key in budget])}"


def _expect_lines(expect: dict[str, Any]) -> Iterator[str]:
    for key, value in expect.items():
        if key == "run":
            text = value if isinstance(value, str) else " ".join(word_text(word) for word in value)
            yield f"expect run {cut(authored(text))}"
        elif key == "schema":
            yield "expect an answer that meets its schema"
        else:
            yield f"expect {key} {list_text(value)}"


_LATER: Final[dict[str, Callable[[Any], Iterator[str]]]] = {
    "approval": _gate_lines,
    "reads": _set_lines("reads"),
    "writes": _set_lines("writes"),
    "secrets": _secret_lines,
    "pools": _pool_lines,
    "budget": _budget_lines,
    "expect": _expect_lines,
    "idle_timeout": lambda value: iter([f"idle_timeout {duration_text(value)}"]),
    "total_timeout": lambda value: iter([f"total_timeout {duration_text(value)}"]),
}
