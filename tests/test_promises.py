"""The promises that join all layers, over workflows that nobody has thought of.

Given the recorded outcomes, what the plan says is what `apply` did: the plan is simulated by a machine of its
own, fed with nothing but how attempts ended, and must come to the states that the run recorded.
"""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crewflow.engine.ask import decide_condition
from crewflow.engine.view import View
from crewflow.graph.plan import Condition, from_bytes
from crewflow.run.events import (
    AskCondition,
    AttemptStarted,
    CancelRequested,
    ConditionDecided,
    DelayRetry,
    GenerationBegan,
    RetryDue,
)
from crewflow.run.machine import Machine
from crewflow.run.states import TERMINAL
from crewflow.state import codec
from crewflow.state.journal import read_journal
from crewflow.state.replay import tell_story

CONDITIONS = ("success()", "failure()", "always()", "1 == 1", "1 == 2")


@st.composite
def workflows(draw):
    """A workflow as JSON, which is YAML: up to 8 steps, each after some of those before it."""
    names = [f"s{n}" for n in range(draw(st.integers(1, 8)))]
    steps = {name: draw(steps_after(names[:index])) for index, name in enumerate(names)}
    document = {"kind": "workflow", "name": "w", "steps": steps}
    if draw(st.booleans()):
        document["on_failure"] = draw(st.sampled_from(["finish", "stop", "cancel"]))
    if draw(st.booleans()):
        document["max_parallel"] = draw(st.integers(1, 3))
    if draw(st.booleans()):
        document["finally"] = {"f": {"run": draw(commands()), "if": draw(st.sampled_from(CONDITIONS))}}
    return document


@st.composite
def steps_after(draw, earlier):
    """A step; its command succeeds, fails, or fails at first."""
    step = {"run": draw(commands())}
    if earlier:
        step["needs"] = sorted(draw(st.sets(st.sampled_from(earlier), max_size=3)))
        step["after"] = sorted(draw(st.sets(st.sampled_from(earlier), max_size=1)))
    if draw(st.integers(0, 3)) == 0:
        step["if"] = draw(st.sampled_from(CONDITIONS))
    if draw(st.integers(0, 3)) == 0:
        step["for_each"] = draw(st.lists(st.integers(0, 9), max_size=4))
        step["max_parallel"] = draw(st.integers(1, 2))
    if draw(st.booleans()):
        step["retry"] = {"max_attempts": 2, "delay": "0s"}
    if draw(st.integers(0, 3)) == 0:
        step["allow_failure"] = True
    return step


def commands():
    return st.sampled_from(["true", "true", "true", "exit 1", 'test "$CREWFLOW_ATTEMPT" -gt 1'])


class Applied:
    """A run that is over, as its files tell."""

    def __init__(self, paths):
        self.paths = paths
        self.plan = from_bytes(Path(paths.plan()).read_bytes())
        self.records = read_journal(paths).records
        story = tell_story(paths)
        self.state = story.shown_state()
        self.states = {name: str(task.state) for name, task in story.tasks.items()}


def simulate(applied, slots):
    """The states that the plan comes to, given how attempts ended and in what order."""
    machine = Machine(applied.plan, slots)
    view = View(applied.plan, machine, applied.paths.run_id)
    tasks = {task.id: task for task in applied.plan.tasks}
    todo = [GenerationBegan(1)]
    ends = [r for r in applied.records if r["type"] in {codec.ENDED, codec.CANCEL}]
    while True:
        while todo:
            for said in machine.handle(todo.pop(0)):
                if isinstance(said, AskCondition):
                    todo.append(ConditionDecided(said.task, decide_condition(tasks[said.task], said, view)))
                elif isinstance(said, DelayRetry):
                    todo.append(RetryDue(said.task))
        while (name := machine.next_ready()) is not None:
            machine.handle(AttemptStarted(name, machine.tasks[name].attempts + 1))
        if not ends:
            return machine
        record = ends.pop(0)
        view.take(record)
        event = codec.from_record(record)
        assert isinstance(event, CancelRequested) or machine.tasks[record["task"]].state == "running"
        todo.append(event)


def check_agreement(applied, slots):
    machine = simulate(applied, slots)
    assert machine.state == applied.state
    assert {name: str(task.state) for name, task in machine.tasks.items()} == applied.states


