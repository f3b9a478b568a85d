import pytest
from flows import hints, only_task, plan, problems_of, read, refused, said, under

from crewflow.graph.compile import compile_workflow
from crewflow.graph.plan import Condition
from crewflow.spec.build import empty_project
from crewflow.spec.expression import evaluate
from crewflow.spec.model import Kind
from crewflow.spec.template import Template

INPUTS = """\
inputs:
  text: {}
  list: {type: array}
  number: {type: integer}
  flag: {type: boolean}
  object: {type: object}
"""


def step(body, inputs=INPUTS):
    return f"{inputs}steps:\n  a: {{{body}}}\n"


def task(body, *given):
    return only_task(step(body), *given)


def refusals(body, *given):
    """Rule and message of what keeps a step from being compiled."""
    return [one.split(" ", 1)[1] for one in refused(step(body), *given)]


def sources(text):
    return [part if isinstance(part, str) else part.source for part in text.parts]


# what is known is put in


def test_a_plain_step_has_plain_values():
    made = only_task("steps: {a: {run: echo hi}}\n")

    assert (made.id, made.step, made.kind, made.action) == ("a", "a", Kind.SCRIPT, "echo hi")
    assert made.shell == ("sh", "-e", "-c")
    assert (made.env, made.cwd, made.timeout, made.grace, made.context) == ({}, "", None, 10.0, {})
    assert (made.condition, made.condition_text, made.script_env) == (Condition.SUCCESS, None, {})


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("sh", ("sh", "-e", "-c")),
        ("bash", ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")),
        ("python", ("python3", "-c")),
        ("[zsh, -c]", ("zsh", "-c")),
    ],
)
def test_the_short_forms_of_a_shell_have_their_words(shell, words):
    assert only_task(f"steps: {{a: {{run: x, shell: {shell}}}}}\n").shell == words


def test_inputs_become_text_in_env_cwd_and_artifacts():
    made = task(
        "run: x, env: {A: 'x${{ inputs.text }}', B: '${{ inputs.number }}', C: '${{ inputs.list }}', "
        "D: '${{ inputs.flag }}'}, cwd: 'a/${{ inputs.text }}', artifacts: {r: ['${{ inputs.text }}/*', b]}",
        "text=go",
        "number=0x1F",
        "list=[1.50]",
        "flag=true",
    )

    assert made.env == {"A": "xgo", "B": "0x1F", "C": "[1.50]", "D": "true"}
    assert made.cwd == "a/go"
    assert made.artifacts == {"r": ("go/*", "b")}


def test_the_keywords_of_a_function_keep_their_types():
    made = task(
        "python: 'm:f', with: {a: '${{ inputs.list }}', b: ['n ${{ inputs.number }}', null], "
        "c: {d: '${{ inputs.flag }}'}}",
        "list=[1]",
        "number=3",
        "flag=false",
    )

    assert made.arguments == {"a": [1], "b": ["n 3", None], "c": {"d": False}}


def test_what_only_a_run_knows_stays_a_template():
    made = task(
        "run: [echo, 'a ${{ inputs.text }} ${{ run.id }}', '${{ attempt.number }}'], "
        "timeout: '${{ run.id }}'",
        "text=x",
    )

    assert sources(made.action[1]) == ["a x ", "run.id"]
    assert sources(made.action[2]) == ["attempt.number"]
    assert sources(made.timeout) == ["run.id"]


def test_the_names_of_workflow_and_project_are_known():
    assert task("run: [echo, '${{ run.workflow }} ${{ run.project }}']").action[1].startswith("demo ")


def test_the_env_of_workflow_and_project_is_known_where_its_values_are():
    text = """\
inputs: {t: {default: go}}
env: {A: "1${{ inputs.t }}", B: "${{ run.id }}", TZ: CET}
steps: {a: {run: [echo, "${{ env.A }}", "${{ env.B }}", "${{ env.TZ }}", "${{ env.P }}"]}}
"""
    made = plan(text, env={"TZ": "UTC", "P": "p"})

    assert made.env["A"] == "1go"
    assert isinstance(made.env["B"], Template)
    words = made.tasks[0].action
    assert (words[1], sources(words[2]), words[3], words[4]) == ("1go", ["env.B"], "CET", "p")


def test_a_value_is_never_read_again():
    assert task("run: [echo, '${{ inputs.text }}']", "text=${{ inputs.number }}").action == (
        "echo",
        "${{ inputs.number }}",
    )


