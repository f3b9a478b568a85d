"""Values of inputs and outputs are text: they are no patterns, lead nowhere, and meet their declaration."""

import pytest

ARTIFACT = """
inputs: {x: {type: string}}
steps:
  a: {run: 'echo 1 > one.txt; echo 2 > two.txt', artifacts: {o: "${{ inputs.x }}"}}
"""


@pytest.mark.parametrize("value", ["*", "{one,two}.txt", "o?e.txt", "[o]ne.txt", "!one.txt"])
def test_an_input_in_an_artifact_is_no_pattern(project, value):
    done = project(ARTIFACT).run("apply", "-i", f"x={value}")
    assert done.code == 3
    assert "holds a wildcard" in done.err


def test_an_output_in_an_artifact_is_no_pattern(project):
    here = project("""
        steps:
          a: {run: 'echo "*.txt"', outputs: {p: {type: string, from: stdout}}}
          b: {needs: a, run: 'echo 1 > one.txt', artifacts: {o: "${{ steps.a.outputs.p }}"}}
        """)
    done = here.run("apply")
    assert done.code == 1
    assert "holds a wildcard" in done.err


def test_a_literal_value_in_an_artifact_names_its_file(project):
    done = project(ARTIFACT).run("apply", "-i", "x=one.txt")
    assert (done.code, done.out) == (0, "o: one.txt\n")


@pytest.mark.parametrize("cwd", ["link", "${{ inputs.x }}"])
def test_a_folder_behind_a_link_is_not_in_the_project(project, cwd):
    here = project(f"inputs: {{x: {{default: link}}}}\nsteps: {{a: {{run: pwd, cwd: '{cwd}'}}}}")
    (here.root / "link").symlink_to("/etc")
    done = here.run("apply")
    assert done.code == 1
    assert "`cwd` must stay in the project" in done.err


@pytest.mark.case("C037")
def test_a_pattern_of_an_input_lets_no_line_feed_through(project):
    here = project('inputs: {s: {type: string, pattern: "^[a-z]+$"}}\nsteps: {a: {run: "true"}}')
    assert here.run("plan", "-i", "s=abc").code == 0
    assert here.run("plan", "-i", "s=abc\n").code == 2


@pytest.mark.case("C116")
@pytest.mark.parametrize("place", ["tasks", "tasks/b"])
def test_a_link_planted_in_the_state_is_not_written_through(project, tmp_path, place):
    here = project("steps: {a: {run: exit 1}, b: {after: a, if: always(), run: test -e go}}")
    here.run("apply")
    elsewhere = tmp_path / "precious"
    elsewhere.mkdir()
    [planted] = here.root.glob(f".crewflow/runs/*/{place}")
    planted.rename(tmp_path / "moved")
    planted.symlink_to(elsewhere)
    (here.root / "go").touch()

    done = here.run("resume")

    assert done.code == 1
    assert "symbolic link" in done.err
    assert list(elsewhere.iterdir()) == []


@pytest.mark.case("C109")
def test_a_journal_cut_behind_the_end_of_its_run_is_refused(project):
    here = project("steps: {a: {run: 'true'}, b: {needs: a, run: exit 1}}")
    here.run("apply")
    [journal] = here.root.glob(".crewflow/runs/*/events.1.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    for kept in (0, 2, len(lines) - 1):
        journal.write_bytes(b"".join(lines[:kept]))
        done = here.run("resume")
        assert done.code == 10
        assert "damaged" in done.err
        assert "Traceback" not in done.err
