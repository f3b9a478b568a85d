"""Checked data -> `spec.model`. The one place where defaults are applied: project < workflow < step.

    faults = check(document, "workflow")
    data = prune(document.data, [path for fault in faults for path in fault.prune])
    workflow, problems = build_workflow(document, data, defaults)

Data that the schema refuses is left out first, so the rest is still read and everything that is wrong
with a file is told in one go. A step that lost what it runs that way has `kind` None: that happens
only together with an error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crewflow.errors import Note, Severity
from crewflow.spec.cautions import caution_input, caution_step, caution_text
from crewflow.spec.fields import Fields, inside_project
from crewflow.spec.model import (
    Backoff,
    Defaults,
    InputSpec,
    Kind,
    OnFailure,
    Output,
    Project,
    Retry,
    Step,
    Workflow,
)
from crewflow.spec.scalars import spelling
from crewflow.spec.values import declared_schema, fits, pattern_faults
from crewflow.spec.words import PERMISSIVE_BOOLEANS, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crewflow.errors import Problem
    from crewflow.spec.model import Path
    from crewflow.spec.source import Document
    from crewflow.spec.template import Text

_STEP_DEPTH = 2  # a step stands at ("steps", id)


def prune(data: dict[str, Any], paths: Iterable[Path]) -> dict[str, Any]:
    """A copy of `data` without the values at `paths`; what is not on the way to one is shared.

    A list loses all of its items with one, so that the places of the others stay right. A step stays,
    empty, so that others may still refer to it.
    """
    pruned = dict(data)
    copied = {id(pruned)}
    for path in paths:
        _drop(pruned, path, copied)
    return pruned


UNNAMED = "project"
"""The name of a project without `crewflow.yaml`: not that of its folder, which differs from clone to
clone and would be in the fingerprint of every plan."""


def build_workflow(
    document: Document, data: dict[str, Any], defaults: Defaults, *, shipped: bool = False
) -> tuple[Workflow, tuple[Problem, ...]]:
    """A workflow from data that its schema allows.

    Args:
        document: where the data comes from, for places.
        data: the document's data, without what is faulty.
        defaults: those of the project.
        shipped: it comes with crewflow.
    """
    fields = Fields(document)
    caution_text(fields, ("env",), data.get("env"))
    merged = _defaults(fields, data.get("defaults", {}), defaults)
    workflow = Workflow(
        name=data.get("name", ""),
        description=data.get("description", ""),
        source=document,
        inputs={name: _input(fields, name, given) for name, given in data.get("inputs", {}).items()},
        env=fields.texts(("env",), data.get("env", {})),
        max_parallel=_whole(data.get("max_parallel")),
        on_failure=OnFailure(data.get("on_failure", "finish")),
        steps=tuple(_steps(fields, data, merged)),
        shipped=shipped,
    )
    return workflow, tuple(fields.problems)


def build_project(document: Document, data: dict[str, Any], root: str) -> tuple[Project, tuple[Problem, ...]]:
    """A project without workflows yet, from data that its schema allows.

    Args:
        document: where the data comes from, for places.
        data: the document's data, without what is faulty.
        root: absolute path of the project.
    """
    fields = Fields(document)
    project = replace(
        empty_project(root),
        name=data.get("name", UNNAMED),
        default_workflow=data.get("default_workflow"),
        defaults=_defaults(fields, data.get("defaults", {}), Defaults()),
        env=_plain_env(fields, data.get("env", {})),
    )
    return project, tuple(fields.problems)


def empty_project(root: str) -> Project:
    """What a project is that says nothing: no name of its own, and all defaults."""
    return Project(
        root=root,
        name=UNNAMED,
        default_workflow=None,
        defaults=Defaults(),
        env={},
        workflows={},
        shipped={},
    )


def _drop(data: dict[str, Any], path: Path, copied: set[int]) -> None:
    holder: Any = data
    for depth, key in enumerate(path, start=1):
        value = holder.get(key)
        if depth == len(path) or not isinstance(value, dict):
            _leave_out(holder, path[:depth])
            return
        if id(value) not in copied:
            holder[key] = value = dict(value)
            copied.add(id(value))
        holder = value


def _leave_out(holder: Any, path: Path) -> None:
    is_step = len(path) == _STEP_DEPTH and path[0] in {"steps", "finally"}
    if is_step and path[1] in holder:
        holder[path[1]] = {}
    else:
        holder.pop(path[-1], None)


def _plain_env(fields: Fields, env: dict[str, Any]) -> dict[str, str]:
    for name, value in env.items():
        if isinstance(value, str) and "${{" in value:
            message = "expressions are not read in the environment of a project"
            fields.fault("CF110", ("env", name), message, "write it in the `env` of a workflow")
    return {name: spelling(value) for name, value in env.items()}


def _defaults(fields: Fields, data: dict[str, Any], base: Defaults) -> Defaults:
    path = ("defaults",)
    return Defaults(
        timeout=_timeout(fields, path, data, base.timeout),
        grace=fields.duration((*path, "grace"), data.get("grace"), base.grace),
        shell=_shell(data.get("shell"), base.shell),
        retry=_retry(fields, (*path, "retry"), data.get("retry"), base.retry),
    )


def _retry(fields: Fields, path: Path, data: dict[str, Any] | None, base: Retry) -> Retry:
    if not data:
        return base
    return Retry(
        max_attempts=int(data.get("max_attempts", base.max_attempts)),
        delay=fields.duration((*path, "delay"), data.get("delay"), base.delay),
        backoff=Backoff(data.get("backoff", base.backoff)),
        max_delay=fields.duration((*path, "max_delay"), data.get("max_delay"), base.max_delay),
        jitter=float(data.get("jitter", base.jitter)),
        when=tuple(data.get("when", base.when)),
        unless=tuple(data.get("unless", base.unless)),
    )


def _steps(fields: Fields, data: dict[str, Any], defaults: Defaults) -> Iterator[Step]:
    seen: dict[str, Path] = {}
    for section in ("steps", "finally"):
        for step_id, given in data.get(section, {}).items():
            path = (section, step_id)
            first = seen.setdefault(step_id.casefold(), path)
            if first is not path:
                _same_id(fields, path, first)
            if first is path or first[-1] != step_id:
                yield _step(fields, path, given, defaults)


def _same_id(fields: Fields, path: Path, first: Path) -> None:
    but = "" if path[-1] == first[-1] else ", but for upper and lower case"
    message = f"two steps have the id {quoted(str(path[-1]))}{but}"
    note = Note(fields.source.key_place(first), "first here")
    fields.fault("CF114", path, message, "give one of them another id", at_key=True, notes=(note,))


def _step(fields: Fields, path: Path, given: dict[str, Any], defaults: Defaults) -> Step:
    matrix = given.get("matrix")
    get = given.get
    caution_step(fields, path, given)
    return Step(
        id=str(path[-1]),
        path=path,
        final=path[0] == "finally",
        kind=_kind(given),
        name=get("name") or str(path[-1]),
        description=get("description", ""),
        needs=_ids(fields, (*path, "needs"), get("needs")),
        after=_ids(fields, (*path, "after"), get("after")),
        condition=_condition(fields, (*path, "if"), get("if")),
        run=_run(fields, (*path, "run"), get("run")),
        python=get("python"),
        shell=_shell(get("shell"), defaults.shell),
        arguments=fields.deep((*path, "with"), given["with"]) if "with" in given else {},
        env=fields.texts((*path, "env"), given["env"]) if "env" in given else {},
        cwd=_cwd(fields, (*path, "cwd"), get("cwd")),
        matrix=None if matrix is None else _axes(fields, (*path, "matrix"), matrix),
        include=() if matrix is None else _combinations(fields, (*path, "matrix", "include"), matrix),
        exclude=() if matrix is None else _combinations(fields, (*path, "matrix", "exclude"), matrix),
        for_each=_values(fields, (*path, "for_each"), get("for_each")),
        max_parallel=_whole(get("max_parallel")),
        on_failure=None,
        timeout=_timeout(fields, path, given, defaults.timeout),
        grace=fields.duration((*path, "grace"), get("grace"), defaults.grace),
        retry=_retry(fields, (*path, "retry"), get("retry"), defaults.retry),
        outputs=_outputs(fields, path, given["outputs"]) if "outputs" in given else (),
        artifacts=_artifacts(fields, path, given["artifacts"]) if "artifacts" in given else {},
        allow_failure=_allow_failure(fields, (*path, "allow_failure"), get("allow_failure", False)),
        idempotent=get("idempotent", True),
    )


def _kind(given: dict[str, Any]) -> Kind | None:
    if "python" in given:
        return Kind.PYTHON
    run = given.get("run")
    if run is None:
        return None
    return Kind.SCRIPT if isinstance(run, str) else Kind.COMMAND


def _ids(fields: Fields, path: Path, given: str | list[str] | None) -> tuple[str, ...]:
    """Ids as they were given, each once."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    for index, step_id in enumerate(given):
        if step_id in given[:index]:
            message = f"{quoted(step_id)} stands twice in `{path[-1]}`"
            fields.fault("CF113", (*path, index), message, "remove one of them", severity=Severity.WARNING)
    return tuple(dict.fromkeys(given))