def check_order(applied, slots):
    """Every task of the plan ended; none started before its needs had; never more than slots ran."""
    states = applied.states
    assert list(states) == [task.id for task in applied.plan.tasks]
    assert set(states.values()) <= set(map(str, TERMINAL))
    steps = {step.id: step for step in applied.plan.steps}
    step_of = {task.id: task.step for task in applied.plan.tasks}
    last_end, first_start, running = {}, {}, Counter()
    for record in applied.records:
        task = record.get("task")
        if record["type"] == codec.STARTED:
            first_start.setdefault(task, record["seq"])
            running[step_of[task]] += 1
            assert running.total() <= slots
            limit = steps[step_of[task]].max_parallel
            assert limit is None or running[step_of[task]] <= limit
        elif record["type"] == codec.ENDED:
            last_end[task] = record["seq"]
            running[step_of[task]] -= 1
    for task, seq in first_start.items():
        step = steps[step_of[task]]
        for before in (*step.needs, *step.after):
            assert all(last_end.get(name, 0) < seq for name in steps[before].tasks), (task, before)
    by_task = {task.id: task for task in applied.plan.tasks}
    for task in first_start:
        if by_task[task].condition is not Condition.STATUS:
            needs = [leg for name in steps[step_of[task]].needs for leg in steps[name].tasks]
            assert not any(states[leg] in {"failed", "cancelled"} for leg in needs), task


@pytest.fixture(params=["inline", "local"])
def executor(request):
    return request.param


def test_the_plan_and_the_run_agree(project, executor):
    here = project({})

    @settings(
        max_examples=8,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    @given(workflows(), st.integers(1, 4))
    def agree(document, jobs):
        shutil.rmtree(here.root / ".crewflow", ignore_errors=True)
        here.write({"workflows/w.yaml": json.dumps(document)})
        done = here.run("apply", "-q", f"-j{jobs}", "--executor", executor)
        assert done.code in {0, 1, 9}, (done, document)
        applied = Applied(here.paths())
        slots = min(jobs, document.get("max_parallel", jobs))
        check_agreement(applied, slots)
        check_order(applied, slots)

    agree()


@pytest.mark.seed("fault 1")
def test_a_hundred_independent_tasks_succeed_each_time(project):
    numbers = ", ".join(map(str, range(100)))
    here = project(f"steps: {{t: {{for_each: [{numbers}], run: 'true'}}}}")
    for _ in range(5):
        done = here.run("apply", "-q", "-j8")
        assert done.code == 0, done
    assert here.status()["counts"] == {"succeeded": 100}
    check_order(Applied(here.paths()), 8)


@pytest.mark.seed("S7")
@pytest.mark.seed("fault 3")
@pytest.mark.case("C100")
def test_a_chain_goes_on_beside_a_task_that_takes_long(project):
    """`slow` ends only once the other chain has: with waves, this would never end."""
    here = project(
        """
        steps:
          slow: {run: 'while ! test -e c; do sleep 0.02; done'}
          a: {run: "true"}
          b: {needs: a, run: "true"}
          c: {needs: b, run: 'touch c'}
        """
    )
    assert here.run("apply", "-j2", timeout=60).code == 0
    ended = [r["task"] for r in here.records("attempt.ended")]
    assert ended[:2] == ["a", "b"]
    assert set(ended[2:]) == {"c", "slow"}


def test_a_chain_of_three_hundred_runs_in_order(project):
    steps = {f"s{n}": {"run": ["true"]} | ({"needs": f"s{n - 1}"} if n else {}) for n in range(300)}
    here = project({"workflows/w.yaml": json.dumps({"kind": "workflow", "name": "w", "steps": steps})})
    assert here.run("apply", "-q", "-j4").code == 0
    assert [r["task"] for r in here.records("attempt.ended")] == list(steps)


def test_a_fan_out_of_two_thousand_ends_whole(project):
    numbers = ", ".join(map(str, range(2000)))
    here = project(
        f"""
        steps:
          t: {{for_each: [{numbers}], run: [echo, "${{{{ item }}}}"]}}
          join: {{needs: t, run: [echo, "${{{{ steps.t.result | length }}}}"]}}
        """
    )
    done = here.run("apply", "-q", "-j8")
    assert done.code == 0, done
    assert here.run("logs", "join").out == "2000\n"
    assert here.status()["counts"] == {"succeeded": 2001}


@pytest.mark.case("C101")
def test_no_more_workers_are_made_than_there_are_tasks(project):
    here = project("steps: {t: {for_each: [1, 2, 3], run: 'echo $PPID'}}")
    assert here.run("apply", "-j10000").code == 0
    assert len(set(here.run("logs").out.split(" | ")[1:])) <= 3


def test_an_outcome_that_is_not_what_was_recorded_is_noticed(project):
    """The simulation can fail."""
    here = project("steps: {a: {run: 'true'}, b: {needs: a, run: 'true'}}")
    here.run("apply", "-q")
    applied = Applied(here.paths())
    check_agreement(applied, 2)

    for record in applied.records:
        if (record["type"], record.get("task")) == (codec.ENDED, "b"):
            record.update(outcome="failed", failure="exit")
    with pytest.raises(AssertionError):
        check_agreement(applied, 2)
