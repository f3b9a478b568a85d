"""The laws of the machine where steps stand in groups and calls, on random plans under random weather.

`Watch` feeds one machine with everything that can happen and holds each answer against the laws, from the
outside: of the machine it reads the states of tasks and which tasks there are. A second machine is fed with
what a journal would hold. `Language` is the language's rules as one recursion over the authored steps: it
knows nothing of events, plans or unfolding.
"""

import random
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from scope_plans import ASKED, GIVEN, Part, leg_names, plan_of

from crewflow.graph.fanout import Leg
from crewflow.graph.plan import Condition
from crewflow.run.events import (
    AskCondition,
    AskInputs,
    AskLegs,
    AskOutcome,
    AttemptEnded,
    AttemptStarted,
    CancelAttempt,
    CancelRequested,
    Cause,
    ConditionDecided,
    DelayRetry,
    GenerationBegan,
    InputsGiven,
    LegsGiven,
    OutcomeGiven,
    Refused,
    RetryDue,
    RunEnded,
    TaskEnded,
)
from crewflow.run.machine import Machine
from crewflow.run.states import NOT_STARTED, TERMINAL, Outcome, RunState, TaskState
from crewflow.spec.model import CONTAINERS, Kind, OnFailure, Retry

SUCCEEDED, FAILED = TaskState.SUCCEEDED, TaskState.FAILED
SKIPPED, CANCELLED = TaskState.SKIPPED, TaskState.CANCELLED
RUNNING = TaskState.RUNNING
BROKEN = {FAILED, CANCELLED}
LAWS = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# --- random plans ---------------------------------------------------------------------------------

RETRIES = st.sampled_from(
    [
        Retry(),
        Retry(max_attempts=2, when=("exit", "lost")),
        Retry(max_attempts=3, when=("exit:75",)),
    ]
)
POLICIES = st.sampled_from([None, None, None, *OnFailure])
ALLOWED = st.sampled_from([False, False, False, True, ASKED, ("exit",), ("lost", "start", "bad_output")])


def some_of(names):
    return st.lists(st.sampled_from(names), max_size=2, unique=True).map(tuple) if names else st.just(())


@st.composite
def scopes(draw, depth=3, policies=POLICIES):
    """The steps of a run or of a container: any order, `finally` last."""
    size = draw(st.integers(0 if depth < 3 else 1, 3 if depth < 3 else 4))
    finals = draw(st.sampled_from([0, 0, 1, 2]))
    made = []
    for number in range(size + finals):
        names = [part.id for part in made]
        made.append(draw(parts(f"s{number}", names, number >= size, depth, policies)))
    return (*draw(st.permutations(made[:size])), *made[size:])


@st.composite
def parts(draw, name, names, final, depth, policies):
    kinds = [Kind.SCRIPT, Kind.SCRIPT, Kind.GROUP, Kind.CALL] if depth > 1 else [Kind.SCRIPT]
    kind = draw(st.sampled_from(kinds))
    legs = draw(st.sampled_from([None, None, None, GIVEN, 0, 1, 2, 3]))
    holds = kind in CONTAINERS
    inside = draw(scopes(depth - 1, policies)) if holds else ()
    return Part(
        id=name,
        needs=draw(some_of(names)),
        after=draw(some_of(names)),
        kind=kind,
        inside=inside,
        legs=legs,
        final=final,
        max_parallel=draw(st.sampled_from([None, 1, 2])) if legs is not None else None,
        slots=draw(st.sampled_from([None, None, 1, 2])) if holds else None,
        condition=draw(st.sampled_from([Condition.SUCCESS, *Condition])),
        retry=Retry() if holds else draw(RETRIES),
        weight=draw(st.sampled_from([1.0, 2.0])),
        priority=draw(st.sampled_from([0, 0, 1])),
        idempotent=draw(st.booleans()),
        on_failure=draw(policies) if legs is not None or holds else None,
        allow=draw(ALLOWED) if holds else False,
        declared=kind is Kind.CALL and draw(st.booleans()),
        given=holds and draw(st.booleans()),
    )


def with_known_legs_in_finally(steps, *, under=False):
    """Legs once given are kept, also those that `finally` was given because of a failure or a cancel."""
    made = []
    for part in steps:
        final = under or part.final
        inside = with_known_legs_in_finally(part.inside, under=final)
        made.append(replace(part, inside=inside, legs=2 if final and part.legs == GIVEN else part.legs))
    return tuple(made)


# --- random weather -------------------------------------------------------------------------------

