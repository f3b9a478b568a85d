"""Patterns and durations of keys whose running comes later are refused now where they are wrong."""

import pytest

from crewflow.spec.build import build_workflow
from crewflow.spec.later import named, weights
from crewflow.spec.model import Defaults
from crewflow.spec.schema import check
from crewflow.spec.source import read_documents


def built(step):
    text = f"kind: workflow\nname: w\nsteps:\n  a: {{run: x, {step}}}\n"
    (document,), _ = read_documents("f.yaml", text.encode())
    assert check(document, "workflow") == ()
    workflow, problems = build_workflow(document, document.data, Defaults())
    return workflow.steps[0], [f"{p.place.column} {p.rule} {p.message}" for p in problems]


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("writes: ['../x']", "24 CF104 `../x` leads out of the project"),
        ("writes: /etc", "23 CF104 `/etc` is not relative to the project"),
        ("reads: ['~/x']", "23 CF104 `~/x` is not relative to the project"),
        ("writes: ['!/etc/x']", "24 CF104 `/etc/x` is not relative to the project"),
        (
            "writes: ['$HOME/x']",
            "24 CF104 `$HOME/x` holds a `$`, and patterns know no variables of the shell",
        ),
        (
            "writes: .crewflow/runs",
            "23 CF104 `.crewflow/runs` lies in `.crewflow/`, which belongs to crewflow",
        ),
        ("expect: {changed: [/x]}", "34 CF104 `/x` is not relative to the project"),
    ],
)
def test_a_pattern_that_cannot_be_meant_is_refused(step, problem):
    assert built(step)[1] == [problem]


def test_what_is_sound_is_kept_as_plain_data():
    step, problems = built("writes: src/**, pools: {db: 2}, secrets: {A: B}, idle_timeout: 2m")

    assert problems == []
    assert step.later == {
        "writes": ["src/**"],
        "pools": {"db": 2},
        "secrets": {"A": "B"},
        "idle_timeout": 120.0,
    }


def test_names_and_weights_have_one_form():
    assert named(["A", "B"]) == {"A": "A", "B": "B"}
    assert named({"A": "B"}) == {"A": "B"}
    assert named(None) == {}
    assert weights("db") == {"db": 1}
    assert weights(["db", "net"]) == {"db": 1, "net": 1}
    assert weights({"db": 3}) == {"db": 3}
