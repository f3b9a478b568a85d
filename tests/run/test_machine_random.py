"""The laws of the machine, on random plans under random weather.

`Watch` feeds one machine with everything that can happen and holds each answer against the laws, from the
outside: it counts, remembers and compares, and asks the machine for nothing but the states of its tasks.
Beside it, a second machine is fed with what a journal would hold. `expected` is the language's rules on
skips and failures written down as one recursion over the graph, and knows nothing of events.
"""

import random
from dataclasses import dataclass, field

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from run_plans import Sketch, plan_of

from crewflow.graph.plan import Condition
from crewflow.run.events import (
    AskCondition,
    AttemptEnded,
    AttemptStarted,
    CancelAttempt,
    CancelRequested,
    Cause,
    ConditionDecided,
    DelayRetry,
    GenerationBegan,
    Refused,
    RetryDue,
    RunEnded,
    TaskEnded,
)
from crewflow.run.machine import Machine
from crewflow.run.states import NOT_STARTED, TERMINAL, Outcome, RunState, TaskState
from crewflow.spec.model import OnFailure, Retry

SUCCEEDED, FAILED = TaskState.SUCCEEDED, TaskState.FAILED
SKIPPED, CANCELLED = TaskState.SKIPPED, TaskState.CANCELLED
LAWS = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# --- random plans ---------------------------------------------------------------------------------

RETRIES = st.builds(
    Retry,
    max_attempts=st.integers(1, 3),
    when=st.sampled_from([("exit", "lost"), ("exit:75", "lost"), ("timeout",)]),
)

LEGS = st.one_of(st.none(), st.none(), st.integers(0, 4))


def some_of(names):
    return st.lists(st.sampled_from(names), max_size=3).map(tuple) if names else st.just(())


@st.composite
def sketches(draw):
    """Steps that need earlier ones, `finally` last; the plan's order of the others is any order."""
    size = draw(st.integers(0, 7))
    finals = draw(st.integers(0, 2))
    made = []
    for number in range(size + finals):
        names = [sketch.id for sketch in made]
        legs = draw(LEGS)
        made.append(
            Sketch(
                id=f"s{number}",
                needs=draw(some_of(names)),
                after=draw(some_of(names)),
                legs=legs,
                final=number >= size,
                max_parallel=draw(st.sampled_from([None, 1, 2])) if legs else None,
                condition=draw(st.sampled_from(Condition)),
                retry=draw(RETRIES),
                weights=tuple(draw(st.sampled_from([1.0, 2.0, 3.0])) for _ in range(legs or 1)),
                idempotent=draw(st.booleans()),
            )
        )
    return (*draw(st.permutations(made[:size])), *made[size:])


# --- random weather -------------------------------------------------------------------------------


@dataclass
class Fates:
    """What will become of each task, the same every time that it is asked.

    An attempt of number n ends as the n-th letter says: `s` succeeded, `f` failed, `l` lost, `c` cancelled,
    `a` failed and allowed; the last letter counts for all later ones. An `if` is a word of `IFS`.
    """

    attempts: dict[str, str]
    conditions: dict[str, str]

    def end(self, task, number):
        letters = self.attempts[task]
        letter = letters[min(number, len(letters)) - 1]
        return AttemptEnded(task, number, **ENDS[letter])

    def answer(self, asked):
        word = self.conditions[asked.task]
        error = "it has no value" if word == "error" else None
        return ConditionDecided(asked.task, bool(IFS[word](asked)), error)


ENDS = {
    "s": {"outcome": Outcome.SUCCEEDED},
    "f": {"outcome": Outcome.FAILED, "failure": "exit", "exit_code": 1},
    "l": {"outcome": Outcome.LOST, "failure": "lost"},
    "c": {"outcome": Outcome.CANCELLED},
    "a": {"outcome": Outcome.FAILED, "failure": "exit", "exit_code": 75, "allowed": True},
}

IFS = {
    "yes": lambda _: True,
    "no": lambda _: False,
    "error": lambda _: False,
    "success()": lambda asked: asked.success,
    "failure()": lambda asked: asked.failure,
    "not success()": lambda asked: not asked.success,
    "cancelled()": lambda asked: asked.cancelled,
}

ONE = "ssssssssffffllca"


def fates(dice, plan):
    return Fates(
        {task.id: "".join(dice.choices(ONE, k=dice.randint(1, 3))) for task in plan.tasks},
        {task.id: dice.choice(_words(task.condition)) for task in plan.tasks},
    )


