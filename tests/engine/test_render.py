"""From tasks to attempts: what the executor is given, and what becomes of what cannot be rendered."""

import pytest

from crewflow.run.states import Outcome

FAILED = Outcome.FAILED


def test_an_attempt_gets_its_environment_and_later_names_win(scripted):
    text = """
        env: {A: workflow, B: workflow}
        steps:
          a: {run: "true", env: {B: step, N: 5, T: true}}
        """
    run = scripted(text).apply()

    env = run.attempt("a").env
    assert (env["A"], env["B"], env["N"], env["T"]) == ("workflow", "step", "5", "true")
    own = {name: value for name, value in env.items() if name.startswith("CREWFLOW_")}
    folder = run.paths.attempt("a", 1)
    assert own == {
        "CREWFLOW_RUN_ID": run.paths.run_id,
        "CREWFLOW_TASK": "a",
        "CREWFLOW_ATTEMPT": "1",
        "CREWFLOW_PROJECT": str(run.root),
        "CREWFLOW_OUTPUT": f"{folder}/outputs",
    }


def test_a_list_is_spliced_into_a_command_and_other_values_have_their_text(scripted):
    text = """
        inputs: {files: {type: array, default: [a b, c]}, n: {type: number, default: 3.10}}
        steps: {a: {run: [tell, "${{ inputs.files }}", "n=${{ inputs.n }}", "${{ 1 == 1 }}"]}}
        """
    assert scripted(text).apply().attempt("a").action == ("tell", "a b", "c", "n=3.10", "true")


def test_a_value_that_looks_like_an_expression_is_not_rendered_again(scripted):
    text = """
        inputs: {x: {type: string}}
        steps: {a: {run: [tell, "${{ inputs.x }}"]}, b: {run: 'echo "${{ inputs.x }}"'}}
        """
    run = scripted(text, inputs=[("x", "${{ run.id }}; $(reboot)")]).apply()

    assert run.attempt("a").action[1] == "${{ run.id }}; $(reboot)"
    assert "${{ run.id }}; $(reboot)" in run.attempt("b").env.values()
    assert "reboot" not in run.attempt("b").action


def test_durations_and_folders_may_be_expressions(scripted):
    text = """
        inputs: {t: {type: string, default: 90s}}
        steps:
          a: {run: "true"}
          b:
            needs: a
            run: "true"
            timeout: "${{ inputs.t }}"
            grace: "${{ steps.a.exit_code }}s"
            cwd: "sub/${{ run.workflow }}"
        """
    run = scripted(text).apply((), {"a": {"outcome": Outcome.SUCCEEDED, "exit_code": 2}})

    attempt = run.attempt("b")
    assert (attempt.timeout, attempt.grace) == (90.0, 2.0)
    assert attempt.cwd == f"{run.root}/sub/w"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("run: [tell, '${{ steps.a.result }}']", "null"),
        ("run: [tell, '${{ steps.a.outputs.x }}']", "`steps.a.outputs.x`"),
        ("run: ['${{ steps.a.error | default(\"\") }}']", "`run` yields no program to execute"),
        ("run: 'true', timeout: '${{ steps.a.outputs.y }}'", "`timeout` must be a duration such as `90s`"),
        ("run: 'true', cwd: '${{ steps.a.outputs.y }}'", "`cwd` must stay in the project"),
        ("run: 'true', env: {A: '${{ steps.a.result.k }}'}", "steps.a.result"),
        ("run: 'echo ${{ steps.a.result }}'", "null, which has no text"),
    ],
)
def test_what_cannot_be_rendered_fails_the_attempt_before_anything_starts(scripted, step, words):
    text = f"""
        steps:
          a: {{run: "true", outputs: {{x: string, y: string}}}}
          b: {{needs: a, retry: {{max_attempts: 3}}, {step}}}
        """
    gave = {"outcome": Outcome.SUCCEEDED, "exit_code": 2, "outputs": {"y": "../.."}}
    run = scripted(text).apply((), {"a": gave})

    assert run.started == ["a"]
    [ended] = [r for r in run.records("attempt.ended") if r["task"] == "b"]
    assert (ended["outcome"], ended["failure"]) == ("failed", "start")
    assert words in ended["error"]
    assert run.states["b"] == "failed"


