from __future__ import annotations

import json

import pytest

from crewflow.checkup import checks, repository

TOKEN = "ghp_" + "Zq3nX8vB1mK7tR5wY2pL9sD4fG6hJ0cAeUiO"
LATER = "# TO" + "DO"


@pytest.mark.parametrize("kind", checks.CHECKS)
def test_an_empty_repository_has_no_findings(repo, kind):
    found = checks.look(kind, 10)
    assert (found["total"], found["findings"], found["files"], found["skipped"]) == (0, [], 0, {})


def test_findings_come_in_order_of_path_and_line(repo):
    repo.add(b=f"{LATER} 3\n", a=f"{LATER} 1\n\n{LATER} 2\n")
    assert checks.look("marks", 10)["findings"] == [
        {"path": "a", "line": 1, "text": f"{LATER} 1"},
        {"path": "a", "line": 3, "text": f"{LATER} 2"},
        {"path": "b", "line": 1, "text": f"{LATER} 3"},
    ]


@pytest.mark.parametrize(("limit", "listed"), [(1, 1), (3, 3), (4, 4), (9, 5)])
def test_beyond_the_limit_findings_are_counted_and_not_listed(repo, limit, listed):
    repo.add(a=f"{LATER}\n" * 3, b=f"{LATER}\n" * 2)
    found = checks.look("marks", limit)
    assert (found["total"], len(found["findings"])) == (5, listed)


def test_only_files_of_the_right_extension_are_parsed(repo):
    repo.add(a__yaml="a: [", b__YML="b: [", c__txt="c: [")
    found = checks.look("yaml", 10)
    assert ([each["path"] for each in found["findings"]], found["files"]) == (["a.yaml", "b.YML"], 2)


def test_what_was_not_looked_at_is_counted_by_reason(repo):
    (repo.folder / "link").symlink_to("nowhere")
    repo.write("b1", b"\0")
    repo.write("b2", b"\0")
    repo.write("large", b"x" * (repository.LARGE + 1))
    repo.add(text="")
    found = checks.look("secrets", 10)
    assert found["skipped"] == {"binary": 2, "larger than 1 MB": 1, "symbolic link": 1}
    assert found["files"] == 1


def test_a_template_is_skipped_and_counted(repo):
    repo.add(a__yaml="{% if x %}\na: [\n", b__yaml="a: [\n")
    found = checks.look("yaml", 10)
    assert (found["total"], found["skipped"]) == (1, {"a template": 1})


def test_what_the_repository_excludes_is_not_looked_at_and_counted(repo):
    repo.write("bad/a.yaml", "a: [\n")
    repo.write("b.yaml", "b: [\n")
    repo.write(".gitattributes", "bad/** -checkup\n")
    repo.add()
    found = checks.look("yaml", 10)
    assert [each["path"] for each in found["findings"]] == ["b.yaml"]
    assert found["skipped"] == {"marked -checkup in .gitattributes": 1}


def test_no_check_shows_a_whole_secret(repo):
    repo.add(a__py=f"{LATER}: remove {TOKEN}\n", b__json=f'{{"{TOKEN}" 1}}', c__yaml=f"a: *{TOKEN}\n")
    repo.write(f"named-{TOKEN}.py", "x = (\n")
    repo.add()
    found = [checks.look(kind, 10) for kind in checks.CHECKS]
    assert sum(check["total"] for check in found) >= 5
    assert TOKEN not in json.dumps(found)


def test_the_result_is_plain_json_with_any_file_name(repo):
    repo.write(b"\xff\n.py", f"{LATER} \udc00 x".encode("utf-8", "surrogatepass"))
    repo.add()
    found = checks.look("marks", 10)
    assert json.loads(json.dumps(found)) == found
    assert found["findings"][0]["path"] == '"\\377\\n.py"'
    assert json.dumps(found, ensure_ascii=False).encode()
