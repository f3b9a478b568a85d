"""What expressions are told: rendered into attempts by the real loop, ended by a script."""

import json

import pytest

from crewflow.run.states import Outcome

FAILED = Outcome.FAILED


def asked(scripted, expression, outcomes=None, *, steps="", kind="steps", **more):
    """What `expression` yields in a step `ask` that comes after all others, as JSON."""
    text = f"""
    steps:
      a: {{run: "true", outputs: {{x: string, n: integer}}}}
      {steps}
    finally:
      ask: {{run: [tell, "${{{{ ({expression}) | to_json }}}}"]}}
    """
    run = scripted(text, **more).apply((), outcomes or {})
    return json.loads(run.attempt("ask").action[1])


OK = {"outcome": Outcome.SUCCEEDED, "exit_code": 0, "outputs": {"x": "text", "n": 3}, "result": {"k": [1, 2]}}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("steps.a.state", "succeeded"),
        ("steps.a.outcome", "succeeded"),
        ("steps.a.exit_code", 0),
        ("steps.a.attempts", 1),
        ("steps.a.result", {"k": [1, 2]}),
        ("steps.a.result.k", [1, 2]),
        ("steps.a.outputs.x", "text"),
        ("steps.a.outputs.n + 1", 4),
        ("run.state", "running"),
        ("run.failed", []),
        ("run.workflow", "w"),
    ],
)
def test_a_step_that_succeeded(scripted, expression, value):
    assert asked(scripted, expression, {"a": OK}) == value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("steps.a.state", "failed"),
        ("steps.a.outcome", "failed"),
        ("steps.a.exit_code", 7),
        ("steps.a.error", "it broke"),
        ("run.state", "failed"),
        ("run.failed", ["a"]),
        ("run.failed.0", "a"),
        ("steps.a.outputs.x | default('none')", "none"),
    ],
)
def test_a_step_that_failed(scripted, expression, value):
    broken = {"outcome": FAILED, "exit_code": 7, "error": "it broke"}
    assert asked(scripted, expression, {"a": broken}) == value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("steps.b.state", "skipped"),
        ("steps.b.outcome", "skipped"),
        ("steps.b.attempts", 0),
        ("steps.b.outputs.y | default('none')", "none"),
        ("steps.b.result | default('none')", "none"),
    ],
)
def test_a_step_that_was_skipped(scripted, expression, value):
    steps = "b: {needs: a, run: 'true', outputs: {y: string}}"
    assert asked(scripted, expression, {"a": FAILED}, steps=steps) == value


def test_an_allowed_failure_is_a_success_whose_outcome_tells(scripted):
    steps = "b: {run: 'true', allow_failure: true}"
    assert asked(scripted, "[steps.b.state, steps.b.outcome]", {"b": FAILED}, steps=steps) == [
        "succeeded",
        "failed",
    ]


LEGS = "b: {for_each: [p, q, r], run: 'true', outputs: {y: string}, allow_failure: true}"


def leg(text):
    return {"outcome": Outcome.SUCCEEDED, "exit_code": 0, "outputs": {"y": text}, "result": text * 2}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("steps.b.outputs.y", ["1", None, "3"]),
        ("steps.b.result", ["11", None, "33"]),
        ("steps.b.state", "succeeded"),
        ("steps.b.outcome", "failed"),
        ("steps.b.outcome == 'failed'", True),
        ("steps.b.attempts", [1, 1, 1]),
    ],
)
def test_a_fan_out_has_lists_in_order_null_where_a_leg_has_none_and_one_state(scripted, expression, value):
    outcomes = {"b[0]": leg("1"), "b[1]": FAILED, "b[2]": leg("3")}
    assert asked(scripted, expression, outcomes, steps=LEGS) == value


def test_artifacts_are_one_path_or_a_list(scripted):
    made = [{"id": i, "path": p, "sha256": "0", "size": 1} for i, p in [("m", "x"), ("n", "y"), ("n", "z")]]
    steps = "b: {run: 'true', artifacts: {m: x, n: ['y', 'z']}}"
    ended = {"outcome": Outcome.SUCCEEDED, "artifacts": tuple(made)}
    found = asked(scripted, "[steps.b.artifacts.m, steps.b.artifacts.n]", {"b": ended}, steps=steps)
    assert found == ["x", ["y", "z"]]


def test_an_attempt_knows_its_number_and_why_the_one_before_failed(scripted):
    text = """
        steps:
          a:
            run: [tell, "${{ attempt.number }}", "${{ attempt.last_error | default('nothing') }}"]
            retry: {max_attempts: 3}
        """
    run = scripted(text).apply((), {("a", 1): FAILED, ("a", 2): {"outcome": FAILED, "error": "again"}})

    said = [attempt.action[1:] for attempt in run.executor.attempts]
    assert said == [("1", "nothing"), ("2", "exit code 1"), ("3", "again")]


@pytest.mark.case("C169")
def test_what_an_earlier_attempt_gave_does_not_leak_into_a_later_one(scripted):
    steps = "b: {run: 'true', outputs: {x: string, y: string}, retry: {max_attempts: 2}}"
    outcomes = {
        ("b", 1): {"outcome": FAILED, "outputs": {"x": "1"}},
        ("b", 2): {"outcome": Outcome.SUCCEEDED, "outputs": {"y": "2"}},
    }
    found = asked(scripted, "[steps.b.outputs.x | default('none'), steps.b.outputs.y]", outcomes, steps=steps)
    assert found == ["none", "2"]


def test_what_a_step_gave_before_a_resume_is_known_after_it(
    scripted,
):
    text = """
        steps:
          a: {run: "true", outputs: {x: string}}
          b: {needs: a, run: "true"}
          c: {needs: b, run: "true"}
        finally:
          ask:
            run: [tell, "${{ steps.a.outputs.x }}", "${{ steps.c.exit_code | to_json }}"]
        """
    run = scripted(text).apply((), {"a": OK, "c": FAILED})
    assert run.attempt("ask").action == ("tell", "text", "1")

    run.resume((), {"c": {"outcome": FAILED, "exit_code": 4}})
    assert run.started == ["c", "ask"]
    assert run.attempt("ask", 2).action == ("tell", "text", "4")


def test_the_environment_of_a_workflow_is_rendered_once_a_name_after_the_other(scripted):
    text = """
        env: {A: "${{ run.id }}", B: plain}
        steps: {a: {run: [tell, "${{ env.A }}", "${{ env.B }}"]}}
        """
    run = scripted(text).apply()

    attempt = run.attempt("a")
    assert attempt.env["A"] == run.paths.run_id
    assert attempt.action == ("tell", run.paths.run_id, "plain")
