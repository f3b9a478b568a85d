import itertools

import pytest
from flows import plan, refused, said, under
from hypothesis import given, settings
from hypothesis import strategies as st

from crewflow.graph.fanout import (
    MOST_LEGS,
    clash,
    count_combinations,
    fold_label,
    list_legs,
    matrix_legs,
    reading,
)
from crewflow.spec.scalars import resolve

AXES = {"fruit": ["apple", "pear"], "animal": ["cat", "dog"]}
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=4))
VALUES = st.lists(SCALARS, max_size=4)


def combinations(*legs_of):
    return [leg.context["matrix"] for leg in matrix_legs(*legs_of)]


def labels(*legs_of):
    return [leg.label for leg in matrix_legs(*legs_of)]


def test_a_matrix_has_a_leg_for_each_combination_in_the_order_of_its_axes():
    assert labels(AXES, [], []) == ["apple,cat", "apple,dog", "pear,cat", "pear,dog"]


def test_inclusions_follow_the_example_that_github_documents():
    include = [
        {"color": "green"},
        {"color": "pink", "animal": "cat"},
        {"fruit": "apple", "shape": "circle"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]

    assert combinations(AXES, include, []) == [
        {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
        {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
        {"fruit": "pear", "animal": "cat", "color": "pink"},
        {"fruit": "pear", "animal": "dog", "color": "green"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]


def test_an_inclusion_expands_what_is_there_as_github_documents():
    axes = {"os": ["windows", "ubuntu"], "node": [14, 16]}
    include = [{"os": "windows", "node": 16, "npm": 6}]

    assert combinations(axes, include, []) == [
        {"os": "windows", "node": 14},
        {"os": "windows", "node": 16, "npm": 6},
        {"os": "ubuntu", "node": 14},
        {"os": "ubuntu", "node": 16},
    ]


def test_an_inclusion_with_a_new_value_is_a_combination_of_its_own():
    axes = {"os": ["macos"], "version": [12, 14]}

    assert combinations(axes, [{"os": "windows", "version": 17}], [])[2:] == [
        {"os": "windows", "version": 17}
    ]


def test_an_inclusion_never_joins_what_another_inclusion_made():
    include = [{"fruit": "banana"}, {"fruit": "banana", "color": "yellow"}]

    assert combinations({"fruit": ["apple"]}, include, [])[1:] == include


def test_without_axes_each_inclusion_is_a_combination_of_its_own():
    include = [{"os": "linux", "py": "3.11"}, {"os": "mac", "py": "3.12"}]

    assert combinations({}, include, []) == include
    assert labels({}, include, []) == ["linux,3.11", "mac,3.12"]


def test_a_label_takes_the_order_of_names_from_the_first_inclusion_that_has_them():
    include = [{"os": "linux", "py": "3.11"}, {"py": "3.12", "os": "mac"}]

    assert labels({}, include, []) == ["linux,3.11", "mac,3.12"]


def test_exclusions_match_on_the_axes_they_name_and_go_before_inclusions():
    assert labels(AXES, [], [{"fruit": "pear"}]) == ["apple,cat", "apple,dog"]
    assert labels(AXES, [], [{"fruit": "pear", "animal": "dog"}]) == ["apple,cat", "apple,dog", "pear,cat"]
    assert labels(AXES, [{"fruit": "pear", "animal": "cat"}], [{"fruit": "pear"}]) == [
        "apple,cat",
        "apple,dog",
        "pear,cat",
    ]


def test_combinations_that_share_their_axis_values_are_called_by_all_of_their_values():
    include = [{"os": "mac", "node": 14}, {"os": "mac", "node": 16}]

    assert labels({"os": ["linux"]}, include, []) == ["linux", "mac,14", "mac,16"]


def test_a_combination_that_lacks_an_axis_is_called_by_what_it_has():
    assert labels(AXES, [{"fruit": "fig", "size": 3}], [])[-1] == "fig,3"


@pytest.mark.parametrize(
    ("left", "right"), [("3.10", "3.10"), ("3", "3"), ("true", "true"), ("null", "null")]
)
def test_a_number_and_the_text_that_reads_like_it_are_the_same_value(left, right):
    assert reading(resolve(left)) == reading(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (resolve("3.10"), resolve("3.1")),
        (True, 1),
        (False, 0),
        (None, 0),
        ([1], [1, 2]),
        ({"a": 1}, {"a": 2}),
    ],
)
def test_values_that_read_differently_are_not_the_same(left, right):
    assert reading(left) != reading(right)


def test_objects_are_the_same_whatever_the_order_of_their_keys():
    assert reading({"a": [1, {"b": "2"}], "c": None}) == reading({"c": None, "a": ["1", {"b": 2}]})


def test_excluding_one_spelling_of_a_number_keeps_the_other():
    axes = {"python": [resolve("3.1"), resolve("3.10")]}

    assert labels(axes, [], [{"python": resolve("3.10")}]) == ["3.1"]


def test_a_list_has_a_leg_for_each_item_called_by_its_place():
    legs = list_legs(["x", None, {"a": 1}])

    assert [leg.label for leg in legs] == ["0", "1", "2"]
    assert legs[2].context == {"item": {"a": 1}, "item_index": 2}
    assert list_legs([]) == []


def test_values_of_any_kind_read_as_json_in_a_label():
    axes = {"x": [None, True, [1, "a"], {"k": "v"}, "", resolve("0x1F")]}

    assert labels(axes, [], []) == ["null", "true", '[1,"a"]', '{"k":"v"}', "", "0x1F"]


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("a\nb", "a%0Ab"),
        ("\x1b[31m", "%1B[31m"),
        ("100%", "100%25"),
        ("\u2028", "%2028"),
        ("a\ud800", "a%D800"),
    ],
)
def test_a_label_holds_no_character_that_would_break_a_line_or_steer_a_terminal(value, label):
    assert labels({"x": [value]}, [], []) == [label]


def test_a_long_label_is_cut_by_bytes_between_characters_and_told_apart_by_a_hash():
    first, second = labels({"x": ["ä" * 200 + "1", "ä" * 200 + "2"]}, [], [])

    assert first != second
    assert first[:50] == second[:50] == "ä" * 50
    assert len(first.encode()) <= 120


@pytest.mark.parametrize(
    ("left", "right"), [("a", "A"), ("caf\u00e9", "cafe\u0301"), ("STRASSE", "stra\u00dfe")]
)
def test_labels_that_a_file_system_may_not_tell_apart_clash(left, right):
    assert fold_label(left) == fold_label(right)
    assert clash(matrix_legs({"x": [left, right]}, [], [])) is not None


def test_labels_that_are_made_alike_by_their_commas_clash():
    assert clash(matrix_legs({"x": ["a,b", "a"], "y": ["c", "b,c"]}, [], [])) == "a,b,c"


def test_the_number_of_combinations_is_known_without_making_them():
    axes = {name: range(1000) for name in "abcdef"}

    assert count_combinations(axes) == 10**18
    assert count_combinations({}) == 0
    assert count_combinations({"a": [1, 2], "b": []}) == 0


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3), st.lists(SCALARS, max_size=2))
def test_exclusions_leave_out_exactly_what_has_their_values(axes, unwanted):
    exclude = [{"a": value} for value in unwanted]

    kept = combinations(axes, [], exclude)
    all_of_them = (
        [dict(zip(axes, one, strict=True)) for one in itertools.product(*axes.values())] if axes else []
    )
    assert kept == [
        one
        for one in all_of_them
        if not any("a" in one and reading(one["a"]) == reading(rule["a"]) for rule in exclude)
    ]


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3),
    st.lists(st.dictionaries(st.sampled_from("abcxy"), SCALARS, min_size=1), max_size=4),
)
def test_inclusions_never_change_an_original_value(axes, include):
    made = combinations(axes, [], [])
    with_included = combinations(axes, include, [])

    assert [{axis: one[axis] for axis in axes} for one in with_included[: len(made)]] == made
    assert len(with_included) <= len(made) + len(include)


