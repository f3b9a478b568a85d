"""A clock that moves when told, and an executor that finishes attempts in the order it is given.

With them a run of hours, or of any order of events, is a matter of milliseconds, with the real loop, the real
journal and real files.
"""

from pathlib import Path

from crewflow.engine.executor import Ended, Spawned
from crewflow.run.states import Outcome

LONG_AGO = 1_800_000_000.0
MOST_IDLE = 2000


class FakeClock:
    """All three clocks, which stand still until `move`."""

    def __init__(self):
        self.passed = 0.0

    def move(self, seconds):
        assert seconds >= 0
        self.passed += seconds

    def wall(self):
        return LONG_AGO + self.passed

    def monotonic(self):
        return 1000.0 + self.passed

    def boot(self):
        return 5000.0 + self.passed


class FakeInterrupts:
    """Signals that come when a test says so."""

    def __init__(self):
        self.pressed = []

    def take(self):
        taken, self.pressed = self.pressed, []
        return taken


class ScriptedExecutor:
    """Ends attempts in the order of `order`: names of tasks, each as often as it has attempts.

    A callable in `order` is called when its turn comes, with this executor: to press Ctrl-C, or to move the
    clock. `outcomes` says how attempts end, by task or by (task, number): an outcome, or facts of `Ended`.
    What stands in no order ends last, first started first. Time passes when nothing else happens.
    """

    def __init__(self, clock, interrupts, order=(), outcomes=None, *, capacity=100, obeys=True):
        self.capacity = capacity
        self.clock = clock
        self.interrupts = interrupts
        self.order = list(order)
        self.outcomes = outcomes or {}
        self.obeys = obeys
        self.running = {}
        self.attempts = []
        self.cancelled = []
        self.log = []
        self.most = 0
        self.closed = False
        self._pending = []
        self._idle = 0

    @property
    def started(self):
        return [attempt.task for attempt in self.attempts]

    def start(self, attempt):
        assert attempt.task not in self.running, "one attempt of a task at a time"
        assert not self.closed
        Path(attempt.folder).mkdir(parents=True)
        self.attempts.append(attempt)
        self.running[attempt.task] = attempt
        self.most = max(self.most, len(self.running))
        self.log.append(f"+{attempt.task}")
        self._pending.append(Spawned(attempt.task, attempt.number, 4000 + len(self.attempts), 1))

    def wait(self, timeout):
        if self._pending:
            events, self._pending = self._pending, []
            return events
        if self.interrupts.pressed:
            return []  # woken, as long as nobody has taken it
        if self.order and callable(self.order[0]):
            self.order.pop(0)(self)
            return []
        name = self._next()
        if name is not None:
            return [self._end(name)]
        assert timeout is not None, "nothing runs, and nothing is waited for"
        self._idle += 1
        assert self._idle < MOST_IDLE, f"`{self.order[:1]}` never comes; running are {list(self.running)}"
        self.clock.move(timeout + 1e-6)  # so that it moves, however little is left
        return []

    def cancel(self, task, number, *, now, interrupt=False):
        self.cancelled.append((task, number, now, interrupt))
        if self.obeys and task in self.running:
            self.outcomes[task] = Outcome.CANCELLED
            self.order.insert(0, task)

    def close(self):
        self.closed = True

    def _next(self):
        if self.order and self.order[0] in self.running:
            return self.order.pop(0)
        waited_for = {name for name in self.order if not callable(name)}
        return next((name for name in self.running if name not in waited_for), None)

    def _end(self, name):
        attempt = self.running.pop(name)
        self.log.append(f"-{name}")
        facts = self.outcomes.get((name, attempt.number), self.outcomes.get(name, Outcome.SUCCEEDED))
        if isinstance(facts, Outcome):
            facts = {"outcome": facts}
        if facts["outcome"] is Outcome.FAILED:
            facts = {"failure": "exit", "exit_code": 1, "error": "exit code 1", **facts}
        return Ended(task=name, number=attempt.number, **facts)
