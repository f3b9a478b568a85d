"""What is said while a run goes on, at its end, and afterwards: the real loop with a scripted executor."""

import json
import re

import pytest

from crewflow.report.chronicle import Chronicle
from crewflow.report.console import Console
from crewflow.report.progress import Progress
from crewflow.report.runs import story_document, story_text
from crewflow.report.summary import summary_document, summary_lines
from crewflow.report.why import why_document, why_text
from crewflow.report.words import cause_text, time_span
from crewflow.run.states import Outcome
from crewflow.state.replay import tell_story

FAILED = Outcome.FAILED

FLOW = """\
steps:
  list: {run: x, outputs: {names: array}}
  test:
    matrix: {python: ["3.11", "3.12"]}
    steps:
      lint: {run: [lint, "${{ matrix.python }}"]}
      unit: {needs: lint, run: x}
  each:
    needs: list
    for_each: ${{ steps.list.outputs.names }}
    steps: {one: {run: [one, "${{ item }}"]}}
  spared: {allow_failure: true, steps: {no: {run: x}}}
  left: {needs: test, steps: {in: {run: x}}}
finally:
  end: {run: x}
"""
NAMES = {"outcome": Outcome.SUCCEEDED, "outputs": {"names": ["a", "b"]}}
OUTCOMES = {"list": NAMES, "test[3.12]/lint": FAILED, "spared/no": FAILED}


def told(run, **how):
    """The lines of progress of a run, from its records and the state that each found."""
    said = []

    class Listening(Console):
        def talk(self, text):
            said.append(text)

    progress = Progress(run.story, Listening(color="never", **how))
    for record in run.records():
        progress.see(record)
    return said


def plain(text):
    """The text with its run and its times as words."""
    text = re.sub(r"\d{8}-\d{6}-\w+", "RUN", text)
    return re.sub(r"\d\d:\d\d:\d\d\.\d", "TIME", text)


def test_a_container_has_a_line_when_it_did_not_succeed(scripted):
    run = scripted(FLOW).apply((), OUTCOMES)

    said = told(run)
    assert not [line for line in said if "without a recorded reason" in line]
    assert {line.strip() for line in said if "/" not in line.split()[1]} == {
        "ok  list  0.0 s",
        "allowed  spared  `spared/no` failed: exit code 1",
        "FAILED  test[3.12]  `test[3.12]/lint` failed: exit code 1",
        "skipped  left  `test` failed",
        "ok  end  0.0 s",
    }
    assert not [line for line in said if "left/in" in line]


def test_with_v_containers_and_fan_outs_have_lines_too(scripted):
    said = told(scripted(FLOW).apply((), OUTCOMES), verbose=True)

    assert "  fan-out  each: 2 tasks" in said
    assert "       ok  each[1]  all in it has ended" in said
    assert "  skipped  left/in  `left` around it did not begin (it began with `test`)" in said


def test_a_quiet_run_tells_of_failures_alone(scripted):
    said = told(scripted(FLOW).apply((), OUTCOMES), quiet=True)

    assert {line.split()[0] for line in said} == {"FAILED"}


def test_an_empty_list_is_said_with_v(scripted):
    outcomes = {"list": {"outcome": Outcome.SUCCEEDED, "outputs": {"names": []}}}
    said = told(scripted(FLOW).apply((), outcomes), verbose=True)

    assert "  fan-out  each: no tasks: its list is empty" in said


def test_the_last_word_names_the_container_beside_the_task_that_failed_in_it(scripted):
    run = scripted(FLOW).apply((), OUTCOMES)

    assert [plain(line) for line in summary_lines(run.story, Console(color="never"))] == [
        "",
        "`test[3.12]/lint` failed: exit code 1",
        "  `test[3.12]` failed with it",
        "",
        "run RUN failed: 6 succeeded, 2 failed, 2 skipped in 0.0 s",
        "hint: `crewflow resume RUN` goes on and keeps what succeeded",
    ]
    assert summary_document(run.story)["failed"] == [
        {
            "task": "test[3.12]/lint",
            "error": "exit code 1",
            "attempts": 1,
            "failed_with_it": ["test[3.12]"],
        }
    ]


