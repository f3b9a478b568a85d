"""A YAML file -> its documents as plain data, and the place of every value in them.

`read_documents` is the only reader of YAML in crewflow. It collects what is wrong with the text
(rules CF0xx); what the values mean is checked by `spec.schema` and `spec.build`. Places are looked up
by walking the nodes along a path, only when a problem has to be shown.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from yaml.events import AliasEvent

from crewflow.errors import Note, Place, Problem, Severity
from crewflow.spec.lines import Lines, decode
from crewflow.spec.nodes import Alias, Composed, Mapping, Node, Scalar, Sequence, compose, target
from crewflow.spec.scalars import plain
from crewflow.spec.syntax import missing_space
from crewflow.spec.words import beginning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crewflow.spec.model import Path

_KIND_WORDS = {list: "a list", str: "text", bool: "true or false", type(None): "nothing"}


class Document:
    """One document of a file: its data, and where each value of it is written.

    Attributes:
        file: the path as shown to the user.
        data: a mapping of plain values; shared parts (aliases) are the same object, so copy before changing.
    """

    __slots__ = ("_composed", "_lines", "data", "file")

    def __init__(self, lines: Lines, composed: Composed) -> None:
        self.file = lines.file
        self.data: dict[str, Any] = composed.root.data
        self._lines = lines
        self._composed = composed

    @property
    def plain_data(self) -> dict[str, Any]:
        """The data without the spelling of numbers."""
        copied: dict[str, Any] = plain(self.data) if self._composed.spelled else self.data
        return copied

    def place(self, path: Path) -> Place:
        """Where the value at `path` is written; the nearest enclosing value if it does not exist."""
        node, key = self._composed.root, None
        for name_node, child, _via in self._walk(path):
            node, key = target(child), name_node
        if key is not None and node.start == node.end:
            return self._span(key)  # a value that is not there: show the key
        return self._span(node)

    def key_place(self, path: Path) -> Place:
        """Where the key that ends `path` is written; the place of the value if it has none."""
        steps = list(self._walk(path))
        key = steps[-1][0] if len(steps) == len(path) and steps else None
        return self.place(path) if key is None else self._span(key)

    def within(self, path: Path, offset: int, length: int) -> Place:
        """Where `length` characters from `offset` into the text at `path` are written.

        Where that is not plain to see (escapes, folded text) it is the place of the whole text.
        """
        node = self._node(path)
        start = self._text_start(node, offset) if isinstance(node, Scalar) else None
        return self.place(path) if start is None else self._lines.place(start, start + length)

    def use_notes(self, path: Path) -> tuple[Note, ...]:
        """Where an alias or a merge brought the value at `path` to where it is used."""
        used = [via or child for _key, child, via in self._walk(path) if via or isinstance(child, Alias)]
        return tuple(Note(self._span(node), "used here") for node in used)

    def line_text(self, line: int) -> str | None:
        """The text of a line counted from 1, without its end; None beyond the last."""
        return self._lines.line_text(line)

    def problem(
        self,
        rule: str,
        place: Place,
        message: str,
        hint: str | None = None,
        *,
        notes: tuple[Note, ...] = (),
        severity: Severity = Severity.ERROR,
    ) -> Problem:
        """A problem of this document, with the line it is about."""
        return Problem(rule, place, message, hint, severity, notes, self.line_text(place.line))

    def _walk(self, path: Path) -> Iterator[tuple[Node | None, Node, Node | None]]:
        """(key node, value node, `<<` node) for each part of `path`, as far as it exists."""
        node: Node = self._composed.root
        for part in path:
            holder = target(node)
            step = _child(holder, part)
            if step is None:
                return
            node = step[1]
            yield step

    def _node(self, path: Path) -> Node:
        steps = list(self._walk(path))
        return target(steps[-1][1]) if steps else self._composed.root

    def _span(self, node: Node) -> Place:
        start = _skip_properties(self._lines.text, node)
        if isinstance(node, Mapping) and not node.event.flow_style and node.entries:
            return self._span(next(iter(node.entries.values()))[0])
        block = isinstance(node, Sequence) and not node.event.flow_style
        return self._lines.place(start, start + 1 if block else node.end)

    def _text_start(self, node: Scalar, offset: int) -> int | None:
        start = _skip_properties(self._lines.text, node)
        value = node.event.value
        if node.event.style == "|":
            return self._block_start(start, value, offset)
        start += 1 if node.event.style in {"'", '"'} else 0
        return start + offset if self._lines.text.startswith(value, start) else None

    def _block_start(self, start: int, value: str, offset: int) -> int | None:
        """The index of a character of a literal block, whose lines stand indented below the `|`."""
        before = value[:offset].split("\n")
        number = self._lines.place(start, start).line + len(before)
        written, wanted = self._lines.line_text(number) or "", value.split("\n")[len(before) - 1]
        if not written.endswith(wanted):
            return None
        return self._lines.line_start(number) + len(written) - len(wanted) + len(before[-1])


def read_documents(file: str, data: bytes) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """The documents of a file, and what is wrong with its text.

    Args:
        file: the path to show to the user.
        data: the content of the file.
    """
    lines = decode(file, data)
    if isinstance(lines, Problem):
        return (), (lines,)
    with collector_off():
        composed, problems = compose(lines)
    if not problems and all(item.root.start == item.root.end for item in composed):
        return (), (lines.problem("CF006", 0, 0, "the file is empty", beginning(file)),)
    problems += [_not_a_mapping(lines, item.root) for item in composed if type(item.root.data) is not dict]
    good = tuple(Document(lines, item) for item in composed if type(item.root.data) is dict)
    return good, tuple(problems)


@contextmanager
def collector_off() -> Iterator[None]:
    """Keep the garbage collector off: with it on, the time to read grows faster than the file."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _not_a_mapping(lines: Lines, root: Node) -> Problem:
    if root.start == root.end:
        message = "the document is empty"
    else:
        message = f"expected a mapping, found {_KIND_WORDS.get(type(root.data), 'a number')}"
    hint = (isinstance(root.data, str) and missing_space(root.data)) or beginning(lines.file)
    return lines.problem("CF006", root.start, root.end, message, hint)


def _child(node: Node, part: str | int) -> tuple[Node | None, Node, Node | None] | None:
    if isinstance(node, Mapping) and isinstance(part, str):
        return node.entries.get(part)
    if isinstance(node, Sequence) and isinstance(part, int) and 0 <= part < len(node.items):
        return None, node.items[part], None
    return None


def _skip_properties(text: str, node: Node) -> int:
    """The index of the value itself, behind its anchor and tag."""
    start = node.start
    if isinstance(node.event, AliasEvent) or (isinstance(node, Scalar) and node.event.value == ""):
        return start
    while text[start : start + 1] in {"&", "!"}:
        while start < len(text) and not text[start].isspace():
            start += 1
        while start < len(text) and text[start].isspace():
            start += 1
    return start
