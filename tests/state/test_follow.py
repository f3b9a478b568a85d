from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crewflow.clock import SystemClock
from crewflow.errors import StateError
from crewflow.state.follow import Follower
from crewflow.state.journal import Journal, read_journal
from crewflow.state.paths import RunPaths
from crewflow.state.records import GENERATION

CLOCK = SystemClock()

WRITER = """
import sys
from crewflow.clock import SystemClock
from crewflow.state.journal import Journal
from crewflow.state.paths import RunPaths
journal = Journal.create(RunPaths(sys.argv[1]), 1, {}, SystemClock(), None)
for n in range(5000):
    journal.append("attempt.started", {"task": f"t[{n}]", "text": "x" * (n % 300)})
    journal.append("attempt.ended", {"task": f"t[{n}]"})
    if n % 500 == 0:
        journal.sync()
journal.close()
"""


@pytest.fixture
def run(tmp_path) -> RunPaths:
    return RunPaths(str(tmp_path))


def seqs(records):
    return [record["seq"] for record in records]


def test_each_poll_returns_what_is_new(run):
    follower = Follower(run)
    assert follower.poll() == []
    journal = Journal.create(run, 1, {}, CLOCK, None)
    assert seqs(follower.poll()) == [1]
    assert follower.poll() == []
    journal.append("a", {})
    journal.append("b", {})
    assert [record["type"] for record in follower.poll()] == ["a", "b"]
    assert follower.seq == 3
    journal.close()


def test_a_follower_goes_on_across_generations(run):
    follower = Follower(run)
    late = Follower(run)
    found = []
    for generation in (1, 2, 3):
        journal = Journal.create(run, generation, {}, CLOCK, read_journal(run))
        journal.append("a", {})
        if generation == 2:
            found += follower.poll()
        journal.append("b", {})
        journal.close()
    found += follower.poll()
    assert seqs(found) == seqs(late.poll()) == list(range(1, 10))
    assert [record["generation"] for record in found if record["type"] == GENERATION] == [1, 2, 3]


def test_a_line_that_is_half_written_is_waited_on(run):
    journal = Journal.create(run, 1, {}, CLOCK, None)
    journal.append("a", {})
    journal.close()
    path = Path(run.segment(1))
    data = path.read_bytes()
    follower = Follower(run)
    found = []
    for size in range(len(data) + 1):
        path.write_bytes(data[:size])
        found += follower.poll()
    assert seqs(found) == [1, 2]


def test_a_torn_tail_is_passed_over_when_the_next_generation_cut_it(run):
    follower = Follower(run)
    journal = Journal.create(run, 1, {}, CLOCK, None)
    journal.append("a", {})
    journal.close()
    with Path(run.segment(1)).open("ab") as file:
        file.write(b"torn\n" * 3)
    assert seqs(follower.poll()) == [1, 2]
    assert follower.poll() == []
    journal = Journal.create(run, 2, {}, CLOCK, read_journal(run))
    journal.append("b", {})
    journal.close()
    assert seqs(follower.poll()) == [3, 4]


def test_what_no_later_generation_accepted_is_not_returned(run):
    first = Journal.create(run, 1, {}, CLOCK, None)
    reading = read_journal(run)
    second = Journal.create(run, 2, {}, CLOCK, reading)
    first.append("late", {})
    second.append("b", {})
    first.close()
    second.close()
    assert [record["type"] for record in Follower(run).poll()] == [GENERATION, GENERATION, "b"]


def test_a_record_that_was_returned_and_not_accepted_is_followed_by_the_one_that_counts(run):
    follower = Follower(run)
    first = Journal.create(run, 1, {}, CLOCK, None)
    reading = read_journal(run)
    first.append("late", {})
    assert seqs(follower.poll()) == [1, 2]
    second = Journal.create(run, 2, {}, CLOCK, reading)
    assert [(record["seq"], record["type"]) for record in follower.poll()] == [(2, GENERATION)]
    first.close()
    second.close()


def test_a_journal_of_another_format_is_refused(run):
    Path(run.segment(1)).write_bytes(b'{"type":"run.generation","format":7}\n')
    with pytest.raises(StateError, match="journal format 7"):
        Follower(run).poll()


@pytest.mark.case("C194")
def test_readers_beside_a_writer_see_whole_records_in_order(run):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, run.root])
    follower = Follower(run)
    found = []
    reads = 0
    while writer.poll() is None:
        found += follower.poll()
        reading = read_journal(run)
        assert seqs(reading.records) == list(range(1, reading.last_seq + 1))
        started = sum(record["type"] == "attempt.started" for record in reading.records)
        ended = sum(record["type"] == "attempt.ended" for record in reading.records)
        assert started - ended in {0, 1}
        reads += 1
    found += follower.poll()
    assert writer.returncode == 0
    assert seqs(found) == list(range(1, 10_002))
    assert found == read_journal(run).records
    assert reads > 1
