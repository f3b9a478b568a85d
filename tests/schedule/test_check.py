import pytest

from crewflow.schedule.check import check_schedule, check_schedules
from crewflow.spec.load import load_project

FLOW = """kind: workflow
name: build
inputs: {goal: {type: string, required: true}, count: {type: integer, default: 1}}
steps: {a: {run: 'true'}}
"""
HEAD = "kind: schedule\nname: s\nworkflow: build\n"


@pytest.fixture
def found(tmp_path, monkeypatch):
    """The problems of one schedule, of the lines behind its workflow."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))

    def check(lines, inputs="inputs: {goal: x}\n", head=HEAD):
        for name, text in {"workflows/b.yaml": FLOW, "schedules/s.yaml": head + inputs + lines}.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        project, problems = load_project(str(tmp_path))
        assert problems == ()
        assert check_schedules(project) == check_schedule(project, project.schedules["s"])
        return check_schedules(project)

    return check


def said(problems):
    return [f"{p.place.line}:{p.place.column} {p.rule} {p.message}" for p in problems]


@pytest.mark.parametrize(
    "lines",
    [
        "cron: 0 2 * * 1-5\n",
        "every: 15m\noverlap: queue\nqueue_limit: 2\n",
        "at: '2026-12-24T09:00'\ntimezone: Europe/Berlin\n",
        "cron: ['@daily', '0 0 29 2 *']\nstart: 2026-12-01\nend: 2026-12-01\n",
        "every: 1h\nstart: '2026-12-01T00:00'\nend: '2026-12-01T00:00+00:00'\n",
    ],
)
def test_a_schedule_that_is_right_is_not_spoken_of(found, lines):
    assert found(lines) == ()


def test_the_workflow_must_exist(found):
    (problem,) = found("every: 1h\n", head=HEAD.replace("build", "biuld"))

    assert said([problem]) == ["3:11 CF501 schedule `s` starts unknown workflow `biuld`"]
    assert problem.hint == "did you mean `build`?"


def test_the_inputs_are_known_and_complete_and_of_their_types(found):
    problems = found("every: 1h\n", inputs="inputs: {gaol: x, count: many}\n")

    assert said(problems) == [
        "3:11 CF502 schedule `s` gives no input `goal`, which workflow `build` needs",
        "4:10 CF502 workflow `build` has no input `gaol`",
        "4:26 CF502 input `count` must be a whole number, not the text `many`",
    ]
    assert problems[1].hint == "did you mean `goal`?"


def test_an_input_that_only_the_time_gives_is_not_looked_at(found):
    assert found("every: 1h\n", inputs="inputs: {goal: x, count: '${{ run.scheduled_at }}'}\n") == ()


def test_each_cron_expression_of_a_list_is_looked_at(found):
    assert said(found("cron: ['0 2 * * *', '0 25 * * *']\n")) == [
        "5:21 CF503 `0 25 * * *` has a field that is not allowed: `25`"
    ]
    assert said(found("cron: '@reboot'\n")) == ["5:7 CF503 `@reboot` is no time"]


@pytest.mark.case("C139")
@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("europe/berlin", "did you mean `Europe/Berlin`?"),
        ("utc", "did you mean `UTC`?"),
        ("../../etc/passwd", "write a name such as `Europe/Berlin` or `UTC`"),
        ("/etc/localtime", "write a name such as `Europe/Berlin` or `UTC`"),
        ("Mars/Phobos", "write a name such as `Europe/Berlin` or `UTC`"),
        ("Europe", None),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest(found, zone, hint):
    (problem,) = found(f"every: 1h\ntimezone: {zone}\n")

    assert said([problem]) == [f"6:11 CF504 unknown time zone `{zone}`"]
    assert hint in {None, problem.hint}


def test_dates_are_in_the_calendar_and_in_order(found):
    assert said(found("at: ['2026-02-30T09:00', '2026-12-24 25:00']\n")) == [
        "5:6 CF505 there is no `2026-02-30T09:00` in the calendar",
        "5:26 CF505 there is no `2026-12-24 25:00` in the calendar",
    ]
    assert said(found("every: 1h\nstart: 2026-12-02\nend: 2026-12-01\n")) == [
        "7:6 CF505 `end` lies before `start`"
    ]


def test_a_limit_of_the_queue_needs_a_queue(found):
    assert said(found("every: 1h\nqueue_limit: 2\n")) == [
        "6:1 CF506 `queue_limit` says nothing beside `overlap: skip`"
    ]
