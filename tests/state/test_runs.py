from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.errors import ExitCode, StateError, UsageError
from crewflow.state.folder import open_state
from crewflow.state.runs import create_run, find_run, list_runs, load_plan_bytes, new_run_id, plan_hash

WALL = 1796077536.25


@pytest.fixture
def state(tmp_path) -> str:
    return open_state(str(tmp_path))


def test_an_id_says_when_its_run_began_in_utc():
    run_id = new_run_id(WALL)
    assert run_id.startswith("20261130-222536-")
    assert len(run_id) == 22
    assert run_id == run_id.lower()


@given(st.lists(st.integers(0, 2**40), min_size=2, max_size=20, unique=True))
def test_ids_sort_by_time_within_a_second_too(milliseconds):
    moments = sorted(milliseconds)
    apart = [a for a, b in pairwise(moments) if b - a >= 2] + moments[-1:]
    ids = [new_run_id(moment / 1000) for moment in apart]
    assert ids == sorted(ids)


def test_ids_of_one_moment_are_different():
    """Ten at a time: of a hundred, chance makes two the same once in some 300 times."""
    for _ in range(10):
        assert len({new_run_id(WALL) for _ in range(10)}) == 10


def test_a_run_is_born_with_its_plan(state):
    run_id = new_run_id(WALL)
    run = create_run(state, run_id, b'{"tasks":[]}')
    assert run.root == f"{state}/runs/{run_id}"
    assert Path(run.plan()).read_bytes() == b'{"tasks":[]}'
    assert os.listdir(f"{state}/runs") == [run_id]
    with pytest.raises(StateError, match="the name is taken"):
        create_run(state, run_id, b"other")
    assert os.listdir(f"{state}/runs") == [run_id]
    assert Path(run.plan()).read_bytes() == b'{"tasks":[]}'


def test_a_run_is_never_seen_without_its_plan(state):
    code = (
        "import sys\n"
        "from crewflow.state.runs import create_run, new_run_id\n"
        "for n in range(60): create_run(sys.argv[1], new_run_id(1796077536.0 + n), b'x' * 50_000)\n"
    )
    maker = subprocess.Popen([sys.executable, "-c", code, state])
    seen = 0
    while maker.poll() is None:
        found = list_runs(state)
        assert all(len(Path(state, "runs", run_id, "plan.json").read_bytes()) == 50_000 for run_id in found)
        seen = max(seen, len(found))
    assert maker.returncode == 0
    assert seen > 0
    assert len(list_runs(state)) == 60


def test_what_a_crash_left_of_a_birth_is_not_listed_and_removed_when_old(state):
    runs = Path(state, "runs")
    for name in ("old", "young"):
        (runs / f".new-{name}").mkdir()
        (runs / f".new-{name}" / "plan.json").write_bytes(b"half")
    os.utime(runs / ".new-old", (1.0, 1.0))
    assert list_runs(state) == []
    run_id = new_run_id(WALL)
    create_run(state, run_id, b"{}")
    assert sorted(os.listdir(runs)) == [".new-young", run_id]


@pytest.mark.seed("S22")
@pytest.mark.parametrize(
    "run_id", ["..", "../x", "a/b", "", ".new-x", "/etc", "20261130-221427-X7K2", "a" * 300]
)
def test_no_id_leads_out_of_the_folder(state, run_id):
    with pytest.raises(UsageError, match="is no run id"):
        create_run(state, run_id, b"{}")
    create_run(state, new_run_id(WALL), b"{}")
    if run_id:
        with pytest.raises(UsageError, match="there is no run"):
            find_run(state, run_id)
    assert len(os.listdir(f"{state}/runs")) == 1


def test_a_run_is_found_by_id_beginning_and_as_the_latest(state):
    ids = ["20261130-221427-aaaa", "20261130-221427-bbbb", "20261201-000000-cccc"]
    for run_id in ids:
        create_run(state, run_id, b"{}")
    assert list_runs(state) == ids[::-1]
    assert find_run(state, ids[0]).run_id == ids[0]
    assert find_run(state, "20261201").run_id == ids[2]
    assert find_run(state, "20261130-221427-b").run_id == ids[1]
    assert find_run(state, "@latest").run_id == ids[2]


def test_a_run_that_is_not_meant_clearly_is_asked_for(state):
    with pytest.raises(UsageError, match="there is no run yet") as caught:
        find_run(state, "@latest")
    assert caught.value.hint == "start one with `crewflow apply`"
    for number in range(7):
        create_run(state, f"20261130-221427-aaa{number}", b"{}")
    with pytest.raises(UsageError, match="`2026` means 7 runs") as caught:
        find_run(state, "2026")
    assert (
        caught.value.hint
        == "one of " + ", ".join(f"`20261130-221427-aaa{n}`" for n in range(6, 1, -1)) + ", ..."
    )
    assert caught.value.exit_code == ExitCode.USAGE
    for wrong in ("2027", "*", "", "@last"):
        with pytest.raises(UsageError, match="there is no run `") as caught:
            find_run(state, wrong)
        assert caught.value.hint.startswith("the newest are `20261130-221427-aaa6`")


@pytest.mark.case("C125")
def test_a_damaged_run_and_foreign_things_do_not_break_the_list(state):
    run = create_run(state, "20261130-221427-aaaa", b"{}")
    Path(run.plan()).unlink()
    runs = Path(state, "runs")
    (runs / "notes.txt").touch()
    (runs / "20261130-221427-bbbb").touch()
    (runs / "20261130-221427-cccc").symlink_to(run.root)
    assert list_runs(state) == [run.run_id]


def test_a_state_folder_without_runs_has_none(tmp_path):
    assert list_runs(str(tmp_path / "nothing")) == []


@pytest.mark.case("C191")
@pytest.mark.seed("S22")
def test_a_plan_that_was_changed_is_refused_with_both_hashes(state):
    plan = b'{"tasks":["a"]}'
    run = create_run(state, new_run_id(WALL), plan)
    recorded = plan_hash(plan)
    assert recorded == hashlib.sha256(plan).hexdigest()
    assert load_plan_bytes(run, recorded) == plan
    Path(run.plan()).write_bytes(b'{"tasks":["b"]}')
    with pytest.raises(StateError) as caught:
        load_plan_bytes(run, recorded)
    assert recorded in str(caught.value)
    assert plan_hash(b'{"tasks":["b"]}') in str(caught.value)
    Path(run.plan()).unlink()
    with pytest.raises(StateError, match=r"plan\.json` is missing"):
        load_plan_bytes(run, recorded)
