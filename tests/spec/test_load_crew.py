"""Teams, agents and schedules: where they are looked up, and whose faults are told."""

import os
from pathlib import Path

import pytest

from crewflow.spec.load import load_file, load_project, load_workflow, user_folder
from crewflow.spec.origin import Origin

TEAM = "kind: team\nname: {name}\ndefaults: {{timeout: 7m, agent: {agent}}}\nroles: {{worker: {{}}}}\n"
AGENT = "kind: agent\nname: {name}\nbuiltin: scaffold\naccess: {{read_only: []}}\n"
FLOW = "kind: workflow\nname: {name}\nteam: {team}\nsteps: {{a: {{role: worker, prompt: Do it.}}}}\n"
CALL = "kind: workflow\nname: {name}\nsteps: {{g: {{steps: {{c: {{workflow: {called}}}}}}}}}\n"
PROJECT = "kind: project\nname: p\n"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A user without documents of their own, until a test writes some."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "crewflow"


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"

    def make(files):
        write(root, files)
        return str(root)

    return make


def write(folder, files):
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def said(problems):
    return [f"{p.place} {p.rule} {p.message}" for p in problems]


def test_documents_of_every_kind_may_stand_in_every_file(project):
    root = project(
        {
            "crewflow.yaml": f"{PROJECT}---\n{TEAM.format(name='t', agent='mine')}",
            "teams/x.yml": FLOW.format(name="w", team="t"),
            "workflows/x.yaml": AGENT.format(name="mine")
            + "---\nkind: schedule\nname: s\nworkflow: w\nevery: 1h\n",
        }
    )
    loaded, problems = load_project(root)

    assert said(problems) == []
    assert list(loaded.workflows) == ["w"]
    assert (loaded.teams["t"].origin, loaded.agents["mine"].origin) == (Origin.PROJECT, Origin.PROJECT)
    assert loaded.schedules["s"].workflow == "w"


def test_a_step_takes_what_the_team_of_its_workflow_says_and_the_project_does_not_win(project):
    root = project(
        {
            "crewflow.yaml": f"{PROJECT}defaults: {{timeout: 1m, grace: 2s}}\n",
            "teams/t.yaml": TEAM.format(name="t", agent="scaffold"),
            "workflows/w.yaml": FLOW.format(name="w", team="t"),
        }
    )
    for loaded, problems in (load_project(root), load_workflow(root, "w")):
        (step,) = loaded.workflows["w"].steps
        assert said(problems) == []
        assert (step.timeout, step.grace, step.default_agent) == (420.0, 2.0, "scaffold")


def test_a_name_of_the_project_hides_that_of_the_user_and_that_a_shipped_one(project, home):
    write(home, {"teams/a.yaml": TEAM.format(name="Review", agent="scaffold")})
    write(home, {"teams/b.yaml": TEAM.format(name="own", agent="scaffold")})
    root = project({"crewflow.yaml": PROJECT, "teams/own.yaml": TEAM.format(name="OWN", agent="scaffold")})
    teams = load_project(root)[0].teams

    assert teams["Review"].origin is Origin.USER
    assert teams["OWN"].origin is Origin.PROJECT
    assert teams["research"].origin is Origin.SHIPPED
    assert not {"own", "review"} & teams.keys()


def test_a_workflow_of_the_user_can_be_named_by_the_project(project, home):
    write(home, {"workflows/w.yaml": FLOW.format(name="theirs", team="review")})
    root = project({"workflows/c.yaml": CALL.format(name="c", called="theirs")})

    assert load_workflow(root, "theirs")[0].workflow("theirs").shipped
    assert load_workflow(root, "c")[0].workflow("theirs").team == "review"


@pytest.mark.parametrize("kind", ["team", "agent", "schedule"])
def test_two_of_a_kind_with_one_name_are_a_fault_and_two_of_different_kinds_are_none(project, kind):
    texts = {
        "team": TEAM.format(name="x", agent="scaffold"),
        "agent": AGENT.format(name="x"),
        "schedule": "kind: schedule\nname: x\nworkflow: default\nevery: 1h\n",
    }
    files = {f"{word}s/a.yaml": text for word, text in texts.items()}
    root = project(files | {f"{kind}s/b.yaml": texts[kind].replace("name: x", "name: X")})

    assert said(load_project(root)[1]) == [
        f"{kind}s/b.yaml:2:7 CF290 two {kind}s have the name `X`, but for upper and lower case"
    ]


def test_faults_outside_the_project_are_told_only_where_they_are_used(project, home):
    write(home, {"teams/bad.yaml": TEAM.format(name="bad", agent="nobody"), "agents/worse.yaml": "{"})
    root = project({"workflows/w.yaml": FLOW.format(name="w", team="review")})
    assert said(load_project(root)[1]) == []

    root = project({"workflows/w.yaml": FLOW.format(name="w", team="bad")})
    told = [f"{home}/teams/bad.yaml:3:32 CF603 unknown agent `nobody`"]
    assert said(load_project(root)[1]) == told
    assert said(load_workflow(root, "w")[1]) == told


def test_folders_of_each_kind_can_be_named(project):
    paths = "paths: {teams: [crew], agents: [crew, gone], schedules: [../out]}\n"
    root = project(
        {
            "crewflow.yaml": PROJECT + paths,
            "crew/t.yaml": TEAM.format(name="t", agent="scaffold"),
            "teams/u.yaml": TEAM.format(name="u", agent="scaffold"),
        }
    )
    loaded, problems = load_project(root)

    assert "t" in loaded.teams
    assert "u" not in loaded.teams
    assert said(problems) == [
        "crewflow.yaml:3:39 CF292 there is no folder `gone`",
        "crewflow.yaml:3:58 CF104 `../out` leads out of the project",
    ]


