from __future__ import annotations

import pytest

from crewflow.checkup import leftovers

# Put together here, so that this file holds none.
LATER, REPAIR = "TO" + "DO", "FIX" + "ME"
OURS, MIDDLE, THEIRS = "<" * 7 + " HEAD", "=" * 7, ">" * 7 + " branch"


@pytest.mark.parametrize(
    "line",
    [
        f"# {LATER} tidy this up",
        f"x = 1  # {LATER}: tidy",
        f"// {REPAIR} tidy",
        f"/* {LATER} */",
        f"   * {LATER} tidy",
        f"<!-- {LATER} -->",
        f"-- {LATER} tidy",
        f"; {REPAIR} tidy",
        f"{LATER}(ann): tidy",
        f"- {LATER}: tidy",
        f"#{LATER}",
    ],
)
def test_a_mark_in_a_comment_or_with_a_colon_is_found(line):
    assert marks(f"first\n{line}\n") == [(2, line)]


@pytest.mark.parametrize(
    "line",
    [
        f"the word {LATER} in a sentence",
        f'"{LATER}" and `{LATER}`',
        f"{LATER}S = 3",
        f"# {LATER}.md lists them",
        f"my{LATER}: x",
        f"{LATER.lower()}: x",
        f"https://example.org/{LATER}:8080/",
        f"'{LATER}: x'",
    ],
)
def test_the_bare_word_is_no_mark(line):
    assert marks(line) == []


def test_a_line_is_found_once_however_many_marks_it_has():
    assert marks(f"# {LATER}: this, # {REPAIR}: that\n# {LATER}: more") == [
        (1, f"# {LATER}: this, # {REPAIR}: that"),
        (2, f"# {LATER}: more"),
    ]


def test_of_an_endless_line_only_the_part_with_the_mark_is_kept():
    [(line, text)] = marks("x" * 900_000 + f"// {LATER}: here" + "y" * 90_000)
    assert line == 1
    assert text.startswith(f"// {LATER}: here")
    assert len(text) <= 1000


def test_a_conflict_is_found_where_it_begins():
    content = f"a\n{OURS}\nb\n{MIDDLE}\nc\n{THEIRS}\nd\n{OURS}\n{MIDDLE}\n{THEIRS}\n"
    assert conflicts(content) == [(2, OURS), (8, OURS)]


def test_a_conflict_with_a_base_or_with_dos_line_ends_is_found():
    base = "|" * 7 + " base"
    assert conflicts(f"{OURS}\r\na\r\n{base}\r\nb\r\n{MIDDLE}\r\nc\r\n{THEIRS}\r\n") == [(1, f"{OURS}\r")]


def test_the_end_of_a_conflict_that_lost_its_beginning_is_found():
    assert conflicts(f"a\n{MIDDLE}\nb\n{THEIRS}\n") == [(4, THEIRS)]


@pytest.mark.parametrize(
    "content", [f"Heading\n{MIDDLE}\n", f"quoted\n{THEIRS}\n", f"  {OURS}\n", "<" * 8 + " x\n"]
)
def test_headings_and_quotes_are_no_conflicts(content):
    assert conflicts(content) == []


def marks(content):
    return list(leftovers.find_marks(b"a", content.encode()))


def conflicts(content):
    return list(leftovers.find_conflicts(b"a", content.encode()))
