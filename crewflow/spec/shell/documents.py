"""Here-documents: announced within a line, read behind it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from crewflow.spec.shell.cursor import QUOTED, UnsureError, Value
from crewflow.spec.shell.text import WordScanner

_DELIMITER_ENDS = frozenset(" \t\n;&|<>()")
_QUOTING = re.compile(r"\\(.)|['\"]")


@dataclass
class HereDocument:
    """A here-document that was announced, and whose body begins at the next line."""

    at: int
    delimiter: str
    strips: bool
    quoted: bool
    reader: str | None = None  # the program that reads it as code
    body: tuple[int, int] = (0, 0)


class DocumentScanner(WordScanner):
    """Reads words and the here-documents that are announced among them.

    `_pending` are those whose bodies come next, `_announced` all of them.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._pending: list[HereDocument] = []
        self._announced: list[HereDocument] = []

    def _announce(self, at: int, *, strips: bool) -> HereDocument:
        """Read the word behind `<<`, which stands at `at`."""
        start = self._at
        while not self._ends() and self._peek() not in _DELIMITER_ENDS:
            self._delimiter_piece()
        self._refuse_within(start, self._at, "delimiter")
        authored = self._text[start : self._at]
        if not authored:
            raise UnsureError(start)
        delimiter = _QUOTING.sub(lambda found: found.group(1) or "", authored)
        document = HereDocument(at, delimiter, strips, quoted=delimiter != authored)
        self._pending.append(document)
        self._announced.append(document)
        return document

    def _delimiter_piece(self) -> None:
        match self._peek():
            case "$" | "`":
                raise UnsureError(self._at)
            case "'" | '"' as quote:
                close = self._text.find(quote, self._at + 1)
                if close < 0 or not self._text[self._at : close].isprintable():
                    raise UnsureError(self._at)
                self._at = close + 1
            case "\\":
                self._at += 2
            case _:
                self._at += 1

    def _here_documents(self) -> None:
        """The bodies of the announced here-documents, which begin here."""
        documents, self._pending = self._pending, []
        for document in documents:
            start = self._at
            body, after = self._body(document)
            document.body = (start, body)
            if document.reader and not document.quoted:
                self._expands(start, body)
            if document.reader:
                self._refuse_within(start, body, "stdin", document.reader)
            if document.quoted:
                self._refuse_within(start, body, "quoted document", document.delimiter)
            if self._within(start, body):
                self._document_text(body)
            elif not document.quoted or document.reader:
                self._may_compute(start, body)
            self._at = after

    def _body(self, document: HereDocument) -> tuple[int, int]:
        """Where the body ends, and where the line behind its delimiter begins."""
        at = self._at
        while at <= len(self._text):
            end = self._text.find("\n", at)
            end = len(self._text) if end < 0 else end
            line = self._text[at:end]
            if (line.lstrip("\t") if document.strips else line) == document.delimiter:
                if not document.quoted and self._text[:at].endswith("\\\n"):
                    raise UnsureError(at)
                return at, min(end + 1, len(self._text))
            at = end + 1
        raise UnsureError(document.at)

    def _document_text(self, end: int) -> None:
        outer, self._in_document = self._in_document, True
        while self._at < end:
            if self._at in self._marks:
                self._take(QUOTED)
            elif self._peek() == '"':
                self._at += 1
            else:
                self._quoted_piece(Value())
        self._in_document = outer
        if self._at > end:
            raise UnsureError(end)
