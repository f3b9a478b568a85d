"""The whole text that an agent is given: who it is, what is asked, what was found before, what to answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crewflow.spec.model import Output

LONGEST_RESULT: Final = 20_000
"""Characters of one result; a longer one is cut in its middle."""


def build_prompt(
    text: str, agent: dict[str, Any], results: dict[str, tuple[Any, Any]], outputs: Sequence[Output]
) -> str:
    """The prompt as Markdown.

    Args:
        text: what is asked, rendered.
        agent: who is asked, as the plan has it: `role`, `instructions`, `skills`.
        results: what other steps gave, by step: (result, outputs), each None where there is none.
        outputs: what the answer must hold.
    """
    sections = [
        *_instructions(agent),
        f"# Task\n\n{text.strip()}",
        *(_result(name, result, given) for name, (result, given) in results.items() if result or given),
        *_contract(outputs),
    ]
    return "\n\n".join(sections) + "\n"


def _instructions(agent: dict[str, Any]) -> Iterator[str]:
    if agent.get("instructions"):
        yield f"# Your role: {agent.get('role', '')}\n\n{agent['instructions'].strip()}"
    for name, text in agent.get("skills", {}).items():
        yield f"# Skill: {name}\n\n{text.strip()}"


def _result(name: str, result: Any, given: Any) -> str:
    texts = [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        for value in (result, given)
        if value
    ]
    blocks = "\n\n".join(_fenced(_cut(text.strip())) for text in texts)
    return f"# Result of step `{name}`\n\n{blocks}"


def _fenced(text: str) -> str:
    """A text that cannot end its own fence."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def _cut(text: str) -> str:
    if len(text) <= LONGEST_RESULT:
        return text
    half = LONGEST_RESULT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"


def _contract(outputs: Sequence[Output]) -> Iterator[str]:
    asked = [output for output in outputs if output.origin == "output"]
    if asked:
        names = "\n".join(
            f"- `{output.name}`: {output.type}" + (f" ({output.description})" if output.description else "")
            for output in asked
        )
        yield f"# Answer\n\nEnd your answer with one JSON object that holds:\n\n{names}"