ENDS = {
    "s": {"outcome": Outcome.SUCCEEDED},
    "f": {"outcome": Outcome.FAILED, "failure": "exit", "exit_code": 1},
    "g": {"outcome": Outcome.FAILED, "failure": "exit", "exit_code": 75},
    "l": {"outcome": Outcome.LOST, "failure": "lost"},
    "c": {"outcome": Outcome.CANCELLED},
    "a": {"outcome": Outcome.FAILED, "failure": "exit", "exit_code": 1, "allowed": True},
}
CLASSES = {"f": {"exit"}, "a": {"exit"}, "g": {"exit", "exit:75"}, "l": {"lost"}}
IFS = {
    "yes": lambda _: True,
    "no": lambda _: False,
    "error": lambda _: False,
    "success()": lambda asked: asked.success,
    "failure()": lambda asked: asked.failure,
    "not success()": lambda asked: not asked.success,
    "cancelled()": lambda asked: asked.cancelled,
}


@dataclass(frozen=True)
class Fates:
    """What will become of each task that there is or may be, the same every time that it is asked."""

    seed: int
    good: bool = False  # nothing fails by itself

    def _draw(self, what, task, choices):
        return random.Random(f"{self.seed} {what} {task}").choice(choices)

    def letter(self, task, number):
        return "s" if self.good else self._draw(f"attempt {min(number, 3)}", task, "sssssssssfffgglca")

    def end(self, task, number):
        return AttemptEnded(task, number, **ENDS[self.letter(task, number)])

    def _word(self, name, condition):
        words = list(IFS) if condition is Condition.STATUS else ["yes", "yes", "yes", "no", "error"]
        word = self._draw("if", name, words)
        # what ran in the `finally` of a call because of a cancel is kept with the call
        return "no" if self.good and word in {"error", "cancelled()"} else word

    def _error(self, what, task):
        return "why not" if not self.good and self._draw(what, task, "nnnnny") == "y" else None

    def condition(self, asked, condition):
        word = self._word(asked.task, condition)
        error = "it has no value" if word == "error" else None
        return ConditionDecided(asked.task, bool(IFS[word](asked)), error)

    def legs(self, asked, condition):
        """Half of all `if`s of fan-outs ask for no leg, and are asked beforehand."""
        if condition is not Condition.SUCCESS and self._draw("leg-free", asked.task, "ny") == "y":
            decided = self.condition(asked, condition)
            if decided.error is not None or not decided.value:
                return LegsGiven(asked.task, None, decided.error)
        count = self._draw("legs", asked.task, [0, 1, 2, 2, 3, 4])
        legs = tuple(Leg(str(leg), {"item_index": leg}) for leg in range(count))
        return LegsGiven(asked.task, legs, self._error("legs", asked.task))

    def inputs(self, task):
        return InputsGiven(task, self._error("inputs", task))

    def outcome(self, task, *, failed):
        error = self._error(f"outcome {failed}", task)
        allowed = failed and error is None and self._draw("allowed", task, "ny") == "y"
        return OutcomeGiven(task, allowed, error)


# --- the watch ------------------------------------------------------------------------------------


