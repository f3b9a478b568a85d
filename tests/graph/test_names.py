import pytest
from flows import hints, plan, problems_of, read, said, under

from crewflow.graph.occurrences import occurrences

INPUTS_HINT = (
    "there are `inputs.goal`, `inputs.count`, `inputs.flags`; declare it under the workflow's `inputs`"
)
HEAD = """\
inputs: {goal: {default: x}, count: {type: integer}, flags: {type: object}}
env: {TOKEN_NAME: t}
steps:
  build:
    run: echo hi
    outputs: {version: string, meta: {type: object, from: json}}
    artifacts: {wheel: dist/*.whl}
  other: {run: x}
"""


def used(expression, key="env: {A: '${{ @ }}'}", needs="build"):
    """A step that needs `build` and uses an expression."""
    return f"{HEAD}  use: {{needs: {needs}, run: x, {key.replace('@', expression)}}}\n"


def told(expression, **more):
    """(what is underlined, message, hint) of the only problem, or None."""
    text = used(expression, **more)
    found = problems_of(text)
    assert len(found) < 2, found
    return (under(text)[0], found[0].message, found[0].hint) if found else None


@pytest.mark.parametrize(
    "expression",
    [
        "inputs.goal",
        "inputs.flags.deep.down",
        "env.TOKEN_NAME",
        "run.id ~ run.workflow ~ run.project ~ run.state",
        "run.failed | length",
        "attempt.number",
        "attempt.last_error | default(1)",
        "steps.build.state",
        "steps.build.outcome",
        "steps.build.exit_code",
        "steps.build.error | default(1)",
        "steps.build.attempts",
        "steps.build.result",
        "steps.build.result.any.thing",
        "steps.build.outputs.version",
        "steps.build.outputs.meta.deep",
        "steps.build.artifacts.wheel",
        'steps.build.artifacts["wheel"]',
    ],
)
def test_what_the_language_knows_may_be_asked(expression):
    assert told(expression) is None


@pytest.mark.parametrize(
    ("expression", "underlined", "message", "hint"),
    [
        ("inputs.gaol", "inputs.gaol", "`inputs.gaol` does not exist", "did you mean `inputs.goal`?"),
        (
            "inputs.zzz",
            "inputs.zzz",
            "`inputs.zzz` does not exist",
            INPUTS_HINT,
        ),
        (
            "1 + env.TOKEN_NAM",
            "env.TOKEN_NAM",
            "`env.TOKEN_NAM` does not exist",
            "did you mean `env.TOKEN_NAME`?",
        ),
        ("run.ids", "run.ids", "`run.ids` does not exist", "did you mean `run.id`?"),
        (
            "attempt.numbr",
            "attempt.numbr",
            "`attempt.numbr` does not exist",
            "did you mean `attempt.number`?",
        ),
        (
            "inputs",
            "inputs",
            "`inputs` alone has no value",
            INPUTS_HINT,
        ),
        (
            "steps.biuld.state",
            "steps.biuld.state",
            "`steps.biuld` does not exist",
            "did you mean `steps.build`?",
        ),
        (
            "steps.build.reslt",
            "steps.build.reslt",
            "`steps.build.reslt` does not exist",
            "did you mean `steps.build.result`?",
        ),
        (
            "steps.build.conclusion",
            "steps.build.conclusion",
            "`steps.build.conclusion` does not exist",
            "did you mean `steps.build.outcome`?",
        ),
        (
            "steps.build.outputs.vresion",
            "steps.build.outputs.vresion",
            "`steps.build.outputs.vresion` does not exist",
            "did you mean `steps.build.outputs.version`?",
        ),
        (
            "steps.build.artifacts.x",
            "steps.build.artifacts.x",
            "`steps.build.artifacts.x` does not exist",
            "there is `steps.build.artifacts.wheel`; declare it under the `artifacts` of `build`",
        ),
        (
            "steps.build.outputs",
            "steps.build.outputs",
            "`steps.build.outputs` alone has no value",
            (
                "there are `steps.build.outputs.version`, `steps.build.outputs.meta`; "
                "declare it under the `outputs` of `build`"
            ),
        ),
        (
            "steps.build.state.name",
            "steps.build.state.name",
            "`steps.build.state` is text, and has no parts",
            None,
        ),
        (
            "inputs.goal.a",
            "inputs.goal.a",
            "`inputs.goal` is text, and has no parts",
            "write `(inputs.goal | from_json)` to read it as JSON",
        ),
        ("inputs.count.a", "inputs.count.a", "`inputs.count` is a whole number, and has no parts", None),
        ("matrix.os", "matrix.os", "step `use` has no `matrix`", "add one, or use `inputs`"),
        ("item", "item", "`item` has no value: step `use` has no `for_each`", "add `for_each`"),
        ("item_index", "item_index", "`item` has no value: step `use` has no `for_each`", "add `for_each`"),
    ],
)
def test_what_does_not_exist_is_told_with_a_cure(expression, underlined, message, hint):
    assert told(expression) == (underlined, message, hint)


