"""The teams that ship with crewflow, and the workflow of each."""

import re
from itertools import combinations
from pathlib import Path

import pytest
import yaml

WORKFLOWS = Path(__file__).parents[2] / "workflows"
NAMES = ("default", "fast-fix", "implementation", "parallel-research", "research", "review")

ACCESS = {
    "analyst": "read_only",
    "critic": "read_only",
    "executor": "workspace_write",
    "explorer": "read_only",
    "planner": "read_only",
    "reviewer": "read_only",
    "security-reviewer": "read_only",
    "test-engineer": "workspace_write",
    "verifier": "read_only",
    "writer": "workspace_write",
}
"""Every role there is, with what it may do."""

GIVEN = ("-i", "goal=saving twice keeps both notes")


def document(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


TEAMS = {path.stem: document(path) for path in sorted((WORKFLOWS / "teams").glob("*.yaml"))}
FLOWS = {name: document(WORKFLOWS / f"{name}.yaml") for name in NAMES}
ROLES = [
    pytest.param(role, said, id=f"{team}-{role}")
    for team, given in TEAMS.items()
    for role, said in given["roles"].items()
]


def asked(flow):
    """The steps of a workflow that ask an agent, by id."""
    return {name: step for name, step in flow["steps"].items() if "role" in step}


@pytest.mark.seed("S35")
def test_there_are_six_teams_and_ten_roles():
    assert tuple(TEAMS) == NAMES
    assert {role for team in TEAMS.values() for role in team["roles"]} == ACCESS.keys()


@pytest.mark.parametrize("name", NAMES)
def test_a_team_and_its_workflow_name_each_other(name):
    team, flow = TEAMS[name], FLOWS[name]

    assert (team["kind"], team["name"], team["workflow"]) == ("team", name, name)
    assert (flow["kind"], flow["name"], flow["team"]) == ("workflow", name, name)
    assert team["description"]
    assert flow["description"]


@pytest.mark.parametrize("name", NAMES)
def test_each_role_of_a_team_is_used_by_its_workflow_and_no_other(name):
    assert {step["role"] for step in asked(FLOWS[name]).values()} == TEAMS[name]["roles"].keys()


@pytest.mark.parametrize(("role", "said"), ROLES)
def test_a_role_says_what_it_may_do_and_leaves_the_agent_to_the_project(role, said):
    assert said["access"] == ACCESS[role]
    assert said["description"]
    assert not said.keys() & {"agent", "model", "fallback", "budget"}


@pytest.mark.parametrize(("role", "said"), ROLES)
def test_a_role_is_told_what_to_do_what_not_and_in_which_form_to_answer(role, said):
    lines = said["instructions"].strip().splitlines()

    assert lines[0].startswith("You ")
    assert re.search(r"\b(not|nothing|no|never)\b", said["instructions"], re.IGNORECASE)
    assert any(line.startswith("Answer ") for line in lines)
    assert len(said["instructions"]) in range(400, 1200)


@pytest.mark.seed("S33")
@pytest.mark.parametrize(("role", "said"), ROLES)
def test_a_role_has_hints_for_those_who_choose(role, said):
    hints = said["hints"]

    assert hints.keys() == {"triggers", "use_when", "avoid_when", "cost"}
    assert all(hints[key] for key in ("triggers", "use_when", "avoid_when"))
    assert hints["cost"] in {"cheap", "expensive"}


def test_no_two_instructions_are_alike():
    texts = [
        (team, role, set(said["instructions"].split("\n")))
        for team, given in TEAMS.items()
        for role, said in given["roles"].items()
    ]
    shared = [(a[:2], b[:2], a[2] & b[2] - {""}) for a, b in combinations(texts, 2)]

    assert [found for found in shared if found[2]] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_needs_a_goal_and_gives_it_to_its_agents(name):
    inputs = FLOWS[name]["inputs"]
    prompts = [step["prompt"] for step in asked(FLOWS[name]).values()]

    assert inputs["goal"]["required"] is True
    assert all(given["description"] for given in inputs.values())
    assert all("default" in given for key, given in inputs.items() if key != "goal")
    assert "${{ inputs.goal }}" in prompts[0]
    assert "${{ inputs.goal }}" in prompts[-1]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_writer_may_write_is_the_report_and_it_must_be_there(name):
    for step in asked(FLOWS[name]).values():
        if step["role"] == "writer":
            assert step["writes"] == ["${{ inputs.report }}"]
            assert step["expect"] == {"files": ["${{ inputs.report }}"]}


@pytest.mark.parametrize("name", NAMES)
def test_a_test_engineer_may_write_tests_alone(name):
    for step in asked(FLOWS[name]).values():
        if step["role"] == "test-engineer":
            assert all("test" in pattern for pattern in step["writes"])


@pytest.mark.parametrize("name", NAMES)
def test_no_agent_may_work_without_end_and_what_passes_is_tried_again(name):
    defaults = FLOWS[name]["defaults"]

    assert defaults["timeout"]
    assert defaults["retry"]["max_attempts"] > 1
    assert {"transient", "bad_output"} <= set(defaults["retry"]["when"])


@pytest.mark.parametrize("name", NAMES)
def test_a_run_fails_where_the_last_word_is_that_the_goal_is_not_reached(name):
    flow = FLOWS[name]
    for step_id, step in asked(flow).items():
        if step["role"] == "verifier":
            verdict = flow["steps"]["verdict"]
            assert step["outputs"].keys() == {"unmet"}
            assert verdict["needs"] == step_id
            assert verdict["if"] == f"${{{{ steps.{step_id}.outputs.unmet > 0 }}}}"


@pytest.mark.seed("S35")
@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_is_found_by_name_and_the_agent_that_asks_nobody_renders_its_prompts(name, project):
    here = project({"crewflow.yaml": "kind: project\nname: shop\n"})
    done = here.run("apply", name, *GIVEN)
    prompts = {path.parents[1].name.split("%5B")[0]: path for path in here.root.rglob("prompt.md")}

    assert done.code == 0, done
    assert prompts.keys() == asked(FLOWS[name]).keys()
    for step_id, step in asked(FLOWS[name]).items():
        text = prompts[step_id].read_text(encoding="utf-8")
        assert "${{" not in text
        assert ("saving twice keeps both notes" in text) == ("inputs.goal" in step["prompt"])
        assert all(
            f"step `{need}`" in text for need in step.get("needs", ()) if isinstance(step["needs"], list)
        )


def test_the_workflows_are_strictly_valid_beside_each_other(project):
    texts = {name: (WORKFLOWS / f"{name}.yaml").read_text(encoding="utf-8") for name in NAMES}
    done = project({f"workflows/{name}.yaml": text for name, text in texts.items()}).run(
        "validate", "--strict"
    )

    assert (done.code, done.out) == (0, ""), done


def test_each_area_has_an_explorer_and_each_lens_a_reviewer(project):
    here = project({"crewflow.yaml": "kind: project\nname: shop\n"})
    areas = here.run("plan", "parallel-research", *GIVEN, "-i", "areas=api", "-i", "areas=web", "-q")
    lenses = here.run("plan", "review", *GIVEN, "-i", "lenses=speed", "-q")

    assert all(f"explore[{number}]" in areas.out for number in range(2))
    assert "explore[2]" not in areas.out
    assert "review[speed]" in lenses.out


def test_the_check_of_the_project_is_run_as_it_was_given(project):
    here = project({"crewflow.yaml": "kind: project\nname: shop\n"})
    plain = here.run("plan", "default", *GIVEN, "-q")
    checked = here.run("plan", "default", *GIVEN, "-i", "check=make", "-i", "check=all tests", "-q")

    assert "make" not in plain.out
    assert "run: env make 'all tests'" in checked.out
