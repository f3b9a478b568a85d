from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crewflow.clock import SystemClock
from crewflow.errors import ExitCode, HeldError, StateError
from crewflow.state.journal import Journal, Reading, read_journal
from crewflow.state.paths import RunPaths
from crewflow.state.records import GENERATION, encode_record

CLOCK = SystemClock()


class StillClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def wall(self) -> float:
        return 1796077536.0 + self.now

    def monotonic(self) -> float:
        return self.now

    def boot(self) -> float:
        return self.now


@pytest.fixture
def run(tmp_path) -> RunPaths:
    return RunPaths(str(tmp_path))


def write_run(run: RunPaths, *, tasks: int = 6, after: Reading | None = None, sync: bool = True) -> Journal:
    """A generation as the loop would write it: three records a task, a sync after each second task."""
    generation = after.generations + 1 if after else 1
    journal = Journal.create(run, generation, {"run": "r", "plan": "0" * 64}, CLOCK, after)
    for number in range(tasks):
        task = f"tést[{number}]"
        journal.append("attempt.started", {"task": task, "attempt": 1})
        journal.append("attempt.spawned", {"task": task, "attempt": 1, "pid": 4711, "start": 99})
        journal.append(
            "attempt.ended", {"task": task, "attempt": 1, "outcome": "succeeded", "outputs": {"a": "é\n"}}
        )
        if sync and number % 2:
            journal.sync()
    return journal


def segment(run: RunPaths, number: int = 1) -> Path:
    return Path(run.segment(number))


def line_starts(data: bytes) -> list[int]:
    return [0, *(at + 1 for at, byte in enumerate(data) if byte == ord("\n"))]


# writing


def test_what_is_appended_is_read_in_order(run):
    journal = write_run(run)
    assert journal.append("run.ended", {"state": "succeeded"}) == 20
    journal.close()
    reading = read_journal(run)
    assert [record["seq"] for record in reading.records] == list(range(1, 21))
    assert reading.records[0]["type"] == GENERATION
    assert (reading.records[0]["format"], reading.records[0]["generation"]) == (1, 1)
    assert reading.records[0]["plan"] == "0" * 64
    assert reading.records[3]["outputs"] == {"a": "é\n"}
    assert (reading.torn, reading.generations, reading.last_seq) == (None, 1, 20)
    assert reading.last_chain == reading.records[-1]["chain"]


def test_a_record_is_with_the_system_when_append_returns(run):
    journal = write_run(run, tasks=1)
    assert read_journal(run).last_seq == 4
    journal.append("run.ended", {})
    assert read_journal(run).last_seq == 5
    journal.close()


def test_the_journal_counts_what_a_power_loss_could_take(run):
    clock = StillClock()
    journal = Journal.create(run, 1, {}, clock, None)
    assert (journal.seq, journal.unsynced, journal.first_unsynced) == (1, 0, None)
    clock.now = 101.0
    journal.append("a", {})
    clock.now = 102.0
    journal.append("b", {})
    assert (journal.seq, journal.unsynced, journal.first_unsynced) == (3, 2, 101.0)
    journal.sync()
    assert (journal.seq, journal.unsynced, journal.first_unsynced) == (3, 0, None)
    journal.append("c", {})
    journal.append("d", {})
    journal.close()
    records = read_journal(run).records
    assert [record.get("synced") for record in records] == [1, None, None, 3, None]
    assert [record["mono"] for record in records] == [0.0, 1.0, 2.0, 2.0, 2.0]
    assert records[0]["ts"] == 1796077636.0


@pytest.mark.seed("S18")
def test_many_records_need_one_sync_and_close_needs_the_last(run, monkeypatch):
    syncs = []
    name = "fdatasync" if hasattr(os, "fdatasync") else "fsync"
    real = getattr(os, name)
    journal = Journal.create(run, 1, {}, CLOCK, None)
    monkeypatch.setattr(os, name, lambda descriptor: syncs.append(real(descriptor)))
    for number in range(50):
        journal.append("fact", {"n": number})
    journal.sync()
    journal.sync()
    assert len(syncs) == 1
    journal.append("fact", {})
    journal.close()
    journal.close()
    assert len(syncs) == 2


