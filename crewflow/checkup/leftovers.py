"""What was meant to go away again: marks that somebody left for later, and conflicts of a merge.

A mark counts where it opens a comment or where a colon or a name in parentheses follows it;
the bare word in running text, such as in this one, does not.
A plain search for the words comes first, since most files hold none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crewflow.checkup import lines

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = (b"TODO", b"FIXME", b"XXX")
_WORD = b"(?:%s)" % b"|".join(_WORDS)
_OPENER = rb"(?:#|//|/\*|<!--|--|;|%|^[ \t]*\*)"
_MARK = re.compile(
    rb"%s[ \t]*%s\b(?![-_./\"'`])|(?<![\w\"'`./-])%s(?::(?=\s)|\([\w@. -]{1,40}\):?(?=\s))"
    % (_OPENER, _WORD, _WORD),
    re.MULTILINE,
)
_SIDE = re.compile(rb"^(<{7}|={7}|>{7})(?: [^\n]*|\r)?$", re.MULTILINE)


def find_marks(_path: bytes, content: bytes) -> Iterator[tuple[int, str]]:
    """Line number and text of each line with a mark."""
    if not any(word in content for word in _WORDS):
        return
    last = 0
    for number, found in lines.number(content, _MARK.finditer(content)):
        if number != last:
            yield number, lines.around(content, found.start())
        last = number


def find_conflicts(_path: bytes, content: bytes) -> Iterator[tuple[int, str]]:
    """Line number and text of each place where a conflict begins, or ends without a beginning.

    A row of seven equal signs alone is a heading in many notations, and says nothing by itself.
    """
    if b"<<<<<<<" not in content and b">>>>>>>" not in content:
        return
    opened = divided = False
    for number, found in lines.number(content, _SIDE.finditer(content)):
        side = found[1][:1]
        if side == b"<" or (side == b">" and divided and not opened):
            yield number, lines.around(content, found.start())
        opened = side == b"<" or (opened and side == b"=")
        divided = side == b"=" or (divided and side == b"<")
