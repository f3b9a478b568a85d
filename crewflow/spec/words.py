"""The words of other tools and of later versions, as tables: what to answer when one of them is met.

A *level* is the title of a closed object in the schemas: `workflow`, `step`, `project`, `defaults`,
`retry`, `input`, `value`, `output`, `paths`.
"""

from __future__ import annotations

from typing import Any

from crewflow.spec.find import PROJECT_FILES
from crewflow.spec.scalars import spelling

KINDS = ("workflow", "project", "team", "agent", "schedule")
"""What a document can be."""

PERMISSIVE_BOOLEANS = {
    "yes": "true", "y": "true", "on": "true", "no": "false", "n": "false", "off": "false",
}  # fmt: skip
"""Words that other versions of YAML take for a boolean -> ours."""

NOT_RUN: dict[str, frozenset[str]] = {
    "project": frozenset({"pools", "durability", "budget", "hooks", "redact"}),
    "workflow": frozenset(
        {
            "env_file", "secrets", "total_timeout", "on_conflict", "approval", "concurrency", "budget",
            "auto_resume", "pins",
        }
    ),
    "step": frozenset(
        {
            "approval", "max_turns", "session", "secrets", "idle_timeout", "total_timeout", "fresh", "log",
            "reads", "writes", "on_violation", "confine", "reuse", "pools", "isolate",
            "on_merge_conflict", "expect", "expand", "budget",
        }
    ),
}  # fmt: skip
"""Keys that `validate` and `plan` read and that `apply` refuses by name in this version, by level."""

HELD_BY_SCAFFOLD = frozenset(
    {
        "reads", "writes", "on_violation", "confine", "isolate", "on_merge_conflict", "expect", "budget",
        "max_turns", "session", "expand", "idle_timeout", "total_timeout",
    }
)  # fmt: skip
"""Those of a step that bind nobody where the agent is `scaffold`, which asks nobody and changes nothing."""

FAILURE_CLASSES = (
    "exit", "signal", "start", "timeout", "idle", "lost", "bad_output", "expect_failed",
    "scope_violation", "merge_conflict", "transient", "rate_limit", "quota", "auth", "budget",
    "turn_cap", "refused", "denied", "no_work", "crash",
)  # fmt: skip

TYPE_NAMES = {
    "str": "string", "text": "string", "int": "integer", "bool": "boolean", "float": "number",
    "list": "array", "tuple": "array", "dict": "object", "map": "object", "mapping": "object",
}  # fmt: skip
"""Words of programming languages for types -> ours."""

SAYS_WHAT_RUNS = frozenset({"run", "python", "prompt", "prompt_file", "workflow", "steps", "approval"})
"""Keys that say what a step does, in this version or a later one."""

_RETRY = "write `retry: {max_attempts: 3}`; the first attempt counts too"
_TIMEOUT = "write `timeout: 10m`"
_UNITS = {
    "timeout-minutes": "m",
    "timeout_minutes": "m",
    "timeout_seconds": "s",
    "activeDeadlineSeconds": "s",
}
_SCHEDULE = "there are no triggers in a workflow; start it with `crewflow apply`"
_HERE = "steps run on this machine, with the programs that are on it"

