from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.spec.expression import ExpressionFault, RenderError, parse_expression
from crewflow.spec.scalars import SpelledFloat, SpelledInt
from crewflow.spec.template import (
    Template,
    expressions,
    fold,
    from_plain,
    parse_text,
    render,
    render_text,
    render_tree,
    to_plain,
)

VALUES = {
    ("inputs", "x"): "a ${{ inputs.y }} b",
    ("inputs", "n"): 3,
    ("inputs", "version"): SpelledFloat(3.1, "3.10"),
    ("inputs", "list"): [1, "b"],
    ("inputs", "nothing"): None,
    ("steps", "a", "outputs", "o"): "late",
}
X = parse_expression("inputs.x")


def resolve(keys):
    return VALUES[keys]


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("", ""),
        ("plain $x ${x} {{ x }}", "plain $x ${x} {{ x }}"),
        ("${{ inputs.x }}", Template((X,))),
        ("${{inputs.x}}", Template((X,))),
        ("a ${{ inputs.x }}${{ inputs.x }} b", Template(("a ", X, X, " b"))),
        ("$${{ inputs.x }}", "${{ inputs.x }}"),
        ("a$${{ b }} ${{ inputs.x }}", Template(("a${{ b }} ", X))),
        ("$$${{ inputs.x }}", "$${{ inputs.x }}"),
        ("${{ '}}' }}", Template((parse_expression("'}}'"),))),
        ('${{ "\\"}}" }}', Template((parse_expression('"\\"}}"'),))),
        ("${{ {'a': {'b': 1}}}}", Template((parse_expression("{'a': {'b': 1}}"),))),
        ("${{ inputs.x\n}}}}", Template((X, "}}"))),
    ],
)
def test_text_is_parsed_into_its_pieces(text, parsed):
    assert parse_text(text) == parsed


@pytest.mark.parametrize(
    ("text", "message", "underlined"),
    [
        ("ab ${{ inputs.x", "`${{` is not closed", "${{"),
        ("ab ${{ inputs.x }", "`${{` is not closed", "${{"),
        ("ab ${{ inputs.x | uper }}", "unknown filter `uper`", "uper"),
        ("ab ${{ don't }}", "a quote within `${{ }}` is not closed", "'"),
        ("ab ${{ }} c", "the expression is empty", " "),
        ("${{ inputs.x }} ${{ !inputs.x }}", "`!` does not belong here", "!"),
        ("ab ${{ ${{ inputs.x }} }}", "`$` does not belong here", "$"),
    ],
)
def test_a_fault_counts_from_the_start_of_the_text(text, message, underlined):
    with pytest.raises(ExpressionFault) as caught:
        parse_text(text)
    fault = caught.value
    assert fault.message == message
    assert text[fault.offset : fault.offset + fault.length] == underlined


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("${{ inputs.n }}", 3),
        ("${{ inputs.list }}", [1, "b"]),
        ("${{ inputs.nothing }}", None),
        (" ${{ inputs.n }}", " 3"),
        ("v${{ inputs.version }} ${{ inputs.list }} ${{ true }}", 'v3.10 [1,"b"] true'),
        ("$${{ inputs.n }} ${{ inputs.n }}", "${{ inputs.n }} 3"),
    ],
)
def test_one_expression_keeps_its_type_and_the_rest_is_text(text, value):
    assert render(parse_text(text), resolve) == value


def test_a_rendered_value_is_never_rendered_again():
    assert render(parse_text("${{ inputs.x }}"), resolve) == "a ${{ inputs.y }} b"
    assert render(parse_text("<${{ inputs.x }}>"), resolve) == "<a ${{ inputs.y }} b>"
    folded = fold(parse_text("<${{ inputs.x }}>"), resolve, lambda _: True)
    assert render(from_plain(to_plain(folded)), resolve) == "<a ${{ inputs.y }} b>"


def test_text_form_is_asked_of_a_whole_expression_too():
    assert render_text(parse_text("${{ inputs.list }}"), resolve) == '[1,"b"]'
    assert render_text("plain", resolve) == "plain"