@dataclass
class Watch:
    """Feeds a machine and holds what it says against the laws."""

    plan: object
    slots: int
    fates: Fates
    machine: Machine = field(init=False)
    shadow: Machine = field(init=False)

    def __post_init__(self):
        self.machine = Machine(self.plan, self.slots)
        self.shadow = Machine(self.plan, 1)
        self.started = {}
        self.anew_from = {}
        self.paths = {}
        self._new_generation()

    def _new_generation(self):
        self.in_flight = {}
        self.timers = set()
        self.asked = {}
        self.told = set()
        self.ended_now = {}
        self.opened = set()
        self.said_yes = set()
        self.closed = {}
        self.requested = self.dropped = self.over = False

    # what there is

    def planned(self, name):
        return self.machine.steps[name].planned

    def step_of(self, task):
        return self.planned(self.machine.tasks[task].task.step)

    def legs(self, step):
        return [task.task.id for task in self.machine.steps[step.id].tasks]

    def state(self, task):
        return self.machine.tasks[task].state

    def is_container(self, task):
        run = self.machine.tasks[task]
        return run.task.kind in CONTAINERS and not run.stands_for_legs

    def _path(self, step):
        """The step and those around it, the innermost first."""
        if step.id not in self.paths:
            around = () if step.within is None else self._path(self.step_of(step.within))
            self.paths[step.id] = (step, *around)
        return self.paths[step.id]

    def _steps_in(self, container):
        return [one.planned for one in self.machine.steps.values() if one.planned.within == container]

    # what can happen

    def begin(self):
        kept, before = self._kept(), self._states()
        for name, state in before.items():
            if state in TERMINAL:
                self.anew_from[name] = self.started.get(name, 0)
        self._new_generation()
        self.kept = kept
        self.feed(GenerationBegan(self.machine.generation + 1), new_generation=True)
        for name in before:
            if name in kept:
                assert self.state(name) is before[name]
                assert name not in self.ended_now
            else:
                assert (self.state(name) in TERMINAL) == (name in self.ended_now)

    def start_all(self):
        while True:
            best = self._best()
            name = self.machine.next_ready()
            assert name == best
            if name is None:
                break
            self._may_start(name)
            self.started[name] = self.started.get(name, 0) + 1
            assert self.feed(AttemptStarted(name, self.started[name])) == []
            self.in_flight[name] = self.started[name]
            self._limits_hold()
        self.machine.check_invariants()
        self._nothing_is_left_out()

    def end(self, name, *, obeys=False):
        """An attempt ends as its fate says, or as it was told to."""
        number = self.in_flight.pop(name)
        ended = self.fates.end(name, number)
        if obeys and name in self.told:
            ended = AttemptEnded(name, number, Outcome.CANCELLED)
        again = self._should_try_again(ended)
        said = self.feed(ended)
        assert any(isinstance(one, DelayRetry) for one in said) == again

    def _should_try_again(self, ended):
        """Attempts that a crash cut off count; a task that had ended gets all of them anew."""
        task = self.machine.tasks[ended.task].task
        classes = {ended.failure, f"{ended.failure}:{ended.exit_code}"}
        return (
            not self._is_closed(self.step_of(ended.task))
            and bool(classes & set(task.retry.when))
            and (task.idempotent or ended.outcome is not Outcome.LOST)
            and ended.number < self.anew_from.get(ended.task, 0) + task.retry.max_attempts
        )

    def answer(self, name):
        asked = self.asked.pop(name)
        answer = answer_of(self.fates, asked, self.machine.tasks[name].task.condition)
        if isinstance(answer, ConditionDecided) and answer.value:
            self.said_yes.add(name)
        self.feed(answer)

    def due(self, name):
        self.timers.discard(name)
        waits = name in self.machine.tasks and self.machine.tasks[name].waits_for == "retry"
        said = self.feed(RetryDue(name))
        assert [type(one) for one in said] == ([] if waits else [Refused])

    def cancel(self, *, now):
        self.requested = True
        drops = now or self._main_is_over(None)
        self.dropped |= drops
        running = [name for name in self.machine.tasks if self._is_leaf_at_work(name)]
        said = self.feed(CancelRequested("enough", now=now))
        hit = {name for name in running if drops or not self._is_under_final(self.step_of(name))}
        told = [one for one in said if isinstance(one, CancelAttempt)]
        assert {one.task for one in told} == hit
        assert all(one.now is now for one in told)

    def nonsense(self, late):
        picture = _picture(self.machine)
        assert [type(one) for one in self.feed(late)] == [Refused]
        assert _picture(self.machine) == picture

    # what must hold whatever happened

    def feed(self, what, *, new_generation=False):
        before = self._states()
        said = self.machine.handle(what)
        self.machine.check_invariants()
        after = self._states()
        refused = bool(said) and isinstance(said[0], Refused)
        if not new_generation:
            assert all(after[name] is state for name, state in before.items() if state in TERMINAL)
        self._take_in(said, new_generation=new_generation)
        self._limits_hold()
        if not refused and not isinstance(what, RetryDue):
            assert self.shadow.handle(what) == said
        assert _without_waits(self.shadow) == _without_waits(self.machine)
        return said

    def _take_in(self, said, *, new_generation):
        assert not (self.over and not new_generation and said and not isinstance(said[0], Refused))
        self.opened |= {n for n in self.machine.tasks if self.is_container(n) and self.state(n) is RUNNING}
        self.opened |= {one.task for one in said if isinstance(one, AskInputs)}
        for one in said:
            self._take(one)
        self._failures_take_hold()
        for one in said:
            if isinstance(one, TaskEnded):
                self._check_end(one)
            elif isinstance(one, CancelAttempt):
                assert self._is_closed(self.step_of(one.task), cancels=True)
            elif isinstance(one, RunEnded):
                assert one is said[-1]
                assert all(state in TERMINAL for state in self._states().values())
                assert one.state is self.machine.state is self._right_end()
        self._closing_is_thorough()
        self.asked = {name: one for name, one in self.asked.items() if self._still_asked(name, one)}

    def _take(self, one):
        if isinstance(one, TaskEnded):
            assert one.task not in self.ended_now
            self.ended_now[one.task] = one
            assert self.state(one.task) is one.state
        elif isinstance(one, AskCondition | AskLegs | AskInputs | AskOutcome):
            self.asked[one.task] = one
        elif isinstance(one, DelayRetry):
            assert one.number == self.started[one.task] + 1
            assert one.seconds >= 0
            self.timers.add(one.task)
        elif isinstance(one, CancelAttempt):
            assert one.number == self.in_flight[one.task]
            self.told.add(one.task)
        elif isinstance(one, RunEnded):
            self.over = True

    def _still_asked(self, name, one):
        if name not in self.machine.tasks:
            return False
        if isinstance(one, AskCondition | AskLegs):
            return self.state(name) is TaskState.DECIDING
        return self.state(name) is RUNNING

    # policies, from the outside

    def _failures_take_hold(self):
        """Note which steps and scopes are closed by the failures that there are."""
        for name, ended in self.ended_now.items():
            if ended.state is FAILED and name in self.machine.tasks:
                self._note(self._met_by(self.step_of(name)))
        for step in self.machine.steps.values():
            legs = [self.state(name) for name in self.legs(step.planned)]
            if step.planned.on_failure and FAILED in legs and set(legs) <= TERMINAL:
                self._note(self._met_by(step.planned, whole=True))

    def _note(self, met):
        if met is not None and met[1] is not OnFailure.FINISH:
            domain, policy = met
            self.closed[domain] = self.closed.get(domain, set()) | {policy}

    def _met_by(self, step, *, whole=False):
        if step.on_failure is not None and not whole:
            return ("step", step.id), step.on_failure
        if step.final:
            return None
        if step.within is None:
            return ("scope", None), self.plan.on_failure
        if self.machine.tasks[step.within].task.allow_failure is not False:
            policies = [around.on_failure for around in self._path(self.step_of(step.within))]
            near = next((policy for policy in policies if policy is not None), self.plan.on_failure)
            return ("scope", step.within), near
        return self._met_by(self.step_of(step.within))

    def _is_closed(self, step, *, cancels=False):
        """Whether nothing more may start in a step; `cancels`: and what runs in it is to be ended."""
        if self.requested and (self.dropped or not self._is_under_final(step)):
            return True
        for around in self._path(step):
            if self._took_hold(("step", around.id), cancels):
                return True
            if around.final:
                return False
            if self._took_hold(("scope", around.within), cancels):
                return True
        return False

    def _is_under_final(self, step):
        return any(around.final for around in self._path(step))

    def _took_hold(self, domain, cancels):
        policies = self.closed.get(domain, set())
        return OnFailure.CANCEL in policies if cancels else bool(policies)

    def _closing_is_thorough(self):
        for name in self.machine.tasks if self.closed or self.requested else ():
            step = self.step_of(name)
            if self.state(name) in NOT_STARTED:
                assert not self._is_closed(step), name
            elif self._is_leaf_at_work(name) and self._is_closed(step, cancels=True):
                assert name in self.told

    def _is_leaf_at_work(self, name):
        return self.state(name) is RUNNING and not self.is_container(name)

    # how things end

    def _check_end(self, ended):
        cause, step = ended.cause, self.step_of(ended.task)
        assert (cause is not None) >= (ended.state in {SKIPPED, CANCELLED})
        kind = cause.kind if cause else None
        if kind == "stopped" or (kind == "cancelled" and cause.step is not None):
            assert self._is_closed(step)
        if kind == "enclosing":
            container = step.within
            assert cause.step == container
            assert self.state(container) not in NOT_STARTED
        if self.is_container(ended.task):
            self._check_container(ended)

    def _check_container(self, ended):
        inside = [name for name in self.machine.tasks if self._is_in(name, ended.task)]
        assert all(self.state(name) in TERMINAL for name in inside)
        ends = [self._outcome(step.id) for step in self._steps_in(ended.task)]
        run = self.machine.tasks[ended.task]
        if ended.task not in self.opened and ended.state is not SUCCEEDED:  # one may end as it opens
            ended_with_it = [name for name in inside if name in self.ended_now]
            assert all(self.ended_now[name].cause.kind == "enclosing" for name in ended_with_it)
        elif ended.state is SUCCEEDED:
            assert (FAILED in ends) <= (run.outcome is Outcome.FAILED)
            assert (run.outcome is Outcome.FAILED) <= (run.task.allow_failure is not False)
            assert CANCELLED not in ends or run.outcome is Outcome.FAILED
        elif ended.state is FAILED:
            assert FAILED in ends or run.error is not None
            assert run.task.allow_failure is not True
        else:
            kept = run.task.allow_failure is not False and run.inner.cut
            assert FAILED not in ends or ended.cause.kind != "cancelled" or kept

    def _is_in(self, name, container):
        return any(step.within == container for step in self._path(self.step_of(name)))

    def _right_end(self):
        if self.requested or self._took_hold(("scope", None), cancels=True):
            return RunState.CANCELLED
        ends = {self.state(name) for step in self._steps_in(None) for name in self.legs(step)}
        return RunState.FAILED if ends & BROKEN else RunState.SUCCEEDED

    # starting

    def _limits_hold(self):
        at_work = [name for name in self.machine.tasks if self._is_leaf_at_work(name)]
        assert len(at_work) == self.machine.running <= self.slots
        for name, run in self.machine.tasks.items():
            if self.is_container(name) and run.task.slots is not None:
                assert sum(self._is_in(one, name) for one in at_work) <= run.task.slots
        for step in self.machine.steps.values():
            limit = step.planned.max_parallel
            assert (
                limit is None or [self.state(one) for one in self.legs(step.planned)].count(RUNNING) <= limit
            )

    def _may_start(self, name):
        step = self.step_of(name)
        assert name not in self.in_flight
        assert self.state(name) is TaskState.READY
        assert name not in self.kept
        assert not self.over
        assert not self._is_closed(step)
        for around in self._path(step):
            assert around.within is None or self.state(around.within) is RUNNING
            assert self._turn_has_come(around)
        task = self.machine.tasks[name].task
        if task.condition is not Condition.STATUS:
            assert all(self._outcome(need) is SUCCEEDED for need in step.needs)
        if task.condition is not Condition.SUCCESS:
            assert name in self.said_yes

    def _best(self):
        """The task that must be named next: by priority, then weight, then the order of the plan."""
        if len(self.in_flight) >= self.slots:
            return None
        able = [name for name in self.machine.tasks if self._is_able(name)]
        runs = self.machine.tasks
        return min(
            able, key=lambda n: (-runs[n].task.priority, -runs[n].task.weight, runs[n].index), default=None
        )

    def _is_able(self, name):
        run = self.machine.tasks[name]
        if self.is_container(name) or not (run.state is TaskState.READY or run.waits_for == "limit"):
            return False
        limit = self.step_of(name).max_parallel
        if limit is not None and len(set(self.legs(self.step_of(name))) & set(self.in_flight)) >= limit:
            return False
        around = [step.within for step in self._path(self.step_of(name)) if step.within is not None]
        return all(self._has_slots(container) for container in around)

    def _has_slots(self, container):
        slots = self.machine.tasks[container].task.slots
        return slots is None or sum(self._is_in(name, container) for name in self.in_flight) < slots

    def _nothing_is_left_out(self):
        """Each task that does nothing has a reason to, and a run that goes on has something to wait for."""
        for name, state in self._states().items():
            run, step = self.machine.tasks[name], self.step_of(name)
            if state is TaskState.PENDING:
                enclosed = step.within is not None and not self._is_open(step.within)
                assert enclosed or not self._turn_has_come(step)
            elif state is TaskState.DECIDING:
                assert name in self.asked
            elif state is TaskState.READY:
                assert len(self.in_flight) == self.slots
            elif run.waits_for == "retry":
                assert name in self.timers
            elif run.waits_for == "limit" and self.is_container(name):
                legs = [self.state(one) for one in self.legs(step)]
                assert legs.count(RUNNING) == step.max_parallel
        assert self.over or self.in_flight or self.asked or self.timers

    def _is_open(self, container):
        return self.state(container) is RUNNING and not isinstance(self.asked.get(container), AskInputs)

    def _turn_has_come(self, step):
        before = all(self._outcome(name) is not None for name in (*step.needs, *step.after))
        return before and (not step.final or self._main_is_over(step.within))

    def _main_is_over(self, container):
        return all(self._outcome(step.id) is not None for step in self._steps_in(container) if not step.final)

    def _outcome(self, name):
        """A step's state once it has ended, from its tasks; None before."""
        run = self.machine.steps[name]
        if not run.tasks:
            return run.state if run.ended else None
        states = {task.state for task in run.tasks}
        return whole(states) if states <= TERMINAL else None

    # resuming

    def _kept(self):
        return self._kept_in(None, settled=True, anew=False)

    def _kept_in(self, container, *, settled, anew):
        """What a new generation leaves alone: what succeeded, and skips by an `if` after kept steps."""
        whole_steps, kept = set(), set()
        for step in sorted(self._steps_in(container), key=lambda step: step.id):
            before = settled and {*step.needs, *step.after} <= whole_steps
            again = anew or step.final
            mine = {name for name in self.legs(step) if not again and self._is_kept(name, settled=before)}
            for name in self.legs(step):
                if name in mine:
                    kept |= {one for one in self.machine.tasks if self._is_in(one, name)}
                elif self.is_container(name):
                    kept |= self._kept_in(name, settled=before, anew=again)
            kept |= mine
            if mine and len(mine) == len(self.legs(step)):
                whole_steps.add(step.id)
        return kept

    def _is_kept(self, name, *, settled):
        run = self.machine.tasks[name]
        by_its_if = run.state is SKIPPED and run.cause.kind == "condition"
        return run.state is SUCCEEDED or (settled and by_its_if)

    def result(self):
        """What `expected` must agree with."""
        ends = {name: _told(run) for name, run in self.machine.tasks.items()}
        return ends, self.machine.state

    def _states(self):
        return {name: task.state for name, task in self.machine.tasks.items()}


