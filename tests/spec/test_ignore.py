"""`ignore` in `crewflow.yaml`: warnings only, with a reason, and nothing left over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.errors import Place, Problem, Severity
from crewflow.spec.ignore import Ignore, apply_ignores, matches
from crewflow.spec.load import load_project

KNOWN = ("CF113", "CF201", "CF294", "CF295", "CF296")
PLACE = Place("crewflow.yaml", 3, 10, 5)


def entry(rule="CF113", path="workflows/**", reason="one-off"):
    return Ignore(rule, path, reason, PLACE, "ignore: ...")


def warning(rule="CF113", file="workflows/a.yaml"):
    return Problem(rule, Place(file, 1, 1), "odd", severity=Severity.WARNING)


def error(rule="CF201", file="workflows/a.yaml"):
    return Problem(rule, Place(file, 2, 1), "wrong")


def applied(entries, problems, *, complete=True):
    """What is left of the problems, what is said about the entries, and the reasons of what is ignored."""
    kept, ignored = apply_ignores(entries, problems, KNOWN, complete=complete)
    left = [problem for problem in kept if problem in problems]
    said = [(problem.rule, problem.severity.value) for problem in kept if problem not in problems]
    return left, said, [item.reason for item in ignored]


def test_a_warning_that_an_entry_names_is_ignored_with_the_reason():
    assert applied([entry()], [warning()]) == ([], [], ["one-off"])


def test_other_rules_and_other_files_are_kept():
    others = [warning("CF201"), warning(file="other/a.yaml")]
    assert applied([entry()], [*others, warning()]) == (others, [], ["one-off"])


def test_an_error_stays_one_and_the_entry_that_names_it_is_at_fault():
    kept, ignored = apply_ignores([entry("CF201")], [error()], KNOWN, complete=True)
    assert ignored == ()
    assert kept[0] == error()
    assert (kept[1].rule, kept[1].severity, kept[1].place) == ("CF295", Severity.ERROR, PLACE)
    assert kept[1].notes[0].place == error().place


def test_where_a_rule_is_both_only_its_warnings_are_ignored():
    left, said, reasons = applied([entry("CF201")], [error(), warning("CF201")])
    assert (left, said, reasons) == ([error()], [("CF295", "error")], ["one-off"])


@pytest.mark.parametrize(
    ("rule", "hint"), [("CF13", "did you mean `CF113`?"), ("cf113", "did you mean `CF113`?")]
)
def test_an_unknown_rule_is_a_fault_with_the_nearest_one(rule, hint):
    [fault], _ = apply_ignores([entry(rule)], [], KNOWN, complete=True)
    assert (fault.rule, fault.message, fault.hint) == ("CF294", f"there is no rule `{rule}`", hint)


def test_a_rule_that_is_like_none_gets_the_way_to_list_them():
    [fault], _ = apply_ignores([entry("shellcheck")], [], KNOWN, complete=True)
    assert fault.hint == "`crewflow explain` lists the rules"


def test_an_entry_that_met_nothing_is_stale_in_a_whole_project_only():
    assert applied([entry()], []) == ([], [("CF296", "warning")], [])
    assert applied([entry()], [], complete=False) == ([], [], [])


def test_an_entry_is_not_stale_while_an_error_may_hide_its_warning():
    assert applied([entry()], [error()]) == ([error()], [], [])
    hidden = error(file="elsewhere.yaml")
    assert applied([entry()], [hidden]) == ([hidden], [("CF296", "warning")], [])


@pytest.mark.parametrize("rule", ["CF294", "CF295", "CF296"])
def test_what_is_said_about_entries_cannot_be_ignored(rule):
    told = warning(rule, "crewflow.yaml")
    assert applied([entry(rule, "**")], [told]) == ([told], [("CF295", "error")], [])


def test_of_two_entries_for_one_warning_the_first_gives_the_reason_and_neither_is_stale():
    entries = [entry(reason="first"), entry(path="workflows/a.yaml", reason="second")]
    assert applied(entries, [warning()]) == ([], [], ["first"])


@pytest.mark.parametrize(
    ("pattern", "file", "expected"),
    [
        ("workflows/a.yaml", "workflows/a.yaml", True),
        ("./workflows/a.yaml", "workflows/a.yaml", True),
        ("workflows/*.yaml", "workflows/a.yaml", True),
        ("workflows/*.yaml", "workflows/b/a.yaml", False),
        ("*", "a/b", False),
        ("**", "a/b/c.yaml", True),
        ("**/a.yaml", "a.yaml", True),
        ("**/a.yaml", "x/y/a.yaml", True),
        ("**/a.yaml", "xa.yaml", False),
        ("w/**/a.yaml", "w/a.yaml", True),
        ("w/**", "w/x/y", True),
        ("a.yaml", "aXyaml", False),
        ("a[1].yaml", "a[1].yaml", True),
        ("a?.yaml", "ab.yaml", False),
        ("*.yaml", "a\nb.yaml", True),
    ],
)
def test_a_pattern_means_these_files(pattern, file, expected):
    assert matches(pattern, file) is expected


@given(st.text(st.characters(exclude_characters="*"), min_size=1))
def test_a_pattern_without_wildcards_means_the_file_of_that_name(name):
    assert matches(name, name.removeprefix("./"))


@given(st.lists(st.sampled_from([warning(), error(), warning("CF201"), error("CF113")])), st.booleans())
def test_no_error_is_ever_lost(problems, complete):
    kept, _ = apply_ignores([entry(), entry("CF201")], problems, KNOWN, complete=complete)
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    assert [problem for problem in kept if problem in errors] == errors


# --- in the file ----------------------------------------------------------------------------------------


@pytest.fixture
def project_with(tmp_path):
    def make(ignore):
        text = f"kind: project\nname: p\nignore: {ignore}\n"
        (tmp_path / "crewflow.yaml").write_text(text, encoding="utf-8")
        return load_project(str(tmp_path))

    return make


def test_entries_are_read_with_their_places(project_with):
    project, problems = project_with('[{rule: CF113, path: "w/*", reason: legacy}]')
    assert problems == ()
    [read] = project.ignore
    assert (read.rule, read.path, read.reason) == ("CF113", "w/*", "legacy")
    assert str(read.place) == "crewflow.yaml:3:17"


@pytest.mark.parametrize(
    ("ignore", "rule"),
    [
        ('[{rule: CF113, path: "w/*"}]', "CF105"),
        ('[{rule: CF113, path: "w/*", reason: ""}]', "CF104"),
        ('[{rule: CF113, path: "w/*", reason: "  "}]', "CF104"),
        ('[{rule: CF113, path: "w/*", reason: x, until: monday}]', "CF101"),
        ('[{rule: CF113, path: "../w/*", reason: x}]', "CF104"),
        ('[{rule: CF113, path: "/w/*", reason: x}]', "CF104"),
        ("[CF113]", "CF103"),
        ("CF113", "CF103"),
    ],
)
def test_an_entry_that_is_not_whole_is_a_fault(project_with, ignore, rule):
    _, problems = project_with(ignore)
    assert [problem.rule for problem in problems] == [rule]
