"""The compiled workflow as plain data: what a run executes, and nothing that only an author needs.

A `Plan` is made by `graph.compile` and never changed. It has no positions and no names that could be
unresolved, and a JSON form (`to_json`, `from_json`) that is the same on every machine; the fingerprint
is the hash of that form.

Edges are kept between steps, not between tasks: a step that needs a fan-out of 10,000 legs has one
edge, and the machine counts legs. `needs` and `after` of a task are those of its step.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from crewflow.spec.model import Backoff, Kind, OnFailure, Output, Retry
from crewflow.spec.template import from_plain, to_plain

if TYPE_CHECKING:
    from crewflow.spec.template import Text

PLAN_FORMAT = 1
"""Raised when the meaning of a plan file changes; a plan of another format is refused by name."""


class Condition(StrEnum):
    """How a task's `if` takes part in deciding whether it runs."""

    SUCCESS = "success"  # no `if`: runs when every need succeeded
    GUARDED = "guarded"  # an `if` without a status function: asked only when every need succeeded
    STATUS = "status"  # an `if` with a status function: asked whatever became of the needs


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step with its edges.

    Attributes:
        tasks: ids of its tasks in order; one without a fan-out, possibly none with one.
        needs: steps that must have succeeded; `after`: steps that must have ended.
        final: it starts when everything outside `finally` has ended.
        max_parallel: how many of its tasks may run at once; None for no limit of its own.
        on_failure: what a failed leg does to the other legs of a fan-out; None: the run's policy.
    """

    id: str
    tasks: tuple[str, ...]
    needs: tuple[str, ...]
    after: tuple[str, ...]
    final: bool
    fan_out: bool
    max_parallel: int | None


@dataclass(frozen=True, slots=True)
class Task:
    """One unit to run.

    Attributes:
        id: the step's id, with the leg in brackets for a fan-out: `test[3.11]`.
        action: a script (text), the words of a command (each text or a list to be spliced in), or
            `module:function`.
        script_env: the variables that carry the values of expressions into a script.
        condition: how `condition_text` takes part; the text is None when there is no `if`.
        context: what `matrix`, `item` and `item_index` mean in this task.
        timeout, grace: seconds, or text that yields a duration; timeout None means no limit.
        allow_failure: whether, or for which failure classes, a failure counts as success.
        keeps_stdout: something reads this step's `result` or an output from its stdout.
        weight: length of the longest path from this task to the end, its own estimate included.
    """

    id: str
    step: str
    kind: Kind
    action: str | tuple[Text, ...]
    script_env: dict[str, Text]
    shell: tuple[str, ...]
    arguments: Any
    env: dict[str, Text]
    cwd: Text
    condition: Condition
    condition_text: str | None
    context: dict[str, Any]
    timeout: float | Text | None
    grace: float | Text
    retry: Retry
    outputs: tuple[Output, ...]
    artifacts: dict[str, tuple[Text, ...]]
    allow_failure: bool | tuple[str, ...] | Text
    idempotent: bool
    keeps_stdout: bool
    weight: float