def _told(run):
    outcome = run.outcome if run.inner is not None and run.state is SUCCEEDED else None
    return run.state, run.cause, outcome


def answer_of(fates, asked, condition):
    """The answer to a question of the machine."""
    if isinstance(asked, AskCondition):
        return fates.condition(asked, condition)
    if isinstance(asked, AskLegs):
        return fates.legs(asked, condition)
    if isinstance(asked, AskInputs):
        return fates.inputs(asked.task)
    return fates.outcome(asked.task, failed=asked.failed)


def whole(states):
    """What becomes of a step, from the states of its tasks."""
    for state in (FAILED, CANCELLED):
        if state in states:
            return state
    return SKIPPED if states == {SKIPPED} else SUCCEEDED


def _without_waits(machine):
    """What a replay must get right: all but whether a leaf is ready or waits, which the next start tells."""
    idle = {TaskState.READY, TaskState.WAITING}
    told = [
        (
            "idle" if task.state in idle else task.state,
            *_facts(task, skip={"state", "inner", "waits_for"} if task.inner is None else {"inner"}),
        )
        for task in machine.tasks.values()
    ]
    scopes = [machine.root, *(task.inner for task in machine.tasks.values() if task.inner is not None)]
    return [
        told,
        [_facts(scope, skip={"steps", "held", "limit"}) for scope in scopes],
        [_facts(step, skip=_LINKS) for step in machine.steps.values()],
        machine.state,
        machine.generation,
    ]