@pytest.mark.parametrize("text", ["a ${{ inputs.nothing }}", "${{ inputs.nothing }} ${{ inputs.n }}"])
def test_null_within_text_is_an_error_that_names_the_expression(text):
    with pytest.raises(RenderError) as caught:
        render(parse_text(text), resolve)
    assert (
        caught.value.message == "`inputs.nothing` is null, which has no text; give one with `| default('')`"
    )


def test_status_functions_are_passed_on():
    assert render(parse_text("${{ always() }}"), resolve, {"always": True}) is True


def test_a_tree_is_rendered_at_its_leaves():
    tree = {
        "a": [parse_text("${{ inputs.n }}"), 1.5, None],
        "b": {"c": parse_text("x${{ inputs.n }}")},
        "d": ("e",),
    }
    assert render_tree(tree, resolve) == {"a": [3, 1.5, None], "b": {"c": "x3"}, "d": ("e",)}


def test_all_expressions_are_found_in_order():
    tree = [
        parse_text("${{ inputs.n }} ${{ env.A }}"),
        {"k": parse_text("${{ item }}")},
        "x",
        (parse_text("${{ 1 }}"),),
    ]
    assert [expression.source for expression in expressions(tree)] == ["inputs.n", "env.A", "item", "1"]


def static(keys):
    return keys[0] == "inputs"


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("plain", "plain"),
        ("${{ inputs.list }}", [1, "b"]),
        ("v${{ inputs.version }}", "v3.10"),
        ("${{ 1 + 1 }}", 2),
        ("${{ steps.a.outputs.o }}", parse_text("${{ steps.a.outputs.o }}")),
        (
            "a${{ inputs.n }}${{ steps.a.outputs.o }}${{ inputs.n }}b",
            parse_text("a3${{ steps.a.outputs.o }}3b"),
        ),
        ("${{ inputs.n ~ steps.a.outputs.o }}", parse_text("${{ inputs.n ~ steps.a.outputs.o }}")),
        ("${{ always() or inputs.n }}", parse_text("${{ always() or inputs.n }}")),
    ],
)
def test_what_is_known_is_folded_and_the_rest_stays(text, folded):
    assert fold(parse_text(text), resolve, static) == folded
    assert fold({"k": [parse_text(text)]}, resolve, static) == {"k": [folded]}


def test_folding_changes_no_value():
    text = parse_text("${{ inputs.x }} ${{ steps.a.outputs.o }} ${{ inputs.list }}")
    assert render(fold(text, resolve, static), resolve) == render(text, resolve)


def test_the_plain_form_is_json_that_is_easy_to_read():
    tree = {"t": parse_text("a ${{ inputs.x }}"), "n": SpelledFloat(3.1, "3.10"), "$k": 1, "$$": 2}
    assert to_plain(tree) == {
        "t": {"$template": ["a ", {"expr": "inputs.x"}]},
        "n": {"$number": "3.10"},
        "$$k": 1,
        "$$$": 2,
    }


SPELLED = st.sampled_from(
    [SpelledFloat(3.1, "3.10"), SpelledInt(31, "0x1F"), SpelledInt(5, "+5"), SpelledFloat(1e3, "1e3")]
)
KEYS = st.text(max_size=5) | st.sampled_from(["$template", "$number", "$", "$$template", "expr"])
TEMPLATES = st.sampled_from(
    ["${{ inputs.x }}", "a ${{ inputs.x ~ 3.10 }} ${{ item }}", "$${{ x }} ${{ 'y' }}"]
).map(parse_text)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | SPELLED | TEMPLATES
)
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)


def spelled(value):
    """The value with every spelling and type to be seen."""
    if isinstance(value, dict):
        return {key: spelled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [spelled(item) for item in value]
    return (
        to_plain(value) if isinstance(value, Template) else (type(value), value, getattr(value, "text", ""))
    )


@given(TREES)
def test_a_tree_comes_back_from_its_plain_form(tree):
    back = from_plain(json.loads(json.dumps(to_plain(tree))))
    assert back == tree
    assert spelled(back) == spelled(tree)


def fault_in(text):
    """The fault of a text, if it has one."""
    try:
        parse_text(text)
    except ExpressionFault as fault:
        return fault
    return None


@given(st.text(alphabet="${} 'a\"\\", max_size=30))
def test_any_text_is_parsed_or_has_a_fault_within_it(text):
    fault = fault_in(text)
    assert fault is None or 0 <= fault.offset <= len(text)
