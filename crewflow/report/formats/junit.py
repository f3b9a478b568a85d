"""For Jenkins and others that read JUnit's XML: each checked file is a test case.

A file fails with all of its problems in one `failure`, since many readers show the first one only. What
does not fail, a warning say, is output of its test case. What XML cannot hold is written as an escape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

from crewflow.report.problems import count, to_text, visible

if TYPE_CHECKING:
    from crewflow.errors import Problem
    from crewflow.report.formats.checked import Checked

_SUITE = "crewflow validate"


def junit(checked: Checked) -> str:
    """The report; a suite without test cases if no file was checked."""
    failing = {problem.place.file for problem in checked.failing}
    counts = {"tests": str(len(checked.all_files)), "failures": str(len(failing)), "errors": "0"}
    top = Element("testsuites", {"name": _SUITE, **counts})
    suite = SubElement(top, "testsuite", {"name": _SUITE, **counts, "skipped": "0", "time": "0"})
    found: dict[str, list[Problem]] = {file: [] for file in checked.all_files}
    for problem in checked.problems:
        found[problem.place.file].append(problem)
    for file, problems in found.items():
        _add_case(suite, visible(checked.path(file)), problems, fails=file in failing)
    report: bytes = tostring(top, encoding="us-ascii", xml_declaration=True)
    return report.decode("ascii")


def _add_case(suite: Element, name: str, problems: list[Problem], *, fails: bool) -> None:
    case = SubElement(suite, "testcase", {"name": name, "classname": "crewflow.validate", "time": "0"})
    if fails:
        about = {"message": count(problems), "type": "crewflow"}
        SubElement(case, "failure", about).text = to_text(problems, color=False)
    elif problems:
        SubElement(case, "system-out").text = to_text(problems, color=False)
