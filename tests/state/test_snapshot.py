from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crewflow.state.paths import RunPaths
from crewflow.state.snapshot import read_run_snapshot, read_tasks_snapshot, write_snapshots


@pytest.fixture
def run(tmp_path) -> RunPaths:
    return RunPaths(str(tmp_path))


def test_snapshots_are_replaced_and_read(run):
    assert read_run_snapshot(run) is None
    assert read_tasks_snapshot(run) is None
    for seq in (3, 9):
        write_snapshots(run, {"seq": seq, "state": "running"}, {"seq": seq, "tasks": {"a": "é"}})
    assert read_run_snapshot(run) == {"format": 1, "seq": 9, "state": "running"}
    assert read_tasks_snapshot(run) == {"format": 1, "seq": 9, "tasks": {"a": "é"}}


@pytest.mark.case("C109")
@pytest.mark.seed("S21")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"a":',
        b"\0" * 100,
        b"\xff\xfe",
        b"[]",
        b'{"format":1}',
        b'{"format":999,"seq":1}',
        b'{"format":1,"seq":"1"}',
    ],
)
def test_a_snapshot_that_cannot_be_used_is_as_good_as_none_and_is_left_alone(run, content):
    Path(run.run_snapshot).write_bytes(content)
    assert read_run_snapshot(run) is None
    assert Path(run.run_snapshot).read_bytes() == content


@pytest.mark.case("C116")
def test_a_snapshot_behind_a_symbolic_link_is_as_good_as_none(run, tmp_path):
    (tmp_path / "other").write_bytes(b'{"format":1,"seq":1}')
    Path(run.run_snapshot).symlink_to(tmp_path / "other")
    assert read_run_snapshot(run) is None


@pytest.mark.case("C194")
def test_a_reader_beside_a_writer_always_sees_a_whole_snapshot(run):
    write_snapshots(run, {"seq": 0}, {"seq": 0, "tasks": []})
    code = (
        "import sys\n"
        "from crewflow.state.paths import RunPaths\n"
        "from crewflow.state.snapshot import write_snapshots\n"
        "for seq in range(300):\n"
        "    write_snapshots(RunPaths(sys.argv[1]), {'seq': seq}, {'seq': seq, 'tasks': ['x' * 100] * seq})\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, run.root])
    last = 0
    while writer.poll() is None:
        tasks = read_tasks_snapshot(run)
        assert len(tasks["tasks"]) == tasks["seq"] >= last
        last = tasks["seq"]
        assert read_run_snapshot(run)["seq"] >= 0
    assert writer.returncode == 0