def test_a_container_that_failed_on_its_own_is_told(scripted):
    flow = """\
steps:
  g:
    outputs: {o: "${{ steps.a.outputs.n.x }}"}
    steps: {a: {run: x, outputs: {n: object}}}
"""
    outcomes = {"g/a": {"outcome": Outcome.SUCCEEDED, "outputs": {"n": {}}}}
    run = scripted(flow).apply((), outcomes)

    failed = summary_document(run.story)["failed"]
    assert [(one["task"], one["failed_with_it"]) for one in failed] == [("g", [])]


def test_status_shows_the_tree(scripted, text_file):
    run = scripted(FLOW).apply((), OUTCOMES)

    assert plain(story_text(run.story, Console(color="never"), run.clock.wall())) == text_file


def test_status_in_the_middle_of_a_run_says_what_is_waited_for(scripted, text_file):
    seen = []
    run = scripted(FLOW + "max_parallel: 2\n", slots=2)
    look = lambda _: seen.append(story_text(run.story, Console(color="never"), run.clock.wall()))  # noqa: E731  (as short as it gets)
    run.apply(["test[3.11]/lint", look, "list"], OUTCOMES)

    assert plain(seen[0]) == text_file


def test_status_as_data_says_what_stands_in_what(scripted):
    run = scripted(FLOW).apply((), OUTCOMES)
    tasks = {task["id"]: task for task in json.loads(json.dumps(story_document(run.story)))["tasks"]}

    assert (tasks["test[3.12]"]["kind"], tasks["test[3.12]"]["within"]) == ("group", None)
    assert tasks["test[3.12]"]["inner"] == {"failed": 1, "skipped": 1}
    assert (tasks["each[0]/one"]["within"], tasks["each[0]/one"]["inner"]) == ("each[0]", None)


def test_a_placeholder_has_its_bound(scripted):
    seen = []
    run = scripted(FLOW)
    run.apply([lambda _: seen.append(story_document(run.story)), "list"], OUTCOMES)

    [each] = [task for task in seen[0]["tasks"] if task["id"] == "each"]
    assert each["placeholder"] == {
        "most": 10_000,
        "bound": "as many tasks as `steps.list.outputs.names` has items, at most 10,000",
    }


# --- why ------------------------------------------------------------------------------------------

WHY = """\
on_failure: stop
inputs: {goal: {default: fix}}
steps:
  a: {run: x}
  lim: {for_each: [1, 2], max_parallel: 1, run: [x, "${{ item }}"]}
  g:
    needs: a
    steps:
      flaky: {run: x, retry: {max_attempts: 2, delay: 3s}}
      next: {needs: flaky, run: x}
  no: {needs: a, if: "inputs.goal == 'ship'", run: x}
  bad: {needs: g, run: x}
  late: {needs: bad, run: x}
  other: {after: [g, lim], run: x}
finally:
  end: {run: x}
"""


def why(run, task):
    return why_document(run.story, run.records(), task, run.clock.wall())


@pytest.fixture
def stopped(scripted):
    move = lambda executor: executor.clock.move(2.0)  # noqa: E731  (as above)
    order = [move, "a", "lim[0]", "g/flaky", "g/flaky", "g/next", "bad"]
    return scripted(WHY).apply(order, {("g/flaky", 1): FAILED, "bad": FAILED})


TASKS = ["a", "lim[1]", "g/flaky", "g/next", "g", "no", "bad", "late", "other", "end"]


@pytest.mark.parametrize("task", TASKS, ids=[name.replace("/", "-") for name in TASKS])
def test_why_in_words(stopped, task, text_file):
    assert plain(why_text(why(stopped, task))) == text_file


