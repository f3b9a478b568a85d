"""The steps of a workflow, from data that its schema allows. A group holds steps of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from crewflow.errors import Note, Severity
from crewflow.spec.cautions import caution_step
from crewflow.spec.defaults import build_retry, build_shell, build_timeout
from crewflow.spec.fields import inside_project
from crewflow.spec.later import build_later
from crewflow.spec.model import Kind, OnFailure, Output, Step
from crewflow.spec.scalars import spelling
from crewflow.spec.values import fits
from crewflow.spec.words import NOT_RUN, PERMISSIVE_BOOLEANS, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.spec.fields import Fields
    from crewflow.spec.model import Defaults, Path
    from crewflow.spec.template import Text

_MOST_DOUBLED: Final = 1_000  # ids of one list that are looked at for doubled ones
_SELF_RUN: Final = frozenset({"run", "python", "prompt", "prompt_file"})
_KINDS: Final = {
    "python": Kind.PYTHON,
    "prompt": Kind.PROMPT,
    "prompt_file": Kind.PROMPT,
    "workflow": Kind.CALL,
    "steps": Kind.GROUP,
    "approval": Kind.GATE,
}


def build_steps(
    fields: Fields, data: dict[str, Any], defaults: Defaults, within: Path = ()
) -> Iterator[Step]:
    """The steps of a workflow, or of the group whose path is `within`."""
    seen: dict[str, Path] = {}
    for section in ("steps",) if within else ("steps", "finally"):
        for step_id, given in data.get(section, {}).items():
            path = (*within, section, step_id)
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
    get = given.get
    matrix, is_group, kind = get("matrix"), "steps" in given, _kind(given)
    has_outputs = "outputs" in given and kind is not None and not is_group  # else their form is not checked
    caution_step(fields, path, given)
    _refuse_expressions(fields, path, given, ("shell", "python", "prompt_file"))
    return Step(
        id=str(path[-1]),
        path=path,
        final=path[0] == "finally",
        kind=kind,
        name=get("name") or str(path[-1]),
        description=get("description", ""),
        needs=_ids(fields, (*path, "needs"), get("needs")),
        after=_ids(fields, (*path, "after"), get("after")),
        condition=_condition(fields, (*path, "if"), get("if")),
        run=_run(fields, (*path, "run"), get("run")),
        python=get("python"),
        prompt=fields.text((*path, "prompt"), given["prompt"]) if "prompt" in given else None,
        prompt_file=_prompt_file(fields, (*path, "prompt_file"), get("prompt_file")),
        workflow=get("workflow"),
        steps=tuple(build_steps(fields, given, defaults, path)) if "steps" in given else (),
        role=get("role"),
        agent=get("agent"),
        default_agent=defaults.agent,
        model=get("model"),
        context=_context(fields, (*path, "context"), get("context")),
        shell=build_shell(get("shell"), defaults.shell),
        arguments=fields.deep((*path, "with"), given["with"]) if "with" in given else {},
        env=fields.texts((*path, "env"), given["env"]) if "env" in given else {},
        cwd=_cwd(fields, (*path, "cwd"), get("cwd")),
        matrix=None if matrix is None else _axes(fields, (*path, "matrix"), matrix),
        include=() if matrix is None else _combinations(fields, (*path, "matrix", "include"), matrix),
        exclude=() if matrix is None else _combinations(fields, (*path, "matrix", "exclude"), matrix),
        for_each=_values(fields, (*path, "for_each"), get("for_each")),
        max_parallel=whole(get("max_parallel")),
        on_failure=OnFailure(given["on_failure"]) if "on_failure" in given else None,
        timeout=build_timeout(fields, path, given, defaults.timeout),
        grace=fields.duration((*path, "grace"), get("grace"), defaults.grace),
        retry=build_retry(fields, (*path, "retry"), get("retry"), defaults.retry),
        outputs=_outputs(fields, path, given["outputs"]) if has_outputs else (),
        given=fields.texts((*path, "outputs"), get("outputs", {})) if is_group else {},
        artifacts=_artifacts(fields, path, given["artifacts"]) if "artifacts" in given else {},
        allow_failure=_allow_failure(fields, (*path, "allow_failure"), get("allow_failure", False)),
        idempotent=get("idempotent", True),
        priority=whole(get("priority")),
        estimate=fields.duration((*path, "estimate", "duration"), get("estimate", {}).get("duration"), None),
        later=_default_limits(given, defaults) | build_later(fields, path, given, NOT_RUN["step"]),
    )


def _kind(given: dict[str, Any]) -> Kind | None:
    if "run" in given:
        return Kind.SCRIPT if isinstance(given["run"], str) else Kind.COMMAND
    return next((kind for key, kind in _KINDS.items() if key in given), None)


def _default_limits(given: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    """The limits of `defaults` that hold for a step which asks or runs something itself."""
    if not _SELF_RUN.intersection(given):
        return {}
    limits = {"idle_timeout": defaults.idle_timeout, "total_timeout": defaults.total_timeout}
    return {key: seconds for key, seconds in limits.items() if seconds is not None}


def _prompt_file(fields: Fields, path: Path, given: str | None) -> str | None:
    if given is not None and given.startswith(("/", "~")):
        message = f"{quoted(given)} is not relative to the file it stands in"
        fields.fault("CF104", path, message, "write a relative path, such as `prompts/fix.md`")
        return None
    return given


def _context(fields: Fields, path: Path, given: str | list[str] | None) -> str | tuple[str, ...] | None:
    return given if given is None or isinstance(given, str) else _ids(fields, path, given)


def _ids(fields: Fields, path: Path, given: str | list[str] | None) -> tuple[str, ...]:
    """Ids as they were given, each once."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    seen: set[str] = set()
    for index, step_id in enumerate(given):
        if step_id in seen and index < _MOST_DOUBLED:
            message = f"{quoted(step_id)} stands twice in `{path[-1]}`"
            fields.fault("CF113", (*path, index), message, "remove one of them", severity=Severity.WARNING)
        seen.add(step_id)
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


