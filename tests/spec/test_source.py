import gc
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.spec.scalars import SpelledFloat, SpelledInt, spelling
from crewflow.spec.source import read_documents


def read(text):
    """The data of a file's documents, and `line:column rule message` of what is wrong with it."""
    data = text if isinstance(text, bytes) else text.encode()
    documents, problems = read_documents("f.yaml", data)
    return [document.data for document in documents], [f"{where(p)} {p.rule} {p.message}" for p in problems]


def where(problem):
    return f"{problem.place.line}:{problem.place.column}"


def document_of(text):
    documents, problems = read_documents("f.yaml", text.encode())
    assert problems == ()
    return documents[0]


@pytest.mark.case("C001")
def test_switch_words_are_text_as_keys():
    assert read("on: 1\nno: 2\ny: 3\noff: 4\n") == ([{"on": 1, "no": 2, "y": 3, "off": 4}], [])


@pytest.mark.case("C002")
def test_switch_words_are_text_in_lists_and_mappings():
    assert read("a: [DE, NO, SE, on, Yes]\nb: {C: NO, D: off, E: y}\n") == (
        [{"a": ["DE", "NO", "SE", "on", "Yes"], "b": {"C": "NO", "D": "off", "E": "y"}}],
        [],
    )


@pytest.mark.case("C004")
def test_a_key_that_stands_twice_is_an_error_at_the_second_with_a_note_at_the_first():
    _, problems = read_documents(
        "f.yaml", b"steps:\n  - id: a\n    env: {X: 1}\n    run: x\n    env: {Y: 2}\n"
    )

    assert where(problems[0]) == "5:5"
    assert str(problems[0].notes[0].place) == "f.yaml:3:5"


@pytest.mark.case("C004")
def test_a_key_that_stands_twice_in_a_flow_mapping_is_an_error_at_every_depth():
    _, said = read("a: [{b: {c: 1, c: 2}}]\n")

    assert said == ["1:16 CF002 the key `c` stands twice in this mapping"]


@pytest.mark.case("C004")
def test_keys_that_are_equal_numbers_are_both_refused():
    assert [line.split()[0] for line in read("1: a\n0x1: b\n")[1]] == ["1:1", "2:1"]


@pytest.mark.case("C007")
def test_an_explicit_key_wins_over_a_merged_one_wherever_the_merge_stands():
    (data,), said = read(
        "d: &d {timeout: 5, retries: 1}\ne: &e {timeout: 9}\n"
        "p: {timeout: 60, <<: *d}\nq: {<<: *d, timeout: 60}\nr: {<<: [*e, *d]}\n"
    )

    assert said == []
    assert data["p"] == {"timeout": 60, "retries": 1}
    assert data["q"] == {"timeout": 60, "retries": 1}
    assert data["r"] == {"timeout": 9, "retries": 1}


def test_a_merge_of_what_is_no_mapping_is_refused_at_its_place():
    assert read("a:\n  <<: [1]\n")[1] == ["2:3 CF008 `<<` takes a mapping or a list of mappings"]


def test_a_quoted_merge_sign_is_an_ordinary_key():
    assert read("'<<': 1\n") == ([{"<<": 1}], [])


@pytest.mark.case("C008")
def test_numbers_with_leading_zeros_are_text():
    assert read("[]\n---\na: [07, 08, 010, 00, -01, 01.5]\n")[0] == [
        {"a": ["07", "08", "010", "00", "-01", "01.5"]}
    ]


@pytest.mark.case("C010")
@pytest.mark.parametrize(
    "date", ["2024-02-30", "1976-87-04", "0000-01-01", "2024-02-29", "2024-02-29T10:00:00Z"]
)
def test_dates_are_text_also_impossible_ones(date):
    assert read(f"a: {date}\n") == ([{"a": date}], [])


@pytest.mark.case("C013")
def test_a_list_that_holds_itself_is_refused_at_the_alias():
    assert read("tasks: &t\n  - *t\n")[1] == ["2:5 CF007 the alias `*t` stands inside its own anchor"]


