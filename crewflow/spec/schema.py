"""The JSON Schemas in `schemas/` against a document: what does not fit, in the author's words.

    check(document, "workflow") -> faults

The fast validator (jsonschema-rs) may only say yes. When it does not, jsonschema decides, and each of
its errors becomes a `Fault`: one for each mistake, at the value, or at the key if the key is wrong.
The files that an editor uses are the files that are used here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from crewflow.errors import Note
from crewflow.spec.lines import MAX_FAULTS
from crewflow.spec.schema_words import levels_of, say
from crewflow.spec.words import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jsonschema.exceptions import ValidationError

    from crewflow.errors import Place, Problem
    from crewflow.spec.model import Path
    from crewflow.spec.schema_words import Levels, Said
    from crewflow.spec.source import Document

_PACKAGE = FilePath(__file__).resolve().parents[1]
_MANY = 50
_FOLDERS = (_PACKAGE / "_data" / "schemas", _PACKAGE.parent / "schemas")


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem, and the values that have to be left out for the rest to be read; `()` is the document."""

    problem: Problem
    prune: tuple[Path, ...] = ()


def schema(kind: str) -> dict[str, Any]:
    """The schema of a kind of document, as data.

    Raises:
        FileNotFoundError: there is no such schema.
    """
    return _load(kind)


def check(document: Document, kind: str) -> tuple[Fault, ...]:
    """Everything in `document` that the schema of `kind` does not allow."""
    if _fast(kind).is_valid(document.plain_data):
        return ()
    errors = _errors(kind, _suspects(kind, document))
    said = list(islice((item for error in errors for item in say(error, _levels())), MAX_FAULTS + 1))
    faults = sorted(
        _merge_uses(document, said[:MAX_FAULTS]), key=lambda one: (one.problem.place, one.problem.message)
    )
    return tuple(faults) if len(said) <= MAX_FAULTS else (*faults, _too_many(document))


@cache
def _load(kind: str) -> dict[str, Any]:
    for folder in _FOLDERS:
        file = folder / f"{kind}.schema.json"
        if file.is_file():
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            return found
    raise FileNotFoundError(f"{kind}.schema.json")


@cache
def _levels() -> Levels:
    return {level: keys for kind in KINDS for level, keys in levels_of(_load(kind)).items()}


@cache
def _fast(kind: str) -> Any:
    import jsonschema_rs  # noqa: PLC0415  # loaded when there is something to check

    return jsonschema_rs.Draft202012Validator(_load(kind))


@cache
def _fast_part(kind: str, key: str) -> Any:
    """The fast validator of the values that stand under one key at the top of a document."""
    import jsonschema_rs  # noqa: PLC0415  # as above

    whole = _load(kind)
    return jsonschema_rs.Draft202012Validator({"$defs": whole["$defs"], **whole["properties"][key]})


def _suspects(kind: str, document: Document) -> dict[str, Any]:
    """The data without what is right in its large mappings: jsonschema takes long to see that it is."""
    data, known = document.data, _load(kind)["properties"]
    large = [key for key in data if key in known and isinstance(data[key], dict) and len(data[key]) > _MANY]
    plain = document.plain_data if large else data
    return data | {key: _faulty(_fast_part(kind, key), data[key], plain[key]) for key in large}


def _faulty(fast: Any, data: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    """The entries that may be at fault; all where none is alone, but the whole, and one where nothing is."""
    found = {key: value for key, value in data.items() if not fast.is_valid({key: plain[key]})}
    return found or (dict(islice(data.items(), 1)) if fast.is_valid(plain) else data)


def _errors(kind: str, data: Any) -> Iterable[ValidationError]:
    from jsonschema import Draft202012Validator  # noqa: PLC0415  # slow to load, and only faults need it

    return Draft202012Validator(_load(kind)).iter_errors(data)


def _too_many(document: Document) -> Fault:
    message, hint = "the document has too many faults", f"the first {MAX_FAULTS:,} are told"
    return Fault(document.problem("CF011", document.place(()), message, hint), ((),))


def _merge_uses(document: Document, said: Iterable[Said]) -> Iterator[Fault]:
    """One fault for each mistake, also where an alias brings it to many places."""
    groups: dict[tuple[Place, str, str], list[Said]] = {}
    for item in dict.fromkeys(said):
        place = document.key_place(item.path) if item.at_key else document.place(item.path)
        groups.setdefault((place, item.rule, item.message), []).append(item)
    for (place, rule, message), items in groups.items():
        notes = _notes(document, items)
        problem = document.problem(rule, place, message, items[0].hint, notes=notes)
        yield Fault(problem, tuple(item.prune for item in items if item.prune is not None))


def _notes(document: Document, items: list[Said]) -> tuple[Note, ...]:
    """Where the value is used, if that is not where it is written; the first use stands for all."""
    used = [notes for item in items if (notes := document.use_notes(item.path))]
    used.sort(key=lambda notes: [note.place for note in notes])
    if not used:
        return ()
    notes, others = used[0], len(used) - 1
    words = (
        "used here" if not others else f"used here, and {others} more {'time' if others == 1 else 'times'}"
    )
    return (*notes[:-1], Note(notes[-1].place, words))
