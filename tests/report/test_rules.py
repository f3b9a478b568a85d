"""The page of rules: whole, in order, and true."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from crewflow.commands import validate
from crewflow.graph.unready import refusals
from crewflow.report.rules import Sample, catalogue, parse
from crewflow.spec.load import load_project

ROOT = Path(__file__).parents[2]
RULES = list(catalogue().values())
WARNS = "A warning."


def ids_in_the_source():
    found = set()
    for file in (ROOT / "crewflow").rglob("*.py"):
        found |= set(re.findall(r"[\"'](CF\d{3})[\"']", file.read_text(encoding="utf-8")))
    return found


@pytest.fixture(autouse=True)
def a_large_plan_is_soon_too_large(monkeypatch):
    """What is too large for the real limit is so for a smaller one, which is met within a moment."""
    monkeypatch.setattr("crewflow.graph.scopes.MOST_TASKS", 500)


def make(samples, folder):
    """Write the files of an example; the folder of workflows is there."""
    (folder / "workflows").mkdir()
    for sample in samples:
        if sample.file is None:
            env = {"PATH": os.environ["PATH"]}
            subprocess.run(["sh", "-ec", sample.text], cwd=folder, env=env, check=True, timeout=60)
        else:
            path = folder / sample.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(sample.text, encoding="utf-8")


def found_in(folder, rule):
    """Every problem of a project, without what it ignores; for the rule of `apply` also what that refuses."""
    project, problems = load_project(str(folder))
    workflows = project.workflows.values() if rule.id == "CF102" else ()
    refused = [one for workflow in workflows for one in refusals(project, workflow)]
    return (*validate._problems([(project, problems)], complete=True)[0], *refused)


def test_every_rule_of_the_source_has_a_section_and_every_section_a_rule():
    described = {rule.id for rule in RULES}
    source = ids_in_the_source()
    assert sorted(source - described) == [], "add a section to docs/rules.md"
    assert sorted(described - source) == [], "remove the section from docs/rules.md"


def test_the_sections_are_in_order_below_their_family_and_each_rule_stands_once():
    ids = [rule.id for rule in RULES]
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert ids == sorted(set(ids))
    assert re.findall(r"^### (\w+)", page, re.MULTILINE) == ids
    assert [rule.id for rule in RULES if not rule.family.startswith(f"{rule.id[:3]}xx: ")] == []


PAGE = """
# Rules

## CF0xx: reading

### CF001: first

What it
is.

**Why.** Because
of that.

**Example**

```yaml
# crewflow.yaml
kind: project
```

```sh
touch workflows/a.yaml
```

**Instead**

```yaml
kind: workflow
```
"""


def test_a_section_is_read_part_by_part():
    [rule] = parse(PAGE)
    assert (rule.id, rule.title, rule.family) == ("CF001", "first", "CF0xx: reading")
    assert (rule.what, rule.why) == ("What it is.", "Because of that.")
    assert rule.example == (
        Sample("crewflow.yaml", "kind: project\n"),
        Sample(None, "touch workflows/a.yaml\n"),
    )
    assert rule.fix == (Sample("workflows/example.yaml", "kind: workflow\n"),)
    assert parse("") == ()


@pytest.mark.parametrize(
    "part", ["What it\nis.\n\n", "**Why.** ", "**Example**", "**Instead**", "kind: workflow\n```"]
)
def test_a_section_without_a_part_is_refused(part):
    with pytest.raises(ValueError, match="CF001 lacks"):
        parse(PAGE.replace(part, ""))


def test_the_page_goes_into_the_package():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included["docs/rules.md"] == "crewflow/_data/docs/rules.md"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_part_of_a_section_is_empty(rule):
    assert all(text.strip() for text in (rule.title, rule.what, rule.why))
    assert all(sample.text.strip() for sample in (*rule.example, *rule.fix))
    assert rule.title[0].islower() or rule.title[0] == "`"
    assert len({rule.title for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_an_example_has_exactly_its_fault_and_the_section_says_how_much_that_weighs(rule, tmp_path):
    make(rule.example, tmp_path)
    problems = found_in(tmp_path, rule)
    assert {problem.rule for problem in problems} == {rule.id}, problems
    weights = {problem.severity.value for problem in problems}
    assert weights == {"warning" if rule.why.endswith(WARNS) else "error"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_what_is_to_be_written_instead_has_none(rule, tmp_path):
    make(rule.fix, tmp_path)
    assert found_in(tmp_path, rule) == ()
