import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.spec.lines import Lines
from crewflow.spec.nodes import _MOST_READINGS, compose
from crewflow.spec.source import read_documents
from crewflow.spec.syntax import missing_space

BARE = "a `${{ }}` without quotes inside `[ ]` or `{ }`"


def told(text):
    """`line:column message` of what is wrong with the text of a file."""
    _, problems = read_documents("f.yaml", text.encode())
    return [f"{p.place.line}:{p.place.column} {p.message}" for p in problems]


def hints(text):
    return [problem.hint for problem in read_documents("f.yaml", text.encode())[1]]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("run: [echo, ${{ inputs.x }}]\n", "1:13"),
        ("run: [echo, a-${{ inputs.x }}]\n", "1:15"),
        ("run: [${{ inputs.x }}]\n", "1:7"),
        ('a: {run: echo "${{ inputs.x }}"}\n', "1:16"),
        ("a: {A: ${{ inputs.x }}, B: 1}\n", "1:8"),
        ("run: [\n  echo,\n  ${{ inputs.x }},\n]\n", "3:3"),
    ],
)
def test_an_expression_without_quotes_in_a_list_or_mapping_is_told_as_that(text, place):
    assert told(text) == [f"{place} {BARE}"]
    assert hints(text) == ["quote text with `${{ }}` inside `[ ]` and `{ }`"]


def test_each_expression_without_quotes_is_told():
    assert told("a: [${{ a }}, ${{ b }}]\nb: {c: ${{ c }}}\n") == [
        f"1:5 {BARE}",
        f"1:15 {BARE}",
        f"2:8 {BARE}",
    ]


def test_what_is_read_over_an_expression_is_no_document():
    assert read_documents("f.yaml", b"a: [${{ a }}]\n---\nb: 1\n")[0] == ()


@pytest.mark.parametrize("text", ["a: [b, '${{ c }}'\n", "a: ['b' 'c ${{ d }}']\n"])
def test_a_list_that_is_not_closed_is_still_told_as_that(text):
    assert told(text)[0].endswith("the list is not closed")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("if: !failure()\nrun: x\n", "write `not failure()`"),
        ("{if: !inputs.x, run: x}\n", "write `not inputs.x`"),
        ("if: ! failure()\n", "write `not failure()`"),
        ("if: !inputs.x && always()\n", "write `not inputs.x`"),
    ],
)
def test_a_condition_that_begins_with_an_exclamation_mark_is_one_fault(text, hint):
    assert hints(text) == [hint]


def test_text_without_its_quotes_is_read_over_and_all_else_is_checked():
    documents, problems = read_documents("f.yaml", b"a: b: c\nd: e: f\ng: `h`\ni: 1\ni: 2\n")

    assert [(p.place.line, p.place.column) for p in problems] == [(5, 1), (1, 5), (2, 5), (3, 4)]
    assert documents[0].data["i"] == 1
    assert documents[0].place(("g",)).column == 4


def test_reading_again_comes_to_an_end():
    said = told("".join(f"a{number}: b: c\n" for number in range(50)))

    assert len(said) == _MOST_READINGS


@given(st.text(alphabet="ab:` \n-[]{}$!'\"#&*@", max_size=60))
def test_no_text_is_read_for_ever_and_each_place_is_in_it(text):
    _, problems = compose(Lines("f", text))

    assert all(1 <= problem.place.line <= text.count("\n") + 1 for problem in problems)


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("kind: a\nname:w\nsteps:\n", "2:5", "write `name: w`"),
        ("a:\n  run:echo hi\n  timeout: 5m\n", "2:6", "write `run: echo hi`"),
    ],
)
def test_a_space_that_is_missing_behind_a_colon_is_told(text, place, hint):
    assert told(text) == [f"{place} a space is missing after `:`"]
    assert hints(text) == [hint]


def test_an_address_is_no_key_without_a_space():
    assert missing_space("http://x/y") is None
    assert missing_space("run: x") is None
    assert missing_space("run:x") == "a space is missing after `:`; write `run: x`"


def test_text_that_lacks_a_space_alone_in_a_file_is_told():
    assert hints("kind:workflow\n") == ["a space is missing after `:`; write `kind: workflow`"]


@pytest.mark.parametrize(
    ("space", "name"),
    [
        ("\u00a0", "no-break space (U+00A0)"),
        ("\u3000", "ideographic space (U+3000)"),
        ("\u200b", "zero width space (U+200B)"),
    ],
)
def test_an_odd_space_in_the_indentation_is_named(space, name):
    assert told(f"a:\n  b: 1\n{space} c: 2\n") == [f"3:1 a {name} stands in the indentation"]


def test_an_odd_space_inside_a_script_is_fine():
    assert told("run: |\n  a\n  \u00a0b: c\n") == []


def test_a_backtick_is_called_by_its_name():
    assert told("run: `x`\n") == ["1:6 a value may not begin with a backtick"]
