import json
from dataclasses import replace

import pytest
from flows import plan, project_of, read
from hypothesis import given, settings
from hypothesis import strategies as st

from crewflow.graph.compile import compile_workflow
from crewflow.graph.plan import Condition, Plan, PlannedStep, Task, from_bytes, in_order, to_json
from crewflow.spec.inputs import resolve_inputs
from crewflow.spec.model import Backoff, Kind, OnFailure, Output, Retry
from crewflow.spec.scalars import resolve
from crewflow.spec.template import parse_text

EVERYTHING = """\
inputs:
  goal: {default: "line\\nbreak \\u2028 \\U0001F680"}
  more: {type: object, default: {b: [0.5, 3.10, 1e3, 0x1F, null, true], a: {"$template": 1, $x: "${{"}}}
env: {A: "${{ run.id }}", B: "${{ inputs.goal }}"}
max_parallel: 4
on_failure: stop
steps:
  script:
    run: 'echo "${{ inputs.goal }}" ${{ run.id }}'
    shell: [bash, -c]
    env: {A: 1, B: "x ${{ attempt.number }}"}
    cwd: src
    timeout: 1h30m
    grace: "${{ run.id }}s"
    retry: {max_attempts: 3, delay: 2s, backoff: exponential, jitter: 0.2, when: [timeout], unless: [signal]}
    idempotent: false
    outputs:
      note: string
      count: {type: number, from: stdout, default: 1.50}
    artifacts: {report: out/report.md, logs: ["logs/*", "${{ run.id }}.txt"]}
    allow_failure: [exit, timeout]
  command:
    needs: script
    run: [echo, 3.10, "${{ inputs.more }}", "a${{ run.id }}"]
    allow_failure: "${{ run.id == 'a' }}"
  call:
    needs: [script]
    after: command
    if: steps.script.state == 'failed'
    python: "m:f"
    with: {a: [1, "${{ run.id }}"], b: {c: null}}
  matrix: {if: always(), matrix: {v: [3.10, "x", null, {k: [1]}]}, max_parallel: 2, run: "true"}
  each: {for_each: [], run: "true"}
finally:
  report: {run: ./report.sh, allow_failure: true}
"""

TEXTS = st.text(st.characters(codec=None), max_size=12)  # with halves of surrogate pairs
NUMBERS = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["3.10", "1e3", "0x1F", "+5", "-0", "1.0e-7"]).map(resolve),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)
TEMPLATES = st.builds(
    lambda before, name, after: parse_text(before.replace("$", "") + "${{ inputs." + name + " }}" + after),
    TEXTS,
    st.sampled_from(["a", "b-c", "d.e"]),
    st.sampled_from(["", " x", "${{ run.id }}"]),
)
FIELDS = st.one_of(TEXTS, TEMPLATES)
TASKS = st.builds(
    Task,
    id=TEXTS,
    step=TEXTS,
    kind=st.sampled_from(Kind),
    action=st.one_of(TEXTS, st.lists(FIELDS, max_size=3).map(tuple)),
    script_env=st.dictionaries(TEXTS, FIELDS, max_size=2),
    shell=st.lists(TEXTS, max_size=2).map(tuple),
    arguments=st.dictionaries(TEXTS, st.one_of(VALUES, TEMPLATES), max_size=3),
    env=st.dictionaries(TEXTS, FIELDS, max_size=2),
    cwd=FIELDS,
    condition=st.sampled_from(Condition),
    condition_text=st.one_of(st.none(), TEXTS),
    context=st.dictionaries(TEXTS, VALUES, max_size=2),
    timeout=st.one_of(st.none(), st.floats(0, 1e9), TEMPLATES),
    grace=st.one_of(st.floats(0, 1e9), TEMPLATES),
    retry=st.builds(
        Retry,
        max_attempts=st.integers(1, 9),
        backoff=st.sampled_from(Backoff),
        jitter=st.floats(0, 1),
        when=st.lists(TEXTS, max_size=2).map(tuple),
        unless=st.lists(TEXTS, max_size=2).map(tuple),
    ),
    outputs=st.lists(st.builds(Output, TEXTS, TEXTS, TEXTS, st.booleans(), VALUES), max_size=2).map(tuple),
    artifacts=st.dictionaries(TEXTS, st.lists(FIELDS, max_size=2).map(tuple), max_size=2),
    allow_failure=st.one_of(st.booleans(), st.lists(TEXTS, max_size=2).map(tuple), TEMPLATES),
    idempotent=st.booleans(),
    keeps_stdout=st.booleans(),
    weight=st.floats(0, 1e6),
)
STEPS = st.builds(
    PlannedStep,
    id=TEXTS,
    tasks=st.lists(TEXTS, max_size=2).map(tuple),
    needs=st.lists(TEXTS, max_size=2).map(tuple),
    after=st.lists(TEXTS, max_size=2).map(tuple),
    final=st.booleans(),
    fan_out=st.booleans(),
    max_parallel=st.one_of(st.none(), st.integers(1, 9)),
)
PLANS = st.builds(
    Plan,
    workflow=TEXTS,
    project=TEXTS,
    inputs=st.dictionaries(TEXTS, VALUES, max_size=3),
    env=st.dictionaries(TEXTS, FIELDS, max_size=2),
    max_parallel=st.one_of(st.none(), st.integers(1, 9)),
    on_failure=st.sampled_from(OnFailure),
    steps=st.lists(STEPS, max_size=2).map(tuple),
    tasks=st.lists(TASKS, max_size=2).map(tuple),
)


