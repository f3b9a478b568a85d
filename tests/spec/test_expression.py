from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.spec.expression import (
    UNDEFINED,
    ExpressionFault,
    PathRef,
    RenderError,
    check_state_words,
    evaluate,
    evaluate_condition,
    parse_expression,
    text_form,
)
from crewflow.spec.expression_tokens import FILTERS
from crewflow.spec.filters import PARAMETERS, REQUIRED
from crewflow.spec.scalars import SpelledFloat, SpelledInt

DATA = {
    "inputs": {
        "goal": "fix it",
        "n": 3,
        "version": SpelledFloat(3.1, "3.10"),
        "x-y": [1, 2, {"a": None, "items": "k"}],
        "keys": {"get": 1, "0": "zero", "a.b": "dotted"},
        "empty": "",
        "nothing": None,
        "yes": True,
        "path": "src/app/main.py",
        "json": '{"v": 3.10, "l": [1, 2]}',
    },
    "item": ["a", "b"],
    "item_index": 2,
    "steps": {"my-step": {"state": "failed", "outcome": "lost", "outputs": {"x-y": "v"}}},
}


STATE_LIST = "`pending`, `waiting`, `ready`, `running`, `succeeded`, `failed`, `skipped`, `cancelled`"


def resolve(keys):
    value = DATA
    for key in keys:
        value = value[key] if isinstance(value, dict) or isinstance(key, int) else {}[key]
    return value


def value_of(source, functions=None):
    return evaluate(parse_expression(source), resolve, functions)


def fault_of(source, offset=0):
    with pytest.raises(ExpressionFault) as caught:
        parse_expression(source, offset)
    return caught.value


def error_of(source):
    with pytest.raises(RenderError) as caught:
        value_of(source)
    return caught.value.message


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("inputs.goal", "fix it"),
        ("  inputs.goal\n", "fix it"),
        ("steps.my-step.outputs.x-y", "v"),
        ("steps['my-step']['outputs'].x-y", "v"),
        ("inputs.x-y[0]", 1),
        ("inputs.x-y.0", 1),
        ("inputs.x-y[2].items", "k"),
        ("inputs.x-y[inputs.n - 1].items", "k"),
        ("inputs.x-y[-2]", 2),
        ("inputs.keys.get", 1),
        ("inputs.keys['0']", "zero"),
        ("inputs.keys['a.b'] ~ steps['my-step'].outputs.x-y", "dottedv"),
        ("inputs['keys']['a.b']", "dotted"),
        ("inputs['go' ~ 'al']", "fix it"),
        ("(inputs.keys).get", 1),
        ("{'a': [1, 2.50, true, none]}", {"a": [1, 2.5, True, None]}),
        ("'it\\'s' ~ \"\\u00e4\\n\"", "it's\u00e4\n"),
        ("'\\d\\\\'", "\\d\\"),
        ("inputs.n + 1 * 2", 5),
        ("(inputs.n + 1) * 2", 8),
        ("7 / 2", 3.5),
        ("7 // 2", 3),
        ("-7 % 4", 1),
        ("-inputs.n", -3),
        ("[1] + [2]", [1, 2]),
        ("'a' + 'b'", "ab"),
        ("inputs.n ~ '-' ~ inputs.version ~ true", "3-3.10true"),
        ("inputs.n == 3 and not inputs.empty", True),
        ("inputs.empty or 'other'", "other"),
        ("1 < inputs.n <= 3", True),
        ("'a' < 'b'", True),
        ("'fix' in inputs.goal", True),
        ("'b' in item", True),
        ("'c' not in item", True),
        ("'get' in inputs.keys", True),
        ("true == 1", False),
        ("1 == 1.0", True),
        ("'3' == inputs.n", False),
        ("[true] == [1]", False),
        ("'big' if inputs.n > 2 else 'small'", "big"),
        ("inputs.nope if false else 1", 1),
        ("inputs.nothing is none", True),
        ("inputs.goal is not none", True),
        ("inputs.nope is defined", False),
        ("inputs.nope.deep.er is not defined", True),
        ("inputs.nope | default('d')", "d"),
        ("inputs.nope.deep[0] | default('d')", "d"),
        ("inputs.nothing | default('d')", "d"),
        ("inputs.empty | default('d')", ""),
        ("inputs.empty | default('d', true)", "d"),
        ("inputs.nope | default(inputs.nothing | default(1))", 1),
        ("[] | first | default('none')", "none"),
        ("item | last", "b"),
        ("item | join(', ')", "a, b"),
        ("[1, 2.50, true] | join", "12.50true"),
        ("'a,b' | split(',')", ["a", "b"]),
        ("' a  b ' | split", ["a", "b"]),
        ("inputs.goal | upper | length", 6),
        ("'ABC' | lower", "abc"),
        ("'  x ' | trim", "x"),
        ("'--x-' | trim('-')", "x"),
        ("[2, 1, 1.5] | sort", [1, 1.5, 2]),
        ("['b', 'a'] | sort(true)", ["b", "a"]),
        ("[1, 'a', 1, [1], [1], true, 'a'] | unique", [1, "a", [1], True]),
        ("'aXbX' | replace('X', '')", "ab"),
        ("inputs.path | basename", "main.py"),
        ("inputs.path | dirname", "src/app"),
        ("'x' | dirname", "."),
        ("'a/b/' | basename", "b"),
        ("(inputs.json | from_json).l", [1, 2]),
        ("inputs.json | from_json | to_json", '{"v":3.10,"l":[1,2]}'),
        ("{'ä': inputs.version} | to_json", '{"ä":3.10}'),
        ("inputs.keys | length", 3),
    ],
)
def test_an_expression_has_this_value(source, value):
    result = value_of(source)
    assert result == value
    assert type(result) is type(value) or isinstance(result, type(value))


