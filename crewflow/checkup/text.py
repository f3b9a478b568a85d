"""How paths and lines of unknown origin are shown: on one line, printable, short, without secrets."""

from __future__ import annotations

import re

from crewflow.checkup import secrets

PATH_LENGTH = 200
LINE_LENGTH = 120

_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def shown(path: bytes) -> str:
    """A path as text: plain where it can be, else in double quotes with escapes, as git does it."""
    decoded = path.decode("utf-8", "surrogateescape")
    if decoded.isprintable() and '"' not in decoded:
        return cut(secrets.mask(decoded), PATH_LENGTH)
    return cut(f'"{secrets.mask("".join(map(_escaped, decoded)))}"', PATH_LENGTH)


def unquoted(quoted: str) -> bytes:
    """The path that git printed in double quotes with escapes, or plainly."""
    if not quoted.startswith('"'):
        return quoted.encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(_unescaped, quoted[1:-1].encode("utf-8", "surrogateescape"))


def line(content: str) -> str:
    """A line of a file as text: stripped, masked, what cannot be printed replaced, cut to a width."""
    printable = "".join(char if char.isprintable() else " " for char in content)
    return cut(secrets.mask(printable.strip()), LINE_LENGTH)


def cut(content: str, length: int) -> str:
    """The text, or its beginning and an ellipsis where it is longer than `length`."""
    return content if len(content) <= length else content[: length - 1] + "…"


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8)]) if code.isdigit() else _LETTERS.get(code, code)


def _escaped(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    if char.isprintable():
        return char
    raw = char.encode("utf-8", "surrogateescape")
    return "".join(f"\\{byte:03o}" for byte in raw)
