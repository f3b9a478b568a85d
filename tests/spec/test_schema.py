import jsonschema
import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.spec.schema import check, schema
from crewflow.spec.schema_words import levels_of
from crewflow.spec.source import read_documents
from crewflow.spec.words import HELD_BY_SCAFFOLD, KINDS, NOT_RUN, foreign, our_word

HEAD = "kind: workflow\nname: demo\n"


def told(text, kind="workflow"):
    """`line:column rule message` of each fault that the schema finds."""
    documents, problems = read_documents("f.yaml", text.encode())
    assert problems == ()
    faults = check(documents[0], kind)
    return [
        f"{f.problem.place.line}:{f.problem.place.column} {f.problem.rule} {f.problem.message}"
        for f in faults
    ]


def faults_of_step(step):
    return told(f"{HEAD}steps:\n  a: {{{step}}}\n")


@pytest.mark.parametrize("kind", KINDS)
def test_the_schemas_are_valid_schemas(kind):
    jsonschema.Draft202012Validator.check_schema(schema(kind))


def properties(node):
    """Every property that a schema defines, with the object it stands in."""
    if isinstance(node, dict):
        for name, item in node.get("properties", {}).items() if "title" in node else ():
            yield f"{node['title']}.{name}", item
        for item in node.values():
            yield from properties(item)
    elif isinstance(node, list):
        for item in node:
            yield from properties(item)


@pytest.mark.parametrize("kind", KINDS)
def test_every_property_has_a_title_and_a_description(kind):
    found = dict(properties(schema(kind)))

    assert len(found) > 10
    assert [name for name, item in found.items() if not (item.get("title") and item.get("description"))] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_object_with_properties_of_its_own_is_closed(kind):
    def objects(node):
        if isinstance(node, dict):
            if "title" in node and isinstance(node.get("properties"), dict) and node.get("type") != "array":
                yield node
            for item in node.values():
                yield from objects(item)

    assert [node["title"] for node in objects(schema(kind)) if "additionalProperties" not in node] == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_schema_chooses_between_alternatives_with_one_of(kind):
    assert "oneOf" not in str(schema(kind))


def test_no_key_of_ours_is_told_to_be_of_another_tool():
    for kind in KINDS:
        for level, keys in levels_of(schema(kind)).items():
            assert [key for key in keys if foreign(level, key)] == []


def test_the_keys_that_are_not_run_yet_are_keys_of_the_language():
    levels = {level: set(keys) for kind in KINDS for level, keys in levels_of(schema(kind)).items()}

    assert {level: keys - levels[level] for level, keys in NOT_RUN.items()} == {key: set() for key in NOT_RUN}
    assert levels["step"] >= HELD_BY_SCAFFOLD


SAFETY = ("approval", "writes", "reads", "budget", "secrets")


def test_our_word_for_a_key_of_another_tool_is_a_key_of_ours():
    for kind in KINDS:
        for level, keys in levels_of(schema(kind)).items():
            for key in ("jobs", "command", "depends_on", "limit", "choices", "path", "argv", "vars"):
                word = our_word(level, key)
                assert word is None or word in keys


@pytest.mark.case("C034")
@pytest.mark.parametrize(
    "where", ["rn: x", "run: x, retry: {maxx: 1}", "run: x, outputs: {o: {type: string, frm: x}}"]
)
def test_unknown_keys_are_errors_in_nested_mappings_too(where):
    (said,) = faults_of_step(where)

    assert "CF101 unknown key" in said


@pytest.mark.parametrize("key", sorted(SAFETY))
@pytest.mark.parametrize("holder", ["retry", "outputs: {o", "matrix: {include: [], python: [1]}, retry"])
def test_a_key_that_promises_safety_is_never_passed_over(key, holder):
    step = f"run: x, {holder}: {{{key}: 1, type: string}}" + ("}" if holder.endswith("{o") else "")
    said = " ".join(faults_of_step(step))

    assert f"CF111 `{key}` may not stand here" in said


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("run: x, python: 'm:f'", "`run` or `python`, not both"),
        ("run: x, with: {}", "`with` does not go with `run`"),
        ("workflow: w, retry: {max_attempts: 2}", "`retry` does not go with `workflow`"),
        ("steps: {b: {run: x}}, writes: []", "`writes` does not go with `steps`"),
        ("approval: {}, secrets: [A]", "`secrets` does not go with `approval`"),
        ("run: x, max_parallel: 2", "`max_parallel` of a step needs a fan-out, `steps` or `workflow`"),
        ("prompt: x", "step `a` has a `prompt` and no `role`"),
        ("prompt: x, prompt_file: y, role: r", "`prompt` or `prompt_file`, not both"),
    ],
)
def test_a_key_that_does_not_go_with_what_a_step_does_is_told_once(step, said):
    (told_once,) = faults_of_step(step)

    assert said in told_once


def test_groups_are_checked_as_deep_as_they_go():
    (said,) = faults_of_step("steps: {b: {steps: {c: {rn: x, run: y}}}}")

    assert said == "4:31 CF101 unknown key `rn`"