def spelled(value):
    """A value in which what is equal but reads differently differs: 1, true, 1.0 and `1.00`."""
    if isinstance(value, dict):
        return {key: spelled(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [spelled(inner) for inner in value]
    return (type(value).__name__, str(getattr(value, "text", value)))


@settings(deadline=None)
@given(PLANS)
def test_a_plan_read_back_equals_the_plan(made):
    read_back = from_bytes(made.to_bytes())

    assert read_back == made
    assert spelled(read_back.inputs) == spelled(made.inputs)
    assert [spelled(one.context) for one in read_back.tasks] == [spelled(one.context) for one in made.tasks]
    assert read_back.to_bytes() == made.to_bytes()
    assert read_back.fingerprint() == made.fingerprint()


def test_a_compiled_plan_read_back_equals_the_plan():
    made = plan(EVERYTHING)

    assert from_bytes(made.to_bytes()) == made
    assert spelled(from_bytes(made.to_bytes()).inputs) == spelled(made.inputs)


def test_what_is_read_back_has_its_objects_in_the_same_order():
    """What is made of the text of an object must not depend on which of the two a run goes by."""
    made = plan(EVERYTHING)

    assert json.dumps(from_bytes(made.to_bytes()).inputs) == json.dumps(made.inputs)
    assert made.inputs == in_order(made.inputs)


def test_half_of_a_surrogate_pair_survives():
    made = plan("steps: {a: {run: [x, \"${{ '\\\\ud83d' }}\", \"${{ '\\\\ude00' }}\"]}}\n")

    assert made.tasks[0].action == ("x", "\ud83d", "\ude00")
    assert from_bytes(made.to_bytes()) == made


def test_the_bytes_are_one_line_of_json():
    data = plan(EVERYTHING).to_bytes()

    assert data.endswith(b"}\n")
    assert data.count(b"\n") == 1
    assert json.loads(data) == json.loads(json.dumps(to_json(plan(EVERYTHING))))


def test_fields_that_say_nothing_are_left_out():
    (task,) = to_json(plan("steps: {a: {run: x}}\n"))["tasks"]

    assert sorted(task) == ["action", "id", "kind", "shell", "step", "weight"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        b'{"format": 2}',
        (
            b'{"format": 2, "workflow": "a", "project": "b", "inputs": 1, "env": {}, "max_parallel": null, '
            b'"on_failure": "never", "steps": [], "tasks": []}'
        ),
        b"[" * 100_000,
    ],
)
def test_bytes_that_are_no_plan_are_refused(data):
    with pytest.raises(ValueError, match="it is no plan, or a damaged one"):
        from_bytes(data)


def test_a_plan_of_another_format_is_refused_by_name():
    with pytest.raises(ValueError, match="it is a plan of format 1, and this version reads format 2"):
        from_bytes(b'{"format": 1}')


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["tasks"][0].pop("kind"),
        lambda document: document["tasks"][0].update(kind="magic"),
        lambda document: document["tasks"][0].update(surprise=1),
        lambda document: document["steps"][0].update(needs=5),
        lambda document: document["tasks"][0].update(cwd={"$template": [{"expr": "1 +"}]}),
        lambda document: document["tasks"][0].update(context={"a": {"$number": "1e999"}}),
        lambda document: document.update(tasks=5),
    ],
    ids=["no kind", "kind", "unknown field", "needs", "template", "number", "tasks"],
)
def test_a_damaged_plan_is_refused(change):
    document = to_json(plan(EVERYTHING))
    change(document)

    with pytest.raises(ValueError, match="it is no plan, or a damaged one"):
        from_bytes(json.dumps(document).encode())