def _words(condition):
    if condition is Condition.STATUS:
        return list(IFS)
    return ["yes", "yes", "yes", "no", "error"]


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
        self.steps = {step.id: step for step in self.plan.steps}
        self.step_of = {task.id: self.steps[task.step] for task in self.plan.tasks}
        self.started = {task.id: 0 for task in self.plan.tasks}
        self.anew_from = dict(self.started)
        self.in_flight = {}
        self.timers = set()
        self.asked = {}
        self._new_generation()

    def _new_generation(self):
        self.in_flight.clear()
        self.timers.clear()
        self.asked.clear()
        self.told = set()
        self.ended_now = set()
        self.said_yes = set()
        self.requested = self.dropped = self.over = False
        self.unasked_cancel = False

    # what can happen

    def begin(self):
        kept = self._kept()
        before = self._states()
        ended = [name for name, state in before.items() if state in TERMINAL]
        self.anew_from |= {name: self.started[name] for name in ended}
        self._new_generation()
        said = self.feed(GenerationBegan(self.machine.generation + 1), new_generation=True)
        for name, state in self._states().items():
            if name in kept:
                assert state is before[name]
                assert name not in self.ended_now
            else:
                assert (state in TERMINAL) == (name in self.ended_now)
        self.kept = kept
        return said

    def start_all(self):
        while True:
            best = self._best()
            name = self.machine.next_ready()
            assert name == best
            if name is None:
                break
            self._may_start(name)
            self.started[name] += 1
            said = self.feed(AttemptStarted(name, self.started[name]))
            assert said == []
            self.in_flight[name] = self.started[name]
        self.machine.check_invariants()
        self._nothing_is_left_out()

    def end(self, name, *, obeys=False):
        """An attempt ends as its fate says, or as it was told to."""
        number = self.in_flight.pop(name)
        ended = self.fates.end(name, number)
        if obeys and name in self.told:
            ended = AttemptEnded(name, number, Outcome.CANCELLED)
        asked_to = self.requested or self._policy_took_hold(OnFailure.CANCEL)
        self.unasked_cancel |= ended.outcome is Outcome.CANCELLED and not asked_to
        should_try_again = self._should_try_again(ended)
        said = self.feed(ended)
        assert any(isinstance(one, DelayRetry) for one in said) == should_try_again

    def _should_try_again(self, ended):
        """Attempts that a crash cut off count; a task that had ended gets all of them anew."""
        task = self.machine.tasks[ended.task].task
        letter = next((letter for letter, end in ENDS.items() if end["outcome"] is ended.outcome), "s")
        letter = "a" if ended.allowed else letter
        closed = self.dropped if self.step_of[ended.task].final else self._is_closing()
        return (
            not closed
            and bool(CLASSES.get(letter, set()) & set(task.retry.when))
            and (task.idempotent or letter != "l")
            and ended.number < self.anew_from[ended.task] + task.retry.max_attempts
        )

    def _is_closing(self):
        policies = (OnFailure.STOP, OnFailure.CANCEL)
        return self.requested or any(self._policy_took_hold(policy) for policy in policies)

    def answer(self, name):
        decided = self.fates.answer(self.asked.pop(name))
        if decided.value:
            self.said_yes.add(name)
        self.feed(decided)

    def due(self, name):
        self.timers.discard(name)
        waits = self.machine.tasks[name].waits_for == "retry"
        said = self.feed(RetryDue(name))
        assert [type(one) for one in said] == ([] if waits else [Refused])

    def cancel(self, *, now):
        before = self._states()
        in_final = self._main_is_over()
        self.requested = True
        self.dropped |= now or in_final
        said = self.feed(CancelRequested("enough", now=now))
        hit = {name for name in before if self.dropped or not self.step_of[name].final}
        for name in hit:
            if before[name] in NOT_STARTED:
                assert TaskEnded(name, CANCELLED, Cause("cancelled")) in said
        told = [one for one in said if isinstance(one, CancelAttempt)]
        assert told == [
            CancelAttempt(name, self.started[name], now)
            for name in before
            if before[name] is TaskState.RUNNING and (now or in_final or not self.step_of[name].final)
        ]

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
        refused = said and isinstance(said[0], Refused)
        self._nothing_terminal_changed(before, after, new_generation=new_generation)
        self._take_in(said, after, new_generation=new_generation)
        self._limits_hold()
        if not refused and not isinstance(what, RetryDue):
            assert self.shadow.handle(what) == said
        assert _without_waits(self.shadow) == _without_waits(self.machine)
        return said

    def _nothing_terminal_changed(self, before, after, *, new_generation):
        if not new_generation:
            assert all(after[name] is state for name, state in before.items() if state in TERMINAL)

    def _take_in(self, said, after, *, new_generation):
        assert not (self.over and not new_generation and said and not isinstance(said[0], Refused))
        for one in said:
            if isinstance(one, TaskEnded):
                assert one.task not in self.ended_now
                self.ended_now.add(one.task)
                assert after[one.task] is one.state
                assert (one.cause is not None) >= (one.state in {SKIPPED, CANCELLED})
            elif isinstance(one, AskCondition):
                self.asked[one.task] = one
                assert not (one.cancelled and not self.step_of[one.task].final)
            elif isinstance(one, DelayRetry):
                assert one.number == self.started[one.task] + 1
                assert one.seconds >= 0
                self.timers.add(one.task)
            elif isinstance(one, CancelAttempt):
                assert one.number == self.in_flight[one.task]
                self.told.add(one.task)
            elif isinstance(one, RunEnded):
                self.over = True
                assert one is said[-1]
                assert all(state in TERMINAL for state in after.values())
                assert one.state is self.machine.state is self._right_end()
        self.asked = {name: one for name, one in self.asked.items() if after[name] is TaskState.DECIDING}

    def _right_end(self):
        if self.requested or self._policy_took_hold(OnFailure.CANCEL):
            return RunState.CANCELLED
        failed = FAILED in self._states().values() or self.unasked_cancel
        return RunState.FAILED if failed else RunState.SUCCEEDED

    def _policy_took_hold(self, policy):
        return self.plan.on_failure is policy and any(
            state is FAILED and not self.step_of[name].final for name, state in self._states().items()
        )

    def _limits_hold(self):
        running = [name for name, state in self._states().items() if state is TaskState.RUNNING]
        assert len(running) == self.machine.running <= self.slots
        for step in self.plan.steps:
            assert step.max_parallel is None or len(set(step.tasks) & set(running)) <= step.max_parallel

    def _may_start(self, name):
        step = self.step_of[name]
        assert name not in self.in_flight
        assert self.machine.tasks[name].state is TaskState.READY
        assert name not in self.kept
        assert not self.over
        assert not self.dropped
        assert step.final or not self._is_closing()
        assert self._turn_has_come(step)
        condition = self.machine.tasks[name].task.condition
        if condition is not Condition.STATUS:
            assert all(self._outcome(need) is SUCCEEDED for need in step.needs)
        if condition is not Condition.SUCCESS:
            assert name in self.said_yes

    def _best(self):
        """The task that must be named next: the heaviest that may start, the first of equals."""
        if len(self.in_flight) >= self.slots:
            return None
        able = [name for name in self.step_of if self._is_able(name)]
        order = {task.id: (-task.weight, index) for index, task in enumerate(self.plan.tasks)}
        return min(able, key=order.__getitem__, default=None)

    def _is_able(self, name):
        task = self.machine.tasks[name]
        limit = self.step_of[name].max_parallel
        room = limit is None or len(set(self.step_of[name].tasks) & set(self.in_flight)) < limit
        return room and (task.state is TaskState.READY or task.waits_for == "limit")

    def _nothing_is_left_out(self):
        """Each task that does nothing has a reason to, and a run that goes on has something to wait for."""
        for name, state in self._states().items():
            if state is TaskState.PENDING:
                assert not self._turn_has_come(self.step_of[name])
            elif state is TaskState.DECIDING:
                assert name in self.asked
            elif state is TaskState.READY:
                assert len(self.in_flight) == self.slots
            elif state is TaskState.WAITING and self.machine.tasks[name].waits_for == "retry":
                assert name in self.timers
        assert self.over or self.in_flight or self.asked or self.timers

    def _turn_has_come(self, step):
        before = all(self._outcome(name) is not None for name in (*step.needs, *step.after))
        return before and (not step.final or self._main_is_over())

    def _main_is_over(self):
        return all(self._outcome(step.id) is not None for step in self.plan.steps if not step.final)

    def _outcome(self, name):
        """A step's state once it has ended, from its tasks; None before."""
        step = self.steps[name]
        states = {self.machine.tasks[task].state for task in step.tasks}
        if not step.tasks:
            ends = [self._outcome(need) for need in step.needs]
            ended = None not in ends and self._turn_has_come(step)
            return (SUCCEEDED if set(ends) <= {SUCCEEDED} else SKIPPED) if ended else None
        return whole(states) if states <= TERMINAL else None

    def _kept(self):
        """What a new generation must leave alone: what succeeded, and skips by an `if` after kept steps."""
        whole_steps, kept = set(), set()
        for step in sorted(self.plan.steps, key=lambda step: int(step.id[1:])):
            settled = {*step.needs, *step.after} <= whole_steps
            mine = {name for name in step.tasks if not step.final and self._is_kept(name, settled=settled)}
            kept |= mine
            if step.tasks and len(mine) == len(step.tasks):
                whole_steps.add(step.id)
        return kept

    def _is_kept(self, name, *, settled):
        task = self.machine.tasks[name]
        by_its_if = task.state is SKIPPED and task.cause.kind == "condition"
        return task.state is SUCCEEDED or (settled and by_its_if)

    def result(self):
        """What `expected` must agree with."""
        return {
            name: (task.state, task.cause) for name, task in self.machine.tasks.items()
        }, self.machine.state

    def _states(self):
        return {name: task.state for name, task in self.machine.tasks.items()}


