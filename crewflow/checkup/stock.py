"""What there is: files by language, the largest files, the folders at the top, and what changes most."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from crewflow.checkup import repository, text
from crewflow.checkup.repository import Skip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Rows = list[list[str]]

LANGUAGES = {
    "Assembly": ".asm .s",
    "C": ".c .h",
    "C#": ".cs",
    "C++": ".cc .cpp .cxx .hh .hpp .hxx",
    "CSS": ".css .less .scss",
    "Clojure": ".clj .cljc .cljs",
    "Dart": ".dart",
    "Elixir": ".ex .exs",
    "Erlang": ".erl .hrl",
    "Go": ".go",
    "HTML": ".htm .html",
    "Haskell": ".hs",
    "JSON": ".json .jsonc .jsonl",
    "Java": ".java",
    "JavaScript": ".cjs .js .jsx .mjs",
    "Kotlin": ".kt .kts",
    "Lua": ".lua",
    "Markdown": ".markdown .md",
    "Objective-C": ".m .mm",
    "OCaml": ".ml .mli",
    "PHP": ".php",
    "Perl": ".pl .pm",
    "Python": ".py .pyi",
    "R": ".r",
    "Ruby": ".rb",
    "Rust": ".rs",
    "SQL": ".sql",
    "Scala": ".sc .scala",
    "Shell": ".bash .sh .zsh",
    "Swift": ".swift",
    "TOML": ".toml",
    "TypeScript": ".cts .mts .ts .tsx",
    "Text": ".rst .txt",
    "XML": ".svg .xml .xsd",
    "YAML": ".yaml .yml",
    "Zig": ".zig",
}
_LANGUAGE_OF = {suffix: name for name, suffixes in LANGUAGES.items() for suffix in suffixes.split()}
_LONGEST_SUFFIX = 12


def take(kind: str, limit: int) -> dict[str, Any]:
    """Take one kind of stock.

    Args:
        kind: a key of `KINDS`.
        limit: how many rows are given; the last one sums up the rest where it makes sense.

    Returns:
        A table: title, headings, rows of texts.
    """
    title, headings, count = KINDS[kind]
    return {"title": title, "headings": headings, "rows": count(limit)}


def churn(counted: str) -> dict[str, Any]:
    """A table from the lines of `uniq -c`: a number, a space, a path as git quotes it."""
    pairs = (row.split(maxsplit=1) for row in counted.splitlines() if row.strip())
    rows = [[text.shown(text.unquoted(path)), number] for number, path in pairs]
    return {"title": "Most changed files", "headings": ["file", "changes"], "rows": rows}


def show_size(count: int) -> str:
    """A number of bytes in the largest decimal unit that leaves at least 1."""
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:  # noqa: PLR2004  (what the prefixes mean)
            break
        amount, unit = amount / 1000, larger
    return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"


def _languages(limit: int) -> Rows:
    files, line_counts, sizes = Counter[str](), Counter[str](), Counter[str]()
    for entry, size in _sized():
        language = _language(entry)
        files[language] += 1
        sizes[language] += size
        line_counts[language] += _count_lines(entry)
    ranked = sorted(files, key=lambda name: (-line_counts[name], -sizes[name], name))
    rows = [(name, files[name], line_counts[name], sizes[name]) for name in ranked]
    return [
        [name, str(number), str(length), show_size(size)]
        for name, number, length, size in _summed(rows, limit)
    ]


def _largest(limit: int) -> Rows:
    ranked = sorted(_sized(), key=lambda pair: (-pair[1], pair[0].path))
    return [[text.shown(entry.path), show_size(size)] for entry, size in ranked[:limit]]


def _folders(limit: int) -> Rows:
    files, sizes = Counter[bytes](), Counter[bytes]()
    for entry, size in _sized():
        head, slash, _ = entry.path.partition(b"/")
        folder = head + slash if slash else b"./"
        files[folder] += 1
        sizes[folder] += size
    ranked = sorted(files, key=lambda folder: (-files[folder], folder))
    rows = [(text.shown(folder), files[folder], sizes[folder]) for folder in ranked]
    return [[name, str(number), show_size(size)] for name, number, size in _summed(rows, limit)]


KINDS: dict[str, tuple[str, list[str], Callable[[int], Rows]]] = {
    "languages": ("Languages", ["language", "files", "lines", "size"], _languages),
    "folders": ("Folders", ["folder", "files", "size"], _folders),
    "largest": ("Largest files", ["file", "size"], _largest),
}


def _sized() -> Iterable[tuple[repository.Entry, int]]:
    for entry in repository.tracked():
        size = repository.size(entry)
        if not isinstance(size, Skip):
            yield entry, size


def _language(entry: repository.Entry) -> str:
    suffix = entry.suffix
    if not suffix:
        return "(no extension)"
    if suffix in _LANGUAGE_OF:
        return _LANGUAGE_OF[suffix]
    return suffix if suffix.isprintable() and len(suffix) <= _LONGEST_SUFFIX else "(other)"


def _count_lines(entry: repository.Entry) -> int:
    content = repository.read(entry)
    if isinstance(content, Skip) or not content:
        return 0
    return content.count(b"\n") + (not content.endswith(b"\n"))


def _summed(rows: list[tuple[Any, ...]], limit: int) -> list[tuple[Any, ...]]:
    if len(rows) <= limit:
        return rows
    rest = rows[limit - 1 :]
    numbers = (sum(column) for column in list(zip(*rest, strict=True))[1:])
    return [*rows[: limit - 1], (f"({len(rest)} others)", *numbers)]
