"""What `validate` owes to any file, as one function that raises `Broken` where a promise is."""

import json
import re
import signal
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import jsonschema
import jsonschema_rs

from crewflow.errors import Severity, SpecError, UsageError
from crewflow.graph.compile import check_workflow, compile_workflow
from crewflow.report.plan import plan_document, plan_text
from crewflow.report.problems import to_json, to_text
from crewflow.spec.inputs import resolve_inputs
from crewflow.spec.kinds import kind_of
from crewflow.spec.load import load_file
from crewflow.spec.schema import schema
from crewflow.spec.source import read_documents

PATIENCE = 20.0
"""Seconds after which a file is said to hang validate; most take a few milliseconds."""

RULE = re.compile(r"CF\d{3}")
MACHINERY = re.compile(
    r"NoneType|<class|Traceback|object at 0x|(?:Error|Exception)\(|\bdict\b|jsonschema|crewflow\.spec"
)
QUOTED = re.compile(r"`[^`]*`?")
LINE_END = re.compile(r"\r\n|\r|\n")
GIVEN = {"string": "a", "integer": "1", "number": "1.5", "boolean": "true", "array": "[]", "object": "{}"}


class Broken(AssertionError):  # noqa: N818  # what is broken is a promise
    """A promise that was not kept."""


class Hang(BaseException):
    """Raised by the alarm; no `except` of the code under test may catch it."""


def check(data, folder):
    """Raise `Broken`, or whatever the code under test raised, if a promise is not kept for a file."""
    name = "crewflow.yaml" if b"kind: project" in data else "file.yaml"
    path = Path(folder, name)
    path.write_bytes(data)
    with alarm(PATIENCE):
        project, problems = load_file(str(path), str(folder))
        found = [*problems]
        for workflow in project.workflows.values():
            found += check_workflow(project, workflow)
        check_problems(found, name, data)
        check_validators(name, data)
        for workflow in project.workflows.values() if is_fine(found) else ():
            check_compile(project, workflow)
    path.unlink()


@contextmanager
def alarm(seconds):
    def ring(_number, _frame):
        raise Hang(f"not done after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def is_fine(problems):
    return all(problem.severity is not Severity.ERROR for problem in problems)


def owe(kept, *words):
    if not kept:
        raise Broken(" ".join(map(str, words)))


# --- problems -----------------------------------------------------------------------------------------


def check_problems(problems, name, data):
    lines = LINE_END.split(data.decode("utf-8-sig", "replace"))
    for problem in problems:
        owe(RULE.fullmatch(problem.rule), "no rule:", problem)
        check_place(problem.place, name, lines)
        check_words(problem.message)
        owe(problem.message[0].islower() or problem.message[0] == "`", "capital:", problem.message)
        for note in problem.notes:
            if note.place.file == name or not Path(note.place.file).is_file():  # a called workflow's, else
                check_place(note.place, name, lines)
            check_words(note.message)
        if problem.hint is not None:
            check_words(problem.hint)
    check_reports(problems)


def check_place(place, name, lines):
    owe(place.file == name, "another file:", place)
    owe(1 <= place.line <= len(lines), "no such line:", place)
    line = lines[place.line - 1]
    owe(1 <= place.column <= len(line) + 1, "no such column:", place, len(line))
    owe(0 <= place.width <= len(line) - place.column + 1, "wider than its line:", place, len(line))


def check_words(text):
    owe(text, "no words")
    owe("\n" not in text, "two lines:", repr(text))
    said = MACHINERY.search(QUOTED.sub("", text))
    owe(said is None, "machinery:", text)


def check_reports(problems):
    plain = to_text(problems, color=False)
    owe(all(c.isprintable() or c in "\n\t\u3000\u00a0" for c in plain), "not printable:", repr(plain))
    owe(len(to_text(problems, color=True)) >= len(plain), "colour takes text away")
    said = json.loads(json.dumps(to_json(problems), allow_nan=False))
    owe(said["errors"] + said["warnings"] == len(problems) == len(said["problems"]), "counted wrong")


# --- two validators, one verdict ----------------------------------------------------------------------


def check_validators(name, data):
    documents, _ = read_documents(name, data)
    for document in documents:
        kind, _ = kind_of(document)
        if kind is not None:
            fast, slow = validators(kind)
            verdicts = fast.is_valid(document.plain_data), slow.is_valid(document.data)
            owe(verdicts[0] == verdicts[1], "fast says", verdicts[0], "and slow", verdicts[1])


@cache
def validators(kind):
    return jsonschema_rs.Draft202012Validator(schema(kind)), jsonschema.Draft202012Validator(schema(kind))


# --- what is valid can be planned ---------------------------------------------------------------------


def check_compile(project, workflow):
    try:
        inputs = resolve_inputs(workflow, given(workflow))
        plan = compile_workflow(project, workflow, inputs)
    except (SpecError, UsageError):
        return
    json.dumps(plan_document(plan, 2), allow_nan=False)
    plan_text(plan, 2)


def given(workflow):
    """A value for each input that is required."""
    return [(name, GIVEN[spec.type]) for name, spec in workflow.inputs.items() if spec.required]