def test_a_list_that_is_all_of_a_word_is_several_words():
    made = task(
        "run: [echo, '${{ inputs.list }}', 'x${{ inputs.list }}']", 'list=["a b",1.50,true,{"k":[1]}]'
    )

    assert made.action == ("echo", "a b", "1.50", "true", '{"k":[1]}', 'x["a b",1.50,true,{"k":[1]}]')


def test_an_empty_list_yields_no_word():
    assert task("run: [echo, '${{ inputs.list }}']", "list=[]").action == ("echo",)


@pytest.mark.parametrize("run", ["['${{ inputs.list }}']", "['${{ inputs.list }}', '${{ inputs.list }}']"])
def test_a_command_without_words_is_refused(run):
    assert refusals(f"run: {run}", "list=[]") == [
        "CF212 `run` yields no words: there is no program to execute"
    ]


def test_a_command_that_begins_with_nothing_is_refused():
    assert refusals("run: ['${{ inputs.text }}', x]", "text=") == [
        "CF212 `run` begins with an empty word: there is no program to execute"
    ]
    assert said("steps: {a: {run: ['', x]}}\n") == [
        "1:18 CF212 `run` begins with an empty word: there is no program to execute"
    ]


def test_a_duration_from_an_input_is_read():
    made = task(
        "run: x, timeout: '${{ inputs.text }}', grace: '${{ inputs.number }}s'", "text=1h30m", "number=5"
    )

    assert (made.timeout, made.grace) == (5400.0, 5.0)


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        ("90", "`timeout` is a bare number; a duration has a unit", "write `90s` for seconds"),
        (
            "soon",
            "`timeout` must be a duration such as `90s`, `10m`, `1h30m` or `2d`",
            "the units are d, h, m, s and ms, from large to small",
        ),
        ("0s", "`timeout` is no time at all", "give a longer one"),
        (
            "99999d",
            "`timeout` is longer than ten years",
            "write a duration such as `90s`, `10m`, `1h30m` or `2d`",
        ),
    ],
)
def test_a_duration_that_cannot_be_read_is_told_at_its_place(value, message, hint):
    text = f"steps: {{a: {{run: x, timeout: \"${{{{ '{value}' }}}}\"}}}}\n"

    assert said(text) == [f"1:35 CF108 {message}"]
    assert hints(text) == [hint]


def test_a_literal_grace_of_nothing_is_allowed():
    assert task("run: x, grace: '${{ inputs.text }}'", "text=0s").grace == 0.0


@pytest.mark.parametrize(
    "body",
    [
        "run: x, env: {A: 'a ${{ inputs.text }}'}",
        "run: x, env: {A: '${{ inputs.text }}'}",
        "run: [echo, '${{ inputs.text }}']",
        "run: x, cwd: '${{ inputs.text }}'",
        "run: x, timeout: '${{ inputs.text }}s'",
        "run: x, artifacts: {a: '${{ inputs.text }}'}",
        "python: 'a:b', with: {a: ['x ${{ inputs.text }}']}",
        "run: 'echo ${{ inputs.text }}'",
    ],
)
def test_null_in_text_is_told_at_its_expression(body):
    message = "`inputs.text` is null, which has no text; give one with `| default('')`"

    (fault,) = refused(step(body))
    place, rule, told = fault.split(" ", 2)
    assert (rule, told) == ("CF210", message)
    assert int(place.split(":")[1]) - 1 == step(body).splitlines()[-1].index("inputs.text")


def test_null_within_a_value_of_any_type_is_a_value():
    assert task("python: 'a:b', with: {a: '${{ inputs.text }}'}").arguments == {"a": None}


def test_a_default_in_place_of_null_is_text():
    assert task("run: x, env: {A: \"${{ inputs.text | default('none') }}\"}").env == {"A": "none"}


def test_an_undefined_part_of_a_value_is_told_at_its_expression():
    body = "run: x, env: {A: '1 ${{ inputs.flag }} ${{ inputs.object.b.c }}'}"

    assert refusals(body, "flag=true", 'object={"b":{}}') == ["CF210 `inputs.object.b.c` is not defined"]


@pytest.mark.parametrize("path", ["/etc", "~/x", "..", "a/../../b"])
@pytest.mark.parametrize("key", ["cwd: '${{ inputs.text }}'", "artifacts: {a: '${{ inputs.text }}'}"])
def test_a_path_that_leads_out_of_the_project_is_refused(path, key):
    assert refusals(f"run: x, {key}", f"text={path}") == [f"CF104 `{path}` leads out of the project"]


