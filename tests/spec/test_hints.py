import pytest

from crewflow.spec.hints import near_key
from crewflow.spec.load import load_file

HEAD = "kind: workflow\nname: demo\n"


def told(tmp_path, text):
    """(rule, hint) of each problem of a workflow."""
    file = tmp_path / "w.yaml"
    file.write_text(HEAD + text, encoding="utf-8")
    return [(problem.rule, problem.hint) for problem in load_file(str(file), str(tmp_path))[1]]


def of_step(tmp_path, body):
    return told(tmp_path, f"steps:\n  a: {{run: x, {body}}}\n")


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("matrix: {v: 1}", "write `[1]`"),
        ("matrix: {v: 3.10}", "write `[3.10]`"),
        ("for_each: true", "write `[true]`"),
        ("retry: {when: [75]}", 'write `"exit:75"`'),
        ('retry: {when: ["75"]}', 'write `"exit:75"`'),
        ("retry: {when: 75}", 'write `["exit:75"]`'),
        ("retry: {when: timeout}", "write `[timeout]`"),
        ("allow_failure: 75", 'write `["exit:75"]`'),
        ("retry: 3", "write `{max_attempts: 3}`"),
        ("artifacts: dist/x", "write `{name: dist/x}`"),
        ("artifacts: [a, b]", "write `{name: [a, b]}`"),
        ("artifacts: {a: 5}", "quote it"),
        ("needs: 5", "quote it"),
        ("needs: 'b[1]'", "a single task of a fan-out cannot be needed; write `b`"),
        ("needs: ['b[3.10,x]']", "a single task of a fan-out cannot be needed; write `b`"),
        ("needs: 'b, c'", "write a list: `[b, c]`"),
        ("allow_failure: yes", "write `true`"),
        ("allow_failure: off", "write `false`"),
        ("allow_failure: maybe", "an expression stands in `${{ }}`"),
        ("if: yes", "write `true`"),
        ("if: No", "write `false`"),
        ("idempotent: no", "write `false`"),
        ("idempotent: 5", "write `true` or `false`"),
        ("shell: zsh", "write a list: `[zsh, -e, -c]`"),
        ("shell: node", "write a list: `[node, -e]`"),
        ("shell: /bin/bash", "write `bash`, or a list: `[/bin/bash, -e, -c]`"),
        ("timeout-minutes: 5", "write `timeout: 5m`"),
        ("timeout_seconds: 1.50", "write `timeout: 1.50s`"),
        ("timeout-minutes: many", "write `timeout: 10m`"),
    ],
)
def test_the_hint_is_what_to_write(tmp_path, body, hint):
    assert [said for _, said in of_step(tmp_path, body)] == [hint]


@pytest.mark.parametrize("body", ["retry: {backoff: 2}", "retry: {backoff: quick}"])
def test_a_word_that_is_none_of_those_allowed_is_told_once(tmp_path, body):
    assert [rule for rule, _ in of_step(tmp_path, body)] == ["CF104"]


@pytest.mark.parametrize(("text", "hint"), [("'3'", "write `version: 1`"), ("'1'", "remove the quotes")])
def test_a_version_of_the_wrong_type_is_told_once(tmp_path, text, hint):
    assert told(tmp_path, f"version: {text}\nsteps: {{a: {{run: x}}}}\n") == [("CF104", hint)]


@pytest.mark.parametrize(
    ("step", "hint"),
    [("echo hi", "write `{run: ...}`"), ("run:echo", "a space is missing after `:`; write `run: echo`")],
)
def test_a_step_that_is_text_is_told_what_a_step_is(tmp_path, step, hint):
    assert told(tmp_path, f"steps:\n  a: {step}\n") == [("CF103", hint)]


@pytest.mark.parametrize(
    ("item", "hint"),
    [
        ("id: b", "write `b:` in place of `- id: b`"),
        ("name: b", "write `b:` in place of `- name: b`"),
        ("run: x", "steps are a mapping by id: write an id such as `build:` in place of each `-`"),
        ("name: not an id", "steps are a mapping by id: write an id such as `build:` in place of each `-`"),
    ],
)
def test_a_list_of_steps_is_told_with_what_stands_in_it(tmp_path, item, hint):
    assert told(tmp_path, f"steps:\n  - {item}\n") == [("CF103", hint)]


@pytest.mark.parametrize(
    ("word", "type_word"), [("string", "string"), ("int", "integer"), ("what", "string")]
)
def test_an_input_that_is_a_word_is_told_what_an_input_is(tmp_path, word, type_word):
    assert told(tmp_path, f"inputs: {{x: {word}}}\nsteps: {{a: {{run: x}}}}\n") == [
        ("CF103", f"write `{{type: {type_word}}}`")
    ]


@pytest.mark.parametrize(
    "declared", ["{type: int, default: 3}", "{type: array, items: {type: int}, default: [1]}"]
)
def test_a_default_is_not_held_against_a_type_that_is_not_known(tmp_path, declared):
    assert told(tmp_path, f"inputs: {{x: {declared}}}\nsteps: {{a: {{run: x}}}}\n") == [
        ("CF104", "did you mean `integer`?")
    ]


def test_a_path_that_is_not_relative_gets_an_example_of_its_kind(tmp_path):
    assert of_step(tmp_path, "artifacts: {a: /tmp/abs}, cwd: /tmp") == [
        ("CF104", "write a path relative to the project, such as `dist/app.tgz`"),
        ("CF104", "write a path relative to the project, such as `src`"),
    ]


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("permissions", ["version", "env"], None),
        ("parallel", ["max_parallel"], "max_parallel"),
        ("stepz", ["steps"], "steps"),
        ("nothing", ["steps"], None),
    ],
)
def test_a_key_of_another_length_is_another_word(word, known, near):
    assert near_key(word, known) == near