_LINKS = frozenset(
    {"_blocking", "planned", "tasks", "needs", "after", "dependents", "held", "scope", "levels"}
)


def _picture(machine):
    scopes = [machine.root, *(task.inner for task in machine.tasks.values() if task.inner is not None)]
    queues = [machine._heap, *(one.held for one in (*machine.steps.values(), *scopes))]
    queued = [[entry[-1].index for entry in queue] for queue in queues]
    plain = {name: value for name, value in vars(machine).items() if isinstance(value, int | str)}
    waits = [task.waits_for for task in machine.tasks.values()]
    return [_without_waits(machine), [task.state for task in machine.tasks.values()], waits, queued, plain]


def _facts(thing, skip=frozenset()):
    left = [name for name in thing.__slots__ if name not in {"task", "step", *skip}]
    return tuple(getattr(thing, name) for name in left)


# --- the tests ------------------------------------------------------------------------------------


def live(watch, dice, *, generations=1, rough=True):
    """Let things happen in random order until the run has ended in its last generation."""
    watch.begin()
    rounds = 0
    while not watch.over or watch.machine.generation < generations:
        rounds += 1
        assert rounds < 5_000, "the run does not end"
        watch.start_all()
        if watch.over or (watch.machine.generation < generations and dice.random() < 0.05):
            watch.begin()
            continue
        if rough and dice.random() < 0.2:
            watch.nonsense(dice.choice(nonsense(watch, dice)))
        if rough and dice.random() < 0.03:
            watch.cancel(now=dice.random() < 0.3)
            continue
        dice.choice(moves(watch, dice))()