def test_a_value_that_no_process_can_take_is_refused():
    assert refusals("run: [echo, '${{ inputs.object.x }}']", 'object={"x":"a\\u0000"}') == [
        "CF210 the value of `run` holds a NUL character"
    ]
    assert refusals("run: x, env: {A: '${{ inputs.text }}'}", f"text={'ä' * 65_501}") == [
        "CF210 the value of `A` is larger than 131,000 bytes"
    ]
    assert task("run: x, env: {A: '${{ inputs.text }}'}", f"text={'ä' * 65_500}").env["A"] == "ä" * 65_500


# scripts


@pytest.mark.case("C170")
@pytest.mark.parametrize("value", ["$(id)", "`id`", "'; x", "a\nb", "-rf", '"'])
def test_no_value_stands_in_the_text_of_a_script(value):
    made = task("run: 'echo \"${{ inputs.text }}\"'", f"text={value}")

    assert made.action == 'echo "${CREWFLOW_EXPR_1}"'
    assert made.script_env == {"CREWFLOW_EXPR_1": value}


def test_a_script_keeps_what_only_a_run_knows_in_a_variable():
    made = task("run: 'echo ${{ run.id }} ${{ inputs.list }}'", "list=[1]")

    assert sources(made.script_env["CREWFLOW_EXPR_1"]) == ["run.id"]
    assert made.script_env["CREWFLOW_EXPR_2"] == "[1]"


@pytest.mark.parametrize(
    "expression",
    ["inputs.number", "item_index", "item", "attempt.number", "steps.b.exit_code", "steps.b.outputs.n"],
)
def test_an_integer_by_type_may_stand_in_arithmetic(expression):
    text = f"""\
{INPUTS}steps:
  b: {{run: x, outputs: {{n: integer, s: string}}}}
  a: {{needs: b, run: 'echo $(( ${{{{ {expression} }}}} + 1 ))', for_each: [1, 2]}}
"""

    assert said(text) == []


@pytest.mark.parametrize(
    "expression", ["inputs.text", "item", "steps.b.outputs.s", "steps.c.exit_code", "inputs.number ~ ''"]
)
def test_nothing_else_may_stand_in_arithmetic(expression):
    text = f"""\
{INPUTS}steps:
  b: {{run: x, outputs: {{n: integer, s: string}}}}
  c: {{run: x, for_each: [1]}}
  a: {{needs: [b, c], run: "echo $(( ${{{{ {expression} }}}} + 1 ))", for_each: [1, a]}}
"""

    assert [one.split()[1] for one in said(text)] == ["CF209"]


def test_a_number_in_arithmetic_is_written_anew():
    assert task("run: 'echo $(( ${{ inputs.number }} + 1 ))'", "number=0x1F").script_env == {
        "CREWFLOW_EXPR_1": "31"
    }


def test_a_missing_number_in_arithmetic_is_told_at_its_expression():
    body = "run: 'echo $(( ${{ inputs.number }} + 1 ))'"

    assert refused(step(body)) == [
        "8:26 CF210 `inputs.number` is null, which has no text; give one with `| default('')`"
    ]


@pytest.mark.parametrize(
    ("run", "rule", "underlined"),
    [
        ("\"echo '${{ run.id }}'\"", "CF209", "${{ run.id }}"),
        ("'echo ${{ run.id + }}'", "CF110", "+"),
        ("'echo ${{ run.id'", "CF110", "${{"),
    ],
)
def test_the_faults_of_a_script_are_told_at_their_place(run, rule, underlined):
    text = f"steps: {{a: {{run: {run}}}}}\n"

    assert [problem.rule for problem in problems_of(text)] == [rule]
    assert under(text) == [underlined]


def test_expressions_in_a_script_of_another_language_are_refused():
    assert [one.split()[1] for one in said("steps: {a: {run: 'print(${{ run.id }})', shell: python}}\n")] == [
        "CF209"
    ]


