"""`explain` of a task, `graph` of a run, and what looks into containers, as a user meets them."""

from xml.etree import ElementTree as ET

import pytest

FLOW = """\
steps:
  list:
    run: |
      echo '{"names": ["x", "y"]}' > "$CREWFLOW_OUTPUT"
    outputs: {names: array}
  test:
    matrix: {python: ["3.11", "3.12"]}
    steps:
      lint:
        run: 'echo "linting ${{ matrix.python }}"; test "${{ matrix.python }}" = 3.11'
        retry: {max_attempts: 2, delay: 10ms}
      unit: {needs: lint, run: echo testing}
  each:
    needs: list
    for_each: ${{ steps.list.outputs.names }}
    steps: {one: {run: 'echo "one ${{ item }}"'}}
  ship: {needs: [test, each], run: echo shipped}
"""


@pytest.fixture
def ran(project):
    here = project(FLOW)
    assert here.run("apply", "-j2").code == 1
    return here


def test_why_a_task_failed_is_explained(ran):
    done = ran.run("explain", "@latest", "test[3.12]/lint")

    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == f"`test[3.12]/lint` of run {ran.run_ids[0]}: failed"
    assert lines[1] == "  it stands in `test[3.12]`, which failed"
    assert lines[-1] == "  it was not tried again: it has had its 2 attempts"
    assert ran.run("explain", ran.run_ids[0][:-3], "test:3.12/lint").out == done.out
    assert ran.run("explain", "test[3.12]/lint").out == done.out


def test_why_a_task_was_skipped_is_data_too(ran):
    document = ran.run("explain", "ship", "--json").json

    assert (document["task"], document["state"]) == ("ship", "skipped")
    assert [(one["step"], one["state"]) for one in document["needs"]] == [
        ("test", "failed"),
        ("each", "succeeded"),
    ]
    assert document["cause"] == {
        "kind": "need_failed",
        "step": "test",
        "root": "test",
        "text": "`test` failed",
        "policy": None,
    }


def test_a_fan_out_says_when_it_became_known(ran):
    assert "  `each` became 2 tasks at " in ran.run("explain", "each[1]").out


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("shp", "did you mean `ship`?"),
        ("test[3.13]/lint", "did you mean `test[3.11]/lint`?"),
        ("lint", "did you mean `test[3.11]/lint`, `test[3.12]/lint`?"),
        ("test", "its tasks are `test[3.11]`, `test[3.12]`"),
        ("zzzzzzzz", "see `crewflow status RUN`"),
    ],
)
@pytest.mark.parametrize("command", ["explain", "logs"])
def test_an_unknown_task_gets_a_hint(ran, command, word, hint):
    done = ran.run(command, word)

    run = ran.run_ids[0]
    assert (done.code, done.out) == (2, "")
    assert done.err == f"error: run `{run}` has no task `{word}`\nhint: {hint.replace('RUN', run)}\n"


def test_a_run_alone_is_asked_for_its_task(ran):
    done = ran.run("explain", "@latest")

    assert (done.code, done.err) == (
        2,
        "error: which task of `@latest`?\nhint: type `crewflow explain @latest TASK`\n",
    )


def test_the_logs_of_a_container_are_those_in_it(ran):
    assert ran.run("logs", "test[3.11]").out.splitlines() == [
        "test[3.11]/lint | linting 3.11",
        "test[3.11]/unit | testing",
    ]
    assert ran.run("logs", "each[0]/one").out == "one x\n"


def test_the_graph_of_a_run_has_its_states(ran):
    text = ran.run("graph", "@latest")
    assert (text.code, text.err) == (0, "")
    assert "  * ship  skipped   <- test, each" in text.out.splitlines()
    assert ran.run("graph", ran.run_ids[0]).out == text.out

    nodes = {node["id"]: node for node in ran.run("graph", "@latest", "--format", "json").json["nodes"]}
    assert nodes["each"]["states"] == {"each[0]": "succeeded", "each[1]": "succeeded"}
    assert nodes["each[1]/one"]["within"] == "each[1]"

    refused = ran.run("graph", "@latest", "-i", "a=b")
    assert (refused.code, refused.err) == (
        2,
        "error: `@latest` is a run, which has its inputs\nhint: leave out `-i`\n",
    )


@pytest.mark.parametrize("reference", ["w", "@latest"])
def test_an_svg_on_stdout_is_a_whole_file(ran, reference):
    done = ran.run("graph", reference, "--format", "svg")

    assert (done.code, done.err) == (0, "")
    assert ET.fromstring(done.out).tag.endswith("svg")
    assert ran.run("graph", reference, "--format", "dot").out.startswith("digraph {")


def test_the_plan_of_containers_is_a_tree(project):
    lines = project(FLOW).run("plan").out.splitlines()

    assert lines[0].startswith("workflow `w`: 7 steps, 6 tasks, more as 1 list becomes known, at most ")
    assert "      test[3.11]/unit  (needs lint)" in lines
    assert (
        "  each  (as many tasks as `steps.list.outputs.names` has items, at most 10,000; "
        "each group of 1 step; needs list)"
    ) in lines


def test_progress_and_the_last_word_tell_of_containers_once(project):
    done = project(FLOW).run("apply", "-j2")

    assert "without a recorded reason" not in done.err
    lines = done.err.splitlines()
    assert "  `test[3.12]` failed with it" in lines
    assert [line for line in lines if line.startswith("`")] == [
        "`test[3.12]/lint` failed after 2 attempts: exit code 1"
    ]