@pytest.mark.case("C106")
def test_a_journal_that_failed_takes_no_more_records(run, monkeypatch):
    journal = write_run(run)
    good = read_journal(run).last_seq

    def no_space(descriptor, data):
        real(descriptor, data[:10])
        raise OSError(28, "No space left on device")

    real = os.write
    monkeypatch.setattr(os, "write", no_space)
    with pytest.raises(StateError, match="no space left on the device") as caught:
        journal.append("fact", {})
    assert run.segment(1) in str(caught.value)
    assert caught.value.exit_code == ExitCode.STATE
    monkeypatch.undo()
    with pytest.raises(StateError):
        journal.append("fact", {})
    assert journal.seq == good
    assert read_journal(run).last_seq == good


def test_after_an_interrupted_write_no_record_follows(run, monkeypatch):
    journal = write_run(run, tasks=1)

    def interrupted(descriptor, data):
        real(descriptor, data)
        raise KeyboardInterrupt

    real = os.write
    monkeypatch.setattr(os, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        journal.append("fact", {})
    monkeypatch.undo()
    with pytest.raises(StateError, match="was interrupted"):
        journal.append("fact", {})
    journal.close()
    assert [record["seq"] for record in read_journal(run).records] == [1, 2, 3, 4, 5]


# generations


@pytest.mark.seed("S16")
def test_seq_has_no_gap_and_no_duplicate_over_generations(run):
    for _ in range(4):
        reading = read_journal(run)
        write_run(run, tasks=2, after=reading).close()
    reading = read_journal(run)
    assert [record["seq"] for record in reading.records] == list(range(1, 29))
    assert [record["generation"] for record in reading.records if record["type"] == GENERATION] == [
        1,
        2,
        3,
        4,
    ]
    assert reading.generations == 4


def test_what_a_generation_accepts_is_synced_before_it_is_accepted(run, monkeypatch):
    """A killed writer leaves records that a loss of power could still take."""
    write_run(run, sync=False)
    synced = []
    real = os.fsync

    def record(descriptor):
        synced.append((os.fstat(descriptor).st_ino, segment(run, 2).exists()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    write_run(run, tasks=0, after=read_journal(run))
    assert (segment(run).stat().st_ino, False) in synced


def test_a_generation_opens_once(run):
    write_run(run).close()
    reading = read_journal(run)
    write_run(run, after=reading).close()
    before = segment(run, 2).read_bytes()
    with pytest.raises(HeldError, match="another process opened generation 2"):
        write_run(run, after=reading)
    assert segment(run, 2).read_bytes() == before


@pytest.mark.seed("S16")
def test_of_processes_that_open_a_generation_at_once_one_succeeds(run):
    write_run(run).close()
    code = (
        "import sys\n"
        "from crewflow.clock import SystemClock\n"
        "from crewflow.errors import HeldError\n"
        "from crewflow.state.journal import Journal, read_journal\n"
        "from crewflow.state.paths import RunPaths\n"
        "run = RunPaths(sys.argv[1])\n"
        "reading = read_journal(run)\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
        "try:\n"
        "    journal = Journal.create(run, 2, {}, SystemClock(), reading)\n"
        "    for n in range(100): journal.append('fact', {'by': sys.argv[2], 'n': n})\n"
        "    print('won')\n"
        "except HeldError: print('lost')\n"
    )
    words = [sys.executable, "-c", code, run.root]
    racers = [
        subprocess.Popen([*words, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in "abcd"
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.close()
    said = sorted(racer.stdout.read() for racer in racers)
    for racer in racers:
        racer.stdout.close()
        assert racer.wait() == 0
    assert said == ["lost\n", "lost\n", "lost\n", "won\n"]
    reading = read_journal(run)
    assert [record["seq"] for record in reading.records] == list(range(1, 121))
    assert len({record["by"] for record in reading.records if "by" in record}) == 1


def test_what_a_later_generation_did_not_accept_is_not_read(run):
    first = write_run(run, tasks=2)
    reading = read_journal(run)
    write_run(run, tasks=1, after=reading).close()
    first.append("fact", {"from": "a writer that lost its lease"})
    first.close()
    found = read_journal(run)
    assert [record["seq"] for record in found.records] == list(range(1, 12))
    assert not any("from" in record for record in found.records)


def test_a_run_that_was_born_and_wrote_nothing_has_an_empty_journal(run):
    assert read_journal(run) == Reading([], None, 0, read_journal(run).end)
    assert (read_journal(run).last_seq, read_journal(run).last_chain) == (0, "00000000")


# what a crash leaves


def test_cut_at_any_byte_the_records_before_are_read(run):
    write_run(run, tasks=5).close()
    data = segment(run).read_bytes()
    starts = line_starts(data)
    all_records = read_journal(run).records
    for size in range(len(data) - 1, starts[1] - 1, -1):
        os.truncate(segment(run), size)
        reading = read_journal(run)
        whole = sum(start <= size for start in starts) - 1
        assert reading.records == all_records[:whole]
        rest = size - starts[whole]
        assert (
            (reading.torn.offset, reading.torn.size) == (starts[whole], rest)
            if rest
            else reading.torn is None
        )


def test_cut_at_any_byte_the_next_generation_goes_on(run):
    write_run(run, tasks=1, sync=False).close()
    data = segment(run).read_bytes()
    starts = line_starts(data)
    for size in range(starts[1], len(data)):
        segment(run).write_bytes(data[:size])
        reading = read_journal(run)
        write_run(run, tasks=1, after=reading).close()
        whole = sum(start <= size for start in starts) - 1
        after = read_journal(run)
        assert [record["seq"] for record in after.records] == list(range(1, whole + 5))
        assert after.torn is None
        assert segment(run).read_bytes() == data[: starts[whole]]
        if reading.torn:
            assert Path(run.torn(1)).read_bytes() == data[starts[whole] : size]
            cut = after.records[whole]["torn"]
            assert cut == {"segment": 1, "offset": starts[whole], "size": size - starts[whole]}
            Path(run.torn(1)).unlink()
        segment(run, 2).unlink()


@pytest.mark.case("C103")
@pytest.mark.case("C104")
@pytest.mark.parametrize(
    "tail",
    [
        b'{"event":"task_started","id":"c',
        b'{"m":"caf\xc3',
        b'{"m":\n\n',
        b"\n",
        b"\0" * 4096,
        b"null\n[]\n12\n",
        b"[" * 100_000 + b"\n",
    ],
)
def test_a_torn_tail_is_cut_kept_and_told_and_swallows_no_record(run, tail):
    write_run(run).close()
    data = segment(run).read_bytes()
    segment(run).write_bytes(data + tail)
    reading = read_journal(run)
    assert reading.last_seq == 19
    assert (reading.torn.offset, reading.torn.size) == (len(data), len(tail))
    write_run(run, after=reading).close()
    assert [record["seq"] for record in read_journal(run).records] == list(range(1, 39))
    assert segment(run).read_bytes() == data
    assert Path(run.torn(1)).read_bytes() == tail


@pytest.mark.case("C119")
def test_reading_a_torn_journal_changes_nothing(run, tmp_path):
    write_run(run).close()
    with segment(run).open("ab") as file:
        file.write(b'{"seq":20,')
    before = [(path.name, path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()]
    read_journal(run)
    assert [(path.name, path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()] == before


def test_a_crash_between_the_cut_and_the_new_segment_changes_nothing_more(run):
    write_run(run).close()
    data = segment(run).read_bytes()
    segment(run).write_bytes(data + b"torn")
    Path(run.torn(1)).write_bytes(b"torn")
    write_run(run, after=read_journal(run)).close()
    assert segment(run).read_bytes() == data
    assert Path(run.torn(1)).read_bytes() == b"torn"


def test_damage_above_the_last_mark_is_a_crashs_tail(run):
    journal = write_run(run, tasks=4, sync=False)
    journal.close()
    data = bytearray(segment(run).read_bytes())
    starts = line_starts(data)
    data[starts[5] + 3] ^= 1
    segment(run).write_bytes(data)
    reading = read_journal(run)
    assert reading.last_seq == 5
    assert reading.torn.size == len(data) - starts[5]


# damage


def test_a_changed_byte_at_or_below_the_synced_mark_is_refused_with_its_place(run):
    journal = write_run(run, tasks=4)
    journal.append("fact", {})
    journal.close()
    data = segment(run).read_bytes()
    starts = line_starts(data)
    synced = max(record.get("synced", 0) for record in read_journal(run).records)
    assert synced == 13
    for at in range(starts[synced]):
        changed = bytearray(data)
        changed[at] ^= 1
        segment(run).write_bytes(changed)
        line = max(start for start in starts if start <= at)
        with pytest.raises(StateError) as caught:
            read_journal(run)
        text = str(caught.value)
        assert run.segment(1) in text
        assert f"damaged at byte {line}: record {starts.index(line) + 1}" in text or "journal format" in text
        assert segment(run).read_bytes() == changed


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_bytes_changed_anywhere_are_refused_or_cost_a_tail_only(tmp_path_factory, data):
    run = RunPaths(str(tmp_path_factory.mktemp("run")))
    journal = write_run(run, tasks=data.draw(st.integers(0, 5)))
    journal.close()
    before = read_journal(run).records
    whole = bytearray(segment(run).read_bytes())
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=4)):
        whole[at] = data.draw(st.integers(0, 255))
    segment(run).write_bytes(whole)
    try:
        found = read_journal(run).records
    except StateError:
        found = []
    assert found == before[: len(found)]


def test_a_segment_that_lost_what_was_accepted_is_refused(run):
    write_run(run).close()
    write_run(run, after=read_journal(run)).close()
    data = segment(run).read_bytes()
    segment(run).write_bytes(data[:-10])
    with pytest.raises(StateError, match=r"events\.1\.jsonl` is damaged at byte .*: record 19"):
        read_journal(run)
    segment(run).unlink()
    with pytest.raises(StateError, match=r"events\.1\.jsonl` is missing"):
        read_journal(run)


def test_a_segment_that_is_another_one_than_was_accepted_is_refused(run):
    write_run(run).close()
    write_run(run, after=read_journal(run)).close()
    segment(run).unlink()
    write_run(run).close()
    with pytest.raises(StateError, match=r"events\.1\.jsonl` is damaged"):
        read_journal(run)


def test_a_middle_segment_without_its_first_record_is_refused(run):
    for _ in range(3):
        write_run(run, tasks=1, after=read_journal(run)).close()
    data = bytearray(segment(run, 2).read_bytes())
    data[5] ^= 1
    segment(run, 2).write_bytes(data)
    with pytest.raises(StateError, match=r"events\.2\.jsonl` is damaged at byte 0"):
        read_journal(run)


@pytest.mark.case("C109")
@pytest.mark.parametrize("segments", [1, 2])
def test_a_newest_segment_without_the_first_record_it_was_born_with_is_refused(run, segments):
    for _ in range(segments):
        write_run(run, tasks=1, after=read_journal(run)).close()
    whole = segment(run, segments).read_bytes()
    for size in range(len(whole.partition(b"\n")[0]) + 1):
        segment(run, segments).write_bytes(whole[:size])
        with pytest.raises(StateError, match=rf"events\.{segments}\.jsonl` is damaged at byte 0"):
            read_journal(run)


@pytest.mark.case("C109")
def test_a_journal_of_another_format_is_refused_and_left_alone(run):
    header = {"format": 999, "generation": 1}
    line, _ = encode_record(1, 0.0, 0.0, GENERATION, header, synced=0, chain=0)
    segment(run).write_bytes(line)
    with pytest.raises(StateError, match="has journal format 999, and this version reads format 1") as caught:
        read_journal(run)
    assert caught.value.hint == "use the version of crewflow that wrote it"
    assert segment(run).read_bytes() == line


@pytest.mark.case("C116")
def test_a_segment_that_is_a_symbolic_link_is_refused(run, tmp_path_factory):
    precious = tmp_path_factory.mktemp("home") / "precious"
    precious.write_bytes(b"precious")
    segment(run).symlink_to(precious)
    with pytest.raises(StateError, match="a symbolic link is in its place"):
        read_journal(run)
    with pytest.raises(HeldError):
        write_run(run)
    assert precious.read_bytes() == b"precious"


def test_other_files_of_the_run_are_no_segments(run, tmp_path):
    write_run(run).close()
    for name in ("events.0.jsonl", "events.01.jsonl", "events.2.torn", "events.x.jsonl", "xevents.2.jsonl"):
        (tmp_path / name).write_bytes(b"x")
    assert read_journal(run).generations == 1
