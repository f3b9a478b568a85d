"""What every rule means: `docs/rules.md`, read as data.

    catalogue()["CF201"].title

The page is the one place where rules are described. A section of it is

    ### CF201: a title

    What it is about.

    **Why.** Why that is refused, or warned about.

    **Example**            blocks that have exactly this fault
    **Instead**            blocks that have none

A block that begins with `# path/of/file.yaml` is that file, without this line; one without is
`workflows/example.yaml`. A block of `sh` is run in the project, to make what YAML on a page cannot show.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path as FilePath
from typing import Final

FILE: Final = "workflows/example.yaml"
"""The file that a block without a name is."""

_PACKAGE = FilePath(__file__).resolve().parents[1]
_PAGES = (_PACKAGE / "_data" / "docs" / "rules.md", _PACKAGE.parent / "docs" / "rules.md")

_HEADING = re.compile(r"^(?:## (?P<family>CF\dxx: .+)|### (?P<rule>CF\d{3}): (?P<title>.+))\n", re.MULTILINE)
_BODY = re.compile(
    r"(?P<what>.+?)\n\n\*\*Why\.\*\* (?P<why>.+?)\n\n\*\*Example\*\*\n(?P<example>.+?)"
    r"\n\*\*Instead\*\*\n(?P<fix>.+)",
    re.DOTALL,
)
_BLOCK = re.compile(
    r"^```(?P<language>yaml|sh)\n(?:# (?P<file>\S+\.ya?ml)\n)?(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One file of an example; `file` is None for commands of a shell that make files."""

    file: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One section of the page.

    Attributes:
        family: the heading above it, such as `CF2xx: names and references`.
        what, why: text of one line each, with backticks.
        example: has exactly this fault; `fix`: has none.
        markdown: the section as it is written, without its heading.
    """

    id: str
    title: str
    family: str
    what: str
    why: str
    example: tuple[Sample, ...]
    fix: tuple[Sample, ...]
    markdown: str


@cache
def catalogue() -> dict[str, Rule]:
    """Every rule by its id, in order of the page."""
    page = next(page for page in _PAGES if page.is_file())
    return {rule.id: rule for rule in parse(page.read_text(encoding="utf-8"))}


def parse(text: str) -> tuple[Rule, ...]:
    """The rules of a page.

    Raises:
        ValueError: a section lacks a part.
    """
    family = ""
    rules = []
    headings = list(_HEADING.finditer(text))
    for index, heading in enumerate(headings):
        end = headings[index + 1].start() if index + 1 < len(headings) else len(text)
        family = heading["family"] or family
        if heading["rule"]:
            rules.append(_rule(heading["rule"], heading["title"], family, text[heading.end() : end].strip()))
    return tuple(rules)


def _rule(rule: str, title: str, family: str, body: str) -> Rule:
    parts = _BODY.fullmatch(body)
    if parts is None:
        raise ValueError(f"the section of {rule} lacks a part")
    return Rule(
        id=rule,
        title=title,
        family=family,
        what=_one_line(parts["what"]),
        why=_one_line(parts["why"]),
        example=_samples(rule, parts["example"]),
        fix=_samples(rule, parts["fix"]),
        markdown=body,
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _samples(rule: str, text: str) -> tuple[Sample, ...]:
    if not (blocks := list(_BLOCK.finditer(text))):
        raise ValueError(f"the section of {rule} lacks a block")
    return tuple(
        Sample(None if block["language"] == "sh" else block["file"] or FILE, block["text"])
        for block in blocks
    )
