"""`crewflow init`: a project that runs at once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from crewflow.durable import create_file
from crewflow.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from crewflow.report.console import Console

_PROJECT = """\
kind: project
name: {name}
default_workflow: hello
"""

_WORKFLOW = """\
kind: workflow
name: hello
inputs:
  who: {type: string, default: world}
steps:
  greet:
    run: echo "hello, ${{ inputs.who }}"
    outputs: {greeting: {type: string, from: stdout}}
  count:
    needs: greet
    run: [expr, length, "${{ steps.greet.outputs.greeting }}"]
"""


def run(console: Console, folder: str, *, target: str) -> int:
    """Write a project file and a workflow; nothing that exists is touched."""
    root = os.path.realpath(os.path.join(folder, target))
    files = {
        "crewflow.yaml": _PROJECT.format(name=_id_of(os.path.basename(root))),
        "workflows/hello.yaml": _WORKFLOW,
    }
    there = [name for name in files if os.path.lexists(os.path.join(root, name))]
    if there:
        raise UsageError(f"`{there[0]}` exists already", hint="nothing was written; choose an empty folder")
    os.makedirs(os.path.join(root, "workflows"), exist_ok=True)
    for name, text in files.items():
        create_file(os.path.join(root, name), text.encode())
        console.talk(f"wrote {os.path.normpath(os.path.join(target, name))}")
    where = "" if target == "." else f"-C {target} "
    console.talk(f"hint: `crewflow {where}plan` shows what would run, `crewflow {where}apply` runs it")
    return int(ExitCode.DONE)


def _id_of(name: str) -> str:
    """An id made of a folder's name."""
    kept = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "-" for letter in name
    )
    return (kept if kept[:1].isalpha() else f"p-{kept}")[:64]
