"""The journal of a run: every fact, in order, written before anything is done about it.

Calling sequence of the one writer, who holds the lease all the while:

    reading = read_journal(run)
    journal = Journal.create(run, reading.generations + 1, header, clock, reading)
    journal.append(...), journal.sync(), ..., journal.close()

A generation writes one segment, `events.<n>.jsonl`, created exclusively and complete with its first
record, which names the last record of the former segment that it accepts. So a second writer, where
locks fail, is harmless: it gets a segment of its own, and what nobody accepted is not read.

Reading stops at the first line that does not chain. At or below the highest `seq` known to be synced
that is damage and refused; above it, it is what a crash left: reported as `torn`, cut off and kept aside
by the next generation, never by a reader.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crewflow import durable
from crewflow.errors import HeldError, StateError
from crewflow.state import records
from crewflow.state.records import FORMAT, GENERATION, Record

if TYPE_CHECKING:
    from crewflow.clock import Clock
    from crewflow.state.paths import RunPaths

NO_CHAIN = "00000000"
_HINT = "nothing was changed; restore the file from a copy, or start again with `crewflow apply`"
_SEGMENT = re.compile(r"events\.([1-9][0-9]{0,8})\.jsonl")


@dataclass(frozen=True, slots=True)
class End:
    """A place in the journal: the last record of a segment that counts. All zero before the first."""

    segment: int
    seq: int
    chain: str


START = End(0, 0, NO_CHAIN)


@dataclass(frozen=True, slots=True)
class Torn:
    """The end of a segment that a crash left: `size` bytes from `offset` on that are no records."""

    file: str
    segment: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A journal as it was read.

    Attributes:
        records: all accepted records in order, the first of each segment included.
        torn: what a crash left at the end, or None.
        generations: the number of the newest segment; 0 when there is none.
        end: the last record and the segment that holds it; `START` when there is none.
    """

    records: list[Record]
    torn: Torn | None
    generations: int
    end: End

    @property
    def last_seq(self) -> int:
        """The `seq` of the last record; 0 when there is none."""
        return self.end.seq

    @property
    def last_chain(self) -> str:
        """The chain value of the last record; zeros when there is none."""
        return self.end.chain


class Journal:
    """The writing end of a journal: one generation's segment.

    Attributes:
        seq: of the last record.
        unsynced: how many records a loss of power could take; `first_unsynced` is when the first of them
            was appended, by the monotonic clock, or None.
        last_sync_seconds: how long the last sync took; 0.0 before the first.
    """

    def __init__(self, log: durable.Log, clock: Clock, start: float, seq: int, chain: int) -> None:
        self._log = log
        self._clock = clock
        self._start = start
        self._chain = chain
        self._synced = self._named = seq
        self._writing = False
        self.seq = seq
        self.unsynced = 0
        self.first_unsynced: float | None = None
        self.last_sync_seconds = 0.0

    @classmethod
    def create(
        cls, run: RunPaths, generation: int, header: dict[str, Any], clock: Clock, after: Reading | None
    ) -> Journal:
        """Open a generation: the former segment is cut and synced, the new one is born with its first record.

        `header` has the facts of the first record: run id, plan hash, what else is worth knowing. `after`
        is what `read_journal` found under the same lease, None for a new run.

        Raises:
            HeldError: another process opened this generation.
            StateError: the system refuses.
        """
        _settle(run, after)
        end = after.end if after else START
        seq, start = end.seq + 1, clock.monotonic()
        facts = {**header, "format": FORMAT, "generation": generation, **_past(after)}
        line, chain = records.encode_record(
            seq, clock.wall(), 0.0, GENERATION, facts, synced=seq, chain=int(end.chain, 16)
        )
        path = run.segment(generation)
        if not durable.create_file(path, line):  # commit point
            raise HeldError(
                f"another process opened generation {generation} of run `{run.run_id}`",
                hint="look at it with `crewflow status`, and try again",
            )
        return cls(durable.Log.open_end(path, len(line)), clock, start, seq, chain)

    def append(self, kind: str, facts: dict[str, Any]) -> int:
        """Record a fact and return its `seq`. Once this returns it survives the death of this process.

        Commit point: the write of its line.

        Raises:
            StateError: the system refuses; the journal is closed for good.
            ValueError: a fact is no JSON value, or is named like a record's own member.
        """
        if self._writing:
            raise StateError(f"cannot write `{self._log.path}`: writing a record was interrupted before")
        now = self._clock.monotonic()
        mark = self._synced if self._synced > self._named else 0
        line, chain = records.encode_record(
            self.seq + 1, self._clock.wall(), now - self._start, kind, facts, synced=mark, chain=self._chain
        )
        # An exception out of a signal handler may come between the write and the count of it: then nobody
        # knows what the file holds, and no record may follow.
        self._writing = True
        self._log.append(line)
        self._chain = chain
        self._named = mark or self._named
        self.seq += 1
        self.unsynced += 1
        if self.first_unsynced is None:
            self.first_unsynced = now
        self._writing = False
        return self.seq

    def sync(self) -> None:
        """Make all records survive a loss of power; nothing is done when they do.

        Raises:
            StateError: the device refuses; the journal is closed for good.
        """
        if not self.unsynced:
            return
        before = self._clock.monotonic()
        self._log.sync()
        self.last_sync_seconds = self._clock.monotonic() - before
        self._synced = self.seq
        self.unsynced = 0
        self.first_unsynced = None

    def close(self) -> None:
        """Sync and let go.

        Raises:
            StateError: the device refuses.
        """
        try:
            self.sync()
        finally:
            self._log.close()


