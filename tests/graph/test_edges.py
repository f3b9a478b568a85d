import pytest
from flows import hints, plan, problems_of, read, said, under

from crewflow.graph.edges import Upstream, known_edges


def steps(*rows):
    """`steps("a", "b a c")`: b needs a and c, one step a line."""
    lines = []
    for row in rows:
        name, *needs = row.split()
        lines.append(f"  {name}: {{run: x, needs: [{', '.join(needs)}]}}\n")
    return "steps:\n" + "".join(lines)


@pytest.mark.case("C043")
def test_a_step_that_needs_itself_is_told_at_the_name():
    text = "steps: {a: {run: 'true', needs: [a]}}\n"

    assert said(text) == ["1:34 CF302 step `a` depends on itself"]
    assert under(text) == ["a"]
    assert hints(text) == ["remove `a` from its own `needs`"]


@pytest.mark.case("C044")
def test_a_cycle_is_told_whole_and_in_order_with_the_line_of_each_edge():
    text = steps("a e", "b a", "c b", "d c", "e d", "f c", "g")
    (problem,) = problems_of(text)

    assert problem.rule == "CF301"
    assert problem.message == "steps wait for each other: a -> b -> c -> d -> e -> a"
    assert [(note.place.line - 2, note.message) for note in problem.notes] == [
        (3, "`b` waits for `a`"),
        (4, "`c` waits for `b`"),
        (5, "`d` waits for `c`"),
        (6, "`e` waits for `d`"),
        (2, "`a` waits for `e`"),
    ]
    assert (problem.place.line - 2, problem.place.column) == (2, 23)


@pytest.mark.case("C046")
def test_independent_cycles_and_a_loop_are_told_together():
    assert said(steps("a b", "b a", "c d", "d c", "e e")) == [
        "2:23 CF301 steps wait for each other: a -> b -> a",
        "4:23 CF301 steps wait for each other: c -> d -> c",
        "6:23 CF302 step `e` depends on itself",
    ]


def test_a_loop_does_not_hide_the_cycle_that_it_is_part_of():
    assert [one.split()[1] for one in said(steps("a a b", "b a"))] == ["CF302", "CF301"]


@pytest.mark.case("C046")
def test_a_dense_knot_has_one_problem():
    names = [f"n{i}" for i in range(25)]
    text = steps(*(f"{name} {' '.join(one for one in names if one != name)}" for name in names))

    assert [one.split(" ", 1)[1] for one in said(text)] == ["CF301 steps wait for each other: n0 -> n1 -> n0"]


def test_a_very_long_cycle_is_shortened():
    rows = [f"t{i} t{(i - 1) % 200}" for i in range(200)]
    (problem,) = problems_of(steps(*rows))

    assert problem.message.startswith("steps wait for each other: t0 -> t1 -> t2 -> ")
    assert problem.message.endswith(" -> ... -> t198 -> t199 -> t0 (200 steps)")
    assert len(problem.notes) == 50


def test_an_edge_of_after_closes_a_cycle_too():
    text = "steps:\n  a: {run: x, after: b}\n  b: {run: x, needs: a}\n"

    assert said(text) == ["2:22 CF301 steps wait for each other: a -> b -> a"]


@pytest.mark.case("C047")
def test_an_unknown_step_is_told_with_the_nearest_name():
    text = "steps:\n  build: {run: x}\n  deploy: {run: x, needs: [biuld]}\n"

    assert said(text) == ["3:28 CF201 step `deploy` needs unknown step `biuld`"]
    assert hints(text) == ["did you mean `build`?"]
    assert under(text) == ["biuld"]


def test_without_a_near_name_the_steps_are_listed():
    text = "steps:\n  build: {run: x}\n  deploy: {run: x, after: zzz}\n"

    assert said(text) == ["3:27 CF201 step `deploy` comes after unknown step `zzz`"]
    assert hints(text) == ["there is `build`"]


def test_of_many_steps_some_are_listed():
    text = steps(*(f"s{i}" for i in range(30)), "z qqqqq")

    assert hints(text) == [f"there are {', '.join(f'`s{i}`' for i in range(10))}, ..."]


def test_a_step_is_not_advised_to_need_itself():
    assert hints("steps:\n  test1: {run: x, needs: test2}\n") == [None]