def test_an_alias_without_an_anchor_is_refused_at_its_place():
    assert read("a: *b\n")[1] == ["1:4 CF007 there is no anchor `&b` before this"]


@pytest.mark.case("C014")
@pytest.mark.parametrize("text", ["a: " + "[" * 1_100 + "]" * 1_100, "a: " + "[" * 100_000])
def test_deep_flow_collections_are_refused_with_a_place(text):
    (said,) = read(text)[1]

    assert said.startswith("1:")
    assert said.endswith("CF011 the file is nested too deeply")


@pytest.mark.case("C014")
@pytest.mark.parametrize("levels", [1_100, 100_000])
def test_deep_block_collections_are_refused_with_a_place(levels):
    assert read("- " * levels)[1] == ["1:201 CF011 the file is nested too deeply"]


def test_a_hundred_levels_are_read_and_one_more_is_not():
    assert read("a: " + "[" * 99 + "]" * 99)[1] == []
    assert read("a: " + "[" * 100 + "]" * 100)[1] == ["1:103 CF011 the file is nested too deeply"]


def test_levels_that_aliases_bring_are_counted():
    deep = "[" * 60 + "]" * 60
    (said,) = read(f"a: &a {deep}\nb: {'[' * 60}*a{']' * 60}\n")[1]

    assert said == "2:64 CF011 aliases are nested too deeply"


def test_values_that_aliases_multiply_are_counted():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]

    assert read("\n".join(lines))[1] == ["6:45 CF011 the file holds too many values"]


@pytest.mark.case("C016")
def test_a_tab_for_indentation_is_named():
    assert read("tasks:\n\t- id: a\n")[1] == ["2:1 CF005 tab characters cannot be used for indentation"]


@pytest.mark.case("C016")
@pytest.mark.parametrize("text", ["a:\n  b: 1\n\tc: 2\n", "a: |\n  x\n\ty\n", "a:\n\tb: 1\n"])
def test_a_tab_is_named_wherever_it_breaks_the_indentation(text):
    (said,) = read(text)[1]

    assert "tab" in said


@pytest.mark.case("C017")
def test_a_tab_before_a_comment_or_after_a_colon_is_read():
    assert read("run: 'true'\t# note\nneeds:\t[]\n") == ([{"run": "true", "needs": []}], [])


@pytest.mark.case("C019")
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_kind_count_and_none_gets_into_the_text(end):
    document = document_of(
        end.join(["tasks:", "  - id: a", "    run: |", "      echo hi", "      exit 0", "    needz: []", ""])
    )

    assert document.data["tasks"][0]["run"] == "echo hi\nexit 0\n"
    assert str(document.key_place(("tasks", 0, "needz"))) == "f.yaml:6:5"
    assert document.line_text(6) == "    needz: []"


@pytest.mark.case("C020")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1 CF006 the file is empty"),
        ("# todo\n", "1:1 CF006 the file is empty"),
        ("---\n", "1:1 CF006 the file is empty"),
        ("null\n", "1:1 CF006 expected a mapping, found nothing"),
        ("[]\n", "1:1 CF006 expected a mapping, found a list"),
        ("hello\n", "1:1 CF006 expected a mapping, found text"),
        ("12\n", "1:1 CF006 expected a mapping, found a number"),
    ],
)
def test_a_file_without_a_mapping_says_what_it_has(text, message):
    assert read(text) == ([], [message])


@pytest.mark.case("C022")
@pytest.mark.parametrize("number", ["9" * 5_000, "0x" + "f" * 3_900, "-" + "1" * 4_001, "1e400"])
def test_a_number_that_is_too_large_is_refused_without_printing_it(number):
    (said,) = read(f"a: {number}\n")[1]

    assert said == "1:4 CF010 the number is too large"


@pytest.mark.case("C022")
def test_a_large_hexadecimal_number_can_still_be_printed():
    (data,), said = read("a: 0x" + "f" * 3_000 + "\n")

    assert said == []
    assert len(str(data["a"])) == 3_613


