from __future__ import annotations

import pytest

from crewflow.checkup import stock


@pytest.mark.parametrize("kind", stock.KINDS)
def test_an_empty_repository_gives_a_table_without_rows(repo, kind):
    assert stock.take(kind, 10)["rows"] == []


def test_languages_are_ordered_by_lines(repo):
    repo.add(
        a__py="1\n2\n3", b__PY="1\n", c__yml="a: 1\n", d__yaml="a: 1\nb: 2\n", Makefile="x:\n", e__odd="1\n"
    )
    assert stock.take("languages", 10)["rows"] == [
        ["Python", "2", "4", "7 B"],
        ["YAML", "2", "3", "15 B"],
        ["(no extension)", "1", "1", "3 B"],
        [".odd", "1", "1", "2 B"],
    ]


def test_lines_of_binary_and_large_files_are_not_counted_but_their_size_is(repo):
    repo.write("a.bin", b"\0\n\n")
    repo.write("b.txt", b"\n" * 1_000_001)
    repo.add()
    assert stock.take("languages", 10)["rows"] == [["Text", "1", "0", "1.0 MB"], [".bin", "1", "0", "3 B"]]


def test_beyond_the_limit_the_rest_is_summed_up(repo):
    repo.add(a__a="1\n" * 4, b__b="1\n" * 3, c__c="1\n" * 2, d__d="1\n")
    assert stock.take("languages", 2)["rows"] == [[".a", "1", "4", "8 B"], ["(3 others)", "3", "6", "12 B"]]
    assert len(stock.take("languages", 4)["rows"]) == 4


def test_folders_are_those_at_the_top(repo):
    repo.write("src/a/b/c.py", "12")
    repo.write("src/d.py", "3")
    repo.add(README="1234")
    assert stock.take("folders", 10)["rows"] == [["src/", "2", "3 B"], ["./", "1", "4 B"]]


def test_the_largest_files_come_first_and_links_do_not_count(repo):
    (repo.folder / "link").symlink_to("b")
    repo.add(a="1", b="1" * 2000, c="1")
    assert stock.take("largest", 2)["rows"] == [["b", "2.0 kB"], ["a", "1 B"]]


def test_an_unreadable_name_is_shown_and_a_monstrous_extension_is_not(repo):
    repo.write(b"a\n\xff", "1")
    repo.write("b." + "x" * 200, "1")
    repo.add()
    assert '"a\\n\\377"' in [row[0] for row in stock.take("largest", 5)["rows"]]
    assert {row[0] for row in stock.take("languages", 5)["rows"]} == {"(no extension)", "(other)"}


def test_changes_are_read_from_counted_lines():
    counted = '     12 src/a b.py\n      3 "\\303\\274\\n.py"\n\n'
    assert stock.churn(counted)["rows"] == [["src/a b.py", "12"], ['"ü\\n.py"', "3"]]


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1_500_000, "1.5 MB"), (10**16, "10000.0 TB")],
)
def test_sizes_are_shown_in_decimal_units(count, shown):
    assert stock.show_size(count) == shown