def whole(states):
    """What becomes of a step, from the states of its tasks."""
    for state in (FAILED, CANCELLED):
        if state in states:
            return state
    return SKIPPED if states == {SKIPPED} else SUCCEEDED


def _without_waits(machine):
    """What a replay must get right: all but whether a task is ready or waits, which the next start tells."""
    idle = {TaskState.READY, TaskState.WAITING}
    return [
        ("idle" if task.state in idle else task.state, *_facts(task, skip={"state", "waits_for"}))
        for task in machine.tasks.values()
    ] + [machine.state, machine.generation, machine.running]


def _picture(machine):
    steps = [
        _facts(step, skip={"planned", "tasks", "needs", "after", "dependents", "held", "scope"})
        for step in machine.steps.values()
    ]
    queues = [machine._heap, *(step.held for step in machine.steps.values())]
    queued = [[entry[-1].index for entry in queue] for queue in queues]
    plain = {name: value for name, value in vars(machine).items() if isinstance(value, int | str)}
    plain["root"] = _facts(machine.root, skip={"steps", "held"})
    return [[_facts(task) for task in machine.tasks.values()], steps, queued, plain]


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
        if rough and dice.random() < 0.3:
            watch.nonsense(dice.choice(nonsense(watch, dice)))
        if rough and dice.random() < 0.04:
            watch.cancel(now=dice.random() < 0.3)
            continue
        dice.choice(moves(watch, dice))()
    event(f"{watch.machine.state} after {watch.plan.on_failure}")


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
    name = dice.choice([*watch.started, "nobody"])
    number = watch.started.get(name, 0)
    task = watch.machine.tasks.get(name)
    state = task and task.state
    may_start = state is TaskState.READY or (task and task.waits_for == "retry")
    made = [
        GenerationBegan(dice.randint(0, watch.machine.generation)),
        AttemptStarted(name, number if may_start else number + dice.randint(0, 2)),
        AttemptEnded(name, number + 1, dice.choice(list(Outcome)), "exit"),
        AttemptEnded(name, number - 1, dice.choice(list(Outcome)), "exit"),
    ]
    if state is not TaskState.RUNNING:
        made.append(AttemptEnded(name, number, dice.choice(list(Outcome)), "exit"))
    if state is not TaskState.DECIDING:
        made.append(ConditionDecided(name, dice.random() < 0.5))
    if not (task and task.waits_for == "retry"):
        made.append(RetryDue(name))
    if watch.over:
        made.append(CancelRequested("enough", now=dice.random() < 0.5))
    return made


