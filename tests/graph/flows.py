"""From the text of a workflow to what is said about it, and to its plan."""

from dataclasses import replace
from textwrap import dedent

from crewflow.errors import SpecError
from crewflow.graph.compile import check_workflow, compile_workflow
from crewflow.spec.build import build_workflow, empty_project, prune
from crewflow.spec.inputs import resolve_inputs
from crewflow.spec.model import Defaults
from crewflow.spec.schema import check
from crewflow.spec.source import read_documents


def read(text):
    """The workflow of a text, whose faults the graph does not know of are not told."""
    whole = text if "kind:" in text else f"kind: workflow\nname: demo\n{dedent(text)}"
    (document,), _ = read_documents("f.yaml", whole.encode())
    data = prune(document.data, [path for fault in check(document, "workflow") for path in fault.prune])
    return build_workflow(document, data, Defaults())[0]


def project_of(workflow, **env):
    return replace(empty_project("/home/me/shop"), workflows={workflow.name: workflow}, env=env)


def problems_of(text, **env):
    """What `check_workflow` finds; a text without `kind` gets two lines before it."""
    workflow = read(text)
    return check_workflow(project_of(workflow, **env), workflow)


def said(text, **env):
    """`line:column rule message` of everything, lines counted within `text`."""
    return [f"{p.place.line - 2}:{p.place.column} {p.rule} {p.message}" for p in problems_of(text, **env)]


def under(text, **env):
    """What is underlined by each problem."""
    found = problems_of(text, **env)
    return [p.source_line[p.place.column - 1 : p.place.column - 1 + p.place.width] for p in found]


def hints(text, **env):
    return [problem.hint for problem in problems_of(text, **env)]


def plan(text, *given, env=None):
    """The plan of a text with inputs given as on the command line: `"goal=fix"`."""
    workflow = read(text)
    inputs = resolve_inputs(workflow, [tuple(one.split("=", 1)) for one in given])
    return compile_workflow(project_of(workflow, **(env or {})), workflow, inputs)


def only_task(text, *given, env=None):
    (task,) = plan(text, *given, env=env).tasks
    return task


def refused(text, *given):
    """`line:column rule message` of everything that keeps a text with inputs from being compiled."""
    try:
        made = plan(text, *given)
    except SpecError as error:
        return [f"{p.place.line - 2}:{p.place.column} {p.rule} {p.message}" for p in error.problems]
    raise AssertionError(f"compiled: {[task.id for task in made.tasks]}")