@pytest.mark.parametrize(
    ("source", "message", "hint", "underlined"),
    [
        ("a && b", "unknown name `a`", None, "a"),
        ("inputs.yes && true", "`&&` does not belong here", "write `and`", "&&"),
        ("inputs.yes || true", "`||` does not belong here", "write `or`", "||"),
        ("!inputs.yes", "`!` does not belong here", "write `not`", "!"),
        ("inputs.n = 3", "`=` does not belong here", "to compare, write `==`", "="),
        ("inputs.n === 3", "`===` does not belong here", "write `==`", "==="),
        ("inputs.n ? 1 : 2", "`?` does not belong here", "write `a if condition else b`", "?"),
        ("contains(item, 'b')", "unknown function `contains()`", "write `'x' in y`", "contains"),
        ("fromJSON(inputs.json)", "unknown function `fromJSON()`", "write `x | from_json`", "fromJSON"),
        ("toJSON(item)", "unknown function `toJSON()`", "write `x | to_json`", "toJSON"),
        ("format('{0}', item)", "unknown function `format()`", None, "format"),
        ("startsWith(inputs.goal, 'f')", "unknown function `startsWith()`", None, "startsWith"),
        ("hashFiles('x')", "unknown function `hashFiles()`", None, "hashFiles"),
        ("join(item, ',')", "unknown function `join()`", "write `x | join`", "join"),
        ("canceled()", "unknown function `canceled()`", "did you mean `cancelled`?", "canceled"),
        ("sucess()", "unknown function `sucess()`", "did you mean `success`?", "sucess"),
        ("success", "unknown name `success`", "write `success()`", "success"),
        ("success(1)", "`success()` has no arguments", "write `success()`", "success"),
        ("github.sha", "unknown name `github`", "there are `run`, `inputs` and `env`", "github.sha"),
        (
            "needs.a.outputs.b",
            "unknown name `needs`",
            "write `steps.<id>.outputs.<name>`",
            "needs.a.outputs.b",
        ),
        ("tasks.a.result", "unknown name `tasks`", "write `steps.<id>.outputs.<name>`", "tasks.a.result"),
        ("vars.x", "unknown name `vars`", "write `inputs.<name>` or `env.<name>`", "vars.x"),
        ("input.goal", "unknown name `input`", "did you mean `inputs`?", "input.goal"),
        ("null", "unknown name `null`", "write `none`", "null"),
        (
            "run.state == succeeded",
            "unknown name `succeeded`",
            "to mean the text, quote it: `'succeeded'`",
            "succeeded",
        ),
        ("item_index-1", "unknown name `item_index-1`", None, "item_index-1"),
        ("inputs.goal | uper", "unknown filter `uper`", "did you mean `upper`?", "uper"),
        ("inputs.goal | tojson", "unknown filter `tojson`", "did you mean `to_json`?", "tojson"),
        (
            "inputs.goal.split(',')",
            "`inputs.goal.split` cannot be called",
            "write `x | split`",
            "inputs.goal.split",
        ),
        ("item | join(sep=',')", "arguments have no names", None, "sep"),
        ("inputs.goal | default", "`default` has other arguments", "write `default(value)`", "default"),
        ("inputs.goal | upper(1)", "`upper` has other arguments", "write `upper`", "upper"),
        ("inputs.n is string", "unknown test `is string`", None, "string"),
        ("{{ inputs.goal }}", "`{{` within `${{ }}`", None, "{"),
        ("item[1:2]", "a part of a list cannot be cut out", None, "1"),
        ("(1, 2)", "values stand side by side", "write a list as `[a, b]`", ","),
        ("2 ** 9", "`**` does not belong here", "multiply with `*`", "**"),
        ("'a' 'b'", "two values stand side by side", "join text with `~`", "'b'"),
        ("(inputs.goal", "`(` is not closed", None, "("),
        ("inputs.goal ~", "the expression ends after `~`", None, "~"),
        ("inputs.goal 3", "`3` does not belong here", None, "3"),
        ("1 if true", "`if` has no `else`", "write `a if condition else b`", "1"),
        ("inputs.", "`.` does not belong here", None, "."),
        ("'open", "a quote does not belong here", "the text is not closed", "'"),
        ("", "the expression is empty", None, ""),
        ("010", "`010` is no number", "quote it to mean text", "010"),
    ],
)
def test_a_fault_says_what_where_and_the_word_to_write(source, message, hint, underlined):
    fault = fault_of(source)
    assert fault.message == message
    assert hint is None or fault.hint == hint
    assert source[fault.offset : fault.offset + fault.length] == underlined