WRITTEN = """\
kind: workflow
name: demo
inputs: {o: {type: object, default: {a: 1, b: 2}}, t: {default: x}}
env: {A: "1", B: "2"}
steps:
  a:
    run: |
      echo one
      echo two
    env: {C: "3", D: "4"}
    outputs: {m: string, n: string}
    timeout: 5m
  b:
    needs: a
    run: [echo, "${{ inputs.o }}"]
    matrix: {v: [1, 2], w: [{x: 1, y: 2}]}
"""

REWRITTEN = """\
# a comment
name:   demo
kind: workflow
steps:
  a:
    # another
    timeout: "5m"
    outputs:
      n: string
      m: string
    env: {D: "4",   C: '3'}
    run: |
        echo one
        echo two
  b:
    matrix:
      v: [1, 2]
      w:
        - {y: 2, x: 1}
    run:
      - echo
      - ${{ inputs.o }}
    needs: [a]
env: {B: "2", A: "1"}
inputs: {t: {default: x}, o: {type: object, default: {b: 2, a: 1}}}
"""


@pytest.mark.case("C190")
@pytest.mark.parametrize(
    "text",
    [
        REWRITTEN,
        "---\n" + WRITTEN,
        WRITTEN.replace("\n", "\r\n"),
        WRITTEN.replace("\n", "\r"),
        "\ufeff" + WRITTEN,
        WRITTEN.replace("a:\n", "a:  # note\n"),
        WRITTEN.replace("${{ inputs.o }}", "${{inputs.o}}"),
        WRITTEN.replace("name: demo\n", "name: demo\nx-note: {a: 1}\ndescription: other words\n"),
    ],
    ids=["rewritten", "document", "crlf", "cr", "mark", "comment", "spacing", "words"],
)
def test_comments_spacing_line_ends_and_the_order_of_keys_decide_nothing(text):
    assert plan(text).fingerprint() == plan(WRITTEN).fingerprint()


@pytest.mark.case("C190")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("echo two", "echo three"),
        ("timeout: 5m", "timeout: 6m"),
        ("needs: a", "after: a"),
        ("v: [1, 2]", "v: [2, 1]"),
        ("v: [1, 2]", "v: [1, 2.0]"),
        ("v: [1, 2]", 'v: [1, "2"]'),
        ('A: "1"', 'A: "2"'),
        ("a: 1", "a: 3"),
        ("name: demo", "name: other"),
        ("  b:\n", "  c:\n"),
    ],
)
def test_what_decides_what_runs_changes_the_fingerprint(old, new):
    assert old in WRITTEN
    assert plan(WRITTEN.replace(old, new)).fingerprint() != plan(WRITTEN).fingerprint()


@pytest.mark.case("C190")
def test_the_order_of_steps_decides_which_of_two_starts_first():
    assert (
        plan("steps: {a: {run: x}, b: {run: x}}\n").fingerprint()
        != plan("steps: {b: {run: x}, a: {run: x}}\n").fingerprint()
    )


def test_inputs_are_part_of_the_fingerprint():
    assert plan(WRITTEN, "t=y").fingerprint() != plan(WRITTEN).fingerprint()
    assert plan(WRITTEN, "t=x").fingerprint() == plan(WRITTEN).fingerprint()


@pytest.mark.case("C191")
def test_the_fingerprint_does_not_depend_on_where_the_project_lies():
    workflow = read(WRITTEN)
    project = project_of(workflow)
    inputs = resolve_inputs(workflow, [])

    here = compile_workflow(project, workflow, inputs)
    there = compile_workflow(replace(project, root="/elsewhere"), workflow, inputs)
    assert here.fingerprint() == there.fingerprint()


@pytest.mark.case("C191")
def test_the_fingerprint_of_a_plan_is_the_same_in_every_version():
    """Runs are resumed by it: whoever changes this number raises `PLAN_FORMAT`, or knows why not."""
    assert plan("steps: {a: {run: [echo, hi]}}\n").to_bytes() == (
        b'{"env":{},"format":2,"inputs":{},"max_parallel":null,"on_failure":"finish","project":"project",'
        b'"steps":[{"id":"a","tasks":["a"]}],'
        b'"tasks":[{"action":["echo","hi"],"id":"a","kind":"command","step":"a","weight":1.0}],'
        b'"workflow":"demo"}\n'
    )
