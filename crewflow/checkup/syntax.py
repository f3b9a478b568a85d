"""YAML, JSON and Python that their own parsers refuse.

Only the syntax is asked: no tag builds an object, no code runs. What fails and is visibly the template
of such a file (Helm, Jinja, cookiecutter) is left out, since only the result could be judged.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Their programs read comments and trailing commas, whatever the extension says.
COMMENTED_JSON = re.compile(
    rb"(?:^|/)(?:[tj]sconfig[^/]*|devcontainer|\.eslintrc|\.babelrc|api-extractor[^/]*)\.json$"
    rb"|(?:^|/)\.(?:vscode|devcontainer)/"
)

# Where a template speaks: at the start of a line or value (YAML), outside of strings (JSON), in a statement
# of its own (Python). Braces inside strings are everyday text, and excuse nothing.
_YAML_TEMPLATE = re.compile(rb"(?:^|[:-] )[ \t]*(?:\{\{|\{%|<%)", re.MULTILINE)
_JSON_TEMPLATE = re.compile(rb"\{\{|\{%|<%")
_PYTHON_TEMPLATE = re.compile(rb"^[ \t]*\{%-? |\{\{ ?cookiecutter\.", re.MULTILINE)
_JSON_STRING = re.compile(rb'"(?:\\.|[^"\\\n])*"')
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\\n])*"|,(?=\s*[\]}])')


class TemplateError(Exception):
    """The file is a template: its syntax is not that of its extension."""


def find_broken_yaml(_path: bytes, content: bytes) -> Iterator[tuple[int, str]]:
    """Line number and fault of the first place where a YAML file breaks.

    Raises:
        TemplateError: it breaks, and is a template.
    """
    try:
        yield from _unknown_aliases(content)
    except yaml.MarkedYAMLError as error:
        _refuse_template(_YAML_TEMPLATE, content)
        yield _line(error.problem_mark), f"broken YAML: {error.problem or error.context}"
    except (yaml.YAMLError, UnicodeError):
        yield 1, "broken YAML: characters that YAML does not allow"


def find_broken_json(path: bytes, content: bytes) -> Iterator[tuple[int, str]]:
    """Line number and fault of the first place where a JSON file breaks.

    One document a line counts as JSON, and so do comments where the reading program allows them.

    Raises:
        TemplateError: it breaks, and is a template.
    """
    try:
        _read_json(path, content.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        _refuse_template(_JSON_TEMPLATE, _JSON_STRING.sub(b'""', content))
        yield error.lineno, f"broken JSON: {error.msg[0].lower()}{error.msg[1:]}"
    except UnicodeError:
        yield 1, "broken JSON: not UTF-8"
    except RecursionError:
        yield 1, "broken JSON: nested too deeply"


def find_broken_python(path: bytes, content: bytes) -> Iterator[tuple[int, str]]:
    """Line number and fault of the first place where a Python file does not compile.

    Raises:
        TemplateError: it does not, and is a template.
    """
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    try:
        _compile(path, content)
    except SyntaxError as error:
        _refuse_template(_PYTHON_TEMPLATE, content)
        yield error.lineno or 1, f"does not compile with Python {version}: {error.msg}"
    except (ValueError, RecursionError, MemoryError, OverflowError):
        # What the compiler says of nested, endless or undecodable source is about itself.
        yield 1, f"does not compile with Python {version}: too much for the compiler"


def _unknown_aliases(content: bytes) -> Iterator[tuple[int, str]]:
    # Events are read one by one, so that depth and aliases cost nothing.
    anchors: set[str | None] = set()
    for event in yaml.parse(content, Loader=YAML_LOADER):
        if isinstance(event, yaml.DocumentStartEvent):
            anchors = set()
        elif isinstance(event, yaml.AliasEvent) and event.anchor not in anchors:
            yield _line(event.start_mark), f"broken YAML: no anchor `{event.anchor}` for this alias"
        elif isinstance(event, yaml.NodeEvent):
            anchors.add(event.anchor)


def _line(mark: Any) -> int:
    return mark.line + 1 if mark else 1


def _read_json(path: bytes, content: str) -> None:
    if COMMENTED_JSON.search(path):
        content = _STRING_OR_COMMENT.sub(_blank_comment, content)
        content = _STRING_OR_COMMA.sub(lambda found: found[0] if found[0] != "," else " ", content)
    try:
        _parse_json(content)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
        _parse_json_lines(content, error)


def _parse_json(content: str) -> None:
    # Numbers are not converted: a long one is slow, and is refused from 4300 digits on.
    json.loads(content, parse_int=str, parse_float=str)


def _parse_json_lines(content: str, error: json.JSONDecodeError) -> None:
    try:
        for line in filter(str.strip, content.split("\n")):
            _parse_json(line)
    except json.JSONDecodeError:
        raise error from None


def _blank_comment(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else "\n" * found[0].count("\n")


def _compile(path: bytes, content: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(content, path.decode("utf-8", "replace"), "exec", dont_inherit=True)


def _refuse_template(sign: re.Pattern[bytes], content: bytes) -> None:
    if sign.search(content):
        raise TemplateError
