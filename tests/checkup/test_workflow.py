"""The shipped workflow, applied with the command line to real repositories."""

from __future__ import annotations

import subprocess
import sys

import pytest

LATER = "# TO" + "DO"
REPORT = ".crewflow/checkup/report.md"


def test_a_repository_is_checked_up_and_left_clean(repo):
    repo.write("a b.py", f"{LATER} tidy\n")
    repo.write("broken.json", "[")
    repo.commit()
    done = apply(repo)
    assert done.returncode == 0, done.stderr
    assert REPORT in done.stdout + done.stderr
    text = (repo.folder / REPORT).read_text()
    assert "**2 findings** in 2 files" in text
    assert "Not complete" not in text
    assert "## Most changed files\n\n| file | changes |\n|---|---:|\n| `a b.py` | 1 |\n" in text
    assert repo.git("status", "--porcelain") == ""
    assert [path.name for path in (repo.folder / ".crewflow" / "checkup").iterdir()] == ["report.md"]


def test_a_repository_without_commits_is_checked_up(repo):
    done = apply(repo)
    assert done.returncode == 0, done.stderr
    text = (repo.folder / REPORT).read_text()
    assert "**0 findings** in 0 files" in text
    assert "Not complete" not in text


def test_a_repository_of_oddities_is_checked_up(repo, tmp_path):
    for name in (b"new\nline.py", b"\xff\xfe.json", b"-rf", b"`x`|y.md", b'"q".yaml', "ü.py".encode()):
        repo.write(name, "{}\n")
    repo.write("binary.py", b"\0\1\2")
    repo.write("huge.txt", b"x\n" * 600_000)
    (repo.folder / "loop").symlink_to("loop")
    (repo.folder / "out").symlink_to(tmp_path)
    repo.commit()
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    done = apply(repo)
    assert done.returncode == 0, done.stderr
    text = (repo.folder / REPORT).read_text()
    assert "**0 findings** in 11 files" in text
    assert "| `submodule` | 1 |" in text
    assert "| `symbolic link` | 2 |" in text
    assert '| `"new\\nline.py"` |' in text


def test_a_shallow_clone_is_checked_up(repo, tmp_path):
    repo.add(a="1")
    repo.commit()
    repo.commit()
    subprocess.run(
        ("git", "clone", "--quiet", "--depth", "1", f"file://{repo.folder}", tmp_path / "clone"), check=True
    )
    repo.folder = tmp_path / "clone"
    assert apply(repo).returncode == 0
    assert "the clone is shallow" in (repo.folder / REPORT).read_text()


def test_findings_fail_the_run_only_where_that_is_wanted(repo):
    repo.add(a=f"{LATER}\n")
    assert apply(repo).returncode == 0
    done = apply(repo, "-i", "fail_on_findings=true")
    assert done.returncode == 1
    assert f"1 findings, see {REPORT}" in done.stdout + done.stderr
    (repo.folder / "a").write_text("")
    assert apply(repo, "-i", "fail_on_findings=true").returncode == 0


def test_the_report_goes_where_it_is_wanted(repo):
    done = apply(repo, "-i", "report=docs/check up.md")
    assert done.returncode == 0, done.stderr
    assert (repo.folder / "docs" / "check up.md").exists()


def test_a_file_that_is_no_report_fails_the_run_and_stays(repo):
    repo.add(README="mine")
    done = apply(repo, "-i", "report=README")
    assert done.returncode == 1
    assert "no report of `checkup`" in done.stdout + done.stderr
    assert (repo.folder / "README").read_text() == "mine"


def test_outside_of_a_repository_the_run_fails_in_gits_words(repo, tmp_path):
    repo.folder = tmp_path / "plain"
    repo.folder.mkdir()
    done = apply(repo)
    assert done.returncode == 1
    assert "not a git repository" in done.stdout + done.stderr


@pytest.mark.parametrize("module", ["yaml", "json", "crewflow"])
def test_modules_of_the_repository_are_not_taken_for_those_of_the_check(repo, tmp_path, module):
    repo.write(f"{module}.py", f"open({str(tmp_path / 'trap')!r}, 'w')\n")
    repo.commit()
    assert apply(repo).returncode == 0
    assert not (tmp_path / "trap").exists()


def apply(repo, *arguments):
    return subprocess.run(
        (sys.executable, "-P", "-m", "crewflow", "apply", "checkup", *arguments),
        cwd=repo.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