@pytest.mark.parametrize(
    "key",
    [
        "env: {A: 'a ${{ @ }} b'}",
        "cwd: 'a/${{ @ }}'",
        "timeout: '${{ @ }}s'",
        "grace: '${{ @ }}s'",
        "allow_failure: '${{ @ }}'",
        "artifacts: {a: ['x', '${{ @ }}']}",
        "if: '@'",
        "if: '${{ @ }}'",
        "if: '  ${{  @ == 1  }}'",
    ],
)
def test_names_are_checked_in_every_field(key):
    assert told("inputs.nope", key=key)[0] == "inputs.nope"


def test_a_variable_or_keyword_called_if_is_no_condition():
    fields = "with: {if: 'x ${{ inputs.nope }}'}, env: {if: '${{ run.no }}'}"
    text = f"{HEAD}  use: {{python: 'a:b', {fields}}}\n"

    assert under(text) == ["inputs.nope", "run.no"]


@pytest.mark.parametrize("run", ["'echo ${{ inputs.nope }}'", "[echo, 'x', 'a${{ inputs.nope }}']"])
def test_names_are_checked_in_what_runs(run):
    assert under(f"{HEAD}  use: {{run: {run}}}\n") == ["inputs.nope"]


def test_names_are_checked_in_a_script_of_several_lines():
    text = f"{HEAD}  use:\n    run: |\n      echo a\n      echo ${{{{ inputs.nope }}}}\n"

    assert said(text) == ["12:16 CF202 `inputs.nope` does not exist"]
    assert under(text) == ["inputs.nope"]


def test_names_are_checked_in_the_keywords_of_a_function():
    text = f"{HEAD}  use: {{python: 'a:b', with: {{a: {{b: [1, '${{{{ inputs.nope }}}}']}}}}}}\n"

    assert under(text) == ["inputs.nope"]


def test_a_step_that_may_not_have_ended_is_told_with_the_edge_to_add():
    assert told("steps.other.result") == (
        "steps.other.result",
        "step `use` asks for step `other`, which may not have ended by then",
        "add `other` to the `needs` or `after` of `use`",
    )


def test_a_step_that_waits_for_the_one_that_asks_is_told_so():
    text = "steps:\n  a: {run: x, env: {A: '${{ steps.b.result }}'}}\n  b: {run: x, needs: a}\n"

    assert [one.split(" ", 2)[2] for one in said(text)] == [
        "step `a` asks for step `b`, which may not have ended by then"
    ]
    assert hints(text) == ["`b` waits for `a`: ask there, not here"]


def test_a_step_upstream_of_a_need_may_be_asked():
    text = """\
steps:
  a: {run: x}
  b: {run: x, after: a}
  c: {run: x, needs: b, if: steps.a.state == 'failed'}
"""

    assert said(text) == []


def test_a_step_cannot_ask_for_its_own_result():
    text = """\
steps:
  a: {run: x, env: {A: "${{ steps.a.result }}"}}
finally:
  f: {run: x, if: steps.f.state == 'failed'}
"""

    assert [one.split(" ", 1)[1] for one in said(text)] == [
        "CF203 step `a` asks for its own result",
        "CF203 step `f` asks for its own result",
    ]


def test_under_finally_any_step_may_be_asked_but_those_there_only_in_order():
    text = """\
steps:
  a: {run: x}
finally:
  f: {run: x, env: {A: "${{ steps.a.state }}"}}
  g: {run: x, env: {A: "${{ steps.f.state }}"}}
  h: {run: x, needs: f, env: {A: "${{ steps.f.state }}"}}
"""

    assert said(text) == ["5:29 CF203 step `g` asks for step `f`, which may not have ended by then"]