@pytest.mark.case("C052")
def test_one_text_is_one_need_and_doubled_ones_are_one_edge():
    text = """\
steps:
  a: {run: x}
  b: {run: x, needs: a}
  c: {run: x, needs: [a, a]}
  d: {run: x, needs: []}
"""

    assert said(text) == []
    assert [step.needs for step in plan(text).steps] == [(), ("a",), ("a",), ()]


@pytest.mark.parametrize(
    "needs", ["[a, a, tset]", "[a, a, a, a, 'tset']", "\n      - a\n      - a\n      - a\n      - tset"]
)
def test_an_unknown_step_behind_doubled_ones_is_told_at_its_own_place(needs):
    text = f"steps:\n  a: {{run: x}}\n  test: {{run: x}}\n  b:\n    run: x\n    needs: {needs}\n"

    assert [one.strip("'") for one in under(text)] == ["tset"]


def test_a_name_that_an_alias_brings_is_told_where_it_is_written():
    text = "x-n: &n [nope]\nsteps:\n  a: {run: x, needs: *n}\n"
    (problem,) = problems_of(text)

    assert (problem.place.line - 2, problem.place.column) == (1, 10)
    assert [(note.place.line - 2, note.message) for note in problem.notes] == [(3, "used here")]


@pytest.mark.case("C041")
def test_a_fault_that_a_merge_brings_to_many_steps_is_told_once():
    rows = "".join(f"  s{i}: {{run: x, <<: *base}}\n" for i in range(200))
    text = f"x-base: &base {{env: {{A: '${{{{ inputs.nope }}}}'}}}}\nsteps:\n{rows}"
    (problem,) = problems_of(text)

    assert (problem.rule, problem.place.line - 2) == ("CF202", 1)
    assert [note.message for note in problem.notes] == ["used here, and 199 more times"]
    assert problem.notes[0].place.line - 2 == 3


def test_a_step_cannot_wait_for_one_under_finally():
    text = "steps:\n  a: {run: x, needs: end}\nfinally:\n  end: {run: x}\n"

    assert said(text) == ["2:22 CF303 step `a` cannot wait for `end`, which stands under `finally`"]


def test_a_step_under_finally_may_wait_for_any_other():
    text = "steps:\n  a: {run: x}\nfinally:\n  b: {run: x, needs: a}\n  c: {run: x, after: b}\n"

    assert said(text) == []
    assert [(step.id, step.needs, step.after, step.final) for step in plan(text).steps] == [
        ("a", (), (), False),
        ("b", ("a",), (), True),
        ("c", (), ("b",), True),
    ]


@pytest.mark.case("C055")
def test_a_diamond_with_a_redundant_edge_is_no_cycle():
    text = steps("a", "b a", "c a", "d b c", "e a d")

    assert said(text) == []
    assert {task.id: task.weight for task in plan(text).tasks} == {"a": 4, "b": 3, "c": 3, "d": 2, "e": 1}


@pytest.mark.case("C053")
def test_a_chain_of_ten_thousand_steps_is_checked_and_planned():
    rows = [f"t{i} t{i - 1}" if i else "t0" for i in range(10_000)]
    text = steps(*rows)
    workflow = read(text)

    assert said(text) == []
    assert plan(text).tasks[0].weight == 10_000
    assert Upstream(workflow.steps).holds("t9999", "t0")
    assert not Upstream(workflow.steps).holds("t0", "t9999")


def test_of_ten_thousand_unknown_names_the_first_thousand_are_told():
    text = steps(*(f"t{i} s{i}" for i in range(10_000)))
    problems = problems_of(text)

    assert len(problems) == 1_001
    assert (problems[0].rule, problems[0].hint) == ("CF011", "the first 1,000 are told")


def test_upstream_is_what_has_ended_before():
    workflow = read(
        "steps:\n  a: {run: x}\n  b: {run: x, needs: a}\n  c: {run: x, after: b}\n  d: {run: x}\n"
        "finally:\n  f: {run: x}\n  g: {run: x}\n"
    )
    upstream = Upstream(workflow.steps)

    assert known_edges(workflow.steps)["c"] == ["b"]
    assert upstream.holds("c", "a")
    assert not upstream.holds("d", "a")
    assert upstream.holds("f", "d")
    assert not upstream.holds("f", "g")
    assert not upstream.holds("a", "f")


def test_where_a_cycle_leaves_it_open_everything_is_upstream():
    assert Upstream(read(steps("a b", "b a", "c")).steps).holds("a", "c")
