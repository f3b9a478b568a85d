from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from crewflow.errors import ExitCode, StateError
from crewflow.state.folder import find_state, is_foreign, open_state
from crewflow.state.runs import create_run, list_runs

AS_ROOT = os.geteuid() == 0
RUN_ID = "20261130-221427-x7k2m9"


def tree(folder: Path) -> list[tuple[str, int, bytes]]:
    return sorted(
        (str(path), path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *folder.rglob("*")]
    )


def test_the_folder_is_made_once_and_says_whose_it_is(tmp_path):
    root = open_state(str(tmp_path))
    assert root == str(tmp_path / ".crewflow")
    assert sorted(os.listdir(root)) == [".gitignore", "README", "place.json", "runs"]
    assert (tmp_path / ".crewflow" / ".gitignore").read_text() == "*\n"
    assert "belongs to crewflow" in (tmp_path / ".crewflow" / "README").read_text()
    before = tree(tmp_path)
    assert open_state(str(tmp_path)) == root
    assert tree(tmp_path) == before


@pytest.mark.case("C124")
def test_everything_is_the_owners_alone_whatever_the_umask(tmp_path):
    old = os.umask(0)
    try:
        create_run(open_state(str(tmp_path)), RUN_ID, b"{}")
    finally:
        os.umask(old)
    for path in [tmp_path / ".crewflow", *(tmp_path / ".crewflow").rglob("*")]:
        assert stat.S_IMODE(path.lstat().st_mode) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.case("C131")
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
def test_git_does_not_see_it(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    create_run(open_state(str(tmp_path)), RUN_ID, b"{}")
    said = subprocess.run(
        ["git", "-C", str(tmp_path), "status", "--porcelain"], capture_output=True, check=True
    )
    assert said.stdout == b""


def test_processes_may_make_it_at_once(tmp_path):
    code = (
        "import sys\n"
        "from crewflow.state.folder import open_state\n"
        "sys.stdin.read()\n"
        "print(open_state(sys.argv[1]))\n"
    )
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for maker in makers:
        maker.stdin.close()
    for maker in makers:
        assert maker.stdout.read() == f"{tmp_path}/.crewflow\n"
        maker.stdout.close()
        assert maker.wait() == 0
    assert sorted(os.listdir(tmp_path / ".crewflow")) == [".gitignore", "README", "place.json", "runs"]


def test_a_crash_while_it_is_made_is_made_good(tmp_path):
    (tmp_path / ".crewflow").mkdir(mode=0o700)
    (tmp_path / ".crewflow" / ".gitignore").write_text("*\n")
    open_state(str(tmp_path))
    assert sorted(os.listdir(tmp_path / ".crewflow")) == [".gitignore", "README", "place.json", "runs"]


@pytest.mark.case("C110")
@pytest.mark.case("C119")
def test_readers_make_and_touch_nothing(tmp_path):
    assert find_state(str(tmp_path)) is None
    assert find_state(str(tmp_path / "missing")) is None
    assert os.listdir(tmp_path) == []
    root = open_state(str(tmp_path))
    before = tree(tmp_path)
    assert find_state(str(tmp_path)) == root
    assert list_runs(root) == []
    assert is_foreign(root) is None
    assert tree(tmp_path) == before


@pytest.mark.case("C110")
@pytest.mark.parametrize("use", [open_state, find_state])
def test_a_file_or_a_link_in_its_place_is_refused(tmp_path, use):
    place = tmp_path / ".crewflow"
    place.write_bytes(b"mine")
    with pytest.raises(StateError, match=r"\.crewflow` is a file, and must be a folder") as caught:
        use(str(tmp_path))
    assert caught.value.exit_code == ExitCode.STATE
    assert place.read_bytes() == b"mine"
    place.unlink()
    (tmp_path / "elsewhere").mkdir()
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError, match=r"\.crewflow` is a symbolic link"):
        use(str(tmp_path))
    assert os.listdir(tmp_path / "elsewhere") == []