# conditions and what must be true or false


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ("inputs.flag", Condition.GUARDED),
        ("failure() or inputs.flag", Condition.STATUS),
        ("true", Condition.GUARDED),
    ],
)
def test_a_condition_asks_for_the_needs_unless_it_has_a_status_function(condition, kind):
    made = task(f"run: x, if: {condition}", "flag=true")

    assert (made.condition, made.condition_text) == (kind, condition)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("inputs.text", "`if` must be true or false, and `inputs.text` is text"),
        ("inputs.number", "`if` must be true or false, and `inputs.number` is a whole number"),
        ("inputs.list", "`if` must be true or false, and `inputs.list` is a list"),
        ("steps.b.outputs.n", "`if` must be true or false, and `steps.b.outputs.n` is a whole number"),
        ("steps.b.state", "`if` must be true or false, and `steps.b.state` is text"),
        ("run.failed", "`if` must be true or false, and `run.failed` is a list"),
        ("\"'yes'\"", "`'yes'` is text, `\"yes\"`, and must be true or false"),
        ("1 + 1", "`1 + 1` is a number, `2`, and must be true or false"),
    ],
)
def test_a_condition_that_is_no_boolean_by_type_is_told_without_values(condition, message):
    steps = f"  b: {{run: x, outputs: {{n: integer}}}}\n  a: {{needs: b, run: x, if: {condition}}}\n"
    text = f"{INPUTS}steps:\n{steps}"

    assert [one.split(" ", 2)[1:] for one in said(text)] == [["CF211", message]]


def test_a_condition_over_inputs_is_decided_on_when_they_are_known():
    assert said(step("run: x, if: 'inputs.object.go'")) == []
    assert refusals("run: x, if: 'inputs.object.go'", 'object={"go":"yes"}') == [
        'CF211 `inputs.object.go` is text, `"yes"`, and must be true or false'
    ]
    assert refusals("run: x, if: inputs.flag") == ["CF211 `inputs.flag` is null, and must be true or false"]


@pytest.mark.case("C188")
def test_the_condition_of_a_leg_is_decided_on_with_its_own_values():
    text = "steps:\n  a: {run: x, for_each: [true, 5, 6], if: item}\n"

    assert said(text) == ["2:43 CF211 `item` is a number, `5`, and must be true or false"]


def test_allow_failure_takes_a_boolean():
    assert task("run: x, allow_failure: '${{ inputs.flag }}'", "flag=true").allow_failure is True
    assert task("run: x, allow_failure: [exit, timeout]").allow_failure == ("exit", "timeout")
    assert refusals("run: x, allow_failure: '${{ inputs.object.x }}'", 'object={"x":1}') == [
        "CF211 `allow_failure` must be true or false, and is a number, `1`"
    ]
    assert said(step("run: x, allow_failure: '${{ inputs.text }}'")) == [
        "8:35 CF211 `allow_failure` must be true or false, and `inputs.text` is text"
    ]
    assert [one.split()[1] for one in said(step("run: x, allow_failure: 'a${{ inputs.flag }}'"))] == ["CF211"]


def test_a_number_of_seconds_is_no_duration_by_type():
    text = step("run: x, timeout: '${{ inputs.number }}'")

    assert said(text) == [
        "8:29 CF108 `timeout` must be a duration such as `90s`, and `inputs.number` is a whole number"
    ]
    assert hints(text) == ["write `${{ inputs.number }}s` for seconds"]


# legs


def test_each_leg_has_its_own_values():
    text = """\
steps:
  a:
    matrix: {os: [linux, mac], n: [1], include: [{os: mac, x: {k: 1}}]}
    run: [go, "${{ matrix.os }}", "${{ matrix.x | default('none') }}"]
"""

    made = plan(text)
    assert made.steps[0].tasks == ("a[linux,1]", "a[mac,1]")
    assert [one.action for one in made.tasks] == [("go", "linux", "none"), ("go", "mac", '{"k":1}')]
    assert made.tasks[1].context == {"matrix": {"os": "mac", "n": 1, "x": {"k": 1}}}


def test_a_leg_without_a_value_that_others_have_is_told():
    text = "steps:\n  a: {run: [go, '${{ matrix.x }}'], matrix: {os: [a, b], include: [{os: a, x: 1}]}}\n"

    assert said(text) == ["2:22 CF210 `matrix.x` is not defined"]


def test_null_is_a_value_of_a_matrix_but_not_in_text():
    text = "steps:\n  a: {run: [go, '${{ matrix.x }}'], matrix: {x: [1, null]}}\n"

    assert said(text) == ["2:22 CF210 `matrix.x` is null, which has no text; give one with `| default('')`"]


def test_a_fault_that_all_legs_have_is_told_once():
    text = "steps:\n  a: {run: [go, '${{ item.x }}'], for_each: [1, 2, 3]}\n"

    assert len(said(text)) == 1


def test_faults_behind_a_fan_out_that_is_not_known_yet_are_found():
    text = (
        f"{INPUTS}steps:\n  a: {{run: x, for_each: '${{{{ inputs.list }}}}', timeout: \"${{{{ 'x' }}}}\"}}\n"
    )
    empty = "steps:\n  a: {run: x, for_each: [], timeout: \"${{ 'x' }}\"}\n"

    assert [one.split()[1] for one in said(text)] == ["CF108"]
    assert [one.split()[1] for one in said(empty)] == ["CF108"]


