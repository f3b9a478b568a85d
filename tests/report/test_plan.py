import json

import pytest
from flows import plan

from crewflow.graph.plan import from_bytes
from crewflow.report.plan import plan_document, plan_text, some

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

    assert sorted(document) == ["fingerprint", "longest_path", "plan", "slots"]
    assert (document["fingerprint"], document["slots"]) == (made.fingerprint(), 3)
    assert document["longest_path"] == ["build", "test", "none", "notify"]
    assert from_bytes(json.dumps(document["plan"]).encode()) == made


def test_of_many_names_the_first_are_shown_and_all_are_counted():
    assert some(["a", "b"]) == "a, b"
    assert some([str(i) for i in range(12)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"
    assert some([str(i) for i in range(2000)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... (2,000 in all)"