@pytest.mark.case("C110")
@pytest.mark.skipif(not AS_ROOT, reason="only root can give a folder away")
@pytest.mark.parametrize("use", [open_state, find_state])
def test_another_users_folder_is_refused(tmp_path, use):
    (tmp_path / ".crewflow").mkdir()
    os.chown(tmp_path / ".crewflow", 12345, 12345)
    with pytest.raises(StateError, match=r"belongs to another user \(id 12345\)"):
        use(str(tmp_path))
    assert os.listdir(tmp_path / ".crewflow") == []


def run_as_nobody(folder: str) -> str:
    code = (
        "import os, sys\n"
        "from crewflow.errors import StateError\n"
        "from crewflow.state.folder import find_state, open_state\n"
        "from crewflow.state.runs import list_runs\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        "print(len(list_runs(find_state(sys.argv[1]) or '/nowhere')))\n"
        "try: open_state(sys.argv[1])\n"
        "except StateError as error: print(error)\n"
    )
    words = [sys.executable, "-c", code, folder]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.case("C110")
@pytest.mark.skipif(not AS_ROOT, reason="only root can become another user")
def test_a_folder_that_cannot_be_written_is_refused_and_can_be_read():
    with tempfile.TemporaryDirectory() as project:
        Path(project).chmod(0o755)
        said = run_as_nobody(project)
        assert said == f"0\ncannot create `{project}/.crewflow`: permission denied\n"
        create_run(open_state(project), RUN_ID, b"{}")
        state = Path(project, ".crewflow")
        for path in [state, *state.rglob("*")]:
            os.chown(path, 65534, 65534)
        state.chmod(0o500)
        (state / "runs").chmod(0o500)
        said = run_as_nobody(project)
        assert said == f"1\n`{state}` cannot be written: permission denied, or the file system is read-only\n"


def test_a_project_that_is_missing_is_named(tmp_path):
    (tmp_path / "file").touch()
    for name in ("file", "missing"):
        with pytest.raises(StateError, match=f"there is no folder `{tmp_path}/{name}`"):
            open_state(str(tmp_path / name))
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.case("C116")
@pytest.mark.seed("S22")
@pytest.mark.parametrize("use", [open_state, find_state])
def test_a_link_in_place_of_the_folder_of_runs_is_refused(tmp_path, use):
    runs = Path(open_state(str(tmp_path)), "runs")
    runs.rmdir()
    (tmp_path / "elsewhere").mkdir()
    runs.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError, match=r"runs`.*(symbolic link|place of a folder)"):
        use(str(tmp_path))


@pytest.mark.case("C131")
def test_a_copy_is_told_from_the_folder_that_was_made_here(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    run = create_run(open_state(str(project)), RUN_ID, b"{}")
    shutil.copytree(project, tmp_path / "copy")
    root = open_state(str(tmp_path / "copy"))
    copied = f"{root}/runs/{run.run_id}"
    assert is_foreign(root) == (
        f"`{root}` is a copy of `{project}/.crewflow` on host `{os.uname().nodename}`: its runs belong there"
    )
    assert "is a copy of" in is_foreign(copied)
    born_here = create_run(root, "20261201-000000-abcd", b"{}")
    assert is_foreign(born_here.root) is None
    assert is_foreign(str(project / ".crewflow")) is None
    assert is_foreign(run.root) is None


@pytest.mark.case("C131")
def test_a_folder_that_was_moved_renamed_its_host_or_was_restored_is_no_copy(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    root = Path(open_state(str(project)))
    project.rename(tmp_path / "moved")
    assert is_foreign(str(tmp_path / "moved" / ".crewflow")) is None
    (tmp_path / "moved").rename(project)

    note = json.loads((root / "place.json").read_text())
    (root / "place.json").write_text(json.dumps({**note, "host": "a-container"}))
    assert is_foreign(str(root)) is None

    (root / "place.json").write_text(json.dumps({**note, "inode": 1}))
    assert is_foreign(str(root)) is None


@pytest.mark.parametrize("note", ["", "{", "[1]", "{}"])
def test_a_place_that_cannot_be_read_says_nothing(tmp_path, note):
    root = open_state(str(tmp_path))
    Path(root, "place.json").write_text(note)
    assert is_foreign(root) is None
