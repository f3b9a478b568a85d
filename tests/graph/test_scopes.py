"""Groups, calls and fan-outs over what the run gives: names, edges, what is known, what is left open."""

from dataclasses import replace

import pytest
from flows import hints, plan, read, said

from crewflow.errors import SpecError
from crewflow.graph.compile import check_workflow, compile_workflow
from crewflow.graph.fanout import list_legs
from crewflow.graph.plan import from_bytes
from crewflow.graph.unfold import unfolded
from crewflow.spec.build import empty_project
from crewflow.spec.inputs import resolve_inputs
from crewflow.spec.model import Kind


def several(*texts, **given):
    """The problems of the first of several workflows, and a function that makes its plan."""
    workflows = {one.name: one for one in map(read, texts)}
    project = replace(empty_project("/p"), workflows=workflows)
    first = next(iter(workflows.values()))
    found = [f"{p.place.line}:{p.place.column} {p.rule} {p.message}" for p in check_workflow(project, first)]
    return found, lambda: compile_workflow(project, first, resolve_inputs(first, list(given.items())))


def ids(made):
    return [step.id for step in made.steps]


def task(made, name):
    return next(one for one in made.tasks if one.id == name)


def step(made, name):
    return next(one for one in made.steps if one.id == name)


GROUP = """
steps:
  test:
    matrix: {python: ["3.11", "3.12"]}
    env: {LEVEL: "${{ matrix.python }}"}
    cwd: "py${{ matrix.python }}"
    steps:
      lint: {run: "echo ${{ matrix.python }}"}
      unit: {needs: lint, run: "echo ${{ env.LEVEL }} ${{ steps.lint.state }}"}
    outputs: {first: "${{ steps.lint.state }}"}
  ship: {needs: test, run: "echo ${{ steps.test.outputs.first | join(',') }}"}
"""


def test_a_group_with_a_fan_out_is_a_chain_for_each_leg():
    made = plan(GROUP)

    assert ids(made) == [
        "test", "test[3.11]/lint", "test[3.11]/unit", "test[3.12]/lint", "test[3.12]/unit", "ship",
    ]  # fmt: skip
    assert step(made, "test").tasks == ("test[3.11]", "test[3.12]")
    assert step(made, "test[3.12]/unit").needs == ("test[3.12]/lint",)
    assert step(made, "test[3.12]/unit").within == "test[3.12]"
    assert step(made, "ship").needs == ("test",)
    assert task(made, "test[3.11]").kind is Kind.GROUP
    assert task(made, "test[3.11]/lint").script_env == {"CREWFLOW_EXPR_1": "3.11"}
    assert (task(made, "test[3.11]").cwd, task(made, "test[3.11]/lint").cwd) == ("py3.11", "")


def test_a_group_outlives_the_way_to_a_file_and_back():
    made = plan(GROUP)

    assert from_bytes(made.to_bytes()) == made


def test_the_longest_path_goes_through_groups():
    made = plan("steps: {g: {steps: {a: {run: x}, b: {needs: a, run: x}}}, c: {needs: g, run: x}}")

    weights = {one.id: one.weight for one in made.tasks}
    assert weights == {"g": 3.0, "g/a": 3.0, "g/b": 2.0, "c": 1.0}


def test_an_estimate_is_the_length_of_its_task():
    made = plan("steps: {a: {run: x, estimate: {duration: 10m}}, b: {needs: a, run: x}}")

    assert [one.weight for one in made.tasks] == [601.0, 1.0]


def test_names_inside_a_group_hide_those_around_it_and_see_the_others():
    text = """
steps:
  build: {run: x, outputs: {v: string}}
  g:
    needs: build
    steps:
      a: {run: "echo ${{ steps.build.outputs.v }}"}
      b: {needs: a, run: "echo ${{ steps.a.state }}"}
"""
    assert said(text) == []
    inner = "      build: {needs: a, run: x}\n"
    assert said(text + inner) == [
        "7:26 CF203 step `a` asks for step `build`, which may not have ended by then"
    ]