def test_a_step_under_finally_cannot_be_asked_from_outside():
    text = "steps:\n  a: {run: x, if: steps.f.state == 'failed'}\nfinally:\n  f: {run: x}\n"

    assert said(text) == ["2:19 CF203 step `a` asks for `f`, which stands under `finally` and runs later"]


def test_matrix_names_are_its_axes_and_what_inclusions_add():
    base = """\
steps:
  a: {run: x, matrix: {os: [mac], include: [{os: mac, node: 1}]}, env: {A: "${{ matrix.@ }}"}}
"""

    assert said(base.replace("@", "os")) == []
    assert said(base.replace("@", "node")) == []
    assert hints(base.replace("@", "so")) == ["did you mean `matrix.os`?"]


def test_the_words_of_the_other_kind_of_fan_out_are_told_apart():
    assert hints("steps:\n  a: {run: x, matrix: {os: [mac]}, env: {A: '${{ item }}'}}\n") == [
        "use `matrix.os`"
    ]
    assert hints("steps:\n  a: {run: x, for_each: [1], env: {A: '${{ matrix.os }}'}}\n") == ["use `item`"]


@pytest.mark.parametrize("key", ["for_each: '${{ @ }}'", "matrix: {a: '${{ @ }}'}"])
def test_a_fan_out_may_use_what_is_known_before_its_legs(key):
    assert told("steps.build.outputs.meta.list", key=key) is None
    assert told("env.TOKEN_NAME | split", key=key) is None
    assert told("inputs.flags.list", key=key) is None
    for own in ("matrix.os", "item", "attempt.last_error"):
        root = own.split(".")[0]
        assert told(own, key=key)[1:] == (
            f"`{root}` is not known when a fan-out is made",
            "use a list, `inputs`, or what a step before gave",
        )


@pytest.mark.parametrize("function", ["success", "failure", "always"])
def test_status_functions_stand_in_if_alone(function):
    assert told(f"{function}()") == (f"{function}()", f"`{function}()` may only stand in `if`", None)
    assert told(f"{function}()", key="if: '@'") is None


def test_cancelled_stands_under_finally_alone():
    assert told("not cancelled ()", key="if: '@'") == (
        "cancelled ()",
        "`cancelled()` may only stand under `finally`",
        "after a cancel nothing but `finally` starts",
    )
    assert said("steps:\n  a: {run: x}\nfinally:\n  f: {run: x, if: cancelled()}\n") == []


@pytest.mark.case("C196")
@pytest.mark.parametrize(
    ("condition", "underlined", "hint"),
    [
        ("steps.build.reslt == 'failed'", "steps.build.reslt", "did you mean `steps.build.result`?"),
        ("steps.build.state == 'failure'", "'failure'", "did you mean `failed`?"),
        (
            "steps.nope.state == 'failed'",
            "steps.nope.state",
            "there are `steps.build`, `steps.other`, `steps.use`",
        ),
    ],
)
def test_unknown_properties_words_and_steps_of_a_condition_are_told(condition, underlined, hint):
    told_now = told(condition, key='if: "@"')

    assert (told_now[0], told_now[2]) == (underlined, hint)


@pytest.mark.case("C185")
@pytest.mark.parametrize(
    "condition", ["__import__('os')", "().__class__", "inputs.__class__.__mro__", "steps.build.__init__()"]
)
def test_no_python_is_evaluated(condition):
    assert told(condition, key='if: "@"') is not None


@pytest.mark.case("C185")
def test_conditions_over_several_results_are_fine():
    text = """\
steps:
  A: {run: x}
  C: {run: x}
  x: {run: x, needs: A, after: C, if: steps.C.state == 'succeeded' or steps.C.state == 'failed'}
  w: {run: x, after: [x, C], if: "always() and steps.x.state in ['succeeded', 'skipped']"}
"""

    assert said(text) == []


@pytest.mark.parametrize(
    ("condition", "underlined"),
    [
        ("inputs.goal === 'x'", "==="),
        ("\"${{ inputs.goal === 'x' }}\"", "==="),
        ("'${{   nope  }}'", "nope"),
        ("\"contains(inputs.goal, 'x')\"", "contains"),
    ],
)
def test_an_if_that_cannot_be_read_is_told_at_its_place(condition, underlined):
    text = f"{HEAD}  use: {{run: x, if: {condition}}}\n"

    assert [problem.rule for problem in problems_of(text)] == ["CF110"]
    assert under(text) == [underlined]