def test_why_as_data(stopped):
    document = json.loads(json.dumps(why(stopped, "g/flaky")))

    assert (document["state"], document["within"]) == (
        "succeeded",
        [{"task": "g", "state": "succeeded", "allowed": False}],
    )
    assert [(one["number"], one["outcome"], one["next_in"]) for one in document["attempts"]] == [
        (1, "failed", 3.0),
        (2, "succeeded", None),
    ]
    assert document["ready"] == document["started"] == document["attempts"][0]["started"]


def test_a_limit_that_held_a_task_is_named(stopped):
    document = why(stopped, "lim[1]")

    assert document["started"] - document["ready"] == 2.0
    assert document["held_by"] == "at most 1 of `lim` at once"


def test_a_slot_that_was_missing_is_named(scripted):
    run = scripted("steps: {a: {run: x}, b: {run: x}}\n", slots=1)
    run.apply([lambda executor: executor.clock.move(1.0)])

    assert why(run, "b")["held_by"] == "no slot was free: 1 task ran at once"
    assert why(run, "a")["held_by"] is None


def test_a_failure_that_is_not_tried_again_says_why(scripted):
    def reason(more, **facts):
        run = scripted(f"steps: {{a: {{run: x{more}}}}}\n").apply((), {"a": {"outcome": FAILED, **facts}})
        return why(run, "a")["not_tried_again"]

    assert reason("") == "it has no `retry`"
    assert reason(", retry: {max_attempts: 2}") == "it has had its 2 attempts"
    assert reason(", retry: {max_attempts: 2, when: [timeout]}") == "its `retry` does not cover `exit`"


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("a", "the end of its attempt"),
        ("lim[1]", "its turn: at most 1 of `lim` at once"),
        ("g", "`a` (running)"),
        ("g/flaky", "`g` around it (pending)"),
        ("g/next", "`g/flaky` (pending)"),
        ("other", "`g` (pending), `lim` (running)"),
        ("end", "all outside `finally` to have ended"),
    ],
)
def test_what_a_task_waits_for_in_a_run_that_goes_on(scripted, task, words):
    seen = []
    run = scripted(WHY)
    run.apply([lambda _: seen.append(why(run, task)), "a"])

    assert seen[0]["waits_for"] == words


def test_a_run_that_nobody_holds_is_waited_for(scripted):
    class CrashError(Exception):
        pass

    def crash(_):
        raise CrashError

    run = scripted("steps: {a: {run: x}}\n")
    with pytest.raises(CrashError):
        run.apply([crash, "a"])
    story = tell_story(run.paths)

    words = why_text(why_document(story, run.records(), "a", run.clock.wall()))
    assert plain(words).splitlines()[-1] == "  nobody goes on with the run: `crewflow resume RUN` does"


def test_records_say_when_a_task_was_ready(stopped):
    chronicle = Chronicle(stopped.records())
    tasks = stopped.machine.tasks

    assert chronicle.ready_at(tasks["g/flaky"]) == chronicle.ends["a"]
    assert chronicle.ready_at(tasks["end"]) == max(
        end for name, end in chronicle.ends.items() if name != "end"
    )


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cause", "run_cancelled", "words"),
    [
        (
            {"kind": "enclosing", "step": "g", "root": "a"},
            True,
            "`g` around it did not begin (it began with `a`)",
        ),
        ({"kind": "cancelled"}, True, "the run was cancelled"),
        ({"kind": "cancelled"}, False, "it was ended while it ran"),
        ({"kind": "cancelled", "step": "a", "root": "a"}, True, "the run was cancelled when `a` failed"),
        ({"kind": "cancelled", "step": "a", "root": "a"}, False, "it was cancelled when `a` failed"),
        ({"kind": "of_a_later_version"}, True, "its reason is `of_a_later_version`"),
        (None, True, "without a recorded reason"),
    ],
)
def test_every_cause_has_words(cause, run_cancelled, words):
    assert cause_text(cause, run_cancelled=run_cancelled) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 second"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (719, "12 minutes"),
        (7140, "119 minutes"),
        (7200, "2 hours"),
        (7260, "2 hours 1 minute"),
    ],
)
def test_a_rough_time_is_rounded(seconds, words):
    assert time_span(seconds) == words