@pytest.mark.parametrize(
    ("inner", "problem", "hint"),
    [
        (
            'run: "echo ${{ steps.late.state }}"',
            "CF203 step `g` asks for step `late`, which may not have ended by then",
            "add `late` to the `needs` or `after` of `g`",
        ),
        (
            'run: "echo ${{ steps.g.state }}"',
            "CF203 step `g` asks for its own result",
            "ask outside of it",
        ),
        (
            "run: x, needs: late",
            "CF201 step `a` cannot wait for `late`, which stands outside its group",
            "write it in the `needs` of the group",
        ),
        (
            "run: x, needs: [b]",
            "CF201 step `a` needs unknown step `b`",
            None,
        ),
    ],
)  # fmt: skip
def test_a_step_of_a_group_asks_only_for_what_has_ended(inner, problem, hint):
    text = f"steps:\n  late: {{run: x}}\n  g:\n    steps:\n      a: {{{inner}}}\n"

    assert [one.split(" ", 1)[1] for one in said(text)] == [problem]
    assert hints(text) == [hint]


def test_a_cycle_inside_a_group_is_told_there():
    text = "steps:\n  g:\n    steps:\n      a: {run: x, needs: b}\n      b: {run: x, needs: a}\n"

    assert said(text) == ["4:26 CF301 steps wait for each other: a -> b -> a"]


def test_what_is_inside_a_group_is_not_asked_for_from_outside():
    text = "steps:\n  g: {steps: {a: {run: x}}}\n  b: {needs: g, run: 'echo ${{ steps.a.state }}'}\n"

    assert said(text) == ["3:32 CF202 `steps.a` does not exist"]
    assert "`a` stands in group `g`: declare what it gives in its `outputs`" in hints(text)[0]


@pytest.mark.parametrize("fact", ["exit_code", "result", "artifacts.x", "attempts"])
def test_a_group_has_no_process_to_ask_about(fact):
    text = "steps:\n  g: {steps: {a: {run: x}}}\n  b: {needs: g, run: 'echo ${{ steps.g.@ }}'}\n"
    text = text.replace("@", fact)

    (problem,) = said(text)
    assert f"CF202 `steps.g.{fact.split('.')[0]}" in problem


def test_two_steps_of_two_groups_may_have_the_same_id_and_of_one_not():
    assert said("steps: {g: {steps: {a: {run: x}}}, h: {steps: {a: {run: x}}}}\n") == []
    (problem,) = said("steps:\n  g:\n    steps:\n      a: {run: x}\n      A: {run: x}\n") or [""]
    assert problem == "" or "CF114" in problem


def test_the_matrix_of_a_group_is_extended_by_that_of_a_step_in_it():
    made = plan(
        "steps: {g: {matrix: {a: [1]}, steps: {s: {matrix: {b: [2]}, "
        "run: 'echo ${{ matrix.a }} ${{ matrix.b }}'}}}}"
    )

    assert task(made, "g[1]/s[2]").script_env == {"CREWFLOW_EXPR_1": "1", "CREWFLOW_EXPR_2": "2"}


def test_a_variable_that_a_group_sets_is_left_to_the_run():
    made = plan("env: {A: one}\nsteps: {g: {env: {A: two}, steps: {s: {run: 'echo ${{ env.A }}'}}}}")

    assert task(made, "g/s").script_env["CREWFLOW_EXPR_1"] != "one"


# --- fan-outs over what the run gives -------------------------------------------------------------

EACH = """
steps:
  list: {run: x, outputs: {names: array}}
  each:
    needs: list
    for_each: "${{ steps.list.outputs.names }}"
    steps:
      one: {run: "echo ${{ item }}"}
      two: {needs: one, for_each: [p, q], run: "echo ${{ item }}"}
"""


def test_a_fan_out_over_outputs_is_a_pattern_with_a_bound():
    made = plan(EACH)
    each = step(made, "each")

    assert (each.tasks, each.fan_out, each.unfold.most) == ((), True, 10_000)
    assert [one.id for one in each.unfold.tasks] == ["each", "each/one", "each/two[0]", "each/two[1]"]
    assert [one.id for one in made.tasks] == ["list"]
    assert from_bytes(made.to_bytes()) == made


def test_it_unfolds_into_the_pattern_once_for_each_leg():
    steps, tasks = unfolded(step(plan(EACH), "each"), list_legs(["a", "b"]))

    assert [one.id for one in steps] == ["each[0]/one", "each[0]/two", "each[1]/one", "each[1]/two"]
    assert steps[1].needs == ("each[0]/one",)
    assert steps[1].within == "each[0]"
    assert [(one.id, one.step) for one in tasks[:4]] == [
        ("each[0]", "each"),
        ("each[0]/one", "each[0]/one"),
        ("each[0]/two[0]", "each[0]/two"),
        ("each[0]/two[1]", "each[0]/two"),
    ]
    assert tasks[4].context == {"item": "b", "item_index": 1}


