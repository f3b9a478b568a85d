import pytest

from crewflow.errors import Severity
from crewflow.spec.build import build_project, build_workflow, prune
from crewflow.spec.model import DEFAULT_RETRY_WHEN, Backoff, Defaults, Kind, OnFailure, Output, Retry
from crewflow.spec.schema import check
from crewflow.spec.source import read_documents
from crewflow.spec.template import Template

HEAD = "kind: workflow\nname: demo\n"


def build(text, defaults=None):
    """The workflow, and `line:column rule message` of everything that is wrong with it."""
    (document,), _ = read_documents("f.yaml", text.encode())
    faults = check(document, "workflow")
    data = prune(document.data, [path for fault in faults for path in fault.prune])
    workflow, problems = build_workflow(document, data, defaults or Defaults())
    found = [*(fault.problem for fault in faults), *problems]
    return workflow, [f"{p.place.line}:{p.place.column} {p.rule} {p.message}" for p in found]


def step_of(body, defaults=None):
    workflow, said = build(f"{HEAD}steps:\n  a: {{{body}}}\n", defaults)
    assert said == []
    return workflow.steps[0]


def said_of(body):
    return build(f"{HEAD}steps:\n  a: {{{body}}}\n")[1]


def test_a_step_that_says_only_what_it_runs_has_all_defaults():
    step = step_of("run: echo hi")

    assert (step.kind, step.run, step.name, step.description) == (Kind.SCRIPT, "echo hi", "a", "")
    assert (step.needs, step.after, step.condition, step.matrix, step.for_each) == ((), (), None, None, None)
    assert (step.timeout, step.grace, step.shell, step.retry) == (None, 10.0, "sh", Retry())
    assert (step.idempotent, step.allow_failure, step.final) == (True, False, False)


def test_the_kind_of_a_step_is_what_it_runs():
    assert step_of("run: [a, b]").kind is Kind.COMMAND
    assert step_of("python: 'm.n:f.g'").kind is Kind.PYTHON


def test_a_workflow_keeps_what_it_says():
    workflow, said = build(
        f"{HEAD}description: What\nmax_parallel: 2.0\non_failure: cancel\nenv: {{A: 1}}\n"
        "inputs: {x: {type: integer, required: true, minimum: 1}}\n"
        "steps: {a: {run: x}}\nfinally: {b: {run: y}}\n"
    )

    assert said == []
    assert (workflow.description, workflow.max_parallel, workflow.on_failure) == ("What", 2, OnFailure.CANCEL)
    assert workflow.env == {"A": "1"}
    assert workflow.inputs["x"].schema == {"type": "integer", "minimum": 1}
    assert [(step.id, step.final, step.path) for step in workflow.steps] == [
        ("a", False, ("steps", "a")),
        ("b", True, ("finally", "b")),
    ]


def test_defaults_come_from_the_step_then_the_workflow_then_the_project():
    project = Defaults(timeout=1.0, grace=2.0, shell="bash", retry=Retry(max_attempts=5, delay=7.0))
    text = (
        f"{HEAD}defaults: {{grace: 20s, retry: {{delay: 8s, jitter: 0.5}}}}\n"
        "steps:\n  a: {run: x}\n  b: {run: x, timeout: 3s, shell: python, retry: {max_attempts: 2}}\n"
    )
    (a, b), _ = (build(text, project)[0].steps, None)

    assert (a.timeout, a.grace, a.shell) == (1.0, 20.0, "bash")
    assert (a.retry.max_attempts, a.retry.delay, a.retry.jitter) == (5, 8.0, 0.5)
    assert (b.timeout, b.grace, b.shell) == (3.0, 20.0, "python")
    assert (b.retry.max_attempts, b.retry.delay, b.retry.jitter) == (2, 8.0, 0.5)


def test_a_retry_is_read_whole():
    retry = step_of(
        "run: x, retry: {max_attempts: 3, delay: 2s, backoff: exponential, max_delay: 1m, jitter: 1,"
        " when: [timeout, 'exit:1-9'], unless: [lost]}"
    ).retry

    assert retry == Retry(3, 2.0, Backoff.EXPONENTIAL, 60.0, 1.0, ("timeout", "exit:1-9"), ("lost",))
    assert Retry().when == DEFAULT_RETRY_WHEN