def moves(watch, dice):
    """All that could happen next in an orderly world."""
    obeys = dice.random() < 0.7
    return [
        *(lambda name=name: watch.end(name, obeys=obeys) for name in watch.in_flight),
        *(lambda name=name: watch.answer(name) for name in watch.asked),
        *(lambda name=name: watch.due(name) for name in sorted(watch.timers)),
    ]


def nonsense(watch, dice):
    """Events that are late, doubled, or never were true."""
    name = dice.choice([*watch.machine.tasks, "nobody"])
    number = watch.started.get(name, 0)
    run = watch.machine.tasks.get(name)
    asked = watch.asked.get(name)
    may_start = run and not watch.is_container(name) and (run.state == "ready" or run.waits_for == "retry")
    outcome = dice.choice(list(Outcome))
    made = [
        GenerationBegan(dice.randint(0, watch.machine.generation)),
        AttemptStarted(name, number if may_start else number + dice.randint(0, 2)),
        AttemptEnded(name, number + 1, outcome, "exit"),
        AttemptEnded(name, number - 1, outcome, "exit"),
    ]
    if name not in watch.in_flight:
        made.append(AttemptEnded(name, number, outcome, "exit"))
    if not isinstance(asked, AskCondition):
        made.append(ConditionDecided(name, dice.random() < 0.5))
    if not isinstance(asked, AskLegs):
        made.append(LegsGiven(name, (), dice.choice([None, "why"])))
    if not isinstance(asked, AskInputs):
        made.append(InputsGiven(name, dice.choice([None, "why"])))
    if not isinstance(asked, AskOutcome):
        made.append(OutcomeGiven(name, dice.random() < 0.5))
    if not (run and run.waits_for == "retry"):
        made.append(RetryDue(name))
    if watch.over:
        made.append(CancelRequested("enough", now=dice.random() < 0.5))
    return made