def test_a_matrix_axis_over_outputs_is_a_pattern_too():
    made = plan(
        "steps: {a: {run: x, outputs: {n: array}}, "
        "b: {needs: a, matrix: {v: '${{ steps.a.outputs.n }}', w: [1]}, run: 'echo ${{ matrix.v }}'}}"
    )

    assert step(made, "b").unfold.matrix.keys() == {"v", "w"}


def test_a_fan_out_over_something_that_is_no_list_by_declaration_is_refused():
    text = (
        "steps:\n  a: {run: x, outputs: {n: string}}\n"
        "  b: {needs: a, for_each: '${{ steps.a.outputs.n }}', run: x}\n"
    )
    assert said(text) == ["3:32 CF304 `for_each` must be a list, and `steps.a.outputs.n` is text"]


def test_a_fan_out_over_what_has_not_ended_is_refused():
    text = "steps:\n  a: {run: x, outputs: {n: array}}\n  b: {for_each: '${{ steps.a.outputs.n }}', run: x}\n"

    (problem,) = said(text)
    assert "CF203 step `b` asks for step `a`, which may not have ended by then" in problem


# --- calls ----------------------------------------------------------------------------------------

INNER = """kind: workflow
name: inner
inputs:
  words: {type: array, items: {type: string}, required: true}
  label: {type: string, default: x}
env: {L: "${{ inputs.label }}"}
max_parallel: 2
outputs: {n: "${{ steps.w.outputs.v | length }}"}
steps:
  w: {for_each: "${{ inputs.words }}", run: "echo ${{ item }} ${{ env.L }}", outputs: {v: string}}
finally:
  end: {run: x}
"""


def caller(arguments, more=""):
    return (
        "kind: workflow\nname: outer\nsteps:\n  a: {run: x, outputs: {l: array, n: integer}}\n"
        f"  call: {{needs: a, workflow: inner, with: {arguments}{more}}}\n"
    )


def test_a_call_is_compiled_with_its_inputs():
    found, made = several(caller("{words: [p, q], label: hey}"), INNER)
    made = made()

    assert found == []
    assert ids(made) == ["a", "call", "call/w", "call/end"]
    assert step(made, "call/w").tasks == ("call/w[0]", "call/w[1]")
    assert step(made, "call/end").final
    call = task(made, "call")
    assert (call.kind, call.slots, call.env, call.declared) == (Kind.CALL, 2, {"L": "hey"}, {})
    assert task(made, "call/w[1]").script_env == {"CREWFLOW_EXPR_1": "q", "CREWFLOW_EXPR_2": "hey"}


def test_inputs_that_only_the_run_gives_leave_a_pattern_and_a_schema():
    found, made = several(caller("{words: '${{ steps.a.outputs.l }}'}"), INNER)
    made = made()

    assert found == []
    assert step(made, "call/w").unfold is not None
    assert task(made, "call").declared == {"words": {"type": "array", "items": {"type": "string"}}}
    assert from_bytes(made.to_bytes()) == made


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("{}", "5:3 CF215 step `call` gives no input `words`, which workflow `inner` needs"),
        ("{words: [a], lable: x}", "5:56 CF215 workflow `inner` has no input `lable`"),
    ],
)
def test_the_inputs_of_a_call_are_checked(arguments, problem):
    found, _ = several(caller(arguments), INNER)

    assert found == [problem]


def test_a_value_that_does_not_fit_an_input_is_refused():
    _, made = several(caller("{words: [1, 2]}"), INNER)

    with pytest.raises(SpecError) as caught:
        made()
    (problem,) = caught.value.problems
    assert problem.message.startswith("input `words` of workflow `inner` must be")


def test_an_unknown_workflow_is_told_with_the_nearest():
    found, _ = several(caller("{words: []}").replace("inner", "iner"), INNER)

    assert found == ["5:30 CF214 step `call` calls unknown workflow `iner`"]


def test_outputs_that_the_called_workflow_does_not_declare_are_told():
    text = caller("{words: []}") + "  use: {needs: call, run: 'echo ${{ steps.call.outputs.m }}'}\n"
    found, _ = several(text, INNER)

    assert found == ["6:37 CF202 `steps.call.outputs.m` does not exist"]


def test_a_workflow_that_calls_itself_is_refused_whatever_the_detour():
    a = "kind: workflow\nname: a\nsteps: {x: {workflow: b}}\n"
    b = "kind: workflow\nname: b\nsteps: {g: {steps: {y: {workflow: a}}}}\n"
    found, made = several(a, b)

    assert found == ["3:23 CF309 workflow `a` calls itself: a -> b -> a"]
    with pytest.raises(SpecError):
        made()


