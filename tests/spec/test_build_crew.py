import pytest

from crewflow.spec.build_crew import build_agent, build_team
from crewflow.spec.build_schedule import build_schedule
from crewflow.spec.crew import Access, Batch, Fallback, Hints
from crewflow.spec.model import Defaults
from crewflow.spec.origin import Origin
from crewflow.spec.source import read_documents


def document(text):
    (found,), problems = read_documents("f.yaml", text.encode())
    assert problems == ()
    return found


def team(text, defaults=None):
    read = document(text)
    return build_team(read, read.data, defaults or Defaults(), Origin.PROJECT)


def agent(text):
    read = document(text)
    return build_agent(read, read.data, Origin.SHIPPED)


def schedule(text):
    read = document(text)
    return build_schedule(read, read.data, Origin.PROJECT)


def test_a_role_that_says_nothing_may_read_and_nothing_more():
    built, problems = team("name: t\nroles: {reader: {}}\n")
    role = built.roles["reader"]

    assert problems == ()
    assert (role.name, role.path, role.access) == ("reader", ("roles", "reader"), Access.READ_ONLY)
    assert (role.agent, role.fallback, role.skills, role.pools, role.batch) == (None, (), (), {}, None)
    assert (role.quota, role.wait_max, role.on_denied, role.context) == ("wait", 21_600.0, "warn", "auto")


def test_a_role_is_read_whole():
    built, problems = team("""
name: t
workflow: w
roles:
  r:
    agent: a
    fallback: [{agent: b}, {agent: c, model: m}]
    access: full
    pools: {p: 2}
    batch: {max_size: 2KiB}
    budget: {usd: 1.5, tokens: 2000}
    env: {N: 3.10}
    timeout: 2m
    hints: {triggers: [x], cost: cheap}
""")
    role = built.roles["r"]

    assert problems == ()
    assert (built.workflow, built.origin) == ("w", Origin.PROJECT)
    assert role.fallback == (Fallback("b"), Fallback("c", "m"))
    assert (role.access, role.pools, role.batch) == (Access.FULL, {"p": 2}, Batch(5, 2048))
    assert (role.usd, role.tokens, role.env, role.timeout) == (1.5, 2000, {"N": "3.10"}, 120.0)
    assert role.hints == Hints(triggers=("x",), cost="cheap")


def test_the_defaults_of_a_team_stand_over_those_of_the_project():
    built, _ = team(
        "name: t\ndefaults: {timeout: 1m}\nroles: {r: {}}\n", Defaults(timeout=9.0, grace=3.0, agent="a")
    )

    assert (built.defaults.timeout, built.defaults.grace, built.defaults.agent) == (60.0, 3.0, "a")


@pytest.mark.parametrize("make", [team, agent])
def test_the_environment_of_an_agent_takes_no_expressions(make):
    text = "name: t\nroles: {r: {env: {A: '${{ inputs.x }}'}}}\nenv: {A: '${{ inputs.x }}'}\n"
    _, (problem,) = make(text)

    assert (problem.rule, problem.hint) == ("CF110", "write it in the `env` of a step")


def test_an_agent_keeps_its_flags_in_their_order_and_has_defaults():
    built, problems = agent("name: a\nbin: x\nflags: {session: [s], model: [m]}\naccess: {full: [-y]}\n")

    assert problems == ()
    assert list(built.flags) == ["session", "model"]
    assert built.access == {Access.FULL: ("-y",)}
    assert (built.prompt_via, built.exit, built.grace, built.memory) == ("stdin", {"ok": (0,)}, 10.0, None)


def test_what_an_agent_prints_is_read_by_pointers():
    built, _ = agent("""
name: a
access: {}
output:
  format: jsonl
  result: {where: {/n: 1.0, /t: {not: x}}, get: /r, pick: join}
  usage: {in: {get: /i}, out: {get: /o}, pick: sum}
  error: [{get: /e, of_last: true}]
  error_regex: bad
""")
    printed = built.output

    assert printed.readings["result"].where == {"/n": 1.0, "/t": {"not": "x"}}
    assert printed.readings["result"].pick == "join"
    assert (printed.usage.numbers, printed.usage.pick) == ({"in": "/i", "out": "/o"}, "sum")
    assert (printed.errors[0].get, printed.errors[0].of_last) == ("/e", True)
    assert printed.patterns == {"error_regex": "bad"}


def test_a_schedule_that_says_little_has_defaults():
    built, problems = schedule("name: s\nworkflow: w\ncron: 0 2 * * *\n")

    assert problems == ()
    assert (built.cron, built.at, built.every, built.timezone) == (("0 2 * * *",), (), None, "UTC")
    assert (built.enabled, built.catch_up, built.catch_up_window) == (True, "latest", 86_400.0)
    assert (built.overlap, built.queue_limit, built.jitter, built.on_remove) == ("skip", None, 0.0, "keep")


@pytest.mark.parametrize(
    ("said", "when"),
    [
        ("cron: [0 2 * * *, 0 3 * * *]", "cron 0 2 * * *, 0 3 * * *"),
        ("every: 90m", "every 1h30m"),
        ("at: 2026-12-24T09:00", "at 2026-12-24T09:00"),
    ],
)
def test_when_a_schedule_starts_is_said_as_it_is_written(said, when):
    assert schedule(f"name: s\nworkflow: w\n{said}\n")[0].when == when


def test_an_interval_of_no_time_is_refused():
    _, (problem,) = schedule("name: s\nworkflow: w\nevery: 0s\n")

    assert (problem.rule, problem.message) == ("CF108", "`every` is no time at all")