def test_numbers_and_booleans_get_into_texts_as_they_were_written():
    step = step_of("run: [echo, 3.10, 0x1F, -1], env: {A: 1e3, B: true, C: 010, D: no, E: ''}")

    assert step.run == ("echo", "3.10", "0x1F", "-1")
    assert step.env == {"A": "1e3", "B": "true", "C": "010", "D": "no", "E": ""}


def test_texts_with_expressions_are_templates_and_scripts_are_not():
    step = step_of('run: ["a ${{ inputs.x }}"], env: {A: "${{ inputs.x }}"}, timeout: "${{ inputs.x }}s"')

    assert isinstance(step.run[0], Template)
    assert isinstance(step.env["A"], Template)
    assert isinstance(step.timeout, Template)
    assert step_of('run: "echo ${{ inputs.x }}"').run == "echo ${{ inputs.x }}"


def test_expressions_are_found_at_any_depth_of_the_arguments_of_a_function():
    step = step_of('python: "m:f", with: {a: [1, {b: "${{ inputs.x }}"}], c: null}')

    assert step.arguments["a"][0] == 1
    assert isinstance(step.arguments["a"][1]["b"], Template)
    assert step.arguments["c"] is None


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("'${{ a == 1 }}'", "a == 1"),
        ("a == 1", "a == 1"),
        ("true", "true"),
        ("false", "false"),
        ("' always() '", "always()"),
    ],
)
def test_a_condition_is_kept_without_its_braces(text, condition):
    assert step_of(f"run: x, if: {text}").condition == condition


def test_a_condition_of_two_expressions_is_refused():
    assert said_of("run: x, if: '${{ a }} && ${{ b }}'") == ["4:19 CF110 an `if` is one expression"]


def test_a_fault_in_an_expression_is_shown_where_it_stands():
    (said,) = said_of('run: [echo, "x ${{ 1 + }}"]')

    assert said.startswith("4:")
    assert int(said.split()[0].split(":")[1]) > len('  a: {run: [echo, "x ')


def test_needs_may_be_text_or_a_list():
    assert step_of("run: x, needs: b, after: [c, d]").needs == ("b",)
    assert step_of("run: x, needs: b, after: [c, d]").after == ("c", "d")


def test_a_need_that_stands_twice_is_one_edge_and_a_warning():
    (document,), _ = read_documents("f.yaml", f"{HEAD}steps: {{a: {{run: x, needs: [b, c, b]}}}}\n".encode())
    workflow, (problem,) = build_workflow(document, document.data, Defaults())

    assert workflow.steps[0].needs == ("b", "c")
    assert problem.severity is Severity.WARNING


@pytest.mark.case("C050")
def test_ids_that_differ_by_case_alone_are_refused_with_both_places():
    (document,), _ = read_documents(
        "f.yaml", f"{HEAD}steps:\n  build: {{run: x}}\n  Build: {{run: x}}\n".encode()
    )
    _, (problem,) = build_workflow(document, document.data, Defaults())

    assert str(problem.place) == "f.yaml:5:3"
    assert str(problem.notes[0].place) == "f.yaml:4:3"


@pytest.mark.case("C050")
def test_ids_are_unique_across_steps_and_finally():
    _, said = build(f"{HEAD}steps:\n  a: {{run: x}}\nfinally:\n  a: {{run: x}}\n")

    assert said == ["6:3 CF114 two steps have the id `a`"]


@pytest.mark.case("C029")
def test_ids_that_look_alike_and_are_not_ascii_are_both_refused():
    _, said = build(f'{HEAD}steps:\n  "caf\u00e9": {{run: x}}\n  "cafe\u0301": {{run: x}}\n')

    assert [line.split()[0] for line in said] == ["4:3", "5:3"]


@pytest.mark.case("C088")
@pytest.mark.parametrize(
    ("env", "place"),
    [("'BAD=NAME': x", "4:21"), ("'': x", "4:21"), ("A: null", "4:24"), ('A: "a\\0b"', "4:24")],
)
def test_what_cannot_be_an_environment_variable_is_refused_at_its_place(env, place):
    (said,) = said_of(f"run: x, env: {{{env}}}")

    assert said.startswith(place)


