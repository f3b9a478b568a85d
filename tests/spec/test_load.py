import os

import pytest

from crewflow.spec.find import find_project
from crewflow.spec.load import load_file, load_project, load_workflow


def workflow(name, body='steps: {a: {run: "true"}}'):
    return f"kind: workflow\nname: {name}\n{body}\n"


@pytest.fixture
def project(tmp_path):
    """Write files below a new project folder, and give the folder."""

    def write(files):
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return str(tmp_path)

    return write


def said(problems):
    return [f"{p.place} {p.rule} {p.message}" for p in problems]


def test_a_project_is_found_from_below_by_its_file(project):
    root = project({"crewflow.yaml": "kind: project\nname: p\n", "a/b/c.txt": ""})

    assert find_project(os.path.join(root, "a", "b")) == root


def test_a_project_is_found_by_a_workflow_that_says_its_kind(project):
    root = project({"workflows/ci.yml": workflow("ci"), "src/x": ""})

    assert find_project(os.path.join(root, "src")) == root


def test_a_folder_of_other_workflows_is_no_project(project):
    root = project(
        {
            ".git/HEAD": "",
            "workflows/x.yaml": "on: push\njobs: {}\n",
            ".github/workflows/ci.yaml": workflow("ci"),
        }
    )

    assert find_project(root) is None
    assert find_project(os.path.join(root, ".github", "workflows")) is None


def test_a_project_is_not_looked_for_above_the_git_root(project):
    root = project({"crewflow.yaml": "kind: project\nname: p\n", "inner/.git/HEAD": "", "inner/src/x": ""})

    assert find_project(os.path.join(root, "inner", "src")) is None


def test_all_workflows_of_a_project_are_loaded_and_shipped_ones_stand_beside(project):
    root = project(
        {
            "crewflow.yml": "kind: project\nname: shop\ndefaults: {timeout: 1m}\n",
            "workflows/a.yaml": workflow("one") + "---\n" + workflow("two"),
            "workflows/b.yml": workflow("three"),
            "workflows/.hidden.yaml": "{",
            "workflows/notes.txt": "{",
            "workflows/deep/x.yaml": "{",
        }
    )
    loaded, problems = load_project(root)

    assert said(problems) == []
    assert sorted(loaded.workflows) == ["one", "three", "two"]
    assert loaded.workflows["one"].steps[0].timeout == 60.0
    assert loaded.name == "shop"
    assert all(item.shipped for item in loaded.shipped.values())


def test_a_workflow_of_the_project_hides_a_shipped_one(project):
    shipped = load_project(project({}))[0].shipped
    name = next(iter(shipped))
    loaded, problems = load_project(project({"workflows/x.yaml": workflow(name.upper())}))

    assert said(problems) == []
    assert name not in loaded.shipped


def test_what_ships_is_without_fault(project):
    loaded, problems = load_project(project({}))

    assert said(problems) == []
    assert loaded.shipped


def test_a_name_that_two_workflows_have_is_an_error_at_the_second(project):
    root = project(
        {
            "workflows/a.yaml": workflow("ci"),
            "workflows/b.yaml": workflow("CI"),
            "workflows/c.yaml": workflow("ci"),
        }
    )
    loaded, problems = load_project(root)

    assert said(problems) == [
        "workflows/b.yaml:2:7 CF290 two workflows have the name `CI`, but for upper and lower case",
        "workflows/c.yaml:2:7 CF290 two workflows have the name `ci`",
    ]
    assert str(problems[0].notes[0].place) == "workflows/a.yaml:2:7"
    assert loaded.workflows["ci"].source.file == "workflows/a.yaml"


def test_problems_of_all_files_are_told_in_order_of_place(project):
    root = project(
        {
            "workflows/b.yaml": workflow("b", "steps: {a: {rn: x}}"),
            "workflows/a.yaml": workflow("a", "steps: {a: {run: x, rn: x}, b: {run: x, timeout: 5}}"),
        }
    )

    assert [line.split()[0] for line in said(load_project(root)[1])] == [
        "workflows/a.yaml:3:21",
        "workflows/a.yaml:3:50",
        "workflows/b.yaml:3:13",
    ]


def test_folders_that_the_project_names_are_read_instead_of_the_usual_one(project):
    root = project(
        {
            "crewflow.yaml": "kind: project\nname: p\npaths: {workflows: [flows, more/flows]}\n",
            "flows/a.yaml": workflow("a"),
            "more/flows/b.yaml": workflow("b"),
            "workflows/c.yaml": workflow("c"),
        }
    )
    loaded, problems = load_project(root)

    assert said(problems) == []
    assert sorted(loaded.workflows) == ["a", "b"]