def test_an_if_over_several_lines_is_underlined_as_a_whole():
    text = f"{HEAD}  use:\n    run: x\n    if: >-\n      inputs.nope == 'x' or\n      inputs.goal == 'x'\n"

    assert said(text) == ["11:9 CF202 `inputs.nope` does not exist"]


def test_the_env_of_a_workflow_may_use_what_holds_for_the_whole_run():
    base = "inputs: {goal: {}}\nenv: {A: 'x ${{ @ }}'}\nsteps: {a: {run: x}}\n"

    assert said(base.replace("@", "inputs.goal ~ run.id ~ run.workflow")) == []
    assert said(base.replace("@", "inputs.gaol")) == ["2:17 CF202 `inputs.gaol` does not exist"]
    assert said(base.replace("@", "run.state")) == ["2:17 CF202 `run.state` does not exist"]
    assert said(base.replace("@", "env.B")) == ["2:17 CF202 `env` is not known in the `env` of a workflow"]
    assert said(base.replace("@", "steps.a.state")) == [
        "2:17 CF202 `steps` is not known in the `env` of a workflow"
    ]
    assert said(base.replace("@", "success()")) == ["2:17 CF205 `success()` may only stand in `if`"]


def test_the_env_of_the_project_may_be_asked():
    text = "steps: {a: {run: x, env: {A: '${{ env.TZ }}'}}}\n"

    assert said(text) != []
    assert said(text, TZ="UTC") == []


@pytest.mark.parametrize(
    "text",
    [
        "inputs: {goal: {type: sting}}\nsteps: {a: {run: x, env: {A: '${{ inputs.goal }}'}}}\n",
        (
            "steps:\n  a: {run: x, outputs: {v: sting}}\n"
            "  b: {run: x, needs: a, env: {A: '${{ steps.a.outputs.v }}'}}\n"
        ),
        (
            "steps:\n  a: {rn: x, outputs: {v: string}}\n"
            "  b: {run: x, needs: a, env: {A: '${{ steps.a.outputs.v }}'}}\n"
        ),
        "steps: {a: {run: x, matrix: {os: 5}, env: {A: '${{ matrix.os }}'}}}\n",
        "steps: {a: {run: x, for_each: 5, env: {A: '${{ item }}'}}}\n",
    ],
)
def test_what_is_declared_but_at_fault_is_not_told_to_be_unknown(text):
    """The schema tells the fault of the declaration; here it has been left out of the data."""
    assert said(text) == []


def test_every_fault_is_told_at_once_and_in_order():
    text = """\
steps:
  a: {run: "echo ${{ inputs.x }}", env: {A: "${{ env.Y }}"}, needs: [nope, a]}
  b: {run: "echo '${{ run.id }}'", if: "steps.a.state == 'ok'", matrix: {v: [1, 1]}, timeout: "${{ 5 }}"}
"""

    assert [one.split()[1] for one in said(text)] == [
        "CF202", "CF202", "CF201", "CF302", "CF209", "CF203", "CF206", "CF306", "CF108",
    ]  # fmt: skip


def test_occurrences_are_given_with_their_place_and_kind():
    text = """\
inputs: {l: {type: array}}
steps:
  a:
    run: [echo, "${{ item }}"]
    for_each: "${{ inputs.l }}"
    if: item == 1
    env: {A: "${{ run.id }} ${{ run.project }}"}
"""

    found = [
        (one.path[2:], one.expression.source, one.is_condition, one.in_fan_out)
        for one in occurrences(read(text).steps[0])
    ]
    assert found == [
        (("if",), "item == 1", True, False),
        (("for_each",), "inputs.l", False, True),
        (("run", 1), "item", False, False),
        (("env", "A"), "run.id", False, False),
        (("env", "A"), "run.project", False, False),
    ]


def test_a_name_is_looked_for_among_very_many_without_end():
    rows = "".join(f"  t{i}: {{run: x, env: {{A: '${{{{ inputs.nope{i} }}}}'}}}}\n" for i in range(2000))
    declared = ", ".join(f"in{i}: {{}}" for i in range(2000))

    assert len(problems_of(f"inputs: {{{declared}}}\nsteps:\n{rows}")) == 1001


def test_a_literal_opening_is_no_expression():
    assert plan("steps:\n  a: {run: [echo, '$${{ inputs.nope }}']}\n").tasks[0].action == (
        "echo",
        "${{ inputs.nope }}",
    )
