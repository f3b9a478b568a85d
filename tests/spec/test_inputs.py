import pytest

from crewflow.errors import Severity, UsageError
from crewflow.spec.build import build_workflow
from crewflow.spec.inputs import resolve_inputs
from crewflow.spec.model import Defaults
from crewflow.spec.scalars import spelling
from crewflow.spec.source import read_documents


def workflow_of(inputs):
    text = f"kind: workflow\nname: demo\ninputs: {{{inputs}}}\nsteps: {{a: {{run: x}}}}\n"
    (document,), _ = read_documents("f.yaml", text.encode())
    workflow, problems = build_workflow(document, document.data, Defaults())
    assert [problem for problem in problems if problem.severity is Severity.ERROR] == []
    return workflow


def values(inputs, *given):
    return resolve_inputs(workflow_of(inputs), [tuple(one.split("=", 1)) for one in given])


def value(declared, *texts):
    """The value of the input `x` with this declaration, each text given to it."""
    return values(f"x: {declared}", *(f"x={text}" for text in texts))["x"]


def refusal(inputs, *given):
    with pytest.raises(UsageError) as caught:
        values(inputs, *given)
    return caught.value.message, caught.value.hint


@pytest.mark.parametrize(
    ("declared", "text", "wanted"),
    [
        ("{}", "a=b c", "a=b c"),
        ("{type: string}", "", ""),
        ("{type: string}", "5", "5"),
        ("{type: string}", "[a]", "[a]"),
        ("{type: integer}", "-12", -12),
        ("{type: integer}", "2.0", 2),
        ("{type: number}", "0.5", 0.5),
        ("{type: number}", "7", 7),
        ("{type: boolean}", "true", True),
        ("{type: boolean}", "false", False),
        ("{type: array}", '["a", 1, null]', ["a", 1, None]),
        ("{type: array}", "  []", []),
        ("{type: array}", "a,b", ["a,b"]),
        ("{type: array}", "", [""]),
        ("{type: object}", '{"a": {"b": [true]}}', {"a": {"b": [True]}}),
    ],
)
def test_a_text_is_read_by_its_declared_type(declared, text, wanted):
    found = value(declared, text)

    assert found == wanted
    assert type(found) is type(wanted)


def test_repeated_texts_are_the_items_of_an_array():
    assert value("{type: array}", "a", "[b]", "") == ["a", "[b]", ""]
    assert value("{type: array, items: {type: string}}", "a") == ["a"]


@pytest.mark.parametrize("text", ["3.10", "1e3", "0x1F", "+5"])
def test_numbers_keep_their_spelling(text):
    assert spelling(value("{type: number}", text)) == text


def test_numbers_within_json_keep_their_spelling():
    assert [spelling(one) for one in value("{type: array}", "[3.10, 1E3, 1.0]")] == ["3.10", "1E3", "1.0"]
    assert spelling(value("{type: object}", '{"v": 3.10}')["v"]) == "3.10"


def test_the_order_is_that_of_the_declaration():
    assert list(values("b: {}, a: {default: 1x}, c: {}", "c=1", "b=2")) == ["b", "a", "c"]


def test_what_is_not_given_has_its_default_or_is_null():
    found = values(
        "a: {default: x}, b: {type: integer, default: 2.0}, c: {type: array}, d: {required: false}"
    )

    assert found == {"a": "x", "b": 2, "c": None, "d": None}
    assert type(found["b"]) is int


def test_a_required_input_with_a_default_need_not_be_given():
    assert values("a: {required: true, default: x}") == {"a": "x"}


def test_a_missing_input_is_told_with_what_it_is_for():
    assert refusal("goal: {required: true, description: What to fix}") == (
        "workflow `demo` needs input `goal`: What to fix",
        "give it with `-i goal=...`",
    )


def test_all_missing_inputs_are_told_together():
    assert refusal("a: {required: true, description: x}, b: {}, c: {required: true}") == (
        "workflow `demo` needs inputs `a`, `c`",
        "give them with `-i a=...` `-i c=...`",
    )


@pytest.mark.parametrize(
    ("inputs", "hint"),
    [
        ("goal: {}", "did you mean `goal`?"),
        ("alpha: {}, beta: {}", "its inputs: `alpha`, `beta`"),
        ("", "it has none"),
    ],
)
def test_an_unknown_input_is_told_with_those_that_there_are(inputs, hint):
    assert refusal(inputs, "gaol=x") == ("workflow `demo` has no input `gaol`", hint)