def test_folders_that_do_not_exist_or_lead_out_are_refused(project):
    root = project({"crewflow.yaml": "kind: project\nname: p\npaths: {workflows: [gone, ../x]}\n"})

    assert said(load_project(root)[1]) == [
        "crewflow.yaml:3:21 CF292 there is no folder `gone`",
        "crewflow.yaml:3:27 CF104 `../x` leads out of the project",
    ]


def test_a_default_workflow_that_does_not_exist_has_a_hint(project):
    root = project(
        {
            "crewflow.yaml": "kind: project\nname: p\ndefault_workflow: relaese\n",
            "workflows/a.yaml": workflow("release"),
        }
    )
    _, (problem,) = load_project(root)

    assert said([problem]) == ["crewflow.yaml:3:19 CF293 `default_workflow` names unknown workflow `relaese`"]
    assert problem.hint == "did you mean `release`?"


def test_settings_of_the_project_stand_in_one_file(project):
    root = project(
        {
            "crewflow.yaml": "kind: project\nname: p\n",
            "crewflow.yml": "kind: project\nname: q\n",
            "workflows/p.yaml": "kind: project\nname: r\n",
        }
    )
    loaded, problems = load_project(root)

    assert loaded.name == "p"
    assert [line.split()[1] for line in said(problems)] == ["CF291", "CF291"]


@pytest.mark.case("C020")
def test_an_empty_file_among_the_workflows_is_an_error(project):
    root = project({"workflows/a.yaml": "", "workflows/b.yaml": "# later\n"})

    assert said(load_project(root)[1]) == [
        "workflows/a.yaml:1:1 CF006 the file is empty",
        "workflows/b.yaml:1:1 CF006 the file is empty",
    ]


def test_a_file_that_cannot_be_read_is_told(project, tmp_path):
    root = project({"workflows/a.yaml": workflow("a")})
    _, problems = load_file(os.path.join(root, "gone.yaml"), root)

    assert said(problems) == ["gone.yaml:1:1 CF012 the file cannot be read: no such file or directory"]


def test_a_workflow_is_loaded_without_reading_what_cannot_define_it(project):
    root = project({"workflows/a.yaml": workflow("build"), "workflows/b.yaml": "{ broken"})
    loaded, problems = load_workflow(root, "build")

    assert said(problems) == []
    assert list(loaded.workflows) == ["build"]


def test_faults_of_a_file_that_only_mentions_a_workflow_do_not_stop_it(project):
    root = project({"workflows/a.yaml": workflow("build"), "workflows/b.yaml": workflow("b", "build: 1")})
    loaded, problems = load_workflow(root, "build")

    assert said(problems) == []
    assert "build" in loaded.workflows


def test_a_workflow_with_the_settings_of_its_project_is_loaded_by_name(project):
    root = project(
        {
            "crewflow.yaml": "kind: project\nname: p\ndefaults: {grace: 3s}\n",
            "workflows/a.yaml": workflow("build"),
        }
    )

    assert load_workflow(root, "build")[0].workflows["build"].steps[0].grace == 3.0


def test_a_name_that_no_file_holds_loads_the_whole_project(project):
    root = project({"workflows/a.yaml": workflow("build")})

    assert list(load_workflow(root, "other")[0].workflows) == ["build"]


def test_a_shipped_workflow_is_loaded_by_name(project):
    root = project({})
    name = next(iter(load_project(root)[0].shipped))

    assert load_workflow(root, name)[0].shipped[name].shipped


def test_a_file_anywhere_is_loaded_with_the_settings_of_the_project(project):
    root = project(
        {
            "crewflow.yaml": "kind: project\nname: p\ndefaults: {grace: 3s}\n",
            "elsewhere/x.yaml": workflow("x"),
        }
    )
    loaded, problems = load_file(os.path.join(root, "elsewhere", "x.yaml"), root)

    assert said(problems) == []
    assert loaded.workflows["x"].steps[0].grace == 3.0
    assert loaded.workflows["x"].source.file == "elsewhere/x.yaml"


def test_a_fault_of_the_text_is_not_told_again_by_the_schema(project):
    root = project({"workflows/a.yaml": workflow("a", "steps: {a: {run: x, timeout: .nan}}")})

    assert said(load_project(root)[1]) == ["workflows/a.yaml:3:30 CF010 `.nan` is not a finite number"]
