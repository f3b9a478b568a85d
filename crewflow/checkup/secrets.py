"""Secrets of known shape: how they are found, and how they are masked wherever a line is shown.

Only shapes that their issuers made recognisable are looked for, so that a finding is worth reading.
Passwords without a shape are not found. Documentation likes to show made-up ones: a body with
few different characters, or with the word `example` in it, is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crewflow.checkup import lines

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Shape:
    """What secrets of one kind look like; without one of the `signs` a text has none."""

    name: str
    signs: tuple[str, ...]
    pattern: str


# The body of a private key must follow: a program that handles keys names the header, and is no secret.
SHAPES = (
    Shape("AWS access key id", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b"),
    Shape("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
    Shape("GitHub token", ("github_pat_",), r"\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b"),
    Shape("GitLab token", ("glpat-",), r"\bglpat-[A-Za-z0-9_-]{20,}"),
    Shape("Slack token", ("xox",), r"\bxox[abeoprs]-[0-9]{10,13}-[A-Za-z0-9-]{10,200}"),
    Shape(
        "Slack webhook",
        ("hooks.slack.com",),
        r"\bhooks\.slack\.com/services/T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{24}\b",
    ),
    Shape("Google API key", ("AIza",), r"\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    Shape("Stripe key", ("_live_",), r"\b[rs]k_live_[A-Za-z0-9]{24,200}\b"),
    Shape(
        "OpenAI key",
        ("T3BlbkFJ",),
        r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{20,100}T3BlbkFJ[A-Za-z0-9_-]{20,100}",
    ),
    Shape("Anthropic key", ("sk-ant-",), r"\bsk-ant-[a-z]{3,8}[0-9]{2}-[A-Za-z0-9_-]{80,120}"),
    Shape("npm token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    Shape("PyPI token", ("pypi-AgEI",), r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,250}"),
    Shape("SendGrid key", ("SG.",), r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),
    Shape(
        "private key",
        ("PRIVATE KEY",),
        r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:\s|\\r|\\n|[A-Za-z][A-Za-z-]{2,20}: [^\n]{1,100}\n){1,80}[A-Za-z0-9+/]{40,}",
    ),
)

KEPT = 4
"""How many characters of a secret are shown: those that say whose it is."""

FEWEST_CHARACTERS = 8
"""A body with fewer different characters was typed, not drawn."""

_COMPILED = tuple(
    (shape, tuple(sign.encode() for sign in shape.signs), re.compile(shape.pattern.encode()))
    for shape in SHAPES
)
_ANY = re.compile("|".join(shape.pattern for shape in SHAPES))


def find(_path: bytes, content: bytes) -> Iterator[tuple[int, str]]:
    """Line number and description of each secret in a file."""
    hits = sorted(_hits(content), key=lambda hit: hit[1].start())
    names = [name for name, _ in hits]
    numbered = lines.number(content, [match for _, match in hits])
    for name, (number, match) in zip(names, numbered, strict=True):
        yield number, f"{name} {_masked(match[0].decode('ascii', 'replace'))}"


def mask(content: str) -> str:
    """The text with all but the head of each secret replaced by stars."""
    return _ANY.sub(lambda match: _masked(match[0]), content)


def _hits(content: bytes) -> Iterator[tuple[str, re.Match[bytes]]]:
    for shape, signs, pattern in _COMPILED:
        if any(sign in content for sign in signs):
            yield from ((shape.name, match) for match in pattern.finditer(content) if _is_drawn(match[0]))


def _masked(secret: str) -> str:
    return f"{secret[:KEPT]}**** ({len(secret)} characters)"


def _is_drawn(secret: bytes) -> bool:
    return len(set(secret[KEPT:])) >= FEWEST_CHARACTERS and b"example" not in secret.lower()
