"""What a step with `expand` may answer."""

import jsonschema
import jsonschema_rs
import pytest

from crewflow.spec.schema import schema

STEP = {"id": "api", "role": "executor", "prompt": "Add the route."}
GOOD = [
    [STEP],
    {"steps": [STEP, {**STEP, "id": "ui", "needs": "api", "reads": "src/**", "writes": ["src/ui/**"]}]},
    {"phases": [{"steps": [STEP]}, {"name": "check", "steps": [{**STEP, "expect": {"run": ["make"]}}]}]},
    [{**STEP, "outputs": {"files": "array"}, "description": "A route"}],
]
BAD = [
    [],
    {},
    "api",
    [{**STEP, "run": "rm -rf /"}],
    [{**STEP, "agent": "other"}],
    [{**STEP, "id": "a/b"}],
    [{"id": "api", "prompt": "x"}],
    {"steps": [STEP], "phases": [{"steps": [STEP]}]},
    {"phases": [{"steps": []}]},
    {"steps": [STEP], "budget": 5},
]


def verdicts(value):
    return {
        jsonschema.Draft202012Validator(schema("expansion")).is_valid(value),
        jsonschema_rs.Draft202012Validator(schema("expansion")).is_valid(value),
    }


@pytest.mark.seed("S25")
@pytest.mark.parametrize("value", GOOD)
def test_steps_and_phases_of_steps_are_an_expansion(value):
    assert verdicts(value) == {True}


@pytest.mark.seed("S25")
@pytest.mark.parametrize("value", BAD)
def test_nothing_but_prompts_within_bounds_is_one(value):
    assert verdicts(value) == {False}
