"""`crewflow graph`: the DAG of a workflow, or of a run with its states, as a picture or as data."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from crewflow.commands.project import choose, choose_run, compile_chosen
from crewflow.errors import ExitCode, UsageError
from crewflow.report.graph import graph_ascii, graph_document, graph_mermaid
from crewflow.report.picture import plan_as_run, states_of
from crewflow.state.runs import LATEST

if TYPE_CHECKING:
    from collections.abc import Callable

    from crewflow.commands.project import Inputs
    from crewflow.graph.plan import Plan
    from crewflow.report.console import Console
    from crewflow.report.picture import States

_LIKE_A_RUN: Final = re.compile(r"\d{8}-\d+(-[a-z0-9]*)?")


def run(console: Console, folder: str, *, workflow: str | None, inputs: Inputs, output: str) -> int:
    """Print a graph. Raises SpecError, UsageError, StateError."""
    if workflow is not None and (workflow == LATEST or _LIKE_A_RUN.fullmatch(workflow)):
        plan, states = _of_run(folder, workflow, inputs)
    else:
        plan, states = compile_chosen(choose(folder, workflow), inputs), None
    if console.as_json or output == "json":
        console.document(graph_document(plan, states))
    else:
        console.data(_drawer(output)(plan, states))
    return int(ExitCode.DONE)


def _of_run(folder: str, reference: str, inputs: Inputs) -> tuple[Plan, dict[str, str]]:
    from crewflow.state.replay import tell_story  # noqa: PLC0415  (only where a run is asked for)

    if inputs:
        raise UsageError(f"`{reference}` is a run, which has its inputs", hint="leave out `-i`")
    machine = tell_story(choose_run(folder, reference)).machine
    return plan_as_run(machine), states_of(machine)


def _drawer(output: str) -> Callable[[Plan, States], str]:
    """What draws in a format; what lays out pictures is loaded only where one is wanted."""
    if output == "svg":
        from crewflow.report.graph_svg import graph_svg  # noqa: PLC0415  (as above)

        return graph_svg
    if output == "dot":
        from crewflow.report.graph_dot import graph_dot  # noqa: PLC0415  (as above)

        return graph_dot
    return graph_mermaid if output == "mermaid" else graph_ascii
