"""Reading a journal while it is written: what is new since the last look.

Takes no lock and judges nothing: a line that is not complete, or does not chain, is waited on, for it may
be half written, or be cut off by the next generation. Whether a journal is damaged is `read_journal`'s
to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewflow import durable
from crewflow.state.journal import accepted_end, check_format, segment_numbers
from crewflow.state.records import decode_records

if TYPE_CHECKING:
    from crewflow.state.journal import End
    from crewflow.state.paths import RunPaths
    from crewflow.state.records import Record


class Follower:
    """Reads on in a run's journal, across generations.

    Where locks fail, a record may be returned that the next generation does not accept; its `seq` then
    comes a second time, with the record that counts.

    Attributes:
        seq: of the last record that was returned; 0 before the first.
    """

    def __init__(self, run: RunPaths) -> None:
        self._run = run
        self._segment = 0
        self._offset = 0
        self._chain = 0
        self.seq = 0

    def poll(self) -> list[Record]:
        """The records that were added since the last poll; the first poll returns all there are.

        Raises:
            StateError: the journal is of another format, or cannot be read.
        """
        found: list[Record] = []
        while following := self._next_segment():
            number, end = following
            # Looked for first and read after: a segment that has a successor is read to where that goes on.
            found += self._read(up_to=end.seq)
            if self.seq < end.seq:
                return found
            self._segment, self._offset, self._chain, self.seq = number, 0, int(end.chain, 16), end.seq
        return found + self._read(up_to=None)

    def _next_segment(self) -> tuple[int, End] | None:
        """The first newer segment that goes on from the current one, and from where in it."""
        for number in segment_numbers(self._run):
            if number > self._segment:
                path = self._run.segment(number)
                data = durable.read_file(path) or b""
                check_format(path, data)
                end = accepted_end(data)
                if end and end.segment == self._segment:
                    return number, end
        return None

    def _read(self, up_to: int | None) -> list[Record]:
        if not self._segment:
            return []
        data = durable.read_file(self._run.segment(self._segment), start=self._offset) or b""
        decoded = decode_records(data, chain=self._chain, seq=self.seq)
        count = len(decoded.records) if up_to is None else max(up_to - self.seq, 0)
        self._offset, self._chain, self.seq = self._offset + decoded.end, decoded.chain, decoded.seq
        return decoded.records[:count]
