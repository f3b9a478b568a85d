from __future__ import annotations

import json
import os
import subprocess

import pytest

from crewflow.checkup import repository
from crewflow.checkup.repository import CheckupError, Entry, Skip


def test_a_repository_without_commits_and_files_is_surveyed(repo):
    assert repository.survey() == {
        "name": "repo",
        "branch": "main",
        "commit": None,
        "commits": 0,
        "shallow": False,
        "files": 0,
        "python": False,
    }


def test_files_in_the_index_count_before_the_first_commit(repo):
    repo.add(a__py="x = 1\n")
    facts = repository.survey()
    assert (facts["files"], facts["python"], facts["commits"]) == (1, True, 0)


def test_commits_branch_and_abbreviated_commit_are_told(repo):
    repo.commit()
    repo.commit()
    facts = repository.survey()
    assert facts["commits"] == 2
    assert facts["commit"] == repo.git("rev-parse", "--short", "HEAD").strip()


def test_a_detached_head_has_no_branch(repo):
    repo.commit()
    repo.git("checkout", "--quiet", "--detach")
    facts = repository.survey()
    assert (facts["branch"], facts["commits"]) == ("(no branch)", 1)


def test_a_shallow_clone_says_so(repo, tmp_path, monkeypatch):
    repo.commit()
    repo.commit()
    subprocess.run(
        ("git", "clone", "--quiet", "--depth", "1", f"file://{repo.folder}", tmp_path / "clone"), check=True
    )
    monkeypatch.chdir(tmp_path / "clone")
    facts = repository.survey()
    assert (facts["shallow"], facts["commits"]) == (True, 1)


def test_the_survey_gives_what_later_steps_ask_for(repo, tmp_path, monkeypatch):
    monkeypatch.setenv("CREWFLOW_OUTPUT", str(tmp_path / "outputs"))
    repo.add(a__py="")
    repository.survey()
    assert json.loads((tmp_path / "outputs").read_text()) == {"commits": 0, "python": True}


def test_outside_of_a_repository_the_fault_is_told_in_gits_words(tmp_path, monkeypatch, clean_git):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckupError, match=r"^`git ls-files` failed: not a git repository"):
        repository.tracked()


def test_without_git_the_fault_names_it(repo, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CheckupError, match="`git` is not installed"):
        repository.tracked()


def test_names_with_spaces_newlines_and_foreign_bytes_come_as_they_are(repo):
    names = [b"a b.txt", b"a\nb.txt", b"\xff.txt", "ü.txt".encode(), b'q"q.txt', b"-x.txt", b"t\tt.txt"]
    for name in names:
        repo.write(name)
    repo.add()
    assert [entry.path for entry in repository.tracked()] == sorted(names)


def test_a_file_with_a_conflict_is_listed_once(repo):
    repo.write("a.txt", "1\n")
    repo.commit()
    repo.git("checkout", "--quiet", "-b", "other")
    repo.write("a.txt", "2\n")
    repo.commit()
    repo.git("checkout", "--quiet", "main")
    repo.write("a.txt", "3\n")
    repo.commit()
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("merge", "other")
    assert [entry.path for entry in repository.tracked()] == [b"a.txt"]


def test_only_what_is_below_the_current_folder_is_listed(repo, monkeypatch):
    repo.write("outside.txt")
    repo.write("sub/inside.txt")
    repo.add()
    monkeypatch.chdir(repo.folder / "sub")
    assert [entry.path for entry in repository.tracked()] == [b"inside.txt"]


def test_ignored_and_unknown_files_are_not_listed(repo):
    repo.add(known="")
    repo.write("unknown")
    assert [entry.path for entry in repository.tracked()] == [b"known"]


@pytest.mark.parametrize(
    ("path", "suffix"),
    [
        (b"a.PY", ".py"),
        (b"a.tar.gz", ".gz"),
        (b".bashrc", ""),
        (b"x.d/README", ""),
        (b"a.", "."),
        (b"\xff", ""),
    ],
)
def test_the_suffix_is_the_last_extension_in_lower_case(path, suffix):
    assert Entry(path, 0o100644).suffix == suffix


def test_text_is_read_as_it_is_in_the_work_tree(repo):
    repo.add(a="committed\n")
    repo.write("a", "changed\n")
    assert read_all() == {b"a": b"changed\n"}


def test_links_submodules_binaries_and_large_files_are_not_read(repo, tmp_path):
    (tmp_path / "secret").write_text("outside")
    (repo.folder / "link").symlink_to(tmp_path / "secret")
    repo.write("binary", b"\0")
    repo.write("large", b"x" * (repository.LARGE + 1))
    repo.write("just_fits", b"x" * repository.LARGE)
    repo.write("gone", "")
    repo.add()
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    (repo.folder / "gone").unlink()
    assert read_all() == {
        b"binary": Skip.BINARY,
        b"gone": Skip.MISSING,
        b"just_fits": b"x" * repository.LARGE,
        b"large": Skip.LARGE,
        b"link": Skip.LINK,
        b"module": Skip.SUBMODULE,
    }


def test_a_file_whose_folder_became_a_link_is_not_followed_out_of_the_repository(repo, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("private")
    repo.write("folder/file", "mine")
    repo.add()
    (repo.folder / "folder" / "file").unlink()
    (repo.folder / "folder").rmdir()
    (repo.folder / "folder").symlink_to(tmp_path / "outside")
    assert read_all() == {b"folder/file": Skip.LINK}


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(repo):
    repo.add(a="text")
    (repo.folder / "a").unlink()
    os.mkfifo(repo.folder / "a")
    assert read_all() == {b"a": Skip.UNREADABLE}


def test_programs_planted_in_the_configuration_are_not_started(repo, tmp_path):
    trap = tmp_path / "trap"
    script = repo.folder / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch '{trap}'\n")
    script.chmod(0o755)
    repo.commit()
    for key in ("core.fsmonitor", "core.pager", "gpg.program", "diff.external"):
        repo.git("config", key, str(script))
    repo.git("config", "log.showSignature", "true")
    trap.unlink(missing_ok=True)
    repository.survey()
    assert not trap.exists()


def test_looking_changes_nothing_in_the_repository(repo):
    repo.add(a__py="x = 1\n")
    repo.commit()
    before = state_of(repo.folder)
    repository.survey()
    read_all()
    assert state_of(repo.folder) == before


def read_all():
    return {entry.path: repository.read(entry) for entry in repository.tracked()}


def state_of(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