def test_a_fan_out_beyond_the_limit_is_refused_at_its_key():
    items = ", ".join("1" * (MOST_LEGS + 1))
    text = f"steps:\n  a: {{run: x, for_each: [{items}]}}\n"

    assert said(text) == [
        "2:15 CF305 step `a` fans out into 10,001 tasks; at most 10,000 are allowed",
    ]
    assert under(text) == ["for_each"]


def test_a_fan_out_of_just_the_limit_is_allowed():
    items = ", ".join("1" * MOST_LEGS)

    assert len(plan(f"steps:\n  a: {{run: x, for_each: [{items}]}}\n").tasks) == MOST_LEGS


def test_the_limit_counts_tasks_not_what_exclusions_leave_out():
    values = list(range(101))
    text = (
        f"steps:\n  a: {{run: x, matrix: {{a: {values}, b: {values}, exclude: [{{a: 100}}, {{b: 100}}]}}}}\n"
    )

    assert len(plan(text).tasks) == 10_000


def test_a_matrix_too_large_to_make_is_refused_before_it_is_made():
    values = list(range(1000))
    text = f"steps:\n  a: {{run: x, matrix: {{a: {values}, b: {values}, c: {values}}}}}\n"

    assert said(text) == [
        "2:15 CF305 step `a` fans out into 1,000,000,000 combinations; at most 100,000 are allowed",
    ]