def test_a_workflow_is_loaded_with_all_that_it_names_and_nothing_else(project):
    root = project(
        {
            "workflows/outer.yaml": CALL.format(name="outer", called="inner"),
            "workflows/inner.yaml": FLOW.format(name="inner", team="t"),
            "workflows/other.yaml": "{ broken",
            "teams/t.yaml": TEAM.format(name="t", agent="mine"),
            "teams/other.yaml": "{ broken",
            "agents/mine.yaml": AGENT.format(name="mine"),
        }
    )
    loaded, problems = load_workflow(root, "outer")

    assert said(problems) == []
    assert sorted(loaded.workflows) == ["inner", "outer"]
    assert (list(loaded.teams), sorted(loaded.agents)) == (["t"], ["mine", "scaffold"])


def test_a_workflow_without_prompts_reads_no_team_and_no_agent(project):
    root = project({"workflows/w.yaml": "kind: workflow\nname: w\nsteps: {a: {run: 'true'}}\n"})
    loaded, _ = load_workflow(root, "w")

    assert (loaded.teams, loaded.agents) == ({}, {})


def test_faults_of_what_a_workflow_names_are_told_with_it(project):
    root = project(
        {
            "workflows/w.yaml": FLOW.format(name="w", team="t"),
            "teams/t.yaml": TEAM.format(name="t", agent="mine") + "colour: red\n",
            "agents/mine.yaml": AGENT.format(name="mine") + "bim: x\n",
        }
    )
    told = said(load_workflow(root, "w")[1])

    assert [line.split()[:2] for line in told] == [
        ["agents/mine.yaml:5:1", "CF101"],
        ["teams/t.yaml:5:1", "CF101"],
    ]
    assert said(load_project(root)[1]) == told


def test_where_a_name_means_nothing_all_names_are_known(project):
    root = project({"workflows/w.yaml": FLOW.format(name="w", team="revew")})

    assert "review" in load_workflow(root, "w")[0].teams


def test_a_file_by_itself_can_name_what_the_project_has(project):
    root = project(
        {
            "workflows/w.yaml": FLOW.format(name="w", team="t"),
            "workflows/other.yaml": "{ broken",
            "teams/t.yaml": TEAM.format(name="t", agent="scaffold"),
            "elsewhere/c.yaml": CALL.format(name="c", called="w"),
        }
    )
    loaded, problems = load_file(os.path.join(root, "elsewhere/c.yaml"), root)

    assert said(problems) == []
    assert list(loaded.workflows) == ["c"]
    assert loaded.workflow("w").steps[0].timeout == 420.0


def test_a_file_of_the_project_is_not_found_beside_itself(project):
    root = project({"workflows/w.yaml": CALL.format(name="w", called="x"), "crewflow.yaml": PROJECT})

    assert said(load_file(os.path.join(root, "workflows/w.yaml"), root)[1]) == []
    assert said(load_file(os.path.join(root, "crewflow.yaml"), root)[1]) == []


def test_only_errors_of_other_files_are_told_with_a_file(project):
    root = project(
        {
            "crewflow.yaml": PROJECT,
            "workflows/w.yaml": FLOW.format(name="w", team="t"),
            "teams/t.yaml": TEAM.format(name="t", agent="nobody"),
            "teams/u.yaml": TEAM.format(name="u", agent="nobody"),
        }
    )

    assert said(load_file(os.path.join(root, "workflows/w.yaml"), root)[1]) == [
        "teams/t.yaml:3:32 CF603 unknown agent `nobody`"
    ]


def test_the_agent_of_the_project_must_exist(project):
    root = project({"crewflow.yaml": f"{PROJECT}defaults: {{agent: cluade}}\n"})
    (problem,) = load_project(root)[1]

    assert said([problem]) == ["crewflow.yaml:3:19 CF603 unknown agent `cluade`"]
    assert problem.hint == "did you mean `claude`?"


def test_a_skill_is_found_in_each_place_in_both_forms(project, home):
    roles = "kind: team\nname: t\nroles: {r: {skills: [one, two, three]}}\n"
    root = project({"crewflow.yaml": PROJECT, "teams/t.yaml": roles, "skills/one.md": "1"})
    assert len(load_project(root)[1]) == 2
    write(home, {"skills/two/SKILL.md": "2", "skills/three.md": "3"})

    assert said(load_project(root)[1]) == []


def test_a_team_names_a_workflow_that_exists(project):
    team = TEAM.format(name="t", agent="scaffold") + "workflow: revew\n"
    (problem,) = load_project(project({"crewflow.yaml": PROJECT, "teams/t.yaml": team}))[1]

    assert (problem.rule, problem.hint) == ("CF608", "did you mean `review`?")


def test_the_folder_of_the_user_is_that_of_the_system_only_if_it_is_absolute(tmp_path, monkeypatch, home):
    assert user_folder() is None
    home.mkdir(parents=True)
    assert user_folder() == home
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")
    assert user_folder() is None


def test_everything_that_ships_is_without_fault(tmp_path):
    """Each document as if it were the project's own."""
    shipped = Path(__file__).parents[2] / "workflows"
    for file in shipped.rglob("*.yaml"):
        target = tmp_path / "project" / "workflows" / f"{file.parent.name}-{file.name}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    loaded, problems = load_project(str(tmp_path / "project"))

    assert said(problems) == []
    assert len(loaded.agents) == 11
    assert all(agent.origin is Origin.PROJECT for agent in loaded.agents.values())
    assert [name for name, agent in loaded.agents.items() if agent.bin and not agent.install] == []
