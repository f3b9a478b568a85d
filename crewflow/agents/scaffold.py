"""The agent `scaffold`: renders the prompt to a file and asks nobody, so that a workflow is tried for free.

It runs in a worker, as a function. What it gives has the declared types and says where it comes from.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

SCAFFOLD: Final = "crewflow.agents.scaffold:answer"
"""The function, as a `python` step would name it."""


def answer(prompt: str, file: str, outputs: dict[str, str], task: str) -> str:
    """Write the prompt, and what would be answered; nothing else.

    Args:
        prompt: all that an agent would be given.
        file: where it is written; the folder exists.
        outputs: name -> type word of what is to be given.
        task: whose prompt it is.

    Raises:
        OSError: the file cannot be written.
    """
    Path(file).write_text(prompt, encoding="utf-8")
    if outputs:
        given = {name: _stand_in(word, name, task) for name, word in outputs.items()}
        Path(os.environ["CREWFLOW_OUTPUT"]).write_text(json.dumps(given), encoding="utf-8")
    return f"[scaffold] the prompt of `{task}` is in {file}"


def _stand_in(word: str, name: str, task: str) -> Any:
    """A value of a type; a list has one item, so that what fans out over it is rendered too."""
    text = f"[scaffold: {name} of {task}]"
    values: dict[str, Any] = {
        "integer": 0,
        "number": 0,
        "boolean": False,
        "array": [text],
        "object": {},
    }
    return values.get(word, text)