_FOREIGN: dict[str, dict[str, str]] = {
    "workflow": {
        "on": _SCHEDULE, "triggers": _SCHEDULE, "trigger": _SCHEDULE, "schedule": _SCHEDULE,
        "cron": _SCHEDULE,
        "jobs": "steps", "tasks": "steps", "stages": "steps", "nodes": "steps", "pipeline": "steps",
        "dag": "steps",
        "params": "inputs", "parameters": "inputs", "arguments": "inputs", "args": "inputs",
        "variables": "env", "vars": "env", "environment": "env",
        "title": "name", "run-name": "name", "id": "name", "desc": "description",
        "fail-fast": "on_failure", "fail_fast": "on_failure", "failFast": "on_failure",
        "parallelism": "max_parallel", "max-parallel": "max_parallel", "max_workers": "max_parallel",
        "onExit": "finally", "on_exit": "finally", "cleanup": "finally", "post": "finally",
        "ensure": "finally",
        "permissions": "steps run with the rights of the user who starts the run",
        "runs-on": _HERE, "image": _HERE, "timeout-minutes": "write `defaults: {timeout: 10m}`",
    },
    "step": {
        "id": "the key of the step is its id: `steps: {build: ...}`",
        "uses": "there are no actions to use; call the program with `run`",
        "runs-on": _HERE, "image": _HERE, "container": _HERE, "services": _HERE,
        "depends": "needs", "depends_on": "needs", "depends-on": "needs", "dependsOn": "needs",
        "dependencies": "needs", "deps": "needs", "requires": "needs", "upstream": "needs",
        "command": "run", "commands": "run", "cmd": "run", "cmds": "run", "script": "run", "exec": "run",
        "argv": "write `run: [program, argument]`", "args": "write `run: [program, argument]`",
        "entrypoint": "write `run: [program, argument]`",
        "function": "python", "callable": "python", "python_callable": "python", "call": "python",
        "kwargs": "with", "params": "with", "parameters": "with", "arguments": "with",
        "working-directory": "cwd", "working_directory": "cwd", "workingDir": "cwd", "workdir": "cwd",
        "dir": "cwd",
        "when": "if", "condition": "if", "only": "if", "only_if": "if", "rules": "if",
        "continue-on-error": "allow_failure", "continue_on_error": "allow_failure",
        "continueOn": "allow_failure", "ignore_errors": "allow_failure", "ignore_error": "allow_failure",
        "timeout-minutes": _TIMEOUT, "timeout_minutes": _TIMEOUT, "timeout_seconds": _TIMEOUT,
        "activeDeadlineSeconds": _TIMEOUT, "execution_timeout": _TIMEOUT,
        "retries": _RETRY, "max_retries": _RETRY, "retryStrategy": _RETRY, "attempts": _RETRY,
        "retry_delay": "write `retry: {max_attempts: 3, delay: 5s}`",
        "strategy": "write `matrix` and `max_parallel` in the step itself",
        "withItems": "for_each", "with_items": "for_each", "withParam": "for_each", "loop": "for_each",
        "foreach": "for_each", "for": "for_each", "items": "for_each",
        "parallelism": "max_parallel", "max-parallel": "max_parallel",
        "variables": "env", "vars": "env", "environment": "env",
        "title": "name", "label": "name", "display_name": "name", "desc": "description",
        "register": "outputs", "tasks": "steps", "member": "role", "trigger_rule": "if",
        "fail-fast": "write `on_failure` at the top of the workflow",
    },
    "retry": {
        "limit": "max_attempts", "attempts": "max_attempts", "max": "max_attempts", "count": "max_attempts",
        "retries": "max_attempts", "max_retries": "max_attempts", "interval": "delay", "wait": "delay",
        "factor": "backoff", "multiplier": "backoff", "on": "when", "exclude": "unless",
        "initial_interval": "delay", "max_interval": "max_delay",
    },
    "input": {
        "choices": "enum", "options": "enum", "values": "enum", "min": "minimum", "max": "maximum",
        "optional": "required", "value": "default", "desc": "description", "regex": "pattern",
    },
    "output": {
        "path": "write `from: file:PATH`", "value": "from", "valueFrom": "from", "source": "from",
        "desc": "description",
    },
    "team": {
        "members": "roles", "agents": "roles", "crew": "roles", "title": "name", "id": "name",
        "desc": "description", "max_workers": "max_parallel", "concurrency": "max_parallel",
        "timeout": "write `defaults: {timeout: 30m}`",
    },
    "role": {
        "system": "instructions", "prompt": "instructions", "system_prompt": "instructions",
        "backstory": "instructions", "goal": "description", "llm": "model", "mode": "access",
        "permissions": "access", "permission_mode": "access", "fallbacks": "fallback",
        "maxTurns": "max_turns", "max_iter": "max_turns", "environment": "env", "desc": "description",
    },
    "agent": {
        "command": 'write `bin: PROGRAM` and `argv: ["{bin}", ...]`', "args": "argv", "cmd": "argv",
        "binary": "bin", "program": "bin", "modes": "access", "env_modes": "env_access",
        "grace_s": "write `grace: 10s`", "mem_mb": "write `memory: 200MB`", "environment": "env",
    },
    "schedule": {
        "schedule": "cron", "interval": "every", "run_at": "at", "tz": "timezone", "time_zone": "timezone",
        "timeZone": "timezone", "catchup": "catch_up", "concurrencyPolicy": "overlap",
        "concurrency_policy": "overlap", "start_date": "start", "end_date": "end", "with": "inputs",
        "params": "inputs", "parameters": "inputs", "misfire_grace_time": "catch_up_window",
        "startingDeadlineSeconds": "write `catch_up_window: 1h`", "suspend": "write `enabled: false`",
        "paused": "write `enabled: false`", "job": "workflow",
    },
    "project": {
        "workflow": "default_workflow", "default": "default_workflow", "title": "name",
        "variables": "env", "vars": "env", "environment": "env",
        "workflows": "write `paths: {workflows: [...]}`",
        "timeout": "write `defaults: {timeout: 30m}`",
    },
}  # fmt: skip


_KIND_OF_FOLDER = {"teams": "team", "agents": "agent", "schedules": "schedule"}


def beginning(file: str) -> str:
    """How the document of a file of this name begins, as a hint: the folder says what is meant."""
    folder = file.rpartition("/")[0].rpartition("/")[2]
    kind = "project" if file in PROJECT_FILES else _KIND_OF_FOLDER.get(folder, "workflow")
    return f"begin with `kind: {kind}`"


def foreign(level: str, key: str, value: Any = None) -> str | None:
    """What to write instead of a key of another tool; None for a key that is known from nowhere.

    A time that was given as a number is said with its unit.
    """
    answer = _FOREIGN.get(level, {}).get(key)
    if answer and key in _UNITS and isinstance(value, int | float) and not isinstance(value, bool):
        answer = answer.replace("10m", f"{spelling(value)}{_UNITS[key]}")
    return answer if answer is None or " " in answer else f"write `{answer}`"


def our_word(level: str, key: str) -> str | None:
    """The one key that a key of another tool means, if there is one."""
    answer = _FOREIGN.get(level, {}).get(key)
    if answer is not None and answer.startswith("write `run:"):
        return "run"
    return answer if answer is not None and " " not in answer else None


def not_available(what: str) -> str:
    """The sentence that refuses a key, a kind or a command by name."""
    return f"{what} is not available in this version"


def quoted(text: str) -> str:
    """Text of the user's in backticks, on one line, without control characters, not longer than 60."""
    short = text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004  # said in the docstring
    return "`" + "".join(c if c.isprintable() else _escape(c) for c in short) + "`"


def in_one_line(text: str) -> str:
    """Text without control characters, which a name in it may have brought."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def kind_of_value(value: Any) -> str:
    """What a value is, for the end of "must be a number, not ..."."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    return quoted(spelling(value)) if isinstance(value, bool) else f"the number {quoted(spelling(value))}"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
