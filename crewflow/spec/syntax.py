"""Bad YAML syntax in our own words: what the parser found -> a problem with a hint.

The parser's sentences are matched by their beginning; one that is not in the table is shown as
"this is not valid YAML" at its place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crewflow.errors import Note, Problem
from crewflow.spec.lines import MAX_DEPTH
from crewflow.spec.words import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from yaml import MarkedYAMLError

    from crewflow.spec.lines import Lines

NEGATION = "`!` begins a tag in YAML, and is no operator"

_QUOTE = "quote the text, or put it on its own lines after `|`"
_INDENT = "lines of one mapping or list begin in the same column"
_NO_COLON = "the key has no `:`"
_SECOND_COLON = "a second `: ` in one line of unquoted text"
_BARE_EXPRESSION = "a `${{ }}` without quotes inside `[ ]` or `{ }`"
_BAD_BEGINNING = "a value may not begin with"

_ODD_INDENT = re.compile("^[ \t]*([\xa0\u1680\u2000-\u200b\u202f\u205f\u3000])")
_NEGATION = re.compile(r"\bif:[ \t]+!([^\s,}]*)")
_NO_SPACE = re.compile(r"[ \t]*(?:- +)?([A-Za-z_][A-Za-z0-9_-]*):(?!//)([^ \t\r\n].*)")

# (what the parser says, message, hint, whether the fault is where the construct begins)
_WORDS: tuple[tuple[str, str, str | None, bool], ...] = (
    ("block sequence entries are not allowed", "a list may not begin here",
     "put each `- item` on a line of its own", False),
    ("did not find expected ',' or ']'", "the list is not closed", "a `,` or `]` is missing", True),
    ("did not find expected ',' or '}'", "the mapping is not closed", "a `,` or `}` is missing", True),
    ("found unexpected end of stream", "the quoted text is not closed", "a quote is missing", True),
    ("found unexpected document indicator", "the quoted text is not closed", "a quote is missing", True),
    ("could not find expected ':'", _NO_COLON, "write `key: value`, or indent the text", True),
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
    known = odd_indent(lines, index) or _negation(lines, index)
    if known is None and said.startswith("did not find expected ',' or "):
        known = _bare_expression(lines, index)
    if known is not None:
        return known
    for phrase, speak in _SPEAKERS.items():
        if phrase in said:
            return speak(lines, index)
    return _from_table(lines, error, index)


def repair(lines: Lines, problem: Problem) -> tuple[int, int, bool] | None:
    """The characters that could be any others for the text to be read on behind a fault; None if it cannot.

    The third value tells whether what is read then is what was meant, but for those characters.
    """
    index = lines.line_start(problem.place.line) + problem.place.column - 1
    if problem.message == _BARE_EXPRESSION:
        end = lines.text.find("}}", index) + 2
        return None if end < index or "\n" in lines.text[index:end] else (index, end, False)
    if problem.message == _SECOND_COLON or problem.message.startswith(_BAD_BEGINNING):
        return index, index + 1, True
    return None


def missing_space(text: str) -> str | None:
    """The hint for text that was meant to be a key and its value, such as `run:echo`."""
    match = _NO_SPACE.match(text)
    return match and f"a space is missing after `:`; {_spaced(match)}"


def negation_hint(negated: str) -> str:
    """What to write in place of `!` and what it negates."""
    return f"write {quoted(f'not {negated}')}" if negated else "write `not`"


def odd_indent(lines: Lines, index: int) -> Problem | None:
    """The problem of a line whose indentation holds a space that is none to YAML; None if it does not."""
    line = lines.place(index, index).line
    match = _ODD_INDENT.match(lines.line_text(line) or "")
    if match is None:
        return None
    import unicodedata  # noqa: PLC0415  # seldom needed

    name = unicodedata.name(match[1], "character").lower()
    start = lines.line_start(line) + match.start(1)
    message = f"a {name} (U+{ord(match[1]):04X}) stands in the indentation"
    return lines.problem("CF005", start, start + 1, message, "indent with plain spaces")


def _negation(lines: Lines, index: int) -> Problem | None:
    start = lines.line_start(lines.place(index, index).line)
    match = _NEGATION.search(lines.text, start, index)
    if match is None:
        return None
    at = match.start(1) - 1
    return lines.problem("CF009", at, at + 1, NEGATION, negation_hint(match[1]))


def _bare_expression(lines: Lines, index: int) -> Problem | None:
    """The problem of `[a, ${{ b }}]`: the parser stops at the brace behind the `$`."""
    line = lines.place(index, index).line
    rest = (lines.line_text(line) or "")[max(index - lines.line_start(line) - 1, 0) :]
    before, found, _ = rest.partition("${{")
    if not found or {"'", '"'} & set(before):
        return None
    start = max(index - 1, lines.line_start(line)) + len(before)
    hint = "quote text with `${{ }}` inside `[ ]` and `{ }`"
    return lines.problem("CF001", start, start + 3, _BARE_EXPRESSION, hint)


def _tab(lines: Lines, index: int) -> Problem:
    message = "tab characters cannot be used for indentation"
    return lines.problem("CF005", index, index + 1, message, "indent with spaces")


def _too_deep(lines: Lines, index: int) -> Problem:
    hint = f"at most {MAX_DEPTH} levels are read"
    return lines.problem("CF011", index, index + 1, "the file is nested too deeply", hint)


def _beginning(lines: Lines, index: int) -> Problem:
    character = lines.text[index : index + 1]
    message = f"{_BAD_BEGINNING} {'a backtick' if character == '`' else f'`{character}`'}"
    return lines.problem("CF001", index, index + 1, message, "quote the text")


def _no_value(lines: Lines, index: int) -> Problem:
    if lines.text[index:].strip():
        hint = "quote the text if this is one"
        return lines.problem("CF001", index, index + 1, "a value is missing here", hint)
    message = "the file ends before a list or mapping is closed"
    return lines.problem("CF001", index, index, message, "a `]` or `}` is missing")


def _colon(lines: Lines, index: int) -> Problem:
    """Either a second `: ` in a line, or a key below text that is no key."""
    line = lines.place(index, index).line
    start = lines.line_start(line)
    if ":" in lines.text[start:index] or not lines.text[:start].strip():
        return lines.problem("CF001", index, index + 1, _SECOND_COLON, _QUOTE)
    above = _no_space(lines, line - 1)
    if above is not None:
        return above
    hint = "a `:` is missing in the line above, or this line is indented too far"
    return lines.problem("CF001", index, index + 1, "a key may not follow unquoted text", hint)


def _no_space(lines: Lines, line: int) -> Problem | None:
    """The problem of a line such as `run:echo`."""
    text = lines.line_text(line) or ""
    match = _NO_SPACE.match(text)
    if match is None:
        return None
    colon = lines.line_start(line) + match.end(1)
    return lines.problem("CF001", colon, colon + 1, "a space is missing after `:`", _spaced(match))


def _spaced(match: re.Match[str]) -> str:
    return f"write {quoted(f'{match[1]}: {match[2]}')}"


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
    unspaced = _no_space(lines, lines.place(context.index, context.index).line)
    if unspaced is not None and message == _NO_COLON:
        return unspaced
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