def _outputs(fields: Fields, path: Path, given: dict[str, Any]) -> tuple[Output, ...]:
    return tuple(_output(fields, path, name, item) for name, item in given.items())


def _output(fields: Fields, path: Path, name: str, given: str | dict[str, Any]) -> Output:
    if isinstance(given, str):
        return Output(name, given)
    word = given.get("type", "string")
    has_default = "default" in given
    _refuse_expressions(fields, (*path, "outputs", name), given, ("from", "default"))
    if has_default:
        check_default(fields, (*path, "outputs", name, "default"), given["default"], {"type": word})
    origin = given.get("from", "output")
    if origin.startswith("file:"):
        file = origin.removeprefix("file:")
        inside_project(fields, (*path, "outputs", name, "from"), file, "dist/version.txt")
    origin = "json" if origin == "json:" else origin
    return Output(name, word, origin, has_default, given.get("default"), given.get("description", ""))


def _refuse_expressions(fields: Fields, path: Path, given: dict[str, Any], keys: tuple[str, ...]) -> None:
    """Tell expressions where none is read, so that nobody takes their text for a value."""
    for key in keys:
        for place in _expressions((*path, key), given.get(key)):
            fields.fault("CF110", place, f"expressions are not read in `{key}`", "write the value itself")


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


def check_default(fields: Fields, path: Path, value: Any, wanted: dict[str, Any]) -> None:
    """Tell a default that is not of its declared type."""
    why = fits(value, wanted)
    if why is not None:
        fields.fault("CF104", path, f"the default of {quoted(str(path[-2]))} {why}", None)


def whole(value: float | None) -> int | None:
    """A whole number, that may have been written as `2.0`."""
    return None if value is None else int(value)
