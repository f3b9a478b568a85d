import json
from dataclasses import replace

import pytest
from flows import plan

from crewflow.graph.plan import from_bytes
from crewflow.report.authored import some
from crewflow.report.plan import plan_document, plan_text
from crewflow.report.task_lines import task_lines
from crewflow.spec.model import Kind

RELEASE = """\
kind: workflow
name: release
inputs:
  goal: {default: "ship it\\nnow"}
  version: {type: number, default: 3.10}
  long: {default: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}
max_parallel: 4
env: {TZ: UTC, RUN: "${{ run.id }}"}
on_failure: stop
steps:
  build:
    run: |
      set -e

      make "v${{ inputs.version }}"
      make docs
    env: {CC: gcc, FLAGS: "-O2 -g"}
    cwd: src
    timeout: 1h30m
    grace: 5s
    retry:
      max_attempts: 3
      delay: 2s
      backoff: exponential
      max_delay: 1m
      when: [timeout, "exit:75"]
      unless: [signal]
    outputs: {version: string, notes: string}
    artifacts: {wheel: "dist/*.whl", logs: ["logs/*", "${{ run.id }}.txt"]}
    idempotent: false
  test:
    needs: build
    matrix: {python: [3.10, "3.11"], os: [linux, mac]}
    max_parallel: 2
    run: tox -e "py${{ matrix.python }}" -- "${{ steps.build.outputs.version }}"
    retry: {max_attempts: 2}
  shard:
    needs: build
    for_each: [a, b c]
    if: always()
    run: [pytest, "${{ item }}", "${{ run.id }}"]
    allow_failure: [exit]
  none: {needs: test, for_each: [], run: "true"}
  notify:
    needs: [test, shard]
    after: none
    if: "inputs.goal == 'x'   or   steps.test.state == 'succeeded'"
    python: notify.mail:send
    with: {to: [a@example.org, "${{ steps.build.outputs.notes }}"], goal: "${{ inputs.goal }}"}
    timeout: "${{ run.id }}s"
    allow_failure: "${{ run.failed == [] }}"
finally:
  clean: {run: rm -rf build, allow_failure: true}
  report: {run: ./report.sh, after: clean}
"""


def test_a_plan_in_words(text_file):
    assert plan_text(plan(RELEASE), 4) == text_file


def test_a_plan_read_back_has_the_same_words():
    made = plan(RELEASE)

    assert plan_text(from_bytes(made.to_bytes()), 4) == plan_text(made, 4)


def test_long_lists_are_shortened(text_file):
    legs = ", ".join(map(str, range(1000)))
    chain = "".join(f"  t{i}: {{run: x, needs: t{i - 1}}}\n" for i in range(1, 30))
    script = "".join(f"      echo {i}\n" for i in range(30))
    needs = ", ".join(f"t{i}" for i in range(30))
    text = f"""\
kind: workflow
name: long
steps:
  t0: {{run: x}}
{chain}  legs: {{run: [echo, "${{{{ item }}}}"], for_each: [{legs}]}}
  all: {{run: x, needs: [{needs}]}}
  script:
    run: |
{script}"""

    said = plan_text(plan(text), 2)
    assert said == text_file
    assert max(map(len, said.splitlines())) < 120


def test_a_single_step_has_no_longest_path():
    assert "longest path" not in plan_text(plan("steps: {a: {run: x}}\n"), 1)


@pytest.mark.case("C026")
def test_the_command_that_is_left_before_a_comment_is_shown():
    assert "      run: curl http://x/y\n" in plan_text(
        plan("steps:\n  a:\n    run: curl http://x/y #retry\n  b: {run: x}\n"), 1
    )


@pytest.mark.case("C028")
def test_folded_text_is_shown_as_the_one_command_that_it_is():
    said = plan_text(plan("steps:\n  a:\n    run: >\n      false\n      echo hi\n"), 1)

    assert "      run: false echo hi" in said.splitlines()


def test_words_are_quoted_where_they_would_be_read_apart():
    said = plan_text(plan("steps: {a: {run: [echo, a b, '', \"it's\", '${{ run.id }}']}}\n"), 1)

    assert """      run: echo 'a b' '' 'it'"'"'s' ${{ run.id }}""" in said.splitlines()


def test_no_word_of_python_is_shown():
    said = plan_text(plan(RELEASE), 4)

    assert not any(
        word in said for word in ("None", "True", "False", "Template", "<", "Condition", "object at")
    )


def test_a_plan_as_a_document_holds_the_plan_file_and_what_follows_from_it():
    made = plan(RELEASE)
    document = json.loads(json.dumps(plan_document(made, 3)))

    assert list(document) == [
        "fingerprint",
        "slots",
        "size",
        "longest_path",
        "estimate",
        "write_sets_not_declared",
        "tree",
        "plan",
    ]
    assert (document["fingerprint"], document["slots"]) == (made.fingerprint(), 3)
    assert document["size"] == {"steps": 7, "tasks": 10, "unknown_lists": 0}
    assert document["longest_path"] == ["build", "test", "none", "notify", "clean", "report"]
    assert document["estimate"] is None
    assert from_bytes(json.dumps(document["plan"]).encode()) == made


