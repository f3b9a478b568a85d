from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.checkup import checks, markdown, report, repository, stock
from crewflow.checkup.repository import CheckupError

SCRATCH = ".crewflow/checkup/run"
LATER = "# TO" + "DO"


def test_the_report_of_an_empty_repository_is_complete(repo):
    assert written() == {
        "findings": 0,
        "by_kind": dict.fromkeys(("marks", "conflicts", "secrets", "yaml", "json"), 0),
        "report": "report.md",
    }
    text = (repo.folder / "report.md").read_text()
    assert "**0 findings** in 0 files; looked for marks left for later (0), " in text
    assert "On `main`, 0 commits; git stores 0 B." in text
    assert "Not complete" not in text


def test_the_summary_stands_before_all_else_and_findings_are_links(repo):
    repo.add(a__py=f"{LATER} tidy\n", b__json="[")
    repo.commit()
    assert written()["findings"] == 2
    text = (repo.folder / "report.md").read_text()
    first, title, _, summary, *_ = text.splitlines()
    assert (first, title) == (report.MARK, "# Checkup of `repo`")
    assert summary.startswith("**2 findings** in 2 files;")
    assert f"\n```text\na.py:1: {LATER} tidy\n```\n" in text
    assert "\n## Broken JSON: 1\n" in text
    assert "## Secrets" not in text


def test_the_same_repository_gives_the_same_report(repo):
    repo.add(a__py=f"{LATER}\n", b__md="text\n")
    repo.commit()
    written()
    before = (repo.folder / "report.md").read_bytes()
    written()
    assert (repo.folder / "report.md").read_bytes() == before


def test_findings_beyond_the_limit_are_told(repo):
    repo.add(a=f"{LATER}\n" * 5)
    written(limit=2)
    assert f"a:2: {LATER}\n... and 3 more\n```" in (repo.folder / "report.md").read_text()


def test_what_was_skipped_is_told_with_its_reason(repo):
    repo.write("a", b"\0")
    repo.add()
    written()
    assert "| `binary` | 1 |" in (repo.folder / "report.md").read_text()


def test_a_part_that_failed_is_missed(repo):
    repo.add(a__py="")
    repo.commit()
    done = parts()
    write(**done | {"python": None, "churn": None, "checks": [*done["checks"][1:], None]})
    assert "**Not complete:** 3 parts could not be done" in (repo.folder / "report.md").read_text()


def test_without_python_and_without_commits_nothing_is_missed(repo):
    repo.add(a__txt="")
    write(**parts() | {"python": None, "churn": None})
    assert "Not complete" not in (repo.folder / "report.md").read_text()


def test_names_and_lines_cannot_break_out_of_their_place(repo):
    repo.write("a|b`c.py", f"{LATER} ```\n```\n")
    repo.add()
    written()
    text = (repo.folder / "report.md").read_text()
    assert "| ``a\\|b`c.py`` |" in text
    assert f"\n````text\na|b`c.py:1: {LATER} ```\n````\n" in text


def test_the_number_of_findings_is_given_to_later_steps(repo, tmp_path, monkeypatch):
    repo.add(a=f"{LATER}\n")
    done = parts()
    monkeypatch.setenv("CREWFLOW_OUTPUT", str(tmp_path / "outputs"))
    write(**done)
    assert json.loads((tmp_path / "outputs").read_text()) == {"findings": 1}


@pytest.mark.parametrize(
    "path", ["", "/tmp/report.md", "../report.md", "a/../../report.md", ".git/report.md"]
)
def test_a_report_outside_of_the_project_is_refused(repo, path):
    with pytest.raises(CheckupError, match="not a path inside the project"):
        written(path)


def test_a_folder_that_leads_outside_is_refused(repo, tmp_path):
    (tmp_path / "outside").mkdir()
    (repo.folder / "docs").symlink_to(tmp_path / "outside")
    with pytest.raises(CheckupError, match="lies outside"):
        written("docs/report.md")
    assert not list((tmp_path / "outside").iterdir())


@pytest.mark.parametrize("make", ["file", "folder", "link"])
def test_what_is_no_report_is_never_overwritten(repo, make):
    target = repo.folder / "README.md"
    {
        "file": lambda: target.write_text("mine"),
        "folder": target.mkdir,
        "link": lambda: target.symlink_to("elsewhere"),
    }[make]()
    with pytest.raises(CheckupError, match="no report of `checkup`"):
        written("README.md")
    assert os.path.lexists(target)
    assert not (repo.folder / "elsewhere").exists()


def test_the_report_goes_where_it_is_wanted_and_replaces_an_older_one(repo):
    written("docs/checkup/report.md")
    repo.add(a=f"{LATER}\n")
    written("docs/checkup/report.md")
    assert "**1 finding** in" in (repo.folder / "docs/checkup/report.md").read_text()


@given(st.text(min_size=1))
def test_a_code_span_is_closed_by_nothing_in_it(content):
    span = markdown.code(content)
    ticks = span[: len(span) - len(span.lstrip("`"))]
    assert span.endswith(ticks)
    assert ticks not in span[len(ticks) : -len(ticks)].replace("`" * (len(ticks) + 1), "")


def parts(limit=50):
    survey = repository.survey()
    return {
        "survey": survey,
        "store": repository.git("count-objects", "-v").decode(),
        "tables": [stock.take(kind, 15) for kind in stock.KINDS],
        "churn": "" if survey["commits"] else None,
        "checks": [checks.look(kind, limit) for kind in checks.CHECKS if kind != "python"],
        "python": checks.look("python", limit) if survey["python"] else None,
    }


def write(path="report.md", **done):
    return report.write(path=path, scratch=SCRATCH, **done)


def written(path="report.md", limit=50):
    return write(path, **parts(limit))
