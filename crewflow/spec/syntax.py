"""Bad YAML syntax in our own words: what the parser found -> a problem with a hint.

The parser's sentences are matched by their beginning; one that is not in the table is shown as
"this is not valid YAML" at its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewflow.errors import Note, Problem
from crewflow.spec.lines import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from yaml import MarkedYAMLError

    from crewflow.spec.lines import Lines

_QUOTE = "quote the text, or put it on its own lines after `|`"
_INDENT = "lines of one mapping or list begin in the same column"

# (what the parser says, message, hint, whether the fault is where the construct begins)
_WORDS: tuple[tuple[str, str, str | None, bool], ...] = (
    ("block sequence entries are not allowed", "a list may not begin here",
     "put each `- item` on a line of its own", False),
    ("did not find expected ',' or ']'", "the list is not closed", "a `,` or `]` is missing", True),
    ("did not find expected ',' or '}'", "the mapping is not closed", "a `,` or `}` is missing", True),
    ("found unexpected end of stream", "the quoted text is not closed", "a quote is missing", True),
    ("found unexpected document indicator", "the quoted text is not closed", "a quote is missing", True),
    ("could not find expected ':'", "the key has no `:`", "write `key: value`, or indent the text", True),
    ("found unknown escape character", "this escape is not known in double quotes",
     "use single quotes, or write `\\\\` for a backslash", False),
    ("did not find expected hexdecimal number", "this escape is not complete",
     "write it such as `\\x41` or `\\u00e9`", False),
    ("found invalid Unicode character escape", "this escape names no character",
     "write the character itself", False),
    ("did not find expected comment or line break", "text may not follow `|` or `>` in their line",
     "begin it on the next line", False),
    ("found an indentation indicator equal to 0", "an indentation of 0 is not possible here", None, False),
    ("did not find expected alphabetic or numeric", "the name of an anchor or alias is missing",
     "quote the text if it begins with `*` or `&`", True),
    ("found undefined tag handle", "tags such as `!name` are not read",
     "quote the text if it begins with `!`", True),
    ("found incompatible YAML document", "this version of YAML is not read",
     "remove the `%YAML` line", False),
    ("found unknown directive name", "text may not begin with `%` in the first column",
     "indent or quote it", True),
    ("did not find expected '-' indicator", "this line belongs to no list or mapping above it",
     _INDENT, False),
    ("did not find expected <document start>", "text goes on after the end of the document",
     "begin a new document with `---`", False),
)  # fmt: skip


def syntax_problem(lines: Lines, error: MarkedYAMLError) -> Problem:
    """The one problem that a file with bad syntax has at `error`'s place."""
    mark: Any = error.problem_mark or error.context_mark
    index = min(mark.index, len(lines.text)) if mark is not None else 0
    said = error.problem or ""
    if lines.text[index : index + 1] == "\t":
        return _tab(lines, index)
    for phrase, speak in _SPEAKERS.items():
        if phrase in said:
            return speak(lines, index)
    return _from_table(lines, error, index)


def _tab(lines: Lines, index: int) -> Problem:
    message = "tab characters cannot be used for indentation"
    return lines.problem("CF005", index, index + 1, message, "indent with spaces")


def _too_deep(lines: Lines, index: int) -> Problem:
    hint = f"at most {MAX_DEPTH} levels are read"
    return lines.problem("CF011", index, index + 1, "the file is nested too deeply", hint)


def _beginning(lines: Lines, index: int) -> Problem:
    message = f"a value may not begin with `{lines.text[index : index + 1]}`"
    return lines.problem("CF001", index, index + 1, message, "quote the text")


def _no_value(lines: Lines, index: int) -> Problem:
    if lines.text[index:].strip():
        hint = "quote the text if this is one"
        return lines.problem("CF001", index, index + 1, "a value is missing here", hint)
    message = "the file ends before a list or mapping is closed"
    return lines.problem("CF001", index, index, message, "a `]` or `}` is missing")


def _colon(lines: Lines, index: int) -> Problem:
    """Either a second `: ` in a line, or a key below text that is no key."""
    start = lines.line_start(lines.place(index, index).line)
    if ":" in lines.text[start:index] or not lines.text[:start].strip():
        return lines.problem("CF001", index, index + 1, "a second `: ` in one line of unquoted text", _QUOTE)
    hint = "a `:` is missing in the line above, or this line is indented too far"
    return lines.problem("CF001", index, index + 1, "a key may not follow unquoted text", hint)


def _expected_key(lines: Lines, index: int) -> Problem:
    """Either a line at a column that fits nothing, or something behind a finished value."""
    start = lines.line_start(lines.place(index, index).line)
    if lines.text[start:index].strip():
        message = "text goes on after the value has ended"
        return lines.problem("CF001", index, index + 1, message, "quote the whole value")
    message = "this line belongs to no mapping above it"
    return lines.problem("CF001", index, index + 1, message, _INDENT)


def _from_table(lines: Lines, error: MarkedYAMLError, index: int) -> Problem:
    said = error.problem or ""
    for beginning, message, hint, at_start in _WORDS:
        if said.startswith(beginning):
            return _worded(lines, error, index, message, hint, at_start=at_start)
    return lines.problem("CF001", index, index + 1, "this is not valid YAML", "quote the text if it is text")


def _worded(
    lines: Lines, error: MarkedYAMLError, index: int, message: str, hint: str | None, *, at_start: bool
) -> Problem:
    context: Any = error.context_mark
    if not at_start or context is None:
        return lines.problem("CF001", index, index + 1, message, hint)
    problem = lines.problem("CF001", context.index, context.index + 1, message, hint)
    seen = Note(lines.place(index, index + 1), "noticed here")
    return Problem(problem.rule, problem.place, message, hint, notes=(seen,), source_line=problem.source_line)


_SPEAKERS: dict[str, Callable[[Lines, int], Problem]] = {
    "tab character": _tab,
    "maximum nesting": _too_deep,
    "cannot start any token": _beginning,
    "did not find expected node content": _no_value,
    "mapping values are not allowed": _colon,
    "did not find expected key": _expected_key,
}
