"""From a task of the plan to an attempt that an executor can run: every expression gets its value.

A rendered value is never rendered again. What cannot be rendered is a `RenderError`; the attempt then
fails with class `start` before any process exists.
"""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING, Any

from crewflow.agents.prompt import build_prompt
from crewflow.agents.scaffold import SCAFFOLD
from crewflow.engine.executor import Attempt
from crewflow.spec.durations import parse_duration
from crewflow.spec.expression import RenderError
from crewflow.spec.model import Kind
from crewflow.spec.patterns import WILD_HINT, is_wild, wild_value
from crewflow.spec.template import Template, render, render_text, render_tree, text_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crewflow.engine.view import View
    from crewflow.graph.plan import Task
    from crewflow.state.paths import RunPaths

    Resolve = Callable[[tuple[str | int, ...]], Any]


def render_attempt(task: Task, number: int, view: View, run: RunPaths, project: str) -> Attempt:
    """The attempt of a task. Raises RenderError if one of its expressions has no fitting value."""
    resolve = view.resolver(task, number)
    folder = run.attempt(task.id, number)
    texts = {**task.env, **task.script_env}
    is_prompt = task.kind is Kind.PROMPT
    return Attempt(
        task=task.id,
        number=number,
        kind=Kind.PYTHON if is_prompt else task.kind,
        action=SCAFFOLD if is_prompt else _action(task, resolve),
        shell=task.shell,
        arguments=_scaffolded(task, view, folder, resolve)
        if is_prompt
        else render_tree(task.arguments, resolve),
        env={
            **view.env_of(task),
            **{name: _text(text, resolve) for name, text in texts.items()},
            "CREWFLOW_RUN_ID": run.run_id,
            "CREWFLOW_TASK": task.id,
            "CREWFLOW_ATTEMPT": str(number),
            "CREWFLOW_PROJECT": project,
            "CREWFLOW_OUTPUT": f"{folder}/outputs",
        },
        cwd=_folder(project, view.cwd_of(task)),
        timeout=None if task.timeout is None else _seconds("timeout", task.timeout, resolve),
        grace=_seconds("grace", task.grace, resolve),
        outputs=task.outputs,
        artifacts={
            name: tuple(_pattern(pattern, resolve) for pattern in patterns)
            for name, patterns in task.artifacts.items()
        },
        keeps_stdout=task.keeps_stdout,
        folder=folder,
        project=project,
    )


def _scaffolded(task: Task, view: View, folder: str, resolve: Resolve) -> dict[str, Any]:
    """What the agent `scaffold` is called with: the whole prompt, where to write it, and what is expected."""
    results = {name: view.result_of(task, name) for name in task.informed_by}
    prompt = build_prompt(_text(task.prompt, resolve), task.agent, results, task.outputs)
    return {
        "prompt": prompt,
        "file": f"{folder}/prompt.md",
        "outputs": {output.name: output.type for output in task.outputs if output.origin == "output"},
        "task": task.id,
    }


def _action(task: Task, resolve: Resolve) -> str | tuple[str, ...]:
    if isinstance(task.action, str):
        return task.action
    words = tuple(word for item in task.action for word in _words(item, resolve))
    if not words or not words[0]:
        raise RenderError("`run` yields no program to execute")
    return words


def _words(item: Any, resolve: Resolve) -> Iterator[str]:
    """One word of a command; a list that a lone expression yields is spliced in."""
    if not isinstance(item, Template):
        yield item
        return
    value = render(item, resolve)
    for one in value if isinstance(value, list) else [value]:
        yield text_form(one)


def _text(text: Any, resolve: Resolve) -> str:
    return text if isinstance(text, str) else render_text(text, resolve)


def _pattern(pattern: Any, resolve: Resolve) -> str:
    """A pattern with its values, which are literal text."""
    if isinstance(pattern, str):
        return pattern
    pieces = [
        part if isinstance(part, str) else render_text(Template((part,)), resolve) for part in pattern.parts
    ]
    for part, piece in zip(pattern.parts, pieces, strict=True):
        if not isinstance(part, str) and is_wild(piece):
            raise RenderError(f"{wild_value(piece)}; {WILD_HINT}")
    return "".join(pieces)


def _folder(project: str, cwd: str) -> str:
    if not cwd:
        return project
    folder = os.path.normpath(os.path.join(project, cwd))
    root = os.path.realpath(project)
    if os.path.isabs(cwd) or os.path.commonpath([root, os.path.realpath(folder)]) != root:
        raise RenderError(f"`cwd` must stay in the project, and `{cwd}` does not")
    return folder


def _seconds(key: str, value: Any, resolve: Resolve) -> float:
    if isinstance(value, int | float):
        return float(value)
    rendered = _text(value, resolve)
    try:
        return parse_duration(rendered)
    except ValueError:
        raise RenderError(f"`{key}` must be a duration such as `90s`, and is `{rendered}`") from None
