from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.checkup import text

TOKEN = "ghp_" + "Zq3nX8vB1mK7tR5wY2pL9sD4fG6hJ0cAeUiO"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (b"src/a b.py", "src/a b.py"),
        ("ü.txt".encode(), "ü.txt"),
        (b"a\nb", '"a\\nb"'),
        (b'say "x"', '"say \\"x\\""'),
        (b"\xff.txt", '"\\377.txt"'),
        ("a\u202egpj.exe".encode(), '"a\\342\\200\\256gpj.exe"'),
    ],
)
def test_paths_are_shown_plainly_or_as_git_quotes_them(path, shown):
    assert text.shown(path) == shown


@given(st.binary(min_size=1, max_size=60))
def test_any_path_is_one_printable_line_that_utf_8_can_hold(path):
    shown = text.shown(path)
    assert shown.isprintable()
    assert shown.encode()


def test_an_endless_path_is_cut():
    assert len(text.shown(b"x" * 4096)) == text.PATH_LENGTH


@pytest.mark.parametrize(
    "name", [b"a\nb", b"\xff", "ü".encode(), b'q"q', b"back\\slash", b"\x01\x7f", b"plain", b"t\tt"]
)
def test_what_git_quoted_is_read_back(repo, name):
    repo.write(name)
    repo.add()
    printed = subprocess.run(("git", "ls-files"), check=True, capture_output=True, text=True).stdout.rstrip(
        "\n"
    )
    assert text.unquoted(printed) == name


def test_a_line_is_stripped_made_printable_masked_and_cut():
    assert text.line("  a\x1b[31m\tb\u202e ") == "a [31m b"
    assert TOKEN not in text.line(f"key {TOKEN}")
    assert len(text.line("x" * 500)) == text.LINE_LENGTH


def test_a_secret_is_masked_before_the_line_is_cut():
    shown = text.line("x " * 50 + TOKEN)
    assert TOKEN[4:12] not in shown
