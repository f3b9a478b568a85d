"""The operations that write state, against real files and real processes."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from crewflow import durable
from crewflow.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AS_ROOT = os.geteuid() == 0

HOLD = """
import sys, time
from crewflow import durable
lock = durable.try_lock(sys.argv[1])
print("held" if lock else "refused", flush=True)
sys.stdin.read()
"""


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def output_of(code: str, *arguments: object) -> str:
    words = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


@pytest.fixture
def open_umask() -> Iterator[None]:
    old = os.umask(0)
    yield
    os.umask(old)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The system calls that matter to a power loss, in the order they are made."""
    made: list[str] = []

    def record(name: str, describe: Callable[..., str]) -> None:
        real = getattr(os, name)

        def call(*args, **options):
            made.append(describe(*args))
            return real(*args, **options)

        monkeypatch.setattr(os, name, call)

    def kind(descriptor: int) -> str:
        return "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"

    record("write", lambda *_: "write")
    record("fsync", lambda descriptor: f"fsync {kind(descriptor)}")
    record("rename", lambda *_: "rename")
    record("link", lambda *_: "link")
    return made


def fail(monkeypatch: pytest.MonkeyPatch, name: str, *errors: int) -> None:
    """Make the first calls of a system call fail, one per error; the last error stays when it is negative."""
    real, left = getattr(os, name), list(errors)

    def call(*args, **options):
        if left:
            code = left[0] if left[0] < 0 else left.pop(0)
            raise OSError(abs(code), os.strerror(abs(code)))
        return real(*args, **options)

    monkeypatch.setattr(os, name, call)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


# replace_file