def _condition(fields: Fields, path: Path, given: Any) -> str | None:
    """The expression of an `if`, without `${{ }}` around it."""
    if given is None:
        return None
    text = spelling(given).strip()
    if text.lower() in PERMISSIVE_BOOLEANS:
        message = f"`if` must be true, false or an expression, not the text {quoted(text)}"
        fields.fault("CF104", path, message, f"write `{PERMISSIVE_BOOLEANS[text.lower()]}`")
        return None
    if text.startswith("${{") and text.endswith("}}"):
        text = text[3:-2].strip()
    if "${{" in text:
        fields.fault("CF110", path, "an `if` is one expression", "remove the `${{ }}` inside it")
        return None
    return text


def _run(fields: Fields, path: Path, given: str | list[Any] | None) -> Text | tuple[Text, ...] | None:
    """The script as it was written, or the words of a command."""
    if given is None or isinstance(given, str):
        return given
    return tuple(fields.text((*path, index), word) for index, word in enumerate(given))


def _shell(given: str | list[str] | None, base: str | tuple[str, ...]) -> str | tuple[str, ...]:
    if given is None:
        return base
    return given if isinstance(given, str) else tuple(given)


def _cwd(fields: Fields, path: Path, given: str | None) -> Text | None:
    return None if given is None else _relative(fields, path, given)