@LAWS
@given(
    steps=sketches(),
    slots=st.integers(1, 5),
    policy=st.sampled_from(OnFailure),
    generations=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
def test_whatever_happens_the_laws_hold_and_every_generation_ends(steps, slots, policy, generations, seed):
    dice = random.Random(seed)
    plan = plan_of(*steps, on_failure=policy)
    watch = Watch(plan, slots, fates(dice, plan))
    live(watch, dice, generations=generations)
    late = nonsense(watch, dice)
    for one in late:
        watch.nonsense(one)


@LAWS
@given(steps=sketches(), slots=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_undisturbed_runs_end_as_the_language_says(steps, slots, seed):
    dice = random.Random(seed)
    plan = plan_of(*steps)
    watch = Watch(plan, slots, without_races(fates(dice, plan), plan, dice))
    live(watch, dice, rough=False)
    assert watch.result() == expected(plan, watch.fates)


@LAWS
@given(
    steps=sketches(),
    slots=st.integers(1, 5),
    policy=st.sampled_from(OnFailure),
    generations=st.integers(1, 4),
    seed=st.integers(0, 2**32),
)
def test_a_run_that_was_broken_off_ends_like_an_undisturbed_one(steps, slots, policy, generations, seed):
    """Crashes and cancels at any point; the last generation is left in peace."""
    dice = random.Random(seed)
    plan = plan_of(*steps, on_failure=policy)
    good = fates(dice, plan)
    good.attempts = dict.fromkeys(good.attempts, "s")
    good.conditions = {task: word.replace("error", "no") for task, word in good.conditions.items()}
    watch = Watch(plan, slots, good)
    live(watch, dice, generations=generations)
    watch.begin()
    live_on(watch, dice)
    assert watch.result() == expected(plan, good)


def without_races(some, plan, dice):
    """Either nothing fails in `finally`, or nothing there asks for failures.

    There `failure()` means any failure so far, so it would be a matter of which came first.
    """
    finals = {step.id for step in plan.steps if step.final}
    calm = dice.random() < 0.5
    for name in [task.id for task in plan.tasks if task.step in finals]:
        some.attempts[name] = "s" if calm else some.attempts[name]
        unwanted, instead = ("error", "no") if calm else ("failure()", "success()")
        some.conditions[name] = some.conditions[name].replace(unwanted, instead)
    return some


def live_on(watch, dice):
    while not watch.over:
        watch.start_all()
        if not watch.over:
            dice.choice(moves(watch, dice))()


# --- the language's rules, as one recursion -----------------------------------------------------------


@dataclass(frozen=True)
class End:
    """What becomes of a task or a step. `tainted`: it failed, or a failure behind it had it skipped."""

    state: TaskState
    cause: Cause | None = None
    tainted: bool = False


def expected(plan, fates):
    """Each task's state and cause, and the run's state, when nobody cancels and failures stop nothing."""
    language = Language(plan, fates)
    ends = {name: language.of_task(name) for name in language.tasks}
    broken = any(end.state in BROKEN for end in ends.values())
    run_state = RunState.FAILED if broken else RunState.SUCCEEDED
    return {name: (end.state, end.cause) for name, end in ends.items()}, run_state


class Language:
    """The rules, asked for one step or task at a time; each asks for those before it."""

    def __init__(self, plan, fates):
        self.fates = fates
        self.steps = {step.id: step for step in plan.steps}
        self.tasks = {task.id: task for task in plan.tasks}
        self.known = {}

    def of_step(self, name):
        step = self.steps[name]
        mine = [self.of_task(task) for task in step.tasks]
        if mine:
            return End(
                whole({end.state for end in mine}),
                next((end.cause for end in mine if end.cause), None),
                any(end.tainted for end in mine),
            )
        return self.skip(step) if self.first_cause(step) else End(SUCCEEDED)

    def of_task(self, name):
        if name not in self.known:
            task = self.tasks[name]
            self.known[name] = self.decide(task, self.steps[task.step])
        return self.known[name]

    def decide(self, task, step):
        success = self.first_cause(step) is None
        if not success and task.condition is not Condition.STATUS:
            return self.skip(step)
        if task.condition is not Condition.SUCCESS:
            decided = self.fates.answer(AskCondition(task.id, success, self.failure(step), cancelled=False))
            if decided.error:
                return End(FAILED, tainted=True)
            if not decided.value:
                return End(SKIPPED, Cause("condition"))
        return attempts_of(task, self.fates.attempts[task.id])

    def skip(self, step):
        return End(SKIPPED, self.first_cause(step), any(self.of_step(need).tainted for need in step.needs))

    def first_cause(self, step):
        for need in step.needs:
            end = self.of_step(need)
            if end.state is SKIPPED:
                return Cause("need_skipped", need, (end.cause and end.cause.root) or need)
            if end.state is not SUCCEEDED:
                return Cause(f"need_{end.state}", need, need)
        return None

    def failure(self, step):
        if not step.final:
            return any(self.of_step(before).tainted for before in (*step.needs, *step.after))
        others = [name for name, task in self.tasks.items() if not self.steps[task.step].final]
        return any(self.of_task(name).state in BROKEN for name in others)


BROKEN = {FAILED, CANCELLED}
CLASSES = {"f": {"exit"}, "a": {"exit", "exit:75"}, "l": {"lost"}}


def attempts_of(task, letters):
    for number in range(1, task.retry.max_attempts + 1):
        letter = letters[min(number, len(letters)) - 1]
        may_retry = number < task.retry.max_attempts and (task.idempotent or letter != "l")
        if may_retry and CLASSES.get(letter, set()) & set(task.retry.when):
            continue
        break
    return {
        "s": End(SUCCEEDED),
        "a": End(SUCCEEDED),
        "c": End(CANCELLED, Cause("cancelled")),
        "f": End(FAILED, tainted=True),
        "l": End(FAILED, tainted=True),
    }[letter]
