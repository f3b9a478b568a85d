"""What an agent is asked: the text of a prompt step, or of its file."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Final

from crewflow.spec.expression import ExpressionFault
from crewflow.spec.template import parse_text

if TYPE_CHECKING:
    from crewflow.graph.findings import Findings
    from crewflow.spec.model import Project, Step, Workflow
    from crewflow.spec.template import Text

_LARGEST: Final = 1_000_000  # bytes


def find_prompt(project: Project, workflow: Workflow, step: Step, findings: Findings) -> Text:
    """The prompt of a step: its text, or that of its file. Faults of the file are told."""
    if step.prompt_file is None:
        return step.prompt or ""
    file = FilePath(project.root, workflow.source.file).parent / step.prompt_file
    path = (*step.path, "prompt_file")
    if findings.is_told(path):  # it may lie where it must not be read
        return ""
    try:
        data = file.read_bytes()
        text = data.decode("utf-8-sig") if len(data) <= _LARGEST else None
    except (OSError, UnicodeDecodeError) as error:
        why = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else "cannot be read"
        findings.tell("CF220", path, f"`{step.prompt_file}` {why}", "its path is relative to this file")
        return ""
    if text is None:
        findings.tell("CF220", path, f"`{step.prompt_file}` is larger than 1 MB", None)
        return ""
    return _parsed(text.replace("\r\n", "\n"), path, step.prompt_file, findings)


def _parsed(text: str, path: tuple[str | int, ...], file: str, findings: Findings) -> Text:
    try:
        return parse_text(text)
    except ExpressionFault as fault:
        line = text.count("\n", 0, fault.offset) + 1
        findings.tell("CF220", path, f"`{file}`, line {line}: {fault.message}", fault.hint)
        return ""