@LAWS
@given(
    steps=scopes(),
    slots=st.integers(1, 4),
    policy=st.sampled_from(OnFailure),
    generations=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_whatever_happens_the_laws_hold_and_every_generation_ends(steps, slots, policy, generations, seed):
    dice = random.Random(seed)
    watch = Watch(plan_of(*steps, on_failure=policy), slots, Fates(seed))
    live(watch, dice, generations=generations)
    event(f"{watch.machine.state} after {policy}")
    for late in nonsense(watch, dice):
        watch.nonsense(late)


@LAWS
@given(
    steps=scopes(policies=st.sampled_from([None, OnFailure.FINISH])),
    slots=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
def test_undisturbed_runs_end_as_the_language_says(steps, slots, seed):
    watch = Watch(plan_of(*steps), slots, Fates(seed))
    live(watch, random.Random(seed), rough=False)
    assert watch.result() == expected(steps, watch.fates)


@LAWS
@given(
    steps=scopes(),
    slots=st.integers(1, 4),
    policy=st.sampled_from(OnFailure),
    generations=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_a_run_that_was_broken_off_ends_like_an_undisturbed_one(steps, slots, policy, generations, seed):
    """Crashes and cancels at any point; the last generation is left in peace."""
    dice = random.Random(seed)
    steps = with_known_legs_in_finally(steps)
    watch = Watch(plan_of(*steps, on_failure=policy), slots, Fates(seed, good=True))
    live(watch, dice, generations=generations)
    watch.begin()
    while not watch.over:
        watch.start_all()
        if not watch.over:
            dice.choice(moves(watch, dice))()
    assert watch.result() == expected(steps, watch.fates)


@pytest.mark.parametrize("seed", range(3))
def test_the_weather_is_as_wild_as_it_is_meant_to_be(seed):
    """The laws say little about runs in which nothing happens."""
    steps = tuple(
        Part(
            f"s{n}",
            kind=Kind.CALL,
            inside=(Part("x"), Part("y", ("x",), legs=GIVEN)),
            declared=True,
            given=True,
        )
        for n in range(40)
    )
    watch = Watch(plan_of(*steps), 4, Fates(seed))
    live(watch, random.Random(seed), rough=False)
    ends = {run.state for run in watch.machine.tasks.values()}
    assert ends == TERMINAL
    assert {"start", "bad_output"} <= {run.failure for run in watch.machine.tasks.values() if run.inner}


# --- the language's rules, as one recursion -----------------------------------------------------------


@dataclass(frozen=True)
class End:
    """What becomes of a task or a step.

    `tainted`: it failed, or a failure behind it had it skipped. `failures`: the class and exit code of each
    failure in it that nothing allowed. `outcome`: of a container that succeeded.
    """

    state: TaskState
    cause: Cause | None = None
    tainted: bool = False
    failures: tuple = ()
    outcome: Outcome | None = None


def failed(name, code=None):
    return End(FAILED, tainted=True, failures=((name, code),))


def expected(steps, fates):
    """Each task's end, and the run's state, when nobody cancels and failures stop nothing."""
    ends = {}
    scope = Language(steps, "", fates, ends)
    broken = any(task.state in BROKEN for name in scope.parts for task in scope.tasks_of(name))
    told = {name: (end.state, end.cause, end.outcome) for name, end in ends.items()}
    return told, RunState.FAILED if broken else RunState.SUCCEEDED


class Language:
    """The rules for the steps of one scope; each step asks for those before it, and containers for theirs."""

    def __init__(self, steps, prefix, fates, ends, *, failed_before=False):
        self.parts = {part.id: part for part in steps}
        self.failed_before = (
            failed_before  # it is in a group under `finally`, and something outside that failed
        )
        self.prefix = prefix
        self.fates = fates
        self.ends = ends
        self.known = {}
        for name in self.parts:
            self.tasks_of(name)

    def of_step(self, name):
        mine = self.tasks_of(name)
        part = self.parts[name]
        if mine:
            return End(
                whole({end.state for end in mine}),
                next((end.cause for end in mine if end.cause), None),
                any(end.tainted for end in mine),
                tuple(failure for end in mine for failure in end.failures),
            )
        return self.skip(part) if self.first_cause(part) else End(SUCCEEDED)

    def tasks_of(self, name):
        """The ends of the tasks of a step; those of fan-outs that were never unfolded have one."""
        if name not in self.known:
            self.known[name] = self.find_tasks(self.parts[name])
        return self.known[name]

    def find_tasks(self, part):
        step = self.prefix + part.id
        legs = part.legs
        if legs == GIVEN:
            legs = self.unfold(part, step)
            if isinstance(legs, End):
                self.ends[step] = legs
                return [legs]
        names = leg_names(step, legs)
        self.ends |= {name: self.of_task(part, name) for name in names}
        return [self.ends[name] for name in names]

    def unfold(self, part, step):
        success = self.first_cause(part) is None
        if not success and part.condition is not Condition.STATUS:
            return self.skip(part)
        asked = AskLegs(step, success, self.failure(part), cancelled=False)
        given_legs = self.fates.legs(asked, part.condition)
        if given_legs.error is not None:
            return failed("start")
        return End(SKIPPED, Cause("condition")) if given_legs.legs is None else len(given_legs.legs)

    def of_task(self, part, name):
        end = self.decide(part, name)
        if part.kind not in CONTAINERS:
            return attempts_of(part, name, self.fates) if end is None else end
        if end is None and part.declared and self.fates.inputs(name).error is not None:
            self.enclose(part, name, End(FAILED))
            return self.close(part, name, failed("start"))
        if end is not None:
            self.enclose(part, name, end)
            return end
        before = part.kind is Kind.GROUP and self.failed_outside(part)
        inner = Language(part.inside, f"{name}/", self.fates, self.ends, failed_before=before)
        return self.close(part, name, inner.together(part, name))

    def decide(self, part, name):
        """How a task ends before it begins; None if it begins."""
        success = self.first_cause(part) is None
        if not success and part.condition is not Condition.STATUS:
            return self.skip(part)
        if part.condition is Condition.SUCCESS:
            return None
        asked = AskCondition(name, success, self.failure(part), cancelled=False)
        decided = self.fates.condition(asked, part.condition)
        if decided.error:
            return failed("start")
        return None if decided.value else End(SKIPPED, Cause("condition"))

    def together(self, part, name):
        """What a container ends as, before it is asked whether a failure is allowed."""
        ends = [self.of_step(inner) for inner in self.parts]
        failures = tuple(failure for end in ends for failure in end.failures)
        states = {end.state for end in ends}
        if FAILED in states:
            return End(FAILED, tainted=True, failures=failures)
        if CANCELLED in states:
            return End(CANCELLED, Cause("cancelled"))
        if part.given and self.fates.outcome(name, failed=False).error is not None:
            return failed("bad_output")
        return End(SUCCEEDED, outcome=Outcome.SUCCEEDED)

    def close(self, part, name, end):
        if end.state is not FAILED:
            return end
        if isinstance(part.allow, tuple):
            allowed = all(failure in part.allow for failure, _ in end.failures)
        elif part.allow is ASKED:
            allowed = self.fates.outcome(name, failed=True).allowed
        else:
            allowed = part.allow
        return End(SUCCEEDED, outcome=Outcome.FAILED) if allowed else end

    def enclose(self, part, name, end):
        """All that is inside a container which never opens ends with it."""
        root = end.cause.root if end.cause and end.cause.root else name
        inner = End(SKIPPED, Cause("enclosing", name, root), end.tainted and end.state is SKIPPED)
        for one in part.inside:
            inner_step = f"{name}/{one.id}"
            for task in [inner_step] if one.legs == GIVEN else leg_names(inner_step, one.legs):
                self.ends[task] = inner
                if one.legs != GIVEN:
                    self.enclose(one, task, inner)

    def skip(self, part):
        return End(SKIPPED, self.first_cause(part), any(self.of_step(need).tainted for need in part.needs))

    def first_cause(self, part):
        for need in part.needs:
            end, name = self.of_step(need), self.prefix + need
            if end.state is SKIPPED:
                return Cause("need_skipped", name, (end.cause and end.cause.root) or name)
            if end.state is not SUCCEEDED:
                return Cause(f"need_{end.state}", name, name)
        return None

    def failure(self, part):
        if any(self.of_step(before).tainted for before in (*part.needs, *part.after)):
            return True
        return self.failed_outside(part)

    def failed_outside(self, part):
        """Whether a part stands under `finally`, maybe in a group, and something outside that has failed."""
        if not part.final:
            return self.failed_before
        main = [one.id for one in self.parts.values() if not one.final]
        return any(end.state in BROKEN for name in main for end in self.tasks_of(name))


def attempts_of(part, name, fates):
    for number in range(1, part.retry.max_attempts + 1):
        letter = fates.letter(name, number)
        may_retry = number < part.retry.max_attempts and (part.idempotent or letter != "l")
        if may_retry and CLASSES.get(letter, set()) & set(part.retry.when):
            continue
        break
    if letter in "sa":
        return End(SUCCEEDED)
    if letter == "c":
        return End(CANCELLED, Cause("cancelled"))
    return failed("lost" if letter == "l" else "exit")