def test_a_called_workflow_sees_only_its_inputs():
    inner = "kind: workflow\nname: inner\nsteps: {x: {run: 'echo ${{ steps.a.outputs.n }}'}}\n"
    outer = caller("{}")
    _, made = several(outer, inner)

    with pytest.raises(SpecError) as caught:
        made()
    assert "`steps.a` does not exist" in caught.value.problems[0].message


def test_calls_within_fan_outs_within_calls_are_bounded():
    many = list(range(1000))
    a = f"kind: workflow\nname: a\nsteps: {{x: {{for_each: {many}, workflow: b}}}}\n"
    b = f"kind: workflow\nname: b\nsteps: {{x: {{for_each: {many}, run: x}}}}\n"
    _, made = several(a, b)

    with pytest.raises(SpecError) as caught:
        made()
    assert caught.value.problems[0].message == "the plan has more than 200,000 tasks"


# --- keys that name something -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "steps:\n  a: {run: x, secrets: [TOKEN]}\n",
            "2:25 CF217 step `a` gets secret `TOKEN`, which the workflow does not list",
        ),
        (
            "secrets: [T]\nsteps:\n  a: {run: x, secrets: [T], log: raw}\n",
            "3:34 CF218 step `a` gets secrets, and `log: raw` would show them",
        ),
        (
            "steps:\n  a: {run: x, pools: [db]}\n",
            "2:23 CF219 step `a` takes a slot of unknown pool `db`",
        ),
        (
            "steps:\n  a: {approval: {rework: {steps: b}}}\n",
            "2:34 CF201 the `rework` of step `a` names unknown step `b`",
        ),
        (
            "steps:\n  a: {run: x}\n  b: {approval: {show: [steps.a.exitcode]}, needs: a}\n",
            "3:25 CF202 `steps.a.exitcode` does not exist",
        ),
        (
            "steps:\n  a: {run: x, reads: ['${{ steps.b.state }}/x']}\n",
            "2:28 CF202 `steps.b` does not exist",
        ),
    ],
)  # fmt: skip
def test_keys_whose_running_comes_later_are_checked_now(text, problem):
    assert said(text) == [problem]


def test_calls_are_nested_to_a_bound_and_no_further():
    chain = [f"kind: workflow\nname: w{n}\nsteps: {{a: {{workflow: w{n + 1}}}}}\n" for n in range(300)]
    last = "kind: workflow\nname: w300\nsteps: {a: {run: x}}\n"
    found, made = several(*chain, last)

    assert found == ["3:23 CF309 calls are nested more than 50 deep: w1 -> w2 -> w3 -> ..."]
    with pytest.raises(SpecError):
        made()
    assert several(*chain[260:], last)[0] == []


def test_calls_that_double_at_each_level_are_refused_before_they_are_made():
    levels = [
        f"kind: workflow\nname: w{n}\nsteps: {{a: {{workflow: w{n + 1}}}, b: {{workflow: w{n + 1}}}}}\n"
        for n in range(40)
    ]
    _, made = several(*levels, "kind: workflow\nname: w40\nsteps: {a: {run: x}}\n")

    with pytest.raises(SpecError) as caught:
        made()
    assert "more than 200,000 tasks" in caught.value.problems[0].message


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ("{words: [p, 1]}", "words"),
        ("{words: [p], label: null}", "label"),
        ("{words: '${{ steps.a.outputs.n }}'}", "words"),
    ],
)
def test_values_of_a_call_are_checked_without_the_inputs_of_the_run(arguments, name):
    (found,) = several(caller(arguments), INNER)[0]

    assert f" CF215 input `{name}` of workflow `inner` " in found


@pytest.mark.parametrize(
    "step",
    [
        "f: {approval: {message: x}}",
        "f: {steps: {g: {approval: {message: x}}}}",
        "f: {workflow: asks}",
    ],
)
def test_nobody_is_asked_under_finally(step):
    asks = "kind: workflow\nname: asks\nsteps: {g: {approval: {message: x}}}\n"
    found, _ = several(f"kind: workflow\nname: w\nsteps: {{a: {{run: x}}}}\nfinally: {{{step}}}\n", asks)

    assert [one.split()[1] for one in found] == ["CF311"]


def test_a_priority_of_zero_inside_a_group_is_its_own():
    made = plan("steps: {g: {priority: 5, steps: {a: {run: x, priority: 0}, b: {run: x}}}}")

    assert {one.id: one.priority for one in made.tasks} == {"g": 5, "g/a": 0, "g/b": 5}