@pytest.mark.case("C185")
@pytest.mark.parametrize(
    "source",
    [
        "__import__('os')",
        "''.__class__",
        "().__class__.__bases__",
        "(item).append(1)",
        "item.append(1)",
        "cycler",
        "lipsum()",
        "range(10**9)",
        "self._TemplateReference__context",
        "namespace(a=1)",
        "inputs.goal | attr('upper')",
        "inputs.goal | map('upper')",
        "inputs.goal is callable",
        "(" * 1_000,
        "[" * 40 + "]" * 40,
        "not " * 5_000 + "true",
        "-" * 5_000 + "1",
        " and ".join(["true"] * 1_000),
        "'a' if true else " * 500 + "'b'",
        "inputs" + "['a']" * 1_000,
        "'" + "a" * 30_000 + "'",
        "{% raw %}",
        "inputs.goal }} {{ inputs.goal",
        "1e999",
        "9" * 5_000,
    ],
)
def test_what_is_not_in_the_language_cannot_be_written(source):
    fault = fault_of(source)
    assert 0 <= fault.offset <= len(source)
    assert "Error" not in fault.message


@pytest.mark.case("C185")
@pytest.mark.parametrize("key", ["__class__", "format", "items", "__len__", "append"])
def test_a_name_after_a_dot_is_a_key_and_never_an_attribute(key):
    for base in ("inputs", "item[0]", "inputs.goal", "('a')", "item"):
        with pytest.raises(RenderError):
            value_of(f"{base}.{key}")
    assert value_of(f"{{'{key}': 1}}.{key}") == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("inputs.nope", "`inputs.nope` is not defined"),
        ("'a' ~ inputs.nope.deep", "`inputs.nope.deep` is not defined"),
        ("inputs.nope == 1", "`inputs.nope` is not defined"),
        ("not inputs.nope", "`inputs.nope` is not defined"),
        ("[] | first", "`[] | first` is not defined"),
        ("'a' ~ inputs.nothing", "null has no text; give one with `| default('')`"),
        (
            "'a' * 1000000000",
            '`*` needs two numbers, not text, `"a"` and a number, `1000000000`; join text with `~`',
        ),
        ("[1] * 2", "`*` needs two numbers, not a list, `[1]` and a number, `2`"),
        ("1 + 'a'", '`+` needs two numbers, not a number, `1` and text, `"a"`; join text with `~`'),
        ("'%s' % 1", '`%` needs two numbers, not text, `"%s"` and a number, `1`; join text with `~`'),
        ("true + 1", "`+` needs two numbers, not a boolean, `true` and a number, `1`"),
        ("1 // 0", "`//` divides by zero"),
        ("1e308 * 10", "the result of `*` is too large"),
        ("1 < 'a'", '`<` cannot compare a number, `1` with text, `"a"`'),
        ("1 in 'a'", '`in` cannot look for a number, `1` in text, `"a"`'),
        ("-'a'", '`-` needs a number, not text, `"a"`'),
        ("item['a' ~ '']", 'the place in a list is a whole number, not text, `"a"`'),
        ("{1: 2}", "the key of an object is text, not a number, `1`"),
        ("inputs.n | upper", "`upper` needs text, not a number, `3`"),
        ("inputs.goal | first", '`first` needs a list, not text, `"fix it"`'),
        ("inputs.goal | from_json", '`from_json` needs JSON, not text, `"fix it"`'),
        ("'[NaN]' | from_json", '`from_json` needs JSON, not text, `"[NaN]"`'),
        ("'a' | split('')", "`split` needs a separator that is not empty"),
        ("[1, 'a'] | sort", "`sort` needs a list of text alone or of numbers alone"),
        ("success()", "`success()` can only be asked in `if`"),
        ("'" + "[" * 9_000 + "' | from_json", "the JSON for `from_json` is nested too deeply"),
    ],
)
def test_an_expression_without_a_value_says_why(source, message):
    assert error_of(source) == message


