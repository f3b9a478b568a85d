"""YAML events -> nodes that know their place, and plain data beside them.

`compose` reads a whole stream. What is wrong but can be read over (a duplicate key, a tag) is
collected; what ends the reading (bad syntax, a budget) ends it for the rest of the file, and the
documents that stand before are kept. Bad syntax that is plainly text without its quotes is told, and read
over: the text is read again with other characters in that place, so that all places stay right.

The parser's events are used instead of its nodes for three reasons: an alias keeps the place where it
stands, nothing here or in the C library recurses, and depth is refused while it is being read.
Data under an alias or a merge is shared, not copied: whoever changes data copies it first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from crewflow.errors import Note, Problem
from crewflow.spec.lines import MAX_DEPTH, MAX_DOCUMENTS, MAX_FAULTS
from crewflow.spec.scalars import ScalarFault, SpelledFloat, SpelledInt, resolve
from crewflow.spec.syntax import NEGATION, negation_hint, odd_indent, repair, syntax_problem
from crewflow.spec.words import quoted

if TYPE_CHECKING:
    from crewflow.spec.lines import Lines

MAX_NODES = 1_000_000
_MOST_READINGS = 10
_LONGEST_READ_AGAIN = 200_000  # characters

_TEXT_TAG = "tag:yaml.org,2002:str"
_MERGE = "<<"
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Node:
    """A value as it stands in the file.

    Attributes:
        start, end: indices of its first character (its tag and anchor included) and behind its last;
            `end` means nothing for a block collection.
        data: the plain value.
        size: number of values in it, aliases expanded; `height`: levels of nesting below it.
    """

    __slots__ = ("data", "event", "last", "size")

    height = 0

    def __init__(self, event: Any, data: Any) -> None:
        self.event = event
        self.last = event
        self.data = data
        self.size = 1

    @property
    def start(self) -> int:
        """The index of its first character, or of that of its anchor or tag."""
        return int(self.event.start_mark.index)

    @property
    def end(self) -> int:
        """The index behind its last character."""
        return int(self.last.end_mark.index)


class Scalar(Node):
    """Text, a number, a boolean or nothing."""

    __slots__ = ()


class Alias(Node):
    """`*name`: stands for another node."""

    __slots__ = ("height", "target")

    def __init__(self, event: Any, target: Node) -> None:
        super().__init__(event, target.data)
        self.target = target
        self.size = target.size
        self.height = target.height


class Sequence(Node):
    """A list."""

    __slots__ = ("height", "items")

    def __init__(self, event: Any) -> None:
        super().__init__(event, [])
        self.items: list[Node] = []
        self.height = 0


class Mapping(Node):
    """A mapping.

    Attributes:
        entries: key -> (the key's node, the value's node, the node of the `<<` that brought it or None).
        key: the key whose value has not come yet.
        merges: (the `<<` node, its value) as they stand.
    """

    __slots__ = ("entries", "height", "key", "merges")

    def __init__(self, event: Any) -> None:
        super().__init__(event, {})
        self.entries: dict[str, tuple[Node, Node, Node | None]] = {}
        self.key: Node | None = None
        self.merges: list[tuple[Node, Node]] = []
        self.height = 0


class Composed:
    """A document's root, and whether numbers in it keep a spelling."""

    __slots__ = ("root", "spelled")

    def __init__(self, root: Node, *, spelled: bool) -> None:
        self.root = root
        self.spelled = spelled


def target(node: Node) -> Node:
    """The node itself, or what it is an alias of."""
    return node.target if isinstance(node, Alias) else node


def compose(lines: Lines) -> tuple[list[Composed], list[Problem]]:
    """Read every document of a file. See the head of this module for what is kept when one is bad."""
    text, told = lines.text, list[Problem]()
    kept: _Composer | None = None
    while True:
        composer = _Composer(lines)
        problem = _read(composer, text)
        told += [problem] if problem else []
        mended = repair(lines, problem) if problem and _may_go_on(text, told) else None
        if mended is None:
            kept = kept or composer
            return kept.documents, kept.problems + told
        start, end, as_meant = mended
        kept = kept if as_meant else kept or composer
        text = text[:start] + "_" * (end - start) + text[end:]


