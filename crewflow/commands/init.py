"""`crewflow init`: a project that runs at once."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

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
  repeat:
    needs: greet
    run: [echo, "it said:", "${{ steps.greet.outputs.greeting }}"]
"""


def run(console: Console, folder: str, *, target: str) -> int:
    """Write a project file and a workflow; nothing that exists is touched."""
    root = os.path.realpath(os.path.join(folder, target))
    files = {
        "crewflow.yaml": _PROJECT.format(name=_id_of(os.path.basename(root))),
        "workflows/hello.yaml": _WORKFLOW,
    }
    there = [name for name in (*files, "crewflow.yml") if os.path.lexists(os.path.join(root, name))]
    if there:
        raise UsageError(f"`{there[0]}` exists already", hint="nothing was written; choose another folder")
    os.makedirs(os.path.join(root, "workflows"), exist_ok=True)
    for name, text in files.items():
        # the user's own files, with the user's own umask; never over one that came meanwhile
        with open(os.path.join(root, name), "x", encoding="utf-8") as file:
            file.write(text)
    if console.as_json:
        console.document({"project": root, "files": list(files)})
    else:
        _say(console, target, list(files))
    return int(ExitCode.DONE)


def _say(console: Console, target: str, files: list[str]) -> None:
    for name in files:
        console.talk(f"wrote {os.path.normpath(os.path.join(target, name))}")
    where = "" if target == "." else f"-C {shlex.quote(target)} "
    console.talk(f"hint: `crewflow {where}plan` shows what would run, `crewflow {where}apply` runs it")


def _id_of(name: str) -> str:
    """An id made of a folder's name."""
    kept = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "-" for letter in name
    )
    return (kept if kept[:1].isalpha() else f"p-{kept}")[:64]