def read_journal(run: RunPaths) -> Reading:
    """All that a run recorded. Takes no lock and changes nothing.

    Raises:
        StateError: the journal is damaged, of another format, or cannot be read; names file and offset.
    """
    segments = [_read_segment(run, number) for number in segment_numbers(run)]
    path = _accepted_path(run, segments)
    found = [record for segment, count in path for record in segment.decoded.records[:count]]
    newest = segments[-1] if segments else None
    return Reading(
        records=found,
        torn=_torn(newest) if newest else None,
        generations=newest.number if newest else 0,
        end=End(path[-1][0].number, found[-1]["seq"], found[-1]["chain"]) if found else START,
    )


def segment_numbers(run: RunPaths) -> list[int]:
    """The numbers of the segments that exist, in order.

    Raises:
        StateError: the run's folder cannot be read.
    """
    try:
        with os.scandir(run.root) as entries:
            names = [entry.name for entry in entries]
    except OSError as error:
        raise StateError(f"cannot read `{run.root}`: {(error.strerror or '').lower()}") from error
    return sorted(int(match[1]) for match in map(_SEGMENT.fullmatch, names) if match)


def accepted_end(data: bytes) -> End | None:
    """What a segment, given from its first byte on, accepts of the past; None when its first line is broken.

    That this line chains is not checked here: the answer is where checking starts.
    """
    header = records.first_record(data) or {}
    past = header.get("accepts", {"segment": 0, "seq": 0, "chain": NO_CHAIN})
    try:
        end = End(past["segment"], past["seq"], past["chain"])
        int(end.chain, 16)
    except (TypeError, KeyError, ValueError):
        return None
    return end if header.get("type") == GENERATION else None


def check_format(path: str, data: bytes) -> None:
    """Refuse a segment of another format, whatever the rest of it is.

    Raises:
        StateError: it is of another format.
    """
    header = records.first_record(data) or {}
    if header.get("type") == GENERATION and header.get("format") != FORMAT:
        raise StateError(
            f"`{path}` has journal format {header.get('format')}, and this version reads format {FORMAT}",
            hint="use the version of crewflow that wrote it",
        )


@dataclass(frozen=True, slots=True)
class _Segment:
    """One file of the journal: the records that chain in it, and the bytes behind them."""

    number: int
    path: str
    accepts: End
    decoded: records.Decoded
    tail: bytes


def _read_segment(run: RunPaths, number: int) -> _Segment:
    path = run.segment(number)
    data = durable.read_file(path) or b""
    check_format(path, data)
    accepts = accepted_end(data) or START
    decoded = records.decode_records(data, chain=int(accepts.chain, 16), seq=accepts.seq)
    segment = _Segment(number, path, accepts, decoded, data[decoded.end :])
    if not decoded.records:
        # a segment is born with its first record, synced: no crash leaves it without
        raise _damage(segment)
    return segment


def _accepted_path(run: RunPaths, segments: list[_Segment]) -> list[tuple[_Segment, int]]:
    """The segments that count, in order, with the number of records that count in each.

    Followed back from the newest: each names the end that it accepts of an older one.
    """
    path: list[tuple[_Segment, int]] = []
    wanted: End | None = None
    for segment in reversed(segments):
        if wanted is None:
            _judge_tail(segment)
        elif segment.number == wanted.segment:
            _judge_accepted(segment, wanted)
        else:
            continue
        if segment.decoded.records:
            path.append((segment, (wanted.seq if wanted else segment.decoded.seq) - segment.accepts.seq))
            wanted = segment.accepts
    if wanted and wanted.segment:
        raise StateError(
            f"`{run.segment(wanted.segment)}` is missing: the journal goes on from it", hint=_HINT
        )
    path.reverse()
    return path


def _judge_tail(segment: _Segment) -> None:
    """Refuse a tail that is no crash's: something in or behind it was known to be synced."""
    decoded = segment.decoded
    if segment.tail and max(decoded.synced, records.synced_behind(segment.tail)) > decoded.seq:
        raise _damage(segment)


def _judge_accepted(segment: _Segment, wanted: End) -> None:
    """Refuse a segment that lacks what a later one accepted of it."""
    index = wanted.seq - segment.accepts.seq - 1
    held = segment.decoded.records
    if not 0 <= index < len(held) or held[index]["chain"] != wanted.chain:
        raise _damage(segment)


def _damage(segment: _Segment) -> StateError:
    decoded = segment.decoded
    return StateError(
        f"`{segment.path}` is damaged at byte {decoded.end}: record {decoded.seq + 1} was on disk "
        "and cannot be read any more",
        hint=_HINT,
    )


def _torn(segment: _Segment) -> Torn | None:
    if not segment.tail:
        return None
    return Torn(segment.path, segment.number, segment.decoded.end, len(segment.tail))


def _settle(run: RunPaths, after: Reading | None) -> None:
    """Make what is about to be accepted durable, and cut what a crash left behind it."""
    if after is None:
        return
    if after.torn:
        durable.cut_tail(after.torn.file, after.torn.offset, run.torn(after.torn.segment))
    if after.end.segment:
        durable.sync_file(run.segment(after.end.segment))


def _past(after: Reading | None) -> dict[str, Any]:
    """What the first record says about the journal before it."""
    past: dict[str, Any] = {}
    if after and after.end.segment:
        past["accepts"] = {"segment": after.end.segment, "seq": after.end.seq, "chain": after.end.chain}
    if after and after.torn:
        past["torn"] = {"segment": after.torn.segment, "offset": after.torn.offset, "size": after.torn.size}
    return past