def test_replace_file_gives_a_file_new_content(tmp_path):
    path = tmp_path / "a.json"
    durable.replace_file(str(path), b"one")
    durable.replace_file(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.case("C107")
@pytest.mark.seed("S14")
def test_replace_file_syncs_the_content_before_the_rename_and_the_folder_after_it(tmp_path, calls):
    durable.replace_file(str(tmp_path / "a"), b"one")
    assert calls == ["write", "fsync file", "rename", "fsync folder"]


def test_replace_file_without_sync_only_renames(tmp_path, calls):
    durable.replace_file(str(tmp_path / "a"), b"one", sync=False)
    assert calls == ["write", "rename"]


@pytest.mark.case("C107")
def test_a_file_system_that_rejects_fsync_does_not_break_the_save(tmp_path, monkeypatch):
    fail(monkeypatch, "fsync", -errno.EINVAL)
    durable.replace_file(str(tmp_path / "a"), b"one")
    assert (tmp_path / "a").read_bytes() == b"one"


@pytest.mark.case("C124")
@pytest.mark.usefixtures("open_umask")
def test_new_files_and_folders_are_the_owners_alone_whatever_the_umask(tmp_path):
    durable.replace_file(str(tmp_path / "a"), b"")
    durable.create_file(str(tmp_path / "b"), b"")
    durable.Log.create(str(tmp_path / "c")).close()
    durable.make_folder(str(tmp_path / "d" / "e"))
    durable.try_lock(str(tmp_path / "f")).release()
    os.close(durable.hold_alive(str(tmp_path / "g")))
    modes = {path.name: mode_of(path) for path in tmp_path.rglob("*")}
    assert modes == {"a": 0o600, "b": 0o600, "c": 0o600, "d": 0o700, "e": 0o700, "f": 0o600, "g": 0o600}


@pytest.mark.case("C124")
def test_replace_file_keeps_the_mode_of_a_file_that_exists(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"one")
    path.chmod(0o640)
    durable.replace_file(str(path), b"two")
    assert mode_of(path) == 0o640


@pytest.mark.case("C116")
@pytest.mark.parametrize("target", ["file", "nothing"])
def test_replace_file_refuses_a_symbolic_link_and_leaves_what_it_points_to(tmp_path, target):
    precious = tmp_path / "precious"
    if target == "file":
        precious.write_bytes(b"precious")
    (tmp_path / "a").symlink_to(precious)
    with pytest.raises(StateError, match=r"cannot write `.*/a`: a symbolic link is in its place"):
        durable.replace_file(str(tmp_path / "a"), b"new")
    assert precious.exists() == (target == "file")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.case("C116")
def test_replace_file_refuses_a_folder_that_is_a_symbolic_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(StateError, match="cannot write"):
        durable.replace_file(str(tmp_path / "link" / "a"), b"new")
    assert os.listdir(tmp_path / "real") == []


@pytest.mark.seed("S14")
@pytest.mark.parametrize("code", [errno.EPERM, errno.EBUSY, errno.EACCES, errno.ENOENT, errno.EEXIST])
def test_replace_file_tries_again_when_a_rename_is_refused_for_a_moment(tmp_path, monkeypatch, code):
    fail(monkeypatch, "rename", code, code)
    durable.replace_file(str(tmp_path / "a"), b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        ("write", errno.ENOSPC, "no space left"),
        ("write", errno.EDQUOT, "no space left"),
        ("fsync", errno.EIO, "input/output error"),
        ("rename", errno.EROFS, "read-only"),
        ("rename", errno.EACCES, "permission denied"),
    ],
)
def test_the_old_content_stands_when_the_system_refuses(tmp_path, monkeypatch, call, code, words):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    fail(monkeypatch, call, -code)
    with pytest.raises(StateError, match=f"cannot write `{path}`: .*{words}"):
        durable.replace_file(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_folder_in_place_of_a_file_and_a_missing_folder_are_named(tmp_path):
    with pytest.raises(StateError, match="a folder is in the place of a file"):
        durable.replace_file(str(tmp_path), b"")
    with pytest.raises(StateError, match="no such file or folder"):
        durable.replace_file(str(tmp_path / "x" / "a"), b"")


def test_a_reader_sees_the_old_content_or_the_new_one_never_a_mixture(tmp_path):
    path = tmp_path / "a"
    contents = {bytes([65 + k]) * 100_000 for k in range(5)}
    path.write_bytes(b"A" * 100_000)
    writer = python(
        "import sys\n"
        "from crewflow import durable\n"
        "for k in range(400): durable.replace_file(sys.argv[1], bytes([65 + k % 5]) * 100_000, sync=False)",
        path,
    )
    seen = set()
    while writer.poll() is None:
        seen.add(path.read_bytes())
    assert writer.returncode == 0
    assert seen <= contents
    writer.communicate()


# create_file


def test_create_file_makes_a_file_and_leaves_one_that_is_there(tmp_path, calls):
    path = tmp_path / "a"
    assert durable.create_file(str(path), b"one")
    assert calls == ["write", "fsync file", "link", "fsync folder"]
    assert not durable.create_file(str(path), b"two")
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["a"]


def test_create_file_does_not_write_through_a_symbolic_link(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "precious")
    assert not durable.create_file(str(tmp_path / "a"), b"one")
    assert not (tmp_path / "precious").exists()


def test_of_several_processes_that_create_a_file_one_succeeds(tmp_path):
    code = (
        "import sys\n"
        "from crewflow import durable\n"
        "sys.stdin.read()\n"
        "print(sum(durable.create_file(f'{sys.argv[1]}/{k}', sys.argv[2].encode()) for k in range(100)))"
    )
    racers = [python(code, tmp_path, name) for name in "abcd"]
    for racer in racers:
        racer.stdin.close()
    won = [int(racer.stdout.read()) for racer in racers]
    assert [racer.wait() for racer in racers] == [0] * 4
    assert sum(won) == 100
    assert len(os.listdir(tmp_path)) == 100
    for racer in racers:
        racer.stdout.close()


def test_create_file_says_so_where_the_file_system_has_no_hard_links(tmp_path, monkeypatch):
    fail(monkeypatch, "link", -errno.EPERM)
    with pytest.raises(StateError, match="has no hard links"):
        durable.create_file(str(tmp_path / "a"), b"one")
    assert os.listdir(tmp_path) == []


# folders


def test_make_folder_leaves_a_folder_and_refuses_anything_else(tmp_path):
    (tmp_path / "folder").mkdir(mode=0o750)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    durable.make_folder(str(tmp_path / "folder"))
    assert mode_of(tmp_path / "folder") == 0o750
    for name in ("file", "link", "file/below"):
        with pytest.raises(StateError, match="a file is in the place of a folder"):
            durable.make_folder(str(tmp_path / name))


def test_publish_folder_refuses_a_name_that_is_taken(tmp_path):
    for name in ("new", "taken"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text(name)
    with pytest.raises(StateError, match="the name is taken"):
        durable.publish_folder(str(tmp_path / "new"), str(tmp_path / "taken"))
    assert (tmp_path / "taken" / "a").read_text() == "taken"
    durable.publish_folder(str(tmp_path / "new"), str(tmp_path / "free"))
    assert (tmp_path / "free" / "a").read_text() == "new"


def test_remove_folder_does_not_follow_links(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "a").touch()
    (tmp_path / "old" / "link").symlink_to(tmp_path / "kept")
    durable.remove_folder(str(tmp_path / "old"))
    durable.remove_folder(str(tmp_path / "old"))
    assert os.listdir(tmp_path) == ["kept"]
    assert os.listdir(tmp_path / "kept") == ["a"]


# logs


def test_a_log_grows_and_is_opened_again_at_its_end(tmp_path):
    path = str(tmp_path / "log")
    log = durable.Log.create(path)
    log.append(b"one\n")
    log.sync()
    log.close()
    log = durable.Log.open_end(path, 4)
    log.append(b"two\n")
    log.close()
    assert (tmp_path / "log").read_bytes() == b"one\ntwo\n"
    with pytest.raises(StateError, match="has 8 bytes instead of 4"):
        durable.Log.open_end(path, 4)
    with pytest.raises(StateError, match="the name is taken"):
        durable.Log.create(path)


def test_short_writes_are_continued(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:3]))
    log = durable.Log.create(str(tmp_path / "log"))
    log.append(b"0123456789")
    log.close()
    durable.replace_file(str(tmp_path / "file"), b"0123456789")
    assert (tmp_path / "log").read_bytes() == (tmp_path / "file").read_bytes() == b"0123456789"


