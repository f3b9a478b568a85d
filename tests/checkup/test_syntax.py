from __future__ import annotations

import sys
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.checkup import syntax
from crewflow.checkup.syntax import TemplateError


@pytest.mark.parametrize(
    "content",
    [
        "",
        "a: 1\n---\nb: 2\n",
        "a: !Ref b\n",
        "a: !!python/object:os.system {}\n",
        "a: &x 1\nb: *x\n",
        "run: echo ${{ inputs.x }}\n",
        "a: 1\na: 2\n",
        "\ufeffa: 1\n",
    ],
)
def test_sound_yaml_is_sound_whatever_its_tags(content):
    assert list(syntax.find_broken_yaml(b"a.yaml", content.encode())) == []


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("a: 1\nb: [1, 2\n", 3, "expected ',' or ']'"),
        ("a: 1\n\tb: 2\n", 2, "a tab character"),
        ("a: 1\nb: *x\n", 2, "no anchor `x`"),
        ("a: &x 1\n---\nb: *x\n", 3, "no anchor `x`"),
        ("a: b: c\n", 1, "mapping values are not allowed"),
    ],
)
def test_broken_yaml_is_found_with_its_line(content, line, words):
    [(found, text)] = syntax.find_broken_yaml(b"a.yaml", content.encode())
    assert found == line
    assert text.startswith("broken YAML: ")
    assert words in text


def test_yaml_that_is_no_text_is_broken():
    [(line, text)] = syntax.find_broken_yaml(b"a.yaml", b"a: \xff\xfe\n")
    assert (line, text) == (1, "broken YAML: characters that YAML does not allow")


def test_yaml_that_nests_or_multiplies_itself_costs_nothing():
    deep = b"- " * 100_000
    bomb = b"a: &a [x, x]\n" + b"".join(
        b"%c: &%c [*%c, *%c]\n" % (b + 1, b + 1, b, b) for b in range(97, 121)
    )
    assert list(syntax.find_broken_yaml(b"a.yaml", bomb)) == []
    assert len(list(syntax.find_broken_yaml(b"a.yaml", deep))) <= 1


@pytest.mark.parametrize(
    "content", ["a: {{ .Values.x }}: b\n", "{% if x %}\na: [\n", "{{- if .x }}\na: 1\n{{- end }}\n"]
)
def test_a_template_that_is_no_yaml_is_told_apart(content):
    with pytest.raises(TemplateError):
        list(syntax.find_broken_yaml(b"a.yaml", content.encode()))


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (b"a.json", "{}"),
        (b"a.json", "\ufeff[1]"),
        (b"a.json", '{"a": 1}\n\n{"a": 2}\n'),
        (b"a.json", "9" * 5000),
        (b"x/tsconfig.base.json", '{\n// why\n"a": "// kept, ]", /* two\nlines */ "b": [1,],}\n'),
        (b".vscode/settings.json", '{"a": 1, // one\n}'),
    ],
)
def test_sound_json_is_sound(path, content):
    assert list(syntax.find_broken_json(path, content.encode())) == []


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", 1),
        ('{"a": 1,\n}', 2),
        ('{"a": 1}\nnonsense', 2),
        ("{'a': 1}", 1),
        ('{"a": 1 // one\n}', 1),
        ("[1] [2", 1),
    ],
)
def test_broken_json_is_found_with_its_line(content, line):
    [(found, text)] = syntax.find_broken_json(b"a.json", content.encode())
    assert found == line
    assert text.startswith("broken JSON: ")


def test_a_fault_after_a_comment_keeps_its_line():
    [(line, _)] = syntax.find_broken_json(b"tsconfig.json", b"{\n/* 1\n2\n3 */\n!\n}")
    assert line == 5


def test_json_that_is_not_utf_8_or_too_deep_is_broken():
    assert list(syntax.find_broken_json(b"a.json", b'"\xff"')) == [(1, "broken JSON: not UTF-8")]
    assert list(syntax.find_broken_json(b"a.json", b"[" * 100_000)) == [(1, "broken JSON: nested too deeply")]


def test_braces_in_strings_excuse_nothing():
    assert len(list(syntax.find_broken_yaml(b"a.yaml", b'a: "{{ x }}"\nb: [\n'))) == 1
    assert len(list(syntax.find_broken_json(b"a.json", b'{"a": "{{ x }}",}'))) == 1
    assert len(list(syntax.find_broken_python(b"a.py", b"x = f'{{{y}}}'\nprint 'x'\n"))) == 1


def test_a_template_that_is_no_json_is_told_apart():
    with pytest.raises(TemplateError):
        list(syntax.find_broken_json(b"a.json", b'{"a": {{ cookiecutter.x }}}'))


@pytest.mark.parametrize(
    "content", [b"", b"x = 1\n", b"# coding: latin-1\nx = '\xfc'\n", b"assert (1, 'x')\n"]
)
def test_python_that_compiles_is_sound_and_warns_nobody(content):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(syntax.find_broken_python(b"a.py", content)) == []


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"x = 1\nprint 'x'\n", 2),
        (b"return 1\n", 1),
        (b"def f():\npass\n", 2),
        (b"x = '\xfc'\n", 1),
        (b"x = \0\n", 1),
    ],
)
def test_python_that_does_not_compile_is_found_with_its_line(content, line):
    [(found, text)] = syntax.find_broken_python(b"a.py", content)
    assert found == line
    assert text.startswith(
        f"does not compile with Python {sys.version_info.major}.{sys.version_info.minor}: "
    )


@pytest.mark.parametrize(
    "content", [b"(" * 5000, b"-" * 100_000 + b"1", b"x" + b".x" * 50_000, b"a = " + b"1+" * 50_000]
)
def test_python_that_is_too_much_for_the_compiler_does_not_end_the_check(content):
    assert len(list(syntax.find_broken_python(b"a.py", content))) == 1


def test_a_template_that_is_no_python_is_told_apart():
    with pytest.raises(TemplateError):
        list(syntax.find_broken_python(b"a.py", b"{% if x %}\nimport x\n{% endif %}\n"))


@given(st.binary(max_size=60))
def test_any_bytes_get_a_verdict(content):
    for find in (syntax.find_broken_yaml, syntax.find_broken_json, syntax.find_broken_python):
        try:
            assert len(list(find(b"a", content))) <= 1
        except TemplateError:
            assert b"{{" in content or b"{%" in content or b"<%" in content
