import pytest

from crewflow.spec.load import load_file

HEAD = "kind: agent\nname: a\nbin: a\nargv: ['{bin}']\naccess: {full: []}\n"


@pytest.fixture
def told(tmp_path):
    """What is said of an agent with these further lines: place, message and hint."""

    def check(lines, head=HEAD):
        file = tmp_path / "a.yaml"
        file.write_text(head + lines, encoding="utf-8")
        _, problems = load_file(str(file), str(tmp_path))
        assert {problem.rule for problem in problems} <= {"CF607"}
        return [(p.place.line, p.message, p.hint) for p in problems]

    return check


OUTPUT = "output: {format: json, result: {get: /r}}\n"


def test_an_agent_that_is_right_is_not_spoken_of(told):
    assert told(OUTPUT) == []


@pytest.mark.parametrize(
    ("lines", "message", "hint"),
    [
        ("prompt_argv: ['{promt}']\n", "unknown placeholder `{promt}`", "did you mean `{prompt}`?"),
        ("prompt_argv: ['{system}']\n", "unknown placeholder `{system}`", "did you mean `{instructions}`?"),
        (
            "flags: {model: [-m]}\n",
            "the words of `model` do not hold `{model}`",
            "put `{model}` where the value belongs",
        ),
        (
            "prompt_via: file\n",
            "the prompt is passed as `file`, and no word holds `{prompt_file}`",
            "add `{prompt_file}` to `prompt_argv`",
        ),
        (
            "failures: [{class: quota, match: x, reset: 'at (.*)'}]\n",
            "`reset` has no group `at`",
            "write `(?P<at>...)` around the time",
        ),
        (
            "failures: [{class: quota, match: '('}]\n",
            "`match` is no regular expression",
            "put `\\` before a special character that is meant as text",
        ),
        (
            "exit: {ok: [0], limit: [5]}\nfailures: [{class: quota, exit: limt}]\n",
            "failure `quota` names unknown group `limt` of exit codes",
            "did you mean `limit`?",
        ),
    ],
)
def test_what_no_schema_sees_is_told_with_a_way_out(told, lines, message, hint):
    ((_, said, way),) = told(lines + OUTPUT)

    assert (said, way) == (message, hint)


@pytest.mark.parametrize(("key", "groups"), [("session_regex", 1), ("usage_regex", 3)])
def test_a_pattern_has_a_group_for_each_value(told, key, groups):
    ((_, message, _),) = told(f"output: {{format: text, {key}: x}}\n")

    assert message == f"`{key}` has 0 groups and needs {groups}"


def test_braces_that_hold_no_word_are_text(told):
    assert told("prompt_argv: ['{\"a\": 1}', '{}']\n" + OUTPUT) == []
