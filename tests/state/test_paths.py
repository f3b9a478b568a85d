from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.state.paths import RunPaths, StatePaths, encode_name, place_file


def test_the_files_of_a_run_are_where_the_design_says():
    run = StatePaths("/p/.crewflow").run("20261130-221427-x7k2")
    assert run.root == "/p/.crewflow/runs/20261130-221427-x7k2"
    assert run.run_id == "20261130-221427-x7k2"
    names = [
        run.plan(),
        run.plan(2),
        run.segment(1),
        run.torn(1),
        run.lease,
        run.lease_text,
        run.alive,
        run.run_snapshot,
        run.tasks_snapshot,
        run.requests,
        run.artifacts,
        run.attempt("build", 3),
        place_file(run.root),
    ]
    assert [name.removeprefix(run.root) for name in names] == [
        "/plan.json",
        "/plan.2.json",
        "/events.1.jsonl",
        "/events.1.torn",
        "/lease",
        "/lease.json",
        "/alive",
        "/run.json",
        "/tasks.json",
        "/requests",
        "/artifacts",
        "/tasks/build/3",
        "/place.json",
    ]


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("build-1_a.b", "build-1_a.b"),
        ("test[3.11]", "test%5B3.11%5D"),
        ("a/b", "a%2Fb"),
        ("../x", "..%2Fx"),
        (".", "%2E"),
        ("..", "%2E%2E"),
        ("", "%"),
        ("%", "%25"),
        ("é", "%C3%A9"),
        ("a\0\n b", "a%00%0A%20b"),
    ],
)
def test_task_names_become_safe_file_names(task, name):
    assert encode_name(task) == name


@pytest.mark.case("C118")
@pytest.mark.parametrize("task", ["a" * 300, "é" * 128, "item[" + "x" * 5000 + "]"])
def test_long_names_are_cut_and_stay_different(tmp_path, task):
    name = encode_name(task)
    assert len(name) == 180
    assert name != encode_name(task + "x")
    assert name[:100] == encode_name(task + "x")[:100]
    (tmp_path / name).mkdir()


@given(st.lists(st.text(max_size=300), unique=True, max_size=20))
def test_no_two_tasks_share_a_name_and_none_leaves_its_folder(tasks):
    names = [encode_name(task) for task in tasks]
    assert len(set(names)) == len(tasks)
    for name in names:
        assert 0 < len(name.encode()) <= 180
        assert "/" not in name
        assert name not in {".", ".."}


def test_undecodable_bytes_of_a_file_name_have_a_name_too():
    assert encode_name("a\udcff") == "a%FF"
    assert RunPaths("/r").attempt("a\udcff", 1) == "/r/tasks/a%FF/1"