@pytest.mark.parametrize(
    ("key", "hint"),
    [("depends_on", "write `needs`"), ("cmd", "write `run`"), ("when", "write `if`"), ("dir", "write `cwd`")],
)
def test_a_key_of_another_tool_is_answered_with_our_word_and_no_further_noise(key, hint):
    documents, _ = read_documents("f.yaml", f"{HEAD}steps:\n  a: {{run: x, {key}: 1}}\n".encode())
    (fault,) = check(documents[0], "workflow")

    assert fault.problem.hint == hint


def test_a_misspelt_or_foreign_word_for_what_runs_is_told_once():
    assert len(faults_of_step("command: x")) == 1
    assert len(faults_of_step("pyhton: 'm:f'")) == 1
    assert len(told(f"{HEAD}jobs: {{a: {{run: x}}}}\n")) == 1


@pytest.mark.case("C032")
def test_a_wrong_type_is_one_fault_that_names_the_key_and_what_is_allowed():
    assert told(f"{HEAD}steps:\n  a:\n    run: {{echo: hi}}\n") == [
        "5:10 CF103 `run` must be a script, or a list of a program and its arguments, not a mapping"
    ]


@pytest.mark.case("C038")
def test_a_boolean_is_no_number_and_a_whole_float_is_one():
    assert faults_of_step("run: x, retry: {max_attempts: 2.0}") == []
    assert faults_of_step("run: x, retry: {max_attempts: true}") == [
        "4:37 CF103 `max_attempts` must be a whole number, not `true`"
    ]


@pytest.mark.case("C041")
def test_a_fault_that_two_hundred_steps_share_is_told_once():
    steps = "".join(f"  s{n}: {{run: x, <<: *base}}\n" for n in range(200))
    text = f"x-base: &base {{retry: {{max_attempts: lots}}}}\n{HEAD}steps:\n{steps}"
    documents, _ = read_documents("f.yaml", text.encode())
    (fault,) = check(documents[0], "workflow")

    assert str(fault.problem.place) == "f.yaml:1:38"
    assert [(str(n.place), n.message) for n in fault.problem.notes] == [
        ("f.yaml:5:16", "used here, and 199 more times")
    ]
    assert len(fault.prune) == 200


@pytest.mark.case("C037")
@pytest.mark.parametrize("field", ["needs: 'b\\n'", "timeout: '5s\\n'", "python: 'm:f\\n'", "shell: 'sh\\n'"])
def test_no_pattern_lets_a_final_newline_through(field):
    text = field.replace("'", '"')
    assert faults_of_step(text if "python" in text else f"run: x, {text}") != []


def test_numbers_with_a_spelling_are_checked_as_numbers():
    assert faults_of_step("run: [echo, 3.10, 0x1F], matrix: {v: [3.10]}, env: {A: 1e3}") == []


KEY = st.sampled_from([*schema("workflow")["$defs"]["step"]["properties"], "x-a", "rn"])
VALUE = st.recursive(
    st.sampled_from(
        [None, True, 1, 2.0, 2.5, -1, "", "a", "a\n", "5s", "5s\n", "m:f", "${{ x }}", "exit", 10**25]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "a\n", "max_attempts", "type"]), inner, max_size=3)
    ),
    max_leaves=4,
)
FAST = jsonschema_rs.Draft202012Validator(schema("workflow"))
SLOW = jsonschema.Draft202012Validator(schema("workflow"))


@given(st.dictionaries(KEY, VALUE, max_size=4))
def test_the_fast_validator_and_the_slow_one_agree_on_any_step(step):
    data = {"kind": "workflow", "name": "a", "steps": {"a": step}}

    assert FAST.is_valid(data) == SLOW.is_valid(data)


def test_a_place_for_notes_is_at_the_top_and_in_a_step_and_nowhere_else():
    assert faults_of_step("run: x, x-note: 1") == []
    assert faults_of_step("run: x, retry: {x-note: 1}") == ["4:23 CF101 unknown key `x-note`"]


def test_a_schedule_says_when_and_an_agent_what_is_run():
    head = "name: s\nworkflow: w\n"
    assert told(f"kind: schedule\n{head}", "schedule") == ["1:1 CF106 the document says no time"]
    assert told(f"kind: schedule\n{head}cron: '@daily'\nat: '2026-12-24T09:00'\n", "schedule") == [
        "5:1 CF106 `at` does not go with `cron`"
    ]
    assert told("kind: agent\nname: a\naccess: {full: []}\n", "agent") == [
        "1:1 CF106 the document names no program"
    ]


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("schedule", "tz: UTC", "`tz` is not a key of crewflow"),
        ("schedule", "every: 15", "`every` is a bare number; a duration has a unit"),
        ("team", "members: {}", "`members` is not a key of crewflow"),
        ("agent", "mem_mb: 200", "`mem_mb` is not a key of crewflow"),
        ("agent", "env_pass: [A-B]", "an item of `env_pass` must be the name of a variable"),
    ],
)
def test_words_of_other_tools_are_answered_in_every_kind(kind, text, message):
    assert any(message in line for line in told(f"kind: {kind}\nname: a\n{text}\n", kind))