@pytest.mark.parametrize(
    ("declared", "text", "message", "hint"),
    [
        (
            "{type: integer}",
            "many",
            "input `x` must be a whole number, not `many`",
            "write it such as `12`, `-3` or `0.5`",
        ),
        (
            "{type: integer}",
            "",
            "input `x` must be a whole number, not ``",
            "write it such as `12`, `-3` or `0.5`",
        ),
        (
            "{type: integer}",
            "true",
            "input `x` must be a whole number, not `true`",
            "write it such as `12`, `-3` or `0.5`",
        ),
        ("{type: integer}", "1.5", "input `x` must be a whole number, not the number `1.5`", None),
        ("{type: number}", "1e999", "input `x` must be a number, not `1e999`", "the number is too large"),
        ("{type: number}", ".nan", "input `x` must be a number, not `.nan`", "`.nan` is not a finite number"),
        ("{type: boolean}", "yes", "input `x` must be true or false, not `yes`", "write `true` or `false`"),
        (
            "{type: array, items: {type: integer}}",
            "1",
            "input `x` must be a list, not `1`",
            "write it as a JSON list, such as `[1, 2]`",
        ),
        (
            "{type: array}",
            "[1,",
            "input `x` must be a list, not `[1,`",
            "write it as JSON; it cannot be read from character 4 on",
        ),
        (
            "{type: array}",
            "[NaN]",
            "input `x` must be a list, not `[NaN]`",
            "write it as JSON; `NaN` is not a number of JSON",
        ),
        (
            "{type: object}",
            '{"a": 1, "a": 2}',
            'input `x` must be an object, not `{"a": 1, "a": 2}`',
            "write it as JSON; the key `a` stands twice in an object",
        ),
        ("{type: object}", "5", "input `x` must be a mapping, not the number `5`", None),
        ("{type: object}", "[]", "input `x` must be a mapping, not a list", None),
        ("{enum: [a, b]}", "c", "input `x` must be one of `a`, `b`, not the text `c`", None),
        ("{type: integer, minimum: 1}", "0", "input `x` must be 1 or more, not `0`", None),
        ("{pattern: '^[a-z]+$', description: Lower case}", "A", None, "x: Lower case"),
    ],
)
def test_a_text_that_does_not_fit_is_told_with_what_would(declared, text, message, hint):
    told = refusal(f"x: {declared}", f"x={text}")

    assert told == (message or told[0], hint)
    assert told[0].startswith("input `x` must ")


@pytest.mark.parametrize(
    ("declared", "text", "message"),
    [
        (
            "{type: array, items: {type: integer}}",
            "[1, 2, true]",
            "input `x[2]` must be a whole number, not `true`",
        ),
        (
            "{type: object, properties: {a: {type: array, items: {enum: [p, q]}}}}",
            '{"a": ["p", "r"]}',
            "input `x.a[1]` must be one of `p`, `q`, not the text `r`",
        ),
    ],
)
def test_the_part_of_a_value_that_does_not_fit_is_named(declared, text, message):
    assert refusal(f"x: {declared}", f"x={text}")[0] == message


def test_an_input_of_another_type_than_a_list_is_given_once():
    assert refusal("x: {}", "x=1", "x=2") == ("input `x` is given 2 times", "give it once")
    assert refusal("x: {type: object}", "x={}", "x={}") == ("input `x` is given 2 times", "give it once")


@pytest.mark.case("C022")
def test_a_number_of_very_many_digits_is_refused_shortly():
    message, hint = refusal("x: {type: integer}", f"x={'9' * 5_000}")

    assert len(message) < 200
    assert hint == "the number is too large"
    assert refusal("x: {type: array}", f"x=[{'9' * 5_000}]")[0].startswith("input `x` must be a list")


@pytest.mark.case("C014")
@pytest.mark.parametrize("depth", [200, 100_000])
def test_json_that_is_nested_too_deeply_is_refused(depth):
    _, hint = refusal("x: {type: array}", f"x={'[' * depth}{']' * depth}")

    assert "nested too deeply" in hint


def test_json_as_deep_as_a_file_may_be_is_read():
    assert value("{type: array}", "[" * 99 + "]" * 99) is not None


def test_bytes_that_are_no_text_are_refused():
    assert refusal("x: {}", "x=caf\udce9") == (
        "input `x` holds bytes that are not UTF-8",
        "pass the name of a file instead",
    )
    assert refusal("x: {type: array}", "x=a", "x=\udce9")[0] == "input `x` holds bytes that are not UTF-8"


def test_half_of_a_surrogate_pair_in_json_is_refused():
    assert refusal("x: {type: object}", 'x={"a\\ud800": 1}')[1] == (
        "it holds half of a surrogate pair, which is no text"
    )
    assert value("{type: array}", '["\\ud83d\\ude00"]') == ["\U0001f600"]


def test_a_name_that_would_steer_a_terminal_is_escaped():
    assert refusal("x: {}", "\x1b[31m=1")[0] == r"workflow `demo` has no input `\x1b[31m`"