@pytest.mark.case("C023")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: 1\nb: x\x00y\n", "2:5 CF004 the character U+0000 may not stand in a YAML file"),
        (b"a: 1\nb: x\x07y\n", "2:5 CF004 the character U+0007 may not stand in a YAML file"),
        (b"a: 1\nb: x\xffy\n", "2:5 CF004 the byte 0xFF is not UTF-8 text"),
        ("a: ä\nb: äx\u2028y\n".encode(), "2:6 CF004 the character U+2028 may not stand in a YAML file"),
        ("a: 1\n".encode("utf-16"), "1:1 CF004 the file is UTF-16"),
        ("a: 1\n".encode("utf-32"), "1:1 CF004 the file is UTF-32"),
    ],
)
def test_what_is_no_text_is_named_with_its_place(data, message):
    assert read(data) == ([], [message])


def test_a_byte_order_mark_of_utf8_is_read_over_and_moves_no_column():
    document = document_of("\ufeffa: x\n")

    assert document.data == {"a": "x"}
    assert str(document.place(("a",))) == "f.yaml:1:4"


@pytest.mark.case("C025")
def test_each_key_that_is_no_text_is_an_error_of_its_own():
    data, said = read("1: {a: 1}\n'1': {a: 2}\ntrue: {}\n? [a, b]\n: {}\n~: 1\n")

    assert data == [{"1": {"a": 2}}]
    assert said == [f"{place} CF003 keys must be text" for place in ("1:1", "3:1", "4:3", "6:1")]


@pytest.mark.case("C026")
def test_a_colon_in_an_unquoted_command_has_a_hint():
    _, (problem,) = read_documents(
        "f.yaml", b"a:\n  run: curl http://x/y #retry\nb:\n  run: echo status: ok\n"
    )

    assert where(problem) == "4:19"
    assert "quote the text" in problem.hint


@pytest.mark.case("C026")
def test_unquoted_text_ends_before_a_comment():
    assert read("run: curl http://x/y #retry\n")[0] == [{"run": "curl http://x/y"}]


@pytest.mark.case("C028")
@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("|", "false\necho hi\n"),
        (">", "false echo hi\n"),
        ("|-", "false\necho hi"),
        ("|+", "false\necho hi\n\n"),
    ],
)
def test_block_scalars_keep_their_text(style, text):
    assert read(f"run: {style}\n  false\n  echo hi\n\n")[0] == [{"run": text}]


@pytest.mark.case("C031")
@pytest.mark.parametrize("number", [".nan", ".NaN", ".inf", "-.inf", "+.INF", "1e400", "-1e999"])
def test_numbers_that_are_not_finite_are_refused_at_their_place(number):
    (said,) = read(f"a: {number}\n")[1]

    assert said.startswith("1:4 CF010 ")


@pytest.mark.parametrize(
    "text", ["inf", "nan", ".infinity", "1_000", "12:30:45", "0b11", "1.2.3", "+", "-", ".", "1e", "0o8"]
)
def test_what_only_looks_like_a_number_is_text(text):
    assert read(f"a: {text}\n" if text != "-" else "a: '-'\n") == ([{"a": text}], [])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x1F", 31),
        ("0o17", 15),
        ("+5", 5),
        ("3.10", 3.1),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-0", 0),
        ("1E-3", 0.001),
    ],
)
def test_a_number_keeps_its_spelling(text, value):
    (data,), _ = read(f"a: {text}\n")

    assert data["a"] == value
    assert isinstance(data["a"], SpelledInt | SpelledFloat)
    assert spelling(data["a"]) == text


@pytest.mark.parametrize("text", ["0", "12", "-3", "3.5", "-0.25"])
def test_a_number_that_is_spelled_as_usual_is_a_plain_one(text):
    (data,), _ = read(f"a: {text}\n")

    assert type(data["a"]) in {int, float}
    assert spelling(data["a"]) == text