def _read(composer: _Composer, text: str) -> Problem | None:
    """Read a text to its end, or to the problem that ends the reading."""
    try:
        composer.read(_Loader(text))
    except yaml.MarkedYAMLError as error:
        return syntax_problem(composer.lines, error)
    except _StopReading as stop:
        return stop.problem
    return None


def _may_go_on(text: str, told: list[Problem]) -> bool:
    """Whether one more reading costs little, and the last one came further than that before it."""
    again = len(told) > 1 and told[-1].place <= told[-2].place
    return len(told) < _MOST_READINGS and len(text) <= _LONGEST_READ_AGAIN and not again


class _StopReading(Exception):  # noqa: N818  # it stops the reading; the fault is the problem in it
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class _Composer:
    """The state of reading one stream: the open collections, the anchors, what was found."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.documents: list[Composed] = []
        self.problems: list[Problem] = []
        self.stack: list[Sequence | Mapping] = []
        self.anchors: dict[str, Node] = {}
        self.root: Node | None = None
        self.count = 0
        self.spelled = False
        self.steps: dict[type, Any] = {
            ScalarEvent: self.scalar,
            SequenceStartEvent: self.open_sequence,
            MappingStartEvent: self.open_mapping,
            SequenceEndEvent: self.close,
            MappingEndEvent: self.close_mapping,
            AliasEvent: self.alias,
            DocumentStartEvent: self.open_document,
            DocumentEndEvent: self.close_document,
        }

    def read(self, parser: Any) -> None:
        steps = self.steps
        next_event = parser.get_event
        while (event := next_event()) is not None:
            step = steps.get(type(event))
            if step is not None:
                step(event)

    def open_document(self, event: Any) -> None:
        if len(self.documents) == MAX_DOCUMENTS:
            self.stop(Scalar(event, None), "the file holds too many documents", f"at most {MAX_DOCUMENTS:,}")
        self.anchors = {}
        self.root = None
        self.count = 0
        self.spelled = False

    def close_document(self, _event: Any) -> None:
        if self.root is not None:
            self.documents.append(Composed(self.root, spelled=self.spelled))

    def scalar(self, event: Any) -> None:
        if event.tag is not None and event.tag.startswith("!") and self.is_condition():
            hint = negation_hint(event.tag[1:] or event.value)
            self.fault("CF009", Scalar(event, None), NEGATION, hint)
            self.add(Scalar(event, data=True), event)  # any value that an `if` may have
            return
        is_text = event.tag is not None and self.check_tag(event, text_is_fine=True)
        is_plain = event.implicit[0] or (event.tag is not None and not is_text)
        value = self.resolved(event) if is_plain and not is_text else event.value
        self.add(Scalar(event, value), event)

    def is_condition(self) -> bool:
        """Whether the value that comes next is that of an `if`."""
        parent = self.stack[-1] if self.stack else None
        return isinstance(parent, Mapping) and parent.key is not None and parent.key.data == "if"

    def resolved(self, event: Any) -> Any:
        try:
            value = resolve(event.value)
        except ScalarFault as fault:
            self.fault("CF010", Scalar(event, None), fault.message, fault.hint)
            return 0
        if type(value) in {SpelledInt, SpelledFloat}:
            self.spelled = True
        return value

    def open_sequence(self, event: Any) -> None:
        self.check_tag(event)
        self.open(Sequence(event), event)

    def open_mapping(self, event: Any) -> None:
        self.check_tag(event)
        self.open(Mapping(event), event)

    def open(self, node: Sequence | Mapping, event: Any) -> None:
        self.add(node, event)
        self.stack.append(node)
        if len(self.stack) > MAX_DEPTH:
            self.stop(node, "the file is nested too deeply", f"at most {MAX_DEPTH} levels are read")

    def close_mapping(self, event: Any) -> None:
        node = self.stack[-1]
        if isinstance(node, Mapping) and node.merges:
            self.merge(node)
        self.close(event)

    def close(self, event: Any) -> None:
        node = self.stack.pop()
        node.last = event
        if self.stack:
            self.grow(self.stack[-1], node)

    def alias(self, event: Any) -> None:
        found = self.anchors.get(event.anchor)
        if found is None or any(found is node for node in self.stack):
            self.bad_alias(event, known=found is not None)
            found = Scalar(event, None)
        node = Alias(event, found)
        self.count += node.size - 1
        self.add(node, event)
        if len(self.stack) + node.height > MAX_DEPTH:
            self.stop(node, "aliases are nested too deeply", f"at most {MAX_DEPTH} levels are read")
        if self.stack:
            self.grow(self.stack[-1], node)

    def bad_alias(self, event: Any, *, known: bool) -> None:
        name = event.anchor
        here = f"the alias `*{name}` stands inside its own anchor"
        words = here if known else f"there is no anchor `&{name}` before this"
        hint = "a value cannot hold itself" if known else f"quote it if `*{name}` is text"
        self.fault("CF007", Scalar(event, None), words, hint)

    def add(self, node: Node, event: Any) -> None:
        """Put a node where the reading stands."""
        self.count += 1
        if self.count > MAX_NODES:
            self.stop(node, "the file holds too many values", f"at most {MAX_NODES:,}, aliases expanded")
        if event.anchor is not None and type(node) is not Alias:
            self.anchors[event.anchor] = node
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        parent.size += 1
        if isinstance(parent, Sequence):
            parent.items.append(node)
            parent.data.append(node.data)
        elif parent.key is None:
            parent.key = node
        else:
            key, parent.key = parent.key, None
            self.pair(parent, key, node)

    def pair(self, parent: Mapping, key: Node, value: Node) -> None:
        name = key.data
        if type(name) is str and name[:1] > "\x7f" and _is_plain(key):
            self.odd_indent(key)
        if type(name) is not str:
            self.fault("CF003", key, "keys must be text", "quote it")
        elif name == _MERGE and key.event.style != "'" and _is_plain(key):
            parent.merges.append((key, value))
        elif name in parent.entries:
            self.duplicate(parent, key, name)
        else:
            parent.entries[name] = (key, value, None)
            parent.data[name] = value.data

    def odd_indent(self, key: Node) -> None:
        problem = odd_indent(self.lines, key.start)
        if problem is not None:
            raise _StopReading(problem)

    def duplicate(self, parent: Mapping, key: Node, name: str) -> None:
        first = parent.entries[name][0]
        note = Note(self.lines.place(first.start, first.end), "first here")
        self.fault("CF002", key, f"the key {quoted(name)} stands twice in this mapping", None, note)

    def merge(self, node: Mapping) -> None:
        for key, value in node.merges:
            for source in self.merged(key, value):
                for name, (name_node, item, _via) in source.entries.items():
                    if name not in node.entries:
                        node.entries[name] = (name_node, item, key)
                        node.data[name] = source.data[name]

    def merged(self, key: Node, value: Node) -> list[Mapping]:
        """The mappings that a `<<` names, in order."""
        node = target(value)
        sources = [target(item) for item in node.items] if isinstance(node, Sequence) else [node]
        good = [source for source in sources if isinstance(source, Mapping)]
        if len(good) != len(sources):
            self.fault("CF008", key, "`<<` takes a mapping or a list of mappings", "write `<<: *name`")
        return good

    def grow(self, parent: Node, node: Node) -> None:
        parent.size += node.size - 1
        if isinstance(parent, Sequence | Mapping) and node.height >= parent.height:
            parent.height = node.height + 1

    def check_tag(self, event: Any, *, text_is_fine: bool = False) -> bool:
        if event.tag is None or (text_is_fine and event.tag in {_TEXT_TAG, "!"}):
            return True
        hint = "remove it; quote a value to mean text"
        self.fault("CF009", Scalar(event, None), "tags such as `!!int` or `!name` are not read", hint)
        return False

    def fault(self, rule: str, node: Node, message: str, hint: str | None, note: Note | None = None) -> None:
        place = self.lines.place(node.start, max(node.end, node.start + 1))
        notes = () if note is None else (note,)
        text = self.lines.line_text(place.line)
        self.problems.append(Problem(rule, place, message, hint, notes=notes, source_line=text))
        if len(self.problems) == MAX_FAULTS:
            self.stop(node, "the file has too many faults", f"it is read up to the first {MAX_FAULTS:,}")

    def stop(self, node: Node, message: str, hint: str) -> None:
        raise _StopReading(self.lines.problem("CF011", node.start, node.start + 1, message, hint))


def _is_plain(node: Node) -> bool:
    return isinstance(node, Scalar) and bool(node.event.implicit[0]) and node.event.tag is None