def test_every_fault_is_found_in_one_go_and_the_rest_is_built():
    workflow, said = build(
        f"{HEAD}on_failure: x\nsteps:\n  a: {{run: [], needs: [b, 5]}}\n  b: []\n"
        "  c: {run: x, cwd: /x, timeout: 0s}\n"
    )

    assert [line.split()[0] for line in said] == ["3:13", "5:12", "5:27", "6:6", "7:20", "7:33"]
    assert workflow.on_failure is OnFailure.FINISH
    assert [(step.id, step.kind) for step in workflow.steps] == [("a", None), ("b", None), ("c", Kind.SCRIPT)]


def test_leaving_faulty_values_out_changes_nothing_that_is_shared():
    data = {"steps": {"a": {"run": 1, "env": {"x": 1}}, "b": {"run": "x"}}}
    pruned = prune(data, [("steps", "a", "run"), ("steps", "a", "env", "x"), ("steps", "gone", "x", "y")])

    assert pruned == {"steps": {"a": {"env": {}}, "b": {"run": "x"}}}
    assert data["steps"]["a"] == {"run": 1, "env": {"x": 1}}
    assert pruned["steps"]["b"] is data["steps"]["b"]


def test_outputs_may_be_a_type_word_or_a_mapping():
    step = step_of(
        "run: x, outputs: {a: string, b: {type: integer, from: stdout, default: 3},"
        " c: {type: array, from: 'json:/x'}}"
    )

    assert step.outputs == (
        Output("a", "string"),
        Output("b", "integer", "stdout", has_default=True, default=3),
        Output("c", "array", "json:/x"),
    )


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("{type: integer, default: x}", "must be a whole number, not the text `x`"),
        ("{type: string, default: 3.10}", "must be text, not the number `3.10`"),
        ("{enum: [a, b], default: c}", "must be one of `a`, `b`, not the text `c`"),
        ("{type: integer, minimum: 3, default: 2}", "must be 3 or more, not `2`"),
        ("{type: array, items: {type: integer}, default: [x]}", "must be a whole number, not the text `x`"),
    ],
)
def test_a_default_that_does_not_fit_its_declaration_is_refused(declared, message):
    _, (said,) = build(f"{HEAD}inputs:\n  i: {declared}\nsteps: {{a: {{run: x}}}}\n")

    assert said.endswith(message)


def test_a_pattern_that_is_no_regular_expression_is_refused():
    _, said = build(f"{HEAD}inputs:\n  i: {{pattern: '[', default: a}}\nsteps: {{a: {{run: x}}}}\n")

    assert said == ["4:16 CF104 `pattern` is no regular expression"]


@pytest.mark.parametrize("path", ["/x", "~/x", "..", "../x", "a/../../x"])
def test_a_path_that_leads_out_of_the_project_is_refused(path):
    assert len(said_of(f"run: x, cwd: {path}")) == 1
    assert len(said_of(f"run: x, artifacts: {{a: [{path}]}}")) == 1


def test_a_fan_out_keeps_its_values_and_their_spelling():
    step = step_of("run: x, matrix: {v: [3.10, '3.11'], include: [{v: 4, w: 1}], exclude: [{v: 3.10}]}")

    assert [getattr(value, "text", value) for value in step.matrix["v"]] == ["3.10", "3.11"]
    assert step.include == ({"v": 4, "w": 1},)
    assert step.exclude == ({"v": 3.1},)
    assert isinstance(step_of('run: x, for_each: "${{ inputs.x }}"').for_each, Template)


def test_a_project_has_its_settings():
    (document,), _ = read_documents(
        "crewflow.yaml",
        b"kind: project\nname: shop\ndefault_workflow: ci\ndefaults: {timeout: 30m}\n"
        b"env: {TZ: UTC, N: 3.10}\n",
    )
    project, problems = build_project(document, document.data, "/p/shop")

    assert problems == ()
    assert (project.name, project.default_workflow, project.defaults.timeout) == ("shop", "ci", 1800.0)
    assert project.env == {"TZ": "UTC", "N": "3.10"}


def test_expressions_in_the_environment_of_a_project_are_refused():
    (document,), _ = read_documents("crewflow.yaml", b'kind: project\nname: p\nenv: {A: "${{ inputs.x }}"}\n')
    _, (problem,) = build_project(document, document.data, "/p")

    assert (problem.rule, str(problem.place)) == ("CF110", "crewflow.yaml:3:10")
