import pytest

from crewflow.graph.findings import Findings
from crewflow.graph.roles import check_roles, describe_agent, resolve_agent
from crewflow.graph.tree import Tree
from crewflow.spec.load import load_workflow

PROJECT = "kind: project\nname: p\n"
TEAM = """kind: team
name: crew
roles:
  reader: {}
  builder: {agent: codex, model: large, access: workspace_write, instructions: Build., skills: [tidy]}
  lead: {access: full}
"""


@pytest.fixture(autouse=True)
def no_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))


@pytest.fixture
def load(tmp_path):
    """A project and its workflow `w`, of the lines behind its name."""

    def make(text, settings=""):
        files = {
            "crewflow.yaml": PROJECT + settings,
            "teams/crew.yaml": TEAM,
            "skills/tidy.md": "Tidy up.",
            "workflows/w.yaml": f"kind: workflow\nname: w\n{text}",
        }
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(content, encoding="utf-8")
        project, problems = load_workflow(str(tmp_path), "w")
        assert [p for p in problems if "defaults" not in p.source_line] == []
        return project, project.workflows["w"]

    return make


@pytest.fixture
def found(load):
    def check(text, settings=""):
        project, workflow = load(text, settings)
        findings = Findings(workflow.source)
        check_roles(project, workflow, findings)
        return findings.problems()

    return check


def said(problems):
    return [f"{p.place.line}:{p.place.column} {p.rule} {p.message}" for p in problems]


def test_a_workflow_whose_team_has_its_roles_is_right(found):
    text = "team: crew\nsteps: {a: {role: reader, prompt: x}, g: {steps: {b: {role: builder, prompt: y}}}}\n"

    assert found(text) == ()


def test_an_unknown_team_is_told_once_with_the_nearest(found):
    (problem,) = found("team: crwe\nsteps: {a: {role: reader, prompt: x}, b: {role: reader, prompt: x}}\n")

    assert said([problem]) == ["3:7 CF601 workflow `w` has unknown team `crwe`"]
    assert problem.hint == "did you mean `crew`?"


def test_a_role_needs_a_team_and_one_that_has_it_is_named(found):
    (problem,) = found("steps: {a: {role: reader, agent: nobody-known, prompt: x}}\n")[:1]

    assert problem.rule == "CF601"
    assert problem.hint == "write `team: crew` at the top"


def test_an_unknown_role_is_told_also_within_groups(found):
    text = "team: crew\nsteps: {g: {steps: {h: {steps: {a: {role: raeder, prompt: x}}}}}}\n"
    (problem,) = found(text)

    assert said([problem]) == ["4:43 CF602 team `crew` has no role `raeder`"]
    assert problem.hint == "did you mean `reader`?"
    assert problem.notes[0].place.file == "teams/crew.yaml"


def test_an_unknown_agent_of_a_step_is_told_at_its_name(found):
    (problem,) = found("team: crew\nsteps: {a: {role: reader, agent: cluade, prompt: x}}\n")

    assert said([problem]) == ["4:34 CF603 step `a` has unknown agent `cluade`"]
    assert problem.hint == "did you mean `claude`?"


def test_an_unknown_agent_of_the_defaults_is_told_there_and_once(found):
    steps = "steps: {a: {role: reader, prompt: x}, b: {role: lead, prompt: x}}\n"
    text = f"team: crew\ndefaults: {{agent: cluade}}\n{steps}"

    assert said(found(text)) == ["4:19 CF603 unknown agent `cluade`"]


def test_an_override_stays_within_the_rights_of_the_role(found):
    (problem,) = found("team: crew\nsteps: {a: {role: builder, agent: openhands, prompt: x}}\n")

    assert said([problem]) == [
        "4:35 CF604 agent `openhands` cannot play role `builder`: it has no access level `workspace_write`"
    ]
    assert problem.hint.startswith("agent `openhands` has `full`;")


def test_the_agent_of_the_project_must_be_able_to_play_the_role(found):
    text = "team: crew\nsteps: {a: {role: reader, prompt: x}, b: {role: builder, prompt: x}}\n"

    assert said(found(text, "defaults: {agent: openhands}\n")) == [
        "4:19 CF604 agent `openhands` cannot play role `reader`: it has no access level `read_only`"
    ]


def test_a_team_that_nobody_asks_is_warned_of(found):
    (problem,) = found("team: crew\nsteps: {a: {run: 'true'}}\n")

    assert (problem.rule, problem.severity.value) == ("CF609", "warning")


@pytest.mark.parametrize("path", ["../../outside.md", "../../../etc/x.md"])
def test_a_prompt_lies_in_the_project(found, path):
    (problem,) = found(f"team: crew\nsteps: {{a: {{role: reader, prompt_file: {path}}}}}\n")

    assert (problem.rule, problem.message) == ("CF606", f"`{path}` leads out of the project")


def test_a_prompt_may_lie_beside_the_folder_of_its_workflow(found):
    assert found("team: crew\nsteps: {a: {role: reader, prompt_file: ../prompts/x.md}}\n") == ()


@pytest.mark.parametrize(
    ("step", "settings", "agent"),
    [
        ("role: reader", "", "scaffold"),
        ("role: reader", "defaults: {agent: pi}\n", "pi"),
        ("role: builder", "defaults: {agent: pi}\n", "codex"),
        ("role: builder, agent: claude", "defaults: {agent: pi}\n", "claude"),
    ],
)
@pytest.mark.seed("S36")
def test_the_step_goes_before_the_role_and_the_role_before_the_defaults(load, step, settings, agent):
    project, workflow = load(f"team: crew\nsteps: {{a: {{{step}, prompt: x}}}}\n", settings)
    cast = resolve_agent(project, workflow, workflow.steps[0])

    assert cast.agent == agent
    assert cast.role.name == workflow.steps[0].role
    assert cast.team.name == "crew"


def described(load, step):
    project, workflow = load(f"team: crew\nsteps: {{a: {{{step}, prompt: x}}}}\n")
    (asked,) = Tree(workflow).steps()
    return describe_agent(project, workflow, asked)


def test_who_is_asked_is_described_with_all_that_the_role_says(load):
    assert described(load, "role: builder") == {
        "name": "codex",
        "role": "builder",
        "model": "large",
        "access": "workspace_write",
        "instructions": "Build.",
        "skills": {"tidy": "Tidy up."},
    }


def test_the_model_of_a_role_is_not_given_to_another_agent(load):
    assert described(load, "role: builder, agent: claude")["model"] is None
    assert described(load, "role: builder, agent: claude, model: opus")["model"] == "opus"