def _axes(fields: Fields, path: Path, given: dict[str, Any]) -> dict[str, Any]:
    axes = {name: values for name, values in given.items() if name not in {"include", "exclude"}}
    return {name: _values(fields, (*path, name), values) for name, values in axes.items()}


def _combinations(fields: Fields, path: Path, matrix: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    given = matrix.get(str(path[-1]), [])
    _values(fields, path, given)
    return tuple(given)


def _values(fields: Fields, path: Path, given: Any) -> Any:
    """The values of a fan-out: a list of plain values, or a template that yields one."""
    if given is None:
        return None
    if isinstance(given, str):
        return fields.text(path, given)
    for place in _expressions(path, given):
        message = "an expression may not stand inside this list"
        fields.fault("CF110", place, message, "make one expression of the whole list")
    return given


def _expressions(path: Path, value: Any) -> Iterator[Path]:
    """The paths of texts that hold an expression."""
    if isinstance(value, str) and "${{" in value:
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _expressions((*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _expressions((*path, index), item)


def _timeout(fields: Fields, path: Path, data: dict[str, Any], base: float | None) -> Any:
    seconds = fields.duration((*path, "timeout"), data.get("timeout"), base)
    if seconds == 0:
        message = "`timeout` is no time at all"
        fields.fault("CF108", (*path, "timeout"), message, "remove it to have no limit")
    return seconds


def _outputs(fields: Fields, path: Path, given: dict[str, Any]) -> tuple[Output, ...]:
    return tuple(_output(fields, path, name, item) for name, item in given.items())


def _output(fields: Fields, path: Path, name: str, given: str | dict[str, Any]) -> Output:
    if isinstance(given, str):
        return Output(name, given)
    word = given.get("type", "string")
    has_default = "default" in given
    if has_default:
        _fitting(fields, (*path, "outputs", name, "default"), given["default"], {"type": word})
    origin = given.get("from", "output")
    if origin.startswith("file:"):
        file = origin.removeprefix("file:")
        inside_project(fields, (*path, "outputs", name, "from"), file, "dist/version.txt")
    return Output(name, word, "json" if origin == "json:" else origin, has_default, given.get("default"))


def _artifacts(fields: Fields, path: Path, given: dict[str, Any]) -> dict[str, tuple[Text, ...]]:
    return {name: _patterns(fields, (*path, "artifacts", name), item) for name, item in given.items()}


def _patterns(fields: Fields, path: Path, given: str | list[str]) -> tuple[Text, ...]:
    if isinstance(given, str):
        return (_relative(fields, path, given),)
    return tuple(_relative(fields, (*path, index), item) for index, item in enumerate(given))


def _relative(fields: Fields, path: Path, given: str) -> Text:
    inside_project(fields, path, given, "dist/app.tgz" if "artifacts" in path[2:] else "src")
    return fields.text(path, given)


def _allow_failure(fields: Fields, path: Path, given: Any) -> Any:
    if isinstance(given, list):
        return tuple(given)
    return fields.text(path, given) if isinstance(given, str) else given


def _input(fields: Fields, name: str, given: dict[str, Any]) -> InputSpec:
    path = ("inputs", name)
    for place in pattern_faults(path, given):
        hint = "put `\\` before a special character that is meant as text"
        fields.fault("CF104", place, "`pattern` is no regular expression", hint)
    caution_input(fields, path, given)
    wanted = declared_schema(given)
    has_default = "default" in given
    if has_default and given == fields.source.data["inputs"][name]:  # else its type is not known
        _fitting(fields, (*path, "default"), given["default"], wanted)
    return InputSpec(
        name=name,
        type=given.get("type", "string"),
        required=given.get("required", False),
        has_default=has_default,
        default=given.get("default"),
        description=given.get("description", ""),
        schema=wanted,
    )


def _fitting(fields: Fields, path: Path, value: Any, wanted: dict[str, Any]) -> None:
    why = fits(value, wanted)
    if why is not None:
        fields.fault("CF104", path, f"the default of {quoted(str(path[-2]))} {why}", None)


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
