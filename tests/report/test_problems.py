import json

from crewflow.errors import Note, Place, Problem, Severity
from crewflow.report.problems import to_json, to_text


def problem(line, column, width, **more):
    return Problem("CF201", Place("f.yaml", 3, column, width), "it is wrong", source_line=line, **more)


def test_a_fault_reads_as_in_the_description_of_the_language():
    fault = Problem(
        "CF201",
        Place("workflows/release.yaml", 14, 13, 4),
        "step `publish` needs unknown step `tets`",
        "did you mean `test`?",
        source_line="    needs: [tets]",
    )

    assert to_text([fault], color=False) == (
        "workflows/release.yaml:14:13: error CF201: step `publish` needs unknown step `tets`\n"
        "   14 |     needs: [tets]\n"
        "      |             ^^^^\n"
        "hint: did you mean `test`?\n"
        "\n"
        "1 error"
    )


def test_no_problems_are_no_text():
    assert to_text([], color=False) == ""


def test_notes_stand_before_the_hint():
    fault = problem("abc", 1, 3, hint="do it", notes=(Note(Place("g.yaml", 1, 2, 1), "first here"),))

    assert to_text([fault], color=False).splitlines()[3:5] == ["note: g.yaml:1:2: first here", "hint: do it"]


def test_errors_and_warnings_are_counted():
    warning = problem("abc", 1, 1, severity=Severity.WARNING)
    error = problem("abc", 1, 1)

    assert to_text([error, warning, error], color=False).endswith("\n2 errors, 1 warning")
    assert to_text([warning], color=False).endswith("\n1 warning")


def test_carets_stand_below_wide_characters_and_behind_tabs():
    assert carets(problem("日本: xy", 5, 2)) == "      |       ^^"
    assert carets(problem("a: 日本", 4, 2)) == "      |    ^^^^"
    assert carets(problem("\ta: xy", 5, 2)) == "      | \t   ^^"
    assert carets(problem("e\u0301: xy", 5, 2)) == "      |    ^^"


def carets(fault):
    return to_text([fault], color=False).splitlines()[2]


def test_what_has_no_width_gets_one_caret_and_what_has_no_line_none():
    assert carets(problem("abc", 4, 0)) == "      |    ^"
    assert len(to_text([problem(None, 1, 0)], color=False).splitlines()) == 3


def test_a_long_line_is_cut_around_the_place():
    lines = to_text([problem("x" * 100_000 + "HERE" + "y" * 100_000, 100_001, 4)], color=False).splitlines()

    assert max(len(line) for line in lines) < 200
    assert lines[1][lines[2].index("^") :].startswith("HERE")


def test_no_control_character_of_a_file_reaches_the_terminal():
    fault = Problem(
        "CF001", Place("a\x1b[2J.yaml", 1, 3, 1), "bad \x1b[31m", "\x07", source_line="a\x1b[0mb \u202e x"
    )
    text = to_text([fault], color=False)

    assert all(character.isprintable() or character == "\n" for character in text)


def test_color_is_added_only_when_asked_for():
    plain, colored = (to_text([problem("abc", 1, 3)], color=color) for color in (False, True))

    assert "\x1b[" not in plain
    assert "\x1b[31;1merror\x1b[0m" in colored


def test_the_data_of_a_problem_is_json_with_a_version():
    fault = problem("abc", 1, 3, hint="do it", notes=(Note(Place("g.yaml", 1, 2, 1), "first here"),))
    data = json.loads(json.dumps(to_json([fault])))

    assert data == {
        "schema_version": 1,
        "errors": 1,
        "warnings": 0,
        "problems": [
            {
                "rule": "CF201",
                "severity": "error",
                "message": "it is wrong",
                "hint": "do it",
                "file": "f.yaml",
                "line": 3,
                "column": 1,
                "width": 3,
                "source_line": "abc",
                "notes": [{"message": "first here", "file": "g.yaml", "line": 1, "column": 2, "width": 1}],
            }
        ],
        "ignored": [],
    }