def test_tags_that_build_things_are_refused_and_text_may_be_tagged():
    data, said = read("a: !!python/object/apply:os.system [x]\nb: !!str 12\nc: !!int '3'\n")

    assert data == [{"a": ["x"], "b": "12", "c": 3}]
    assert said == [f"{place} CF009 tags such as `!!int` or `!name` are not read" for place in ("1:4", "3:4")]


def test_a_file_that_is_too_large_is_not_read():
    assert read(b"#" * 10_000_001) == ([], ["1:1 CF011 the file is too large"])


def test_what_stands_before_bad_syntax_is_kept():
    data, said = read("a: 1\n---\nb: {c: 1, c: 2}\nd: [\n")

    assert data == [{"a": 1}]
    assert said == [
        "3:11 CF002 the key `c` stands twice in this mapping",
        "5:1 CF001 the file ends before a list or mapping is closed",
    ]


def test_a_place_is_that_of_the_nearest_value_that_exists():
    document = document_of("a:\n  b: [x, yy]\n")

    assert str(document.place(("a", "b", 1))) == "f.yaml:2:10"
    assert document.place(("a", "b", 1)).width == 2
    assert str(document.place(("a", "b", 7))) == "f.yaml:2:6"
    assert str(document.place(("a", "nothing"))) == "f.yaml:2:3"
    assert str(document.key_place(("a", "b"))) == "f.yaml:2:3"


def test_the_place_of_a_value_that_is_not_there_is_that_of_its_key():
    assert str(document_of("a: 1\nsteps:\n").place(("steps",))) == "f.yaml:2:1"


def test_a_place_is_behind_an_anchor_and_a_tag():
    document = document_of("a: &x !!str   12\nb: &y\n  c: 1\n")

    assert str(document.place(("a",))) == "f.yaml:1:15"
    assert str(document.place(("b",))) == "f.yaml:3:3"


@pytest.mark.case("C041")
def test_a_value_from_an_anchor_is_placed_where_it_is_written_and_noted_where_it_is_used():
    document = document_of(
        "x-base: &base {retries: lots}\ntasks:\n  - {id: a, run: 'true', <<: *base}\n  - *base\n"
    )

    assert str(document.place(("tasks", 0, "retries"))) == "f.yaml:1:25"
    assert [str(note.place) for note in document.use_notes(("tasks", 0, "retries"))] == ["f.yaml:3:26"]
    assert [str(note.place) for note in document.use_notes(("tasks", 1, "retries"))] == ["f.yaml:4:5"]
    assert document.use_notes(("x-base", "retries")) == ()


@pytest.mark.parametrize(
    ("text", "offset", "place"),
    [
        ("a: one ${{ x }}\n", 8, "1:12"),
        ('a: "one ${{ x }}"\n', 8, "1:13"),
        ("a: |\n  one\n  two ${{ x }}\n", 12, "3:11"),
        ('a: "\\u0041 ${{ x }}"\n', 6, "1:4"),
        ("a: >\n  one\n  two\n", 5, "1:4"),
    ],
)
def test_the_place_of_a_part_of_a_text_is_exact_where_it_is_plain_to_see(text, offset, place):
    assert str(document_of(text).within(("a",), offset, 1)) == f"f.yaml:{place}"


def test_the_garbage_collector_is_as_it_was_after_reading():
    read("a: [\n")
    assert gc.isenabled()
    gc.disable()
    try:
        read("a: 1\n")
        assert not gc.isenabled()
    finally:
        gc.enable()


BMP = st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF)  # JSON writes others as two escapes
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(BMP),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(BMP, max_size=60), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(BMP, max_size=60), JSON))
def test_json_is_read_as_what_it_is(data):
    assert read(json.dumps(data)) == ([data], [])


@given(st.binary(max_size=60) | st.text("ab:- \n\t\"'[]{}&*!|>%@#,?0.", max_size=60).map(str.encode))
def test_no_bytes_raise_and_each_file_gives_data_or_a_problem(data):
    documents, problems = read_documents("f.yaml", data)

    assert documents or problems
    for problem in problems:
        assert problem.place.line >= 1
        assert problem.place.column >= 1
        assert "None" not in problem.message
