"""One fact of a run as one line of its journal, and back.

    {"seq":7,"ts":1796077536.123456,"mono":1.250000,"type":"attempt.ended",...,"synced":5,"chain":"9f1c00aa"}

- `seq`: from 1, no gaps over all segments of a run.
- `ts`: wall clock, seconds since 1970; `mono`: seconds since the generation began, never going back.
- `type` and the facts that belong to it.
- `synced`: now and then, the `seq` up to which all is known to survive a loss of power.
- `chain`: crc32 over the former line's chain value and this line without its `chain` member. It stands
  last, so that neither side encodes a record twice. It detects accidents, not forgery.

Lines are ASCII, whatever the facts hold, so that a cut never falls into a character.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from zlib import crc32

FORMAT = 1
"""Raised when the meaning of a record changes; journals of another format are refused by name."""

GENERATION = "run.generation"
"""The type of the first record of a segment."""

OWN_MEMBERS = frozenset({"seq", "ts", "mono", "type", "synced", "chain"})
"""What facts may not be named."""

Record = dict[str, Any]

_encode_facts = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode
_decode_start = json.JSONDecoder().raw_decode
_TAIL = b',"chain":"%08x"}'
_TAIL_SIZE = len(_TAIL % 0)
_MARK = re.compile(rb',"synced":([0-9]{1,18}),"chain":"[0-9a-f]{8}"}\n')


@dataclass(frozen=True, slots=True)
class Decoded:
    """The records that chain from the start of some bytes.

    Attributes:
        chain, seq: those of the last record, or what was given.
        end: how many bytes the records take.
        synced: the highest `seq` that a record called synced; 0 if none did.
    """

    records: list[Record]
    chain: int
    seq: int
    end: int
    synced: int


def encode_record(
    seq: int, ts: float, mono: float, kind: str, facts: Record, *, synced: int, chain: int
) -> tuple[bytes, int]:
    """The line of a record, newline included, and the chain value to give to the next one.

    `kind` is the type, of letters, digits, dots and underscores; `synced` is 0 to leave it out; `chain`
    is what the former record gave, 0 before the first.

    Raises:
        ValueError: a fact is no JSON value (NaN is none) or has the name of a record's own member.
    """
    if not OWN_MEMBERS.isdisjoint(facts):
        raise ValueError(f"facts of `{kind}` use names of the record: {sorted(OWN_MEMBERS & facts.keys())}")
    more = "," + _encode_facts(facts)[1:-1] if facts else ""
    mark = f',"synced":{synced}' if synced else ""
    body = f'{{"seq":{seq},"ts":{ts:.6f},"mono":{mono:.6f},"type":"{kind}"{more}{mark}'.encode("ascii")
    chain = crc32(body, chain)
    return body + _TAIL % chain + b"\n", chain


def decode_records(data: bytes, *, chain: int, seq: int) -> Decoded:
    """All records from the start of `data` up to the first line that is incomplete or does not chain.

    `chain` and `seq` are those of the record before.
    """
    records: list[Record] = []
    end = synced = 0
    for line in data.split(b"\n")[:-1]:
        found = crc32(line[:-_TAIL_SIZE], chain)
        if not line.endswith(_TAIL % found):
            break
        record = _parse(line)
        if record is None or record.get("seq") != seq + 1:
            break
        chain, seq, end = found, seq + 1, end + len(line) + 1
        synced = max(synced, record.get("synced", 0))
        records.append(record)
    return Decoded(records, chain, seq, end, synced)


def synced_behind(data: bytes) -> int:
    """The highest `seq` called synced by the end of any line in `data`; 0 if none is.

    This tells damage in the middle, which such a line follows, from the torn end that a crash leaves. The
    line need not chain: a mark was written after its sync, so to see one is reason enough to refuse.
    """
    return max((int(match[1]) for match in _MARK.finditer(data)), default=0)


def first_record(data: bytes) -> Record | None:
    """The first line as an object, its chain not looked at: to learn a segment's format before all else."""
    return _parse(data.partition(b"\n")[0])


def _parse(line: bytes) -> Record | None:
    try:
        record, end = _decode_start(line.decode("ascii"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and end == len(line) else None
