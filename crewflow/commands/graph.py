"""`crewflow graph`: the DAG of a workflow as a picture or as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow.commands.project import choose, compile_chosen
from crewflow.errors import ExitCode
from crewflow.report.graph import graph_ascii, graph_document, graph_mermaid

if TYPE_CHECKING:
    from crewflow.commands.project import Inputs
    from crewflow.report.console import Console


def run(console: Console, folder: str, *, workflow: str | None, inputs: Inputs, output: str) -> int:
    """Print the graph of a workflow."""
    plan = compile_chosen(choose(folder, workflow), inputs)
    if console.as_json or output == "json":
        console.document(graph_document(plan))
    else:
        console.data({"ascii": graph_ascii, "mermaid": graph_mermaid}[output](plan))
    return int(ExitCode.DONE)