@pytest.mark.parametrize(
    ("condition", "state"),
    [
        ("steps.a.exit_code == 0", "succeeded"),
        ("steps.a.exit_code == 1", "skipped"),
        ("${{ steps.a.exit_code == 0 }}", "succeeded"),
        ("success()", "succeeded"),
        ("failure()", "skipped"),
        ("always()", "succeeded"),
        ("not failure() and 'k' in ['k']", "succeeded"),
    ],
)
def test_each_kind_of_condition_after_a_success(scripted, condition, state):
    text = f"""
        steps:
          a: {{run: "true"}}
          b: {{needs: a, if: "{condition}", run: "true"}}
        """
    run = scripted(text).apply((), {"a": {"outcome": Outcome.SUCCEEDED, "exit_code": 0}})
    assert run.states["b"] == state


@pytest.mark.case("C184")
@pytest.mark.parametrize(
    ("condition", "state"),
    [
        ("steps.a.exit_code == 3", "skipped"),
        ("success()", "skipped"),
        ("failure()", "succeeded"),
        ("always()", "succeeded"),
        ("failure() and steps.a.exit_code == 3", "succeeded"),
        ("failure() and steps.a.exit_code == 4", "skipped"),
    ],
)
def test_each_kind_of_condition_after_a_failure(scripted, condition, state):
    text = f"""
        steps:
          a: {{run: "true"}}
          b: {{needs: a, if: "{condition}", run: "true"}}
        """
    run = scripted(text).apply((), {"a": {"outcome": FAILED, "exit_code": 3}})
    assert run.states["b"] == state


def test_a_condition_that_yields_no_boolean_fails_its_task_and_says_what_it_got(scripted):
    text = """
        steps:
          a: {run: "true"}
          b: {needs: a, if: "steps.a.result", run: "true"}
          c: {needs: b, run: "true"}
        """
    run = scripted(text).apply((), {"a": {"outcome": Outcome.SUCCEEDED, "result": "yes"}})

    assert run.states == {"a": "succeeded", "b": "failed", "c": "skipped"}
    [decided] = run.records("condition.decided")
    assert decided["error"] == '`if`: `steps.a.result` is text, `"yes"`, and must be true or false'
    assert [r["error"] for r in run.records("task.ended") if r["task"] == "b"] == [decided["error"]]


@pytest.mark.parametrize(
    ("allowed", "failure", "state"),
    [
        ("true", {"failure": "exit", "exit_code": 1}, "succeeded"),
        ("false", {"failure": "exit", "exit_code": 1}, "failed"),
        ("[exit]", {"failure": "exit", "exit_code": 1}, "succeeded"),
        ("['exit:2']", {"failure": "exit", "exit_code": 1}, "failed"),
        ("['exit:1-3']", {"failure": "exit", "exit_code": 2}, "succeeded"),
        ("[timeout]", {"failure": "exit", "exit_code": 1}, "failed"),
        ("[timeout]", {"failure": "timeout", "exit_code": None}, "succeeded"),
        ("'${{ inputs.may }}'", {"failure": "exit", "exit_code": 1}, "succeeded"),
        ("'${{ attempt.number == 2 }}'", {"failure": "exit", "exit_code": 1}, "failed"),
    ],
)
def test_each_form_of_allow_failure(scripted, allowed, failure, state):
    text = f"""
        inputs: {{may: {{type: boolean, default: true}}}}
        steps:
          a: {{run: "true", allow_failure: {allowed}}}
          b: {{needs: a, run: "true"}}
        """
    run = scripted(text).apply((), {"a": {"outcome": FAILED, **failure}})

    assert run.states["a"] == state
    assert run.states["b"] == {"succeeded": "succeeded", "failed": "skipped"}[state]


def test_allow_failure_that_yields_no_boolean_says_so_beside_what_failed(scripted):
    text = """
        steps:
          a: {run: "true", allow_failure: "${{ attempt.last_error }}"}
        """
    run = scripted(text).apply((), {"a": FAILED})

    assert run.states["a"] == "failed"
    [ended] = run.records("attempt.ended")
    assert ended["error"].startswith("exit code 1; `allow_failure`: it must yield a boolean")