@pytest.mark.case("C185")
def test_text_and_numbers_cannot_grow_without_bound():
    large = {("inputs", "t"): "a" * 1_000_000, ("inputs", "n"): 10**300}
    for source in (
        "inputs.t ~ inputs.t",
        "inputs.t + inputs.t",
        "inputs.t | replace('a', 'aa')",
        "inputs.t | replace('', inputs.t)",
        "[inputs.t, inputs.t] | join(inputs.t)",
        "[inputs.t, inputs.t] | to_json",
        "inputs.n * inputs.n",
    ):
        with pytest.raises(RenderError, match=r"characters|too large"):
            evaluate(parse_expression(source), large.__getitem__)


def test_a_value_that_is_only_passed_on_may_be_large():
    assert len(evaluate(parse_expression("inputs.t"), lambda _: "a" * 3_000_000)) == 3_000_000


def test_a_resolver_may_return_undefined():
    assert evaluate(parse_expression("inputs.x | default(1)"), lambda _: UNDEFINED) == 1


def test_paths_are_as_long_as_their_keys_are_known():
    expression = parse_expression("steps['a'].outputs.b-c[0] ~ inputs[item.x]", offset=10)
    assert expression.paths == (
        PathRef(("steps", "a", "outputs", "b-c", 0), 10, 25),
        PathRef(("inputs",), 38, 6),
        PathRef(("item", "x"), 45, 6),
    )


def test_places_count_from_the_offset():
    assert parse_expression("  inputs.a", 7).paths[0].offset == 9
    assert fault_of("  inputs.a | x", 7).offset == 20
    (_, _, offset, length) = check_state_words(parse_expression(" steps.a.state == 'x'", 7))[0]
    assert (offset, length) == (25, 3)


def test_two_expressions_of_one_source_are_the_same():
    one, other = parse_expression(" inputs.a "), parse_expression("inputs.a", 5)
    assert one == other
    assert len({one, other}) == 1
    assert one.source == "inputs.a"


def test_status_functions_are_known_and_asked():
    expression = parse_expression("always() and not failure()")
    assert expression.functions == {"always", "failure"}
    assert evaluate_condition(expression, resolve, {"always": True, "failure": False}) is True


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("inputs.goal", '`inputs.goal` is text, `"fix it"`, and must be true or false'),
        ("inputs.n", "`inputs.n` is a number, `3`, and must be true or false"),
        ("inputs.nothing", "`inputs.nothing` is null, and must be true or false"),
        ("inputs.yes and item", '`inputs.yes and item` is a list, `["a","b"]`, and must be true or false'),
    ],
)
def test_a_condition_must_be_a_boolean(source, message):
    with pytest.raises(RenderError) as caught:
        evaluate_condition(parse_expression(source), resolve)
    assert caught.value.message == message


