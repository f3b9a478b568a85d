"""The agents that ship with crewflow."""

from pathlib import Path

import pytest

from crewflow.spec.crew import Access
from crewflow.spec.load import load_project

AGENTS = Path(__file__).parents[2] / "workflows" / "agents"
NAMES = sorted(path.stem for path in AGENTS.glob("*.yaml"))


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    return load_project(str(tmp_path_factory.mktemp("project")))[0].agents


def test_there_are_ten_and_the_one_that_asks_nobody(agents):
    assert sorted(agents) == NAMES
    assert [name for name, agent in agents.items() if agent.builtin] == ["scaffold"]
    assert len(agents) == 11


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_is_in_the_file_of_its_name_and_says_what_it_is(agents, name):
    assert agents[name].description
    assert Path(agents[name].source.file).name == f"{name}.yaml"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "scaffold"])
def test_a_program_can_be_installed_and_its_answer_and_its_faults_can_be_read(agents, name):
    agent = agents[name]

    assert agent.install
    assert agent.argv[0] == "{bin}"
    assert "result" in agent.output.readings
    assert agent.output.errors or "error_regex" in agent.output.patterns
    assert agent.output.usage or "usage_regex" in agent.output.patterns
    assert agent.exit["ok"] == (0,)
    assert agent.memory >= 100_000_000


@pytest.mark.parametrize("name", [name for name in NAMES if name != "scaffold"])
def test_only_variables_that_are_named_reach_an_agent(agents, name):
    assert agents[name].env_pass
    assert not set(agents[name].env_pass) & set(agents[name].env)


def test_the_agents_that_cannot_be_kept_from_writing_play_no_role_that_only_reads(agents):
    assert {name for name, agent in agents.items() if Access.READ_ONLY not in agent.access} == {
        "mini-swe-agent",
        "openhands",
    }


@pytest.mark.parametrize("name", [name for name in NAMES if name != "scaffold"])
def test_a_prompt_is_never_an_argument_where_there_is_another_way(agents, name):
    """An argument may hold 131,071 bytes only."""
    assert (agents[name].prompt_via == "arg") == (name == "mini-swe-agent")


def test_the_words_of_a_conversation_that_goes_on_differ_from_those_of_a_new_one_or_are_the_same_option(
    agents,
):
    for agent in agents.values():
        if "session_new" in agent.flags:
            assert "session" in agent.flags, agent.name
