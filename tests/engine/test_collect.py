"""Outputs, result and artifacts: exactly what was given, or a failure that says where."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trials import Maker

from crewflow.engine import artifacts, collect
from crewflow.engine.artifacts import BadOutputError
from crewflow.spec.model import Output

TEXTS = tuple(Output(name, "string") for name in "abc")


@pytest.fixture
def make(tmp_path):
    return Maker(tmp_path)


@pytest.fixture
def attempt_with(make):
    """An attempt that has ended, its output file and stdout as given."""

    def build(outputs=(), written=None, stdout=None, **more):
        attempt = make.command("true", outputs=tuple(outputs), **more)
        folder = Path(attempt.folder)
        folder.mkdir(parents=True)
        if written is not None:
            (folder / "outputs").write_bytes(written if isinstance(written, bytes) else written.encode())
        if stdout is not None:
            (folder / "stdout.log").write_bytes(stdout if isinstance(stdout, bytes) else stdout.encode())
        return attempt

    return build


def _outputs(attempt, **more):
    return collect.collect(attempt, **more).outputs


def _fault(attempt, **more):
    with pytest.raises(BadOutputError) as caught:
        collect.collect(attempt, **more)
    return str(caught.value)


@pytest.mark.case("C172")
@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("a=x\n", "x"),
        ("a=x", "x"),
        ("a=", ""),
        ("a=\n", ""),
        ("a=a=b=c\n", "a=b=c"),
        ("a= x \n", " x "),
        ("a=x\r\n", "x\r"),
        ("a=x<<y\n", "x<<y"),
        ("a<<END\none\ntwo\nthree\nEND\n", "one\ntwo\nthree"),
        ("a<<END\none\ntwo\nthree\nEND", "one\ntwo\nthree"),
        ("a<<END\nEND\n", ""),
        ("a<<END\n\nEND\n", ""),
        ("a<<END\nx\n\nEND\n", "x\n"),
        ("a<<END\r\nx\r\nEND\r\n", "x\r"),
        ("a<<END\nb=no\n{}\n END\nEND \nEND\n", "b=no\n{}\n END\nEND "),
        ("\n\na=x\n\n", "x"),
        ("\ufeffa=x\n", "x"),
        ("a=\u2028\x0b\x0c\x85\n", "\u2028\x0b\x0c\x85"),
        ('{"a": "x\\ny"}', "x\ny"),
        ('\n {"a": ""}\n', ""),
    ],
)
def test_a_text_comes_through_exactly(attempt_with, written, value):
    assert _outputs(attempt_with([Output("a", "string")], written)) == {"a": value}


@pytest.mark.case("C172")
@given(st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0")))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_comes_through_the_delimited_form_and_json(attempt_with, value):
    for written in (f"a<<__END__\n{value}\n__END__\n", json.dumps({"a": value})):
        if "\n__END__\n" not in f"\n{value}\n":
            assert _outputs(attempt_with([Output("a", "string")], written)) == {"a": value}


@pytest.mark.case("C172")
def test_a_delimiter_in_a_value_never_makes_another_output(attempt_with):
    written = "a<<END\ntext\nEND\nrole=admin\nEND\n"
    fault = _fault(attempt_with(TEXTS, written))
    assert fault == "line 5 of the output file is neither `name=value` nor `name<<DELIM`"
    written = "a<<END\ntext\nEND\nrole<<END\nadmin\nEND\n"
    assert _fault(attempt_with(TEXTS, written)) == "output `role` is not declared under `outputs`"


@pytest.mark.case("C173")
@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("a=1\nb=2\na=1\nc=3", "line 3 of the output file gives `a` again"),
        ('{"a": "1", "a": "2"}', "the output file has `a` twice"),
        ("a b=1\n", "line 1 of the output file is neither `name=value` nor `name<<DELIM`"),
        ("a=1\n=2\n", "line 2 of the output file is neither `name=value` nor `name<<DELIM`"),
        ("just words\n", "line 1 of the output file is neither `name=value` nor `name<<DELIM`"),
        ("a<<\nx\n", "line 1 of the output file names no delimiter after `<<`"),
        ("b=1\na<<END\nx\n", "line 2 of the output file opens a value that no line `END` ends"),
        (b"\xff\xfe", "the output file is not UTF-8 (byte 0)"),
        (b"a=x\xffy", "the output file is not UTF-8 (byte 3)"),
        ('{"a": 1', "the output file is not one JSON value (line 1)"),
        ('{"a": 1}\n{"b": 2}', "the output file is not one JSON value (line 2)"),
        ('{"a": NaN}', "the output file has `NaN`, which is no JSON"),
        ('{"a": ' + "[" * 200_000, "the output file is JSON that cannot be read"),
        ("a=1\nb=2\n", "output `c` is missing"),
        (None, "output `a` is missing"),
        ('{"a": "x", "b": 5, "c": ""}', "output `b` is not of type string: `5`"),
        ("a=" + "x" * 1_048_577 + "\nb=\nc=\n", "output `a` is larger than 1 MiB; pass it by `artifacts`"),
        (b"a=" + b"x" * 17_000_000, "the output file is larger than 16 MiB"),
    ],
)
def test_what_is_not_as_declared_is_said_with_its_line(attempt_with, written, fault):
    assert _fault(attempt_with(TEXTS, written)) == fault


@pytest.mark.case("C173")
def test_an_output_file_that_is_no_file_any_more_is_refused(attempt_with, tmp_path):
    (tmp_path / "secret").write_text("a=stolen\nb=\nc=\n")
    kinds = {
        Path.mkdir: "the output file is not a regular file",
        os.mkfifo: "the output file is not a regular file",
        (lambda path: path.symlink_to(tmp_path / "secret")): "the output file is a link",
    }
    for spoil, fault in kinds.items():
        attempt = attempt_with(TEXTS)
        spoil(Path(attempt.folder, "outputs"))
        assert _fault(attempt) == fault


def test_an_undeclared_output_is_refused_even_where_none_is_declared(attempt_with):
    assert _fault(attempt_with((), "a=1")) == "output `a` is not declared under `outputs`"
    assert _fault(attempt_with((), '{"a": 1}')) == "output `a` is not declared under `outputs`"
    assert _outputs(attempt_with((), "")) == {}


def test_a_missing_output_takes_its_default(attempt_with):
    outputs = [Output("a", "integer", "output", True, 7), Output("b", "string", "json:/x", True, None)]
    assert _outputs(attempt_with(outputs, stdout="{}")) == {"a": 7, "b": None}


@pytest.mark.parametrize(
    ("word", "text", "value"),
    [
        ("integer", "5", 5),
        ("integer", " -12\r", -12),
        ("integer", "+0", 0),
        ("number", "5", 5),
        ("number", "2.50", 2.5),
        ("number", "-1e3", -1000.0),
        ("boolean", "true", True),
        ("boolean", "false", False),
        ("array", "[1, [2]]", [1, [2]]),
        ("object", '{"a": null}', {"a": None}),
        ("string", "5", "5"),
    ],
)
def test_a_text_becomes_what_the_type_asks_for(attempt_with, word, text, value):
    found = _outputs(attempt_with([Output("a", word)], f"a={text}\n"))["a"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("integer", "5.5"),
        ("integer", ""),
        ("integer", "0x10"),
        ("integer", "1_000"),
        ("integer", "٣"),
        ("number", "nan"),
        ("number", "inf"),
        ("number", "1e999"),
        ("boolean", "True"),
        ("boolean", "yes"),
        ("boolean", "1"),
        ("array", "{}"),
        ("object", "[]"),
    ],
)
def test_a_text_of_another_type_is_refused(attempt_with, word, text):
    assert (
        _fault(attempt_with([Output("a", word)], f"a={text}\n"))
        == f"output `a` is not of type {word}: `{text}`"
    )


@pytest.mark.parametrize(
    ("word", "value", "good"),
    [
        ("integer", 5, True),
        ("integer", 5.0, True),
        ("integer", 5.5, False),
        ("integer", True, False),
        ("integer", None, False),
        ("number", True, False),
        ("boolean", 1, False),
        ("boolean", True, True),
        ("string", None, False),
        ("array", [], True),
        ("object", {}, True),
        ("object", [], False),
    ],
)
def test_a_json_value_must_be_of_the_type(attempt_with, word, value, good):
    attempt = attempt_with([Output("a", word)], json.dumps({"a": value}))
    if good:
        assert _outputs(attempt) == {"a": value}
    else:
        assert _fault(attempt).startswith(f"output `a` is not of type {word}")


@pytest.mark.parametrize(
    ("origin", "word", "stdout", "value"),
    [
        ("stdout", "string", "one\ntwo\n\n", "one\ntwo\n"),
        ("stdout", "integer", "7\n", 7),
        ("stdout", "string", None, ""),
        ("json", "object", '{"a": [1]}\n', {"a": [1]}),
        ("json:/a/0", "integer", '{"a": [1]}', 1),
        ("json:/a~1b/m~0n", "string", '{"a/b": {"m~n": "x"}}', "x"),
        ("json:/", "string", '{"": "x"}', "x"),
        ("json:", "array", "[1]", [1]),
    ],
)
def test_an_output_may_come_from_stdout(attempt_with, origin, word, stdout, value):
    assert _outputs(attempt_with([Output("v", word, origin)], stdout=stdout)) == {"v": value}


@pytest.mark.parametrize(
    ("origin", "stdout", "fault"),
    [
        ("json", "no\n", "output `v`: stdout is not one JSON value (line 1)"),
        ("json", None, "output `v`: stdout is not one JSON value (line 1)"),
        ("json:/a", "{}", "output `v` is missing"),
        ("json:/1", "[1]", "output `v` is missing"),
        ("json:/01", "[1, 2]", "output `v` is missing"),
        ("json:/-", "[1, 2]", "output `v` is missing"),
        ("json:/a/b", '{"a": 1}', "output `v` is missing"),
        ("stdout", b"\xff", "output `v` is not UTF-8 (byte 0)"),
        ("stdout", "x" * 1_048_577, "output `v` is larger than 1 MiB"),
    ],
)
def test_a_stdout_that_does_not_hold_the_output_is_said(attempt_with, origin, stdout, fault):
    assert _fault(attempt_with([Output("v", "string", origin)], stdout=stdout)) == fault


def test_an_output_may_come_from_a_file_of_the_project(make, attempt_with, tmp_path):
    (make.project / "VERSION").write_text("1.2\n")
    assert _outputs(attempt_with([Output("v", "string", "file:VERSION")])) == {"v": "1.2"}
    assert _fault(attempt_with([Output("v", "string", "file:nothing")])) == "output `v` is missing"
    (tmp_path / "outside").write_text("x")
    (make.project / "link").symlink_to(tmp_path / "outside")
    for path in ("link", "../outside", str(tmp_path / "outside")):
        fault = _fault(attempt_with([Output("v", "string", f"file:{path}")]))
        assert fault == f"output `v`: file `{path}` leads out of the project"
    os.mkfifo(make.project / "fifo")
    fault = _fault(attempt_with([Output("v", "string", "file:fifo")]))
    assert fault == "output `v`: file `fifo` is not a regular file"


def test_a_stdout_that_did_not_fit_the_disk_is_no_output(attempt_with):
    attempt = attempt_with([Output("v", "string", "stdout")], stdout="half")
    fault = _fault(attempt, stdout_fault=OSError(28, "No space left on device"))
    assert fault == "its output could not be kept: no space left on device"


# Artifacts.


def _tree(project, *paths):
    for path in paths:
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(path)


def _found(project, *patterns):
    return [item["path"] for item in artifacts.find_all({"x": patterns}, str(project))]


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (["dist/a.whl"], ["dist/a.whl"]),
        (["./dist//a.whl"], ["dist/a.whl"]),
        (["dist/*.whl"], ["dist/a.whl", "dist/b.whl"]),
        (["dist"], ["dist/.hidden", "dist/a.whl", "dist/b.whl", "dist/sub/c.txt"]),
        (["dist/"], ["dist/.hidden", "dist/a.whl", "dist/b.whl", "dist/sub/c.txt"]),
        (["dist/*"], ["dist/.hidden", "dist/a.whl", "dist/b.whl", "dist/sub/c.txt"]),
        (["**/*.txt"], ["dist/sub/c.txt", "top.txt"]),
        (["*.txt"], ["top.txt"]),
        (["dist/**/c.txt"], ["dist/sub/c.txt"]),
        (["dist/?.whl"], ["dist/a.whl", "dist/b.whl"]),
        (["dist/[ab].whl"], ["dist/a.whl", "dist/b.whl"]),
        (["dist/[!a].whl"], ["dist/b.whl"]),
        (["dist/{a,b}.whl"], ["dist/a.whl", "dist/b.whl"]),
        (["{dist/sub,nothing}/*.txt"], ["dist/sub/c.txt"]),
        (["dist/*.whl", "!dist/b.whl"], ["dist/a.whl"]),
        (["dist", "!dist/sub"], ["dist/.hidden", "dist/a.whl", "dist/b.whl"]),
        (["dist/a.whl", "dist/*.whl"], ["dist/a.whl", "dist/b.whl"]),
    ],
)
def test_patterns_find_files_relative_to_the_project(make, patterns, found):
    _tree(
        make.project,
        "dist/a.whl",
        "dist/b.whl",
        "dist/.hidden",
        "dist/sub/c.txt",
        "top.txt",
        ".git/x.txt",
        ".crewflow/y.txt",
    )
    assert _found(make.project, *patterns) == found


def test_each_artifact_has_its_hash_and_size(make):
    _tree(make.project, "a.bin")
    (item,) = artifacts.find_all({"bin": ("a.bin",)}, str(make.project))
    assert item == {"id": "bin", "path": "a.bin", "sha256": hashlib.sha256(b"a.bin").hexdigest(), "size": 5}


@pytest.mark.parametrize("pattern", ["missing", "dist/*.exe", "**/nothing"])
def test_a_missing_artifact_fails(make, pattern):
    _tree(make.project, "dist/a.whl")
    with pytest.raises(BadOutputError, match="artifact `x` is missing: nothing matches"):
        _found(make.project, pattern)


def test_nothing_outside_the_project_is_an_artifact(make, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("s")
    (make.project / "file").symlink_to(tmp_path / "outside" / "secret")
    (make.project / "folder").symlink_to(tmp_path / "outside")
    (make.project / "gone").symlink_to(tmp_path / "nothing")
    for pattern in (
        "file",
        "folder",
        "folder/secret",
        "folder/*",
        "../outside/secret",
        str(tmp_path / "outside"),
        "gone",
    ):
        with pytest.raises(BadOutputError):
            _found(make.project, pattern)
    _tree(make.project, "in/a")
    (make.project / "within").symlink_to(make.project / "in" / "a")
    (make.project / "loop").symlink_to(make.project)
    assert _found(make.project, "within", "in/**") == ["within", "in/a"]
    with pytest.raises(BadOutputError, match="file` leads out of the project"):
        _found(make.project, "**")


def test_an_artifact_that_is_no_file_is_refused(make):
    os.mkfifo(make.project / "fifo")
    with pytest.raises(BadOutputError, match="`fifo` is not a regular file"):
        _found(make.project, "fifo")