@pytest.mark.case("C196")
@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("steps.a.state == 'failed'", []),
        ("steps.a.state in ['failed', 'cancelled']", []),
        ("steps.a.outcome == 'rejected'", []),
        ("steps.a.outputs.state == 'failure'", []),
        ("inputs.state == 'failure'", []),
        ("steps.a.state == inputs.x", []),
        ("steps.a.state == 'failure'", [("no state is `failure`", "did you mean `failed`?")]),
        ("'success' != steps['a'].state", [("no state is `success`", "did you mean `succeeded`?")]),
        ("steps.a.state == 'canceled'", [("no state is `canceled`", "did you mean `cancelled`?")]),
        ("steps.a.state == 'fialed'", [("no state is `fialed`", "did you mean `failed`?")]),
        ("steps.a.state == 'timed_out'", [("no state is `timed_out`", "did you mean `failed`?")]),
        ("steps.a.state in ['failed', 'error']", [("no state is `error`", "did you mean `failed`?")]),
        (
            "steps.a.state == 'lost'",
            [("no state is `lost`", "that is an outcome: compare `steps.a.outcome`")],
        ),
        (
            "steps.a.outcome == 'running'",
            [("no outcome is `running`", "that is a state: compare `steps.a.state`")],
        ),
        (
            "steps.a.state == true",
            [
                (
                    "`state` is text, and never a boolean, `true`",
                    f"it is one of {STATE_LIST}",
                )
            ],
        ),
        ("not (run.state == 'error' or true)", [("no state is `error`", "did you mean `failed`?")]),
    ],
)
def test_a_comparison_with_a_word_that_never_comes_is_a_fault(source, faults):
    found = check_state_words(parse_expression(source))
    assert [fault[:2] for fault in found] == faults


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        ("", ""),
        (True, "true"),
        (False, "false"),
        (3, "3"),
        (2.0, "2.0"),
        (0.1, "0.1"),
        (1e16, "10000000000000000"),
        (-1.5e20, "-150000000000000000000"),
        (1e22, "1e+22"),
        (1e-7, "0.0000001"),
        (SpelledFloat(3.1, "3.10"), "3.10"),
        (SpelledInt(31, "0x1F"), "0x1F"),
        ([1, "ä", None, True], '[1,"ä",null,true]'),
        ({"a": {"b": SpelledFloat(3.1, "3.10")}}, '{"a":{"b":3.10}}'),
        ([], "[]"),
    ],
)
def test_the_text_of_a_value(value, text):
    assert text_form(value) == text


def test_null_and_what_is_undefined_have_no_text():
    for value in (None, UNDEFINED, [UNDEFINED]):
        with pytest.raises(RenderError):
            text_form(value)


def test_numbers_keep_their_spelling_in_text():
    assert value_of("3.10 ~ ' ' ~ -3.10 ~ ' ' ~ 1e3 ~ ' ' ~ 3") == "3.10 -3.10 1e3 3"
    assert text_form(value_of("inputs.version")) == "3.10"
    assert text_form(value_of("inputs.version + 0")) == "3.1"


def test_every_filter_has_its_parameters():
    assert set(FILTERS) == set(PARAMETERS) == set(REQUIRED)


def test_jinja_is_not_loaded_for_a_plain_path():
    code = (
        "import sys; from crewflow.spec.expression import parse_expression as p;"
        "p('steps.a.outputs.x-y'); p('3.10');"
        "assert 'jinja2' not in sys.modules; p('inputs.a ~ 1'); assert 'jinja2' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def fault_in(source):
    """The fault of a text, if it has one."""
    try:
        parse_expression(source)
    except ExpressionFault as fault:
        return fault
    return None


@given(st.text(max_size=40))
def test_any_text_is_an_expression_or_a_fault_within_it(source):
    fault = fault_in(source)
    assert fault is None or 0 <= fault.offset <= len(source)


PIECES = st.sampled_from(
    [
        *(
            "inputs.a",
            "steps.b.outputs.c",
            "'x'",
            "3",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            ":",
            ",",
            "~",
            "+",
            "-",
            "|",
        ),
        *("default", "join", " and ", " or ", " in ", " is ", "none", "defined", " if ", " else ", "==", "<"),
        *(".a", "always()", "not "),
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_any_expression_has_a_value_or_an_error_in_words(source):
    with contextlib.suppress(ExpressionFault, RenderError):
        value_of(source, {"always": True})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_json_goes_out_and_comes_back(value):
    assert evaluate(parse_expression("item | to_json | from_json == item"), lambda _: value) is True