@pytest.mark.case("C106")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_device_ends_a_log_for_good_and_is_named():
    log = durable.Log.open_end("/dev/full", 0)
    with pytest.raises(StateError, match="cannot write `/dev/full`: no space left") as caught:
        log.append(b"one")
    assert caught.value.hint == "free some space, then `crewflow resume`"
    for use in (lambda: log.append(b"two"), log.sync):
        with pytest.raises(StateError, match="it was closed"):
            use()


@pytest.mark.case("C106")
def test_a_size_limit_leaves_the_first_part_and_says_no_space(tmp_path):
    said = output_of(
        "import resource, sys\n"
        "from crewflow import durable\n"
        "from crewflow.errors import StateError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "log = durable.Log.create(sys.argv[1])\n"
        "try:\n"
        "    for _ in range(100): log.append(b'x' * 300)\n"
        "except StateError as error: print(error)\n",
        tmp_path / "log",
    )
    assert said == f"cannot write `{tmp_path}/log`: no space left: the file size limit is reached"
    assert (tmp_path / "log").stat().st_size == 1000


@pytest.mark.case("C106")
@pytest.mark.skipif(not AS_ROOT, reason="only root can mount a small file system")
def test_a_full_file_system_keeps_the_old_file_and_works_again_when_there_is_space(tmp_path):
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(tmp_path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        durable.replace_file(str(tmp_path / "a"), b"old")
        filler = tmp_path / "filler"
        with pytest.raises(OSError, match="No space left"):
            filler.write_bytes(b"x" * 100_000)
        for write in (durable.replace_file, durable.create_file):
            with pytest.raises(StateError, match="no space left on the device"):
                write(str(tmp_path / "a"), b"n" * 4096)
        assert sorted(os.listdir(tmp_path)) == ["a", "filler"]
        assert (tmp_path / "a").read_bytes() == b"old"
        filler.unlink()
        durable.replace_file(str(tmp_path / "a"), b"new")
        assert (tmp_path / "a").read_bytes() == b"new"
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_failed_sync_is_final(tmp_path, monkeypatch):
    log = durable.Log.create(str(tmp_path / "log"))
    log.append(b"one")
    fail(monkeypatch, "fdatasync" if hasattr(os, "fdatasync") else "fsync", errno.EIO)
    with pytest.raises(StateError, match="cannot sync"):
        log.sync()
    with pytest.raises(StateError, match="it was closed"):
        log.sync()
    log.close()


def test_cut_tail_keeps_what_it_cuts_and_can_be_done_twice(tmp_path):
    log, aside = tmp_path / "log", tmp_path / "aside"
    log.write_bytes(b"good\nbad")
    for _ in range(2):
        durable.cut_tail(str(log), 5, str(aside))
        assert log.read_bytes() == b"good\n"
        assert aside.read_bytes() == b"bad"


@pytest.mark.case("C116")
def test_logs_and_files_are_not_opened_through_symbolic_links(tmp_path):
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    link = tmp_path / "link"
    link.symlink_to(precious)
    uses = [
        lambda: durable.Log.create(str(link)),
        lambda: durable.Log.open_end(str(link), 8),
        lambda: durable.cut_tail(str(link), 0, str(tmp_path / "aside")),
        lambda: durable.sync_file(str(link)),
        lambda: durable.read_file(str(link)),
        lambda: durable.try_lock(str(link)),
        lambda: durable.is_locked(str(link)),
        lambda: durable.hold_alive(str(link)),
        lambda: durable.wait_alone(str(link), 0),
    ]
    for use in uses:
        with pytest.raises(StateError, match=r"a symbolic link is in its place|the name is taken"):
            use()
    assert precious.read_bytes() == b"precious"


def test_reading_tells_no_file_from_one_that_cannot_be_read(tmp_path):
    (tmp_path / "a").write_bytes(b"0123")
    assert durable.read_file(str(tmp_path / "a")) == b"0123"
    assert durable.read_file(str(tmp_path / "a"), start=2) == b"23"
    assert durable.read_file(str(tmp_path / "b")) is None
    with pytest.raises(StateError, match="a folder is in the place of a file"):
        durable.read_file(str(tmp_path))


@pytest.mark.case("C110")
@pytest.mark.skipif(not AS_ROOT, reason="only root can become another user")
def test_a_folder_without_permission_is_named():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        said = output_of(
            "import os, sys\n"
            "from crewflow import durable\n"
            "from crewflow.errors import StateError\n"
            "import filelock\n"
            "path = sys.argv[1] + '/a'\n"
            "os.seteuid(65534)\n"
            "for use in (durable.make_folder, durable.Log.create, durable.try_lock, durable.hold_alive,\n"
            "            lambda p: durable.replace_file(p, b''), lambda p: durable.create_file(p, b'')):\n"
            "    try: use(path)\n"
            "    except StateError as error: print(error)\n",
            folder,
        )
    verbs = ["create", "create", "lock", "lock", "write", "write"]
    assert said.splitlines() == [f"cannot {verb} `{folder}/a`: permission denied" for verb in verbs]


# locks


def test_a_lock_has_one_holder_and_is_free_after_release(tmp_path):
    path = str(tmp_path / "lock")
    lock = durable.try_lock(path)
    assert output_of(HOLD, path) == "refused"
    assert durable.is_locked(path)
    lock.release()
    lock.release()
    assert not durable.is_locked(path)
    assert output_of(HOLD, path) == "held"


def test_a_lock_is_refused_inside_its_own_process_too(tmp_path):
    lock = durable.try_lock(str(tmp_path / "lock"))
    assert durable.try_lock(str(tmp_path / "lock")) is None
    assert durable.try_lock(str(tmp_path / "lock"), wait=0.05) is None
    lock.release()


@pytest.mark.case("C112")
def test_a_lock_is_free_at_once_when_its_holder_is_killed(tmp_path):
    path = str(tmp_path / "lock")
    holder = python(HOLD, path)
    assert holder.stdout.readline() == "held\n"
    assert durable.try_lock(path) is None
    holder.kill()
    holder.communicate()
    lock = durable.try_lock(path)
    assert lock is not None
    lock.release()


def test_a_contender_that_waits_gets_the_lock_when_it_becomes_free(tmp_path):
    path = str(tmp_path / "lock")
    holder = python(HOLD, path)
    assert holder.stdout.readline() == "held\n"
    holder.stdin.close()
    lock = durable.try_lock(path, wait=30)
    assert lock is not None
    lock.release()
    holder.wait()
    holder.stdout.close()


JOIN = """
import sys
from crewflow import durable
durable.hold_alive(sys.argv[1])
print("in", flush=True)
sys.stdin.read()
"""

FORKS = """
import os, signal, subprocess, sys
from crewflow import durable
way, path = sys.argv[1:]
lock = durable.try_lock(path)
pid = os.fork()
if pid == 0:
    if way == "exit":
        sys.exit(0)
    if way == "exception":
        sys.stderr = open(os.devnull, "w")
        raise RuntimeError("worker")
    if way == "kill":
        os.kill(os.getpid(), 9)
    if way == "release":
        try:
            lock.release()
        finally:
            os._exit(0)
os.waitpid(pid, 0)
code = "import sys; from crewflow import durable; print(durable.try_lock(sys.argv[1]) is None)"
print(subprocess.check_output([sys.executable, "-c", code, path], text=True).strip())
"""


@pytest.mark.case("C127")
@pytest.mark.parametrize("way", ["exit", "exception", "kill", "release"])
def test_a_forked_child_that_ends_does_not_free_its_parents_lock(tmp_path, way):
    assert output_of(FORKS, way, tmp_path / "lock") == "True"


@pytest.mark.case("C127")
def test_a_forked_child_that_lives_on_does_not_keep_a_killed_parents_lock(tmp_path):
    code = (
        "import os, sys\n"
        "from crewflow import durable\n"
        "lock = durable.try_lock(sys.argv[1])\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.read()\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    parent = python(code, tmp_path / "lock")
    assert parent.stdout.readline() == "ready\n"
    assert durable.try_lock(str(tmp_path / "lock")) is None
    parent.kill()
    parent.wait()
    lock = durable.try_lock(str(tmp_path / "lock"), wait=5)
    assert lock is not None
    lock.release()
    parent.communicate()


def test_a_program_that_is_executed_does_not_inherit_the_lock(tmp_path):
    sleeper = output_of(
        "import subprocess, sys\n"
        "from crewflow import durable\n"
        "lock = durable.try_lock(sys.argv[1])\n"
        "alive = durable.hold_alive(sys.argv[2])\n"
        "quiet = dict.fromkeys(('stdin', 'stdout', 'stderr'), subprocess.DEVNULL)\n"
        "print(subprocess.Popen(['sleep', '60'], close_fds=False, **quiet).pid)\n",
        tmp_path / "lock",
        tmp_path / "alive",
    )
    try:
        assert durable.wait_alone(str(tmp_path / "alive"), 5)
        assert not durable.is_locked(str(tmp_path / "lock"))
    finally:
        os.kill(int(sleeper), signal.SIGKILL)


@pytest.mark.parametrize("listed", [True, False])
def test_asking_who_holds_a_lock_makes_no_file_and_sees_a_holder(tmp_path, monkeypatch, listed):
    if not listed:
        monkeypatch.setattr(durable, "_is_listed", lambda _: False)
    path = tmp_path / "lock"
    assert not durable.is_locked(str(path))
    assert not path.exists()
    lock = durable.try_lock(str(path))
    assert durable.is_locked(str(path))
    lock.release()
    assert not durable.is_locked(str(path))


def test_those_who_hold_alive_are_waited_for(tmp_path):
    path = str(tmp_path / "alive")
    assert durable.wait_alone(path, 0)
    holders = [python(JOIN, path) for _ in range(2)]
    for holder in holders:
        assert holder.stdout.readline() == "in\n"
    assert not durable.wait_alone(path, 0)
    holders[0].kill()
    holders[0].wait()
    assert not durable.wait_alone(path, 0.02)
    holders[1].kill()
    assert durable.wait_alone(path, 30)
    for holder in holders:
        holder.communicate()