def test_values_that_stand_twice_are_told_at_the_second():
    text = "steps:\n  a: {run: x, matrix: {v: [a, b, A]}}\n"

    assert said(text) == ["2:34 CF306 two values of `v` read the same: `A`"]


@pytest.mark.case("C029")
def test_a_value_in_two_unicode_forms_stands_twice():
    text = 'steps:\n  a: {run: x, matrix: {v: ["caf\\u00e9", "cafe\\u0301"]}}\n'

    assert [one.split()[1] for one in said(text)] == ["CF306"]


def test_tasks_that_would_have_one_name_are_refused():
    text = "steps:\n  a: {run: x, matrix: {x: ['a,b', a], y: [c, 'b,c']}}\n"

    assert said(text) == ["2:15 CF306 two tasks of step `a` would be called `a[a,b,c]`"]


def test_an_exclusion_names_axes_only():
    text = (
        "steps:\n  a: {run: x, matrix: {os: [mac], include: [{node: 1}], exclude: [{nod: 1}, {ox: mac}]}}\n"
    )

    assert said(text) == [
        "2:68 CF307 `exclude` names `nod`, which is no axis of this matrix",
        "2:78 CF307 `exclude` names `ox`, which is no axis of this matrix",
    ]


def test_an_inclusion_or_exclusion_that_says_nothing_is_refused():
    text = "steps:\n  a: {run: x, matrix: {os: [mac], include: [{}], exclude: [{}]}}\n"

    assert said(text) == [
        "2:45 CF307 this item of `include` names no value",
        "2:60 CF307 this item of `exclude` names no value",
    ]


def test_an_exclusion_that_leaves_nothing_out_is_a_warning():
    text = "steps:\n  a: {run: x, matrix: {os: [mac, linux], exclude: [{os: linx}]}}\n"

    assert said(text) == ["2:57 CF308 `linx` is no value of `os`, so this leaves nothing out"]
    assert len(plan(text).tasks) == 2


@pytest.mark.case("C187")
def test_an_empty_list_makes_a_step_without_tasks():
    made = plan("steps:\n  a: {run: x, for_each: []}\n  b: {run: x, matrix: {v: []}}\n")

    assert [(step.id, step.tasks, step.fan_out) for step in made.steps] == [("a", (), True), ("b", (), True)]


def test_a_fan_out_over_an_input_takes_its_values_when_they_are_known():
    text = "inputs: {n: {type: array}}\nsteps:\n  a: {run: x, for_each: '${{ inputs.n }}'}\n"

    assert said(text) == []
    assert [task.id for task in plan(text, "n=x", "n=y").tasks] == ["a[0]", "a[1]"]
    assert refused(text) == ["3:30 CF304 `for_each` must yield a list, and yields null"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("'${{ inputs.t }}'", "`for_each` must be a list, and `inputs.t` is text"),
        ("'a ${{ inputs.l }}'", "`for_each` must be a list, and this is text"),
        ("'${{ 5 }}'", "`for_each` must yield a list, and yields a number, `5`"),
        ("'${{ inputs.t ~ 1 }}'", None),
    ],
)
def test_what_can_be_no_list_is_told_without_values(value, message):
    text = "inputs: {t: {default: x}, l: {type: array}}\nsteps:\n  a: {run: x, for_each: " + value + "}\n"

    assert [one.split(" ", 2)[2] for one in said(text)] == ([message] if message else [])


def test_numbers_keep_their_spelling_through_a_matrix():
    text = "steps:\n  a: {run: [echo, '${{ matrix.v }}'], matrix: {v: [3.10, 1e3, 0x1F, +5]}}\n"

    assert [(task.id, task.action[1]) for task in plan(text).tasks] == [
        ("a[3.10]", "3.10"),
        ("a[1e3]", "1e3"),
        ("a[0x1F]", "0x1F"),
        ("a[+5]", "+5"),
    ]


@pytest.mark.case("C002")
def test_words_like_no_and_off_stay_text_in_a_fan_out():
    text = (
        "steps:\n  ship: {run: [echo, '${{ item }}'], for_each: [DE, NO, SE], env: {DEBUG: off, ANSWER: y}}\n"
    )

    tasks = plan(text).tasks
    assert [task.action[1] for task in tasks] == ["DE", "NO", "SE"]
    assert tasks[0].env == {"DEBUG": "off", "ANSWER": "y"}