def test_of_many_names_the_first_are_shown_and_all_are_counted():
    assert some(["a", "b"]) == "a, b"
    assert some([str(i) for i in range(12)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"
    assert some([str(i) for i in range(2000)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... (2,000 in all)"


NESTED = """\
kind: workflow
name: nested
steps:
  list: {run: x, outputs: {names: array, flags: array}, writes: [], estimate: {duration: 2m}}
  test:
    needs: list
    matrix: {python: ["3.11", "3.12"]}
    env: {G: "g-${{ matrix.python }}"}
    outputs: {log: "${{ steps.unit.outputs.log }}"}
    on_failure: stop
    max_parallel: 1
    steps:
      lint: {run: [lint, "${{ matrix.python }}"], estimate: {duration: 5m}}
      unit:
        needs: lint
        if: steps.lint.state == 'succeeded'
        run: [unit]
        outputs: {log: {type: string, from: stdout}}
  each:
    after: list
    for_each: ${{ steps.list.outputs.names }}
    max_parallel: 2
    steps:
      one: {run: [one, "${{ item }}"]}
      two: {needs: one, for_each: [x, y], run: [two, "${{ item }}"], writes: ["src/**", "!src/gen"]}
  grid:
    needs: list
    matrix: {a: "${{ steps.list.outputs.names }}", b: "${{ steps.list.outputs.flags }}", c: [1, 2]}
    run: [echo]
    writes: []
  one: {for_each: ["a"], steps: {inner: {run: [x], writes: [x]}}}
"""


def test_containers_are_shown_as_a_tree(text_file):
    assert plan_text(plan(NESTED), 4) == text_file


def test_the_tree_is_data_too():
    document = json.loads(json.dumps(plan_document(plan(NESTED), 4)))

    assert document["size"] == {"steps": 10, "tasks": 6, "unknown_lists": 2}
    assert document["write_sets_not_declared"] == ["test/lint", "test/unit", "each/one"]
    test = document["tree"][1]
    assert (test["step"], test["kind"], test["placeholder"]) == ("test", "group", None)
    assert [task["task"] for task in test["tasks"]] == ["test[3.11]", "test[3.12]"]
    assert [step["step"] for step in test["tasks"][1]["steps"]] == ["test[3.12]/lint", "test[3.12]/unit"]
    each = document["tree"][2]
    assert each["placeholder"]["most"] == 10_000
    assert [step["name"] for step in each["tasks"][0]["steps"]] == ["one", "two"]
    assert [task["task"] for task in each["tasks"][0]["steps"][1]["tasks"]] == ["each/two[0]", "each/two[1]"]


def test_an_estimate_goes_through_containers_and_counts_what_it_is_made_of():
    document = plan_document(plan(NESTED), 4)

    # two legs of five minutes, one at once, behind two minutes
    assert document["longest_path"] == ["list", "test[3.11]/lint", "test[3.11]/unit"]
    assert document["estimate"] == {
        "seconds": 720.0,
        "estimated_steps": 2,
        "steps": 3,
        "work_seconds": 720.0,
    }
    assert (
        "about 12 minutes along the longest path, by the estimates of 2 of 3 steps; 12 minutes of work in all"
        in plan_text(plan(NESTED), 4)
    )


def test_a_gate_and_what_comes_later_have_words_of_their_own(text_file):
    said = plan_text(
        plan(
            """\
kind: workflow
name: later
secrets: [TOKEN, OTHER]
steps:
  fix: {run: fix, writes: ["src/**"], expect: {changed: ["src/**"], run: [pytest, -q], no_change: fail}}
  ship:
    needs: fix
    approval:
      message: Ship it?
      show: [steps.fix.result]
      approvers: [maintainer, boss]
      min_approvals: 2
      timeout: 24h
      on_timeout: wait
      inputs: {reason: {type: string}}
      rework: {steps: [fix], max: 2}
  many: {needs: ship, for_each: [1, 2], approval: {message: "Sure about ${{ item }}?"}}
  release:
    needs: many
    run: [release]
    secrets: {GH: TOKEN}
    reads: ["dist/*"]
    writes: []
    idle_timeout: 1m
    total_timeout: 2h
    priority: 5
    isolate: true
"""
        ),
        2,
    )

    assert said == text_file
    assert "write sets not declared" not in said


def test_a_prompt_is_shown_with_who_is_asked_and_its_first_lines():
    [task] = plan("steps: {fix: {run: x}}\n").tasks
    asked = replace(
        task,
        kind=Kind.PROMPT,
        action=(),
        prompt="Fix it.\nAnd test it.\n\nThen\nsay\nso.",
        agent={"name": "claude", "role": "executor", "model": "sonnet", "access": "workspace_write"},
        informed_by=("look", "think"),
        later={"budget": {"usd": 2.5, "tokens": 20_000}, "max_turns": 30},
    )

    assert list(task_lines(asked)) == [
        "asks claude (role executor, model sonnet, access workspace_write)",
        "prompt: Fix it.",
        "        And test it.",
        "        Then",
        "        say",
        "        ... and 1 more line",
        "told the results of look, think",
        "budget 2.5 USD, 20,000 tokens",
        "max_turns 30",
    ]


def test_a_call_is_named_after_the_workflow_where_the_plan_says_it():
    made = plan("steps: {a: {steps: {b: {run: x}}}}\n")
    container, inner = made.tasks
    called = replace(made, tasks=(replace(container, kind="call", action="inner", slots=3), inner))

    said = plan_text(called, 1)
    assert "  a  (calls workflow `inner` of 1 step)" in said.splitlines()
    assert "      at most 3 tasks in it at once" in said.splitlines()


def test_a_list_that_becomes_known_is_one():
    said = plan_text(
        plan(
            "steps:\n  a: {run: x, outputs: {l: array}}\n"
            "  b: {needs: a, for_each: '${{ steps.a.outputs.l }}', run: x}\n"
        ),
        1,
    )

    assert (
        said.splitlines()[0]
        == "workflow `demo`: 2 steps, 1 task, more as 1 list becomes known, at most 1 at once"
    )
