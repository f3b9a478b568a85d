"""Every record of real runs is what `schemas/event.schema.json` says, and the schema knows no other."""

import jsonschema
import pytest

from crewflow.spec.schema import schema
from crewflow.state import codec
from crewflow.state.records import GENERATION

EVENT = jsonschema.Draft202012Validator(schema("event"))

RUNS = {
    "ends of all kinds": """
        steps:
          a: {run: "echo hi; exit 3", allow_failure: true, retry: {max_attempts: 2, delay: 1ms}}
          b:
            needs: a
            run: "echo n=1 >> $CREWFLOW_OUTPUT; echo x > x.txt"
            outputs: {n: integer}
            artifacts: {x: x.txt}
          c: {needs: b, if: "steps.b.outputs.n > 1", run: "true"}
          d: {needs: b, run: "kill -9 $$"}
          e: {needs: d, run: "true"}
        finally: {f: {run: "true"}}
        """,
    "containers and legs of the run": """
        steps:
          list: {run: 'echo "[1, 2]"', outputs: {n: {type: array, from: "json:"}}}
          each:
            needs: list
            for_each: "${{ steps.list.outputs.n }}"
            steps: {x: {run: [test, "${{ item }}", =, "2"]}}
        """,
    "stopped": """
        on_failure: cancel
        steps:
          a: {run: "false"}
          b: {after: a, run: "true"}
          large: {python: "mod:large"}
        """,
}


def faults(records):
    return [(r["type"], error.message) for r in records for error in EVENT.iter_errors(r)]


@pytest.mark.parametrize("text", RUNS.values(), ids=RUNS)
def test_every_record_of_a_run_is_as_the_schema_says(project, text):
    here = project(text).write({"mod.py": "def large():\n    return 'x' * 50_000\n"})
    here.run("apply")
    here.run("resume")
    events = here.run("events", "--json").json["events"]

    assert len(events) > 5
    assert faults(events) == []


def test_the_schema_names_every_type_of_record_and_no_other():
    types = {value for name, value in vars(codec).items() if name.isupper() and isinstance(value, str)}

    assert set(schema("event")["properties"]["type"]["enum"]) == types | {GENERATION}


def test_a_record_with_a_member_that_nobody_described_is_noticed():
    record = {"seq": 1, "ts": 1.0, "mono": 0.0, "type": "run.ended", "state": "failed", "chain": "0" * 8}

    assert faults([record]) == []
    assert faults([record | {"colour": "red"}])
    assert faults([{**record, "type": "attempt.started"}])
