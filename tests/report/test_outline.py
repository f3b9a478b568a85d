import pytest
from flows import plan

from crewflow.report.outline import Outline, bound


def outline(text):
    return Outline(plan(text))


def estimated(seconds, more=""):
    return f"{{run: x, estimate: {{duration: {seconds}s}}{more}}}"


def test_a_chain_of_groups_is_as_long_as_what_is_in_them():
    longest = outline(
        f"""\
steps:
  a: {{steps: {{x: {estimated(10)}, y: {estimated(5, ", needs: x")}}}}}
  b: {{needs: a, for_each: [1, 2], steps: {{z: {estimated(7)}}}}}
  c: {estimated(20)}
finally:
  end: {estimated(3)}
"""
    ).longest()

    assert longest.steps == ("a/x", "a/y", "b[0]/z", "end")
    assert (longest.seconds, longest.estimated, longest.work) == (25.0, 4, 52.0)


def test_a_limit_makes_a_fan_out_longer():
    steps = f"{{for_each: [1, 2, 3, 4], max_parallel: 2, {estimated(10)[1:]}"

    assert outline(f"steps: {{a: {steps}}}\n").longest().seconds == 20.0


def test_without_estimates_the_path_of_most_tasks_is_the_longest():
    longest = outline("steps: {a: {run: x}, b: {run: x, needs: a}, c: {run: x}}\n").longest()

    assert longest.steps == ("a", "b")
    assert (longest.seconds, longest.work) == (None, 0.0)


def test_a_step_is_counted_once_however_many_legs_are_around_it():
    size = outline(
        "steps: {a: {for_each: [1, 2, 3], steps: {b: {run: x}, c: {run: x}}}, d: {run: x}}\n"
    ).size()

    assert (size.steps, size.tasks, size.unknown) == (4, 7, 0)


def test_a_label_with_a_slash_is_no_container():
    odd = outline('steps: {a: {matrix: {v: ["x/y]/z"]}, steps: {b: {run: x}}}}\n')
    assert list(odd.names.values()) == ["a", "a/b"]


GIVEN = "steps:\n  s: {run: x, outputs: {l: array, m: array}}\n  f: {needs: s, run: x, %s}\n"


@pytest.mark.parametrize(
    ("fan_out", "words"),
    [
        ("for_each: '${{ steps.s.outputs.l }}'", "`steps.s.outputs.l` has items"),
        ("matrix: {v: '${{ steps.s.outputs.l }}'}", "`v` (`steps.s.outputs.l`) has combinations"),
        (
            "matrix: {v: '${{ steps.s.outputs.l }}', w: ['${{ steps.s.outputs.m }}']}",
            "`v` (`steps.s.outputs.l`) and `w` (a list of 1) have combinations",
        ),
    ],
)
def test_a_bound_names_what_yields_the_values(fan_out, words):
    unfold = outline(GIVEN % fan_out).steps["f"].unfold

    assert unfold is not None
    assert bound(unfold) == f"as many tasks as {words}, at most 10,000"


def test_many_legs_are_walked_once():
    legs = ", ".join(map(str, range(3000)))
    made = outline(
        f"steps: {{a: {{for_each: [{legs}], steps: {{b: {{run: x}}, c: {{needs: b, run: x}}}}}}}}\n"
    )

    assert [step.id for step, _ in made.shown] == ["a", "a[0]/b", "a[0]/c"]
    assert made.longest().steps == ("a[0]/b", "a[0]/c")