def test_what_there_is_no_task_for_may_lack_inputs():
    text = step("run: 'echo ${{ inputs.text }}', for_each: '${{ inputs.list }}'")

    assert plan(text, "list=[]").tasks == ()
    assert [one.split()[1] for one in refused(text, "list=[1]")] == ["CF210"]


# the whole plan


def test_steps_under_finally_stand_last_and_others_keep_the_order_of_the_file():
    text = "finally: {z: {run: x}}\nsteps: {c: {run: x}, a: {run: x, needs: c}}\n"

    made = plan(text)
    assert [one.id for one in made.steps] == ["c", "a", "z"]
    assert [one.id for one in made.tasks] == ["c", "a", "z"]


def test_stdout_is_kept_where_something_reads_it():
    text = """\
steps:
  a: {run: x}
  b: {run: x}
  c: {run: x, outputs: {v: {type: string, from: stdout}}}
  d: {run: x, outputs: {v: {type: string, from: "json:/a"}}}
  e: {run: x, outputs: {v: {type: string, from: "file:a"}, w: string}}
  f: {run: x, needs: a, if: "steps.a.result == 'x'"}
"""

    assert [one.id for one in plan(text).tasks if one.keeps_stdout] == ["a", "c", "d"]


def test_a_workflow_with_faults_of_several_stages_tells_all_of_them():
    text = """\
inputs: {t: {}}
steps:
  a: {run: "echo ${{ inputs.nope }}", needs: b}
  b: {run: [x, "${{ inputs.t }}"], env: {A: "${{ env.X }}"}, needs: a}
"""

    assert refused(text) == [
        "3:22 CF202 `inputs.nope` does not exist",
        "3:46 CF301 steps wait for each other: a -> b -> a",
        "4:21 CF210 `inputs.t` is null, which has no text; give one with `| default('')`",
        "4:50 CF202 `env.X` does not exist",
    ]


def test_a_step_that_lost_what_it_runs_brings_no_further_fault():
    assert said("steps:\n  a: {run: {}, needs: b}\n  b: {rn: x}\n") == []


def test_objects_have_their_keys_in_order_wherever_they_are_read():
    text = """\
inputs: {o: {type: object, default: {b: 1, a: {d: 1, c: 2}}}}
steps:
  a: {run: [x, "${{ inputs.o }}", "${{ item }}"], for_each: [{z: 1, y: 2}]}
"""

    assert only_task(text).action == ("x", '{"a":{"c":2,"d":1},"b":1}', '{"y":2,"z":1}')


def test_the_plan_evaluates_to_what_it_says():
    workflow = read("steps: {a: {run: [x, '${{ run.id }}']}}\n")
    made = compile_workflow(empty_project("/p"), workflow, {})

    assert evaluate(made.tasks[0].action[1].whole, lambda keys: {("run", "id"): "r1"}[keys]) == "r1"


@pytest.mark.case("C026")
def test_what_yaml_takes_for_a_comment_is_not_in_the_plan():
    assert only_task("steps:\n  a:\n    run: curl http://x/y #retry\n").action == "curl http://x/y"


@pytest.mark.case("C028")
@pytest.mark.parametrize(
    ("style", "script"),
    [
        ("|", "false\necho hi\n"),
        (">", "false echo hi\n"),
        ("|-", "false\necho hi"),
        ("|+", "false\necho hi\n\n"),
    ],
)
def test_block_scalars_keep_their_exact_text(style, script):
    assert only_task(f"steps:\n  a:\n    run: {style}\n      false\n      echo hi\n\n").action == script


@pytest.mark.case("C007")
def test_what_a_step_says_itself_wins_over_what_is_merged_and_the_first_of_several_wins():
    text = """\
x-d: &d {timeout: 5s, retry: {max_attempts: 2}}
x-e: &e {timeout: 9s}
steps:
  p: {run: 'true', timeout: 60s, <<: *d}
  q: {run: 'true', <<: [*e, *d]}
"""

    assert [(one.timeout, one.retry.max_attempts) for one in plan(text).tasks] == [(60.0, 2), (9.0, 2)]


@pytest.mark.case("C008")
def test_numbers_with_leading_zeros_are_text():
    made = only_task("steps: {a: {run: [chmod, 0755, 08, 010], env: {M: 0644}}}\n")

    assert (made.action, made.env) == (("chmod", "0755", "08", "010"), {"M": "0644"})
