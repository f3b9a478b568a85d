"""A run goes on with the plan it was begun with, and says so when the files would now give another."""

import pytest

FAILS = "steps: {one: {run: 'true'}, two: {run: exit 4}}"


@pytest.mark.case("C190")
@pytest.mark.parametrize(
    ("edited", "told"),
    [
        (FAILS, False),
        ("# a comment\nsteps:\n  one:   {run: 'true'}\n  two: {run: exit 4}", False),
        ("steps: {one: {run: 'true'}, two: {run: exit 5}}", True),
        ("steps: {one: {run: 'true'}, two: {run: exit 4}, three: {run: 'true'}}", True),
        ("inputs: {new: {required: true}}\n" + FAILS, False),  # with the inputs it had, the same
        ("steps: {one: {rum: 'true'}}", True),
    ],
)
def test_a_changed_workflow_is_told_and_the_run_keeps_its_plan(project, edited, told):
    here = project(FAILS)
    here.run("apply")
    here.write({"workflows/w.yaml": f"kind: workflow\nname: w\n{edited}\n"})

    done = here.run("resume")

    assert done.code == 1
    assert "`two` failed" in done.err
    assert "exit code 4" in done.err
    assert ("has changed since; this run goes on with its own plan" in done.err) is told
