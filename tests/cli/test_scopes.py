"""Groups, calls, fan-outs over what a step gave, prompts: for real, with real crashes."""
# ruff: noqa: E501  (one step a line)

import os
import signal

import pytest

INNER = """
---
kind: workflow
name: inner
inputs:
  words: {type: array, items: {type: string}, required: true}
env: {WHERE: inner}
outputs: {all: "${{ steps.w.outputs.v | join('+') }}"}
steps:
  w:
    for_each: ${{ inputs.words }}
    run: echo "$WHERE ${{ item }}"; test "${{ item }}" != bad
    outputs: {v: {type: string, from: stdout}}
finally:
  end: {run: echo end >> log}
"""


def test_a_group_is_a_chain_for_each_leg_and_gives_what_it_declares(project):
    here = project(
        """
        env: {A: outer}
        steps:
          g:
            matrix: {v: [x, y]}
            env: {A: "${{ matrix.v }}", B: "${{ env.A }}"}
            cwd: sub
            steps:
              one: {run: 'pwd > ../where-$A; echo "$A $B" >> ../log-$A'}
              two: {needs: one, run: 'echo "two ${{ env.A }} ${{ steps.one.state }}" >> ../log-$A', outputs: {o: {type: string, default: d}}}
            outputs: {o: "${{ steps.two.outputs.o }}-${{ matrix.v }}"}
          show: {needs: g, run: 'echo "${{ steps.g.outputs.o | to_json }} ${{ steps.g.state }} $A" > shown'}
        """
    )
    (here.root / "sub").mkdir()
    done = here.run("apply")

    assert done.code == 0, done
    assert here.lines("log-x") == ["x outer", "two x succeeded"]
    assert here.lines("where-y")[0].endswith("/sub")
    assert here.lines("shown") == ['["d-x","d-y"] succeeded outer']


def test_a_call_gets_its_inputs_gives_its_outputs_and_has_its_own_environment(project):
    here = project(
        """
        env: {WHERE: outer, ONLY: outer}
        steps:
          list: {run: 'echo "[\\"p\\", \\"q\\"]"', outputs: {l: {type: array, from: json}}}
          call: {needs: list, workflow: inner, with: {words: "${{ steps.list.outputs.l }}"}}
          show: {needs: call, run: 'echo "${{ steps.call.outputs.all }}" >> log'}
        """.replace("\n        ", "\n")
        + INNER
    )
    done = here.run("apply", "w")

    assert done.code == 0, done
    assert here.lines("log") == ["end", "inner p+inner q"]


@pytest.mark.parametrize(
    ("given", "word", "error"),
    [
        ("[1]", "array", "input `words` must be text, not the number `1`"),
        ("{}", "object", "input `words` must be a list, not a mapping"),
    ],
)
def test_a_value_that_does_not_fit_an_input_fails_the_call_before_anything_in_it(project, given, word, error):
    here = project(
        """
        steps:
          list: {run: "echo '@given'", outputs: {l: {type: @word, from: json}}}
          call: {needs: list, workflow: inner, with: {words: "${{ steps.list.outputs.l | default([]) }}"}}
        """.replace("@given", given)
        .replace("@word", word)
        .replace("\n        ", "\n")
        + INNER
    )
    done = here.run("apply", "w")

    assert done.code == 1
    status = {task["id"]: task for task in here.status()["tasks"]}
    assert status["call"]["state"] == "failed"
    assert error in status["call"]["error"]
    assert here.lines("log") == []


def test_the_finally_of_a_call_runs_after_a_failure_and_before_what_comes_behind_it(project):
    here = project(
        """
        steps:
          call: {workflow: inner, with: {words: [good, bad]}}
          behind: {after: call, if: always(), run: echo behind >> log}
          skipped: {needs: call, run: echo never >> log}
        """.replace("\n        ", "\n")
        + INNER
    )
    done = here.run("apply", "w")

    assert done.code == 1
    assert here.lines("log") == ["end", "behind"]
    assert here.states()["skipped"] == "skipped"


@pytest.mark.case("C187")
def test_an_empty_list_succeeds_with_an_empty_result_and_the_run_ends(project):
    here = project(
        """
        steps:
          gen: {run: "echo '[]'", outputs: {items: {type: array, from: json}}}
          each: {needs: gen, for_each: "${{ steps.gen.outputs.items }}", run: exit 1}
          join: {needs: each, run: 'echo "${{ steps.each.result | to_json }} ${{ steps.each.state }}" > joined'}
          last: {needs: gen, for_each: "${{ steps.gen.outputs.items }}", steps: {a: {run: exit 1}}}
        """
    )
    done = here.run("apply")

    assert done.code == 0, done
    assert here.lines("joined") == ["[] succeeded"]


@pytest.mark.case("C188")
def test_a_fan_out_that_is_left_out_does_not_ask_for_its_list(project):
    here = project(
        """
        steps:
          gen: {run: exit 3, allow_failure: true, outputs: {none: array}}
          list: {run: "echo '[1, 2, 3]'", outputs: {l: {type: array, from: json}}}
          a: {needs: gen, if: steps.gen.outcome != 'failed', for_each: "${{ steps.gen.outputs.none }}", run: x}
          b: {needs: a, run: x}
          c: {needs: list, for_each: "${{ steps.list.outputs.l }}", if: item != 2, run: 'echo ${{ item }} >> log'}
          d: {needs: gen, for_each: "${{ steps.gen.outputs.none }}", run: x}
        """
    )
    done = here.run("apply", "-j", "1")

    assert done.code == 1
    assert here.states() == {
        "gen": "succeeded", "list": "succeeded", "a": "skipped", "b": "skipped",
        "c[0]": "succeeded", "c[1]": "skipped", "c[2]": "succeeded", "d": "failed",
    }  # fmt: skip
    assert here.lines("log") == ["1", "3"]


def test_what_yields_no_list_fails_the_step_with_the_reason(project):
    here = project(
        """
        steps:
          gen: {run: 'echo {}', outputs: {o: {type: object, from: json}}}
          each: {needs: gen, for_each: "${{ steps.gen.outputs.o.x | default(3) }}", run: x}
        """
    )
    done = here.run("apply")

    assert done.code == 1
    assert "each" in done.err
    assert "`for_each` must yield a list" in done.err


def test_a_list_too_large_for_a_record_is_kept_beside_it(project):
    here = project(
        """
        steps:
          gen:
            run: |
              python3 -c 'import json; print(json.dumps(["x" * 9000 + str(n) for n in range(5)]))'
            outputs: {l: {type: array, from: json}}
          each: {needs: gen, for_each: "${{ steps.gen.outputs.l }}", run: 'v="${{ item }}"; echo ${#v} >> log'}
        """
    )
    done = here.run("apply", "-j", 1)

    assert done.code == 0, done
    assert here.lines("log") == ["9001"] * 5
    (record,) = here.records("fan_out.unfolded")
    assert "legs" not in record
    assert record["stored"]["size"] > 45_000
    assert len(here.states()) == 6


CRASHING = """
steps:
  gen: {run: "echo '[1, 2, 3]'; echo gen >> log", outputs: {l: {type: array, from: json}}}
  each:
    needs: gen
    for_each: "${{ steps.gen.outputs.l }}"
    max_parallel: 1
    steps:
      one: {run: 'echo one-${{ item }} >> log'}
      two: {needs: one, run: 'echo two-${{ item }} >> log; test "${{ item }}" != 2 || test -e go || exec sleep 600'}
  call: {needs: gen, workflow: inner, with: {words: [a, b]}}
  last: {needs: [each, call], run: 'echo last >> log'}
"""


def test_a_crash_inside_a_leg_loses_nothing_and_repeats_nothing(project, until):
    here = project(CRASHING + INNER)
    running = here.start("apply", "w", "-j", "2")
    until(lambda: "two-2" in here.lines("log"), process=running)
    until(lambda: "call" in [record["task"] for record in here.records("task.ended")], process=running)
    os.kill(running.pid, signal.SIGKILL)
    running.wait(timeout=60)
    assert here.status()["state"] == "interrupted"
    assert here.states()["each[2]/one"] == "pending"
    (here.root / "go").touch()
    done = here.run("resume")

    assert done.code == 0, done
    log = here.lines("log")
    assert sorted(log) == sorted(
        ["gen", "one-1", "two-1", "one-2", "two-2", "two-2", "one-3", "two-3", "end", "last"]
    )
    assert log[-1] == "last"
    assert set(here.states().values()) == {"succeeded"}


def test_ctrl_c_lets_the_finally_of_an_open_call_run(project, until):
    inner = INNER.replace('echo "$WHERE ${{ item }}"', 'echo "${{ item }}" >> log; exec sleep 600')
    here = project(
        "steps:\n  call: {workflow: inner, with: {words: [a]}}\n  b: {needs: call, run: x}\n" + inner
    )
    running = here.start("apply", "w")
    until(lambda: "a" in here.lines("log"), process=running)
    os.kill(running.pid, signal.SIGINT)
    assert running.wait(timeout=60) == 130

    assert here.lines("log") == ["a", "end"]
    states = here.states()
    assert (states["call"], states["b"], states["call/end"]) == ("cancelled", "cancelled", "succeeded")


def test_the_policy_of_a_fan_out_holds_for_it_and_then_the_run_goes_on_as_it_would(project):
    here = project(
        """
        on_failure: finish
        steps:
          legs: {for_each: [a, b, c, d], max_parallel: 1, on_failure: stop, run: 'echo ${{ item }} >> log; exit 1'}
          other: {run: 'echo other >> log'}
        """
    )
    done = here.run("apply", "-j", "1")

    assert done.code == 1
    assert sorted(here.lines("log")) == ["a", "other"]
    assert list(here.states().values()) == ["failed", "skipped", "skipped", "skipped", "succeeded"]


def test_an_allowed_failure_of_a_group_stays_in_it(project):
    here = project(
        """
        on_failure: cancel
        steps:
          g:
            allow_failure: true
            steps: {a: {run: exit 3}, b: {needs: a, run: x}}
          after: {needs: g, run: 'echo "${{ steps.g.state }} ${{ steps.g.outcome }}" > seen'}
        """
    )
    done = here.run("apply")

    assert done.code == 0, done
    assert here.lines("seen") == ["succeeded failed"]


def test_priority_goes_before_the_longest_path(project):
    here = project(
        """
        steps:
          a: {run: 'echo a >> log'}
          b: {needs: a, run: 'echo b >> log'}
          c: {priority: 5, run: 'echo c >> log'}
        """
    )
    assert here.run("apply", "-j", "1").code == 0
    assert here.lines("log") == ["c", "a", "b"]


def test_a_prompt_is_rendered_to_a_file_and_nothing_else_is_written(project):
    here = project(
        """
        team: default
        inputs: {goal: {type: string, default: "go `on` ${x}"}}
        steps:
          find: {run: "echo 'the answer ``` is here'"}
          ask:
            needs: find
            role: explorer
            prompt: "Explore ${{ inputs.goal }}"
            writes: ["src/**"]
            outputs: {notes: string, files: array, ok: boolean}
          each: {needs: ask, for_each: "${{ steps.ask.outputs.files }}", role: explorer, prompt: "Look at ${{ item }}"}
        """
    )
    before = {path.name for path in here.root.iterdir()}
    done = here.run("apply")

    assert done.code == 0, done
    (prompt,) = here.root.glob(".crewflow/runs/*/tasks/ask/1/prompt.md")
    text = prompt.read_text()
    assert "Explore go `on` ${x}" in text
    assert "````\nthe answer ``` is here\n````" in text
    assert "- `notes`: string" in text
    assert {path.name for path in here.root.iterdir()} == before | {".crewflow"}
    given = next(task for task in here.status()["tasks"] if task["id"] == "ask")["outputs"]
    assert given == {"notes": "[scaffold: notes of ask]", "files": ["[scaffold: files of ask]"], "ok": False}


def test_the_folder_of_a_group_is_asked_for_where_the_group_stands(project):
    here = project(
        """
        steps:
          l: {run: "echo '[\\"d1\\", \\"d2\\"]'", outputs: {v: {type: array, from: json}}}
          g:
            needs: l
            for_each: "${{ steps.l.outputs.v }}"
            cwd: "${{ item }}"
            steps: {inner: {for_each: [x, y], run: 'basename "$PWD" >> ../log'}}
        """
    )
    for name in ("d1", "d2", "x", "y"):
        (here.root / name).mkdir()
    done = here.run("apply", "-j", "1")

    assert done.code == 0, done
    assert here.lines("log") == ["d1", "d1", "d2", "d2"]


def test_a_file_that_cannot_be_read_is_never_replaced_by_a_shipped_one(project):
    here = project(
        {
            "crewflow.yaml": "kind: project\nname: p\n",
            "workflows/r.yaml": "kind: workflow\nname: review\nsteps: {a: {run: echo mine}",
        }
    )
    for words in (["plan", "review"], ["apply", "review", "-i", "goal=x"]):
        done = here.run(*words)
        assert done.code == 3
        assert "workflows/r.yaml:3:8: error CF001" in done.err + done.out


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_is_called_as_a_workflow_and_is_no_file_is_told(project, kind):
    here = project("steps: {a: {run: x}}\n")
    odd = here.root / "workflows" / "odd.yaml"
    {"folder": odd.mkdir, "link": lambda: odd.symlink_to("nowhere"), "pipe": lambda: os.mkfifo(odd)}[kind]()
    done = here.run("validate")

    assert done.code == 3
    assert "workflows/odd.yaml:1:1: error CF012: the file cannot be read" in done.out


def test_a_group_that_was_cut_short_by_ctrl_c_is_gone_on_with_though_its_failure_is_allowed(project, until):
    here = project(
        """
        steps:
          g:
            allow_failure: true
            steps:
              a: {run: exit 1}
              b: {run: 'echo b >> log; test -e go || exec sleep 600'}
              c: {needs: b, run: 'echo c >> log'}
          z: {needs: g, run: 'echo z >> log'}
        """
    )
    running = here.start("apply", "-j", "2")
    until(lambda: "b" in here.lines("log"), process=running)
    os.kill(running.pid, signal.SIGINT)
    assert running.wait(timeout=60) == 130
    assert here.states()["g"] == "cancelled"
    (here.root / "go").touch()
    done = here.run("resume")

    assert done.code == 0, done
    assert here.lines("log") == ["b", "b", "c", "z"]


def test_failure_is_true_in_a_group_under_finally(project):
    here = project(
        """
        steps: {a: {run: exit 1}}
        finally: {h: {steps: {x: {if: failure(), run: 'echo told >> log'}}}}
        """
    )
    assert here.run("apply").code == 1
    assert here.lines("log") == ["told"]


def test_an_agent_of_the_project_called_scaffold_is_not_taken_for_ours(project):
    here = project(
        {
            "workflows/w.yaml": "kind: workflow\nname: w\nteam: t\nsteps: {a: {role: r, prompt: hi, writes: [src]}}\n",
            "teams/t.yaml": "kind: team\nname: t\nroles: {r: {description: x, access: workspace_write}}\n",
            "agents/scaffold.yaml": (
                "kind: agent\nname: scaffold\nbin: touch\nargv: ['{bin}', ran]\n"
                "access: {read_only: [], workspace_write: []}\noutput: {format: text, result: {get: /text}}\n"
            ),
        }
    )
    done = here.run("apply")

    assert done.code == 3
    assert "agent `scaffold` is not available in this version" in done.err + done.out
    assert "`writes` is not available in this version" in done.err + done.out


def test_a_role_that_is_told_nothing_gets_no_results(project):
    here = project(
        {
            "workflows/w.yaml": "kind: workflow\nname: w\nteam: t\nsteps:\n  l: {run: echo SECRET}\n  p: {needs: l, role: r, prompt: hi}\n",
            "teams/t.yaml": "kind: team\nname: t\nroles: {r: {description: x, context: none}}\n",
        }
    )
    assert here.run("apply").code == 0
    (prompt,) = here.root.glob(".crewflow/runs/*/tasks/p/1/prompt.md")
    assert "SECRET" not in prompt.read_text()


def test_a_call_that_fails_by_its_inputs_is_counted(project):
    here = project(
        """
        steps:
          l: {run: "echo '[3]'", outputs: {v: {type: array, from: json}}}
          call: {needs: l, workflow: inner, with: {words: "${{ steps.l.outputs.v }}"}}
        """.replace("\n        ", "\n")
        + INNER
    )
    assert here.run("apply", "w").code == 1
    assert here.status()["counts"] == {"succeeded": 1, "failed": 1, "skipped": 2}


def test_refused_keys_are_told_where_they_are_written(project):
    here = project(
        {
            "crewflow.yaml": "kind: project\nname: p\ndefaults: {total_timeout: 1h}\nredact: [x]\n",
            "workflows/w.yaml": "kind: workflow\nname: w\nsteps:\n  a:\n    writes: [src]\n    run: echo\n  b:\n    writes: [lib]\n    run: echo\n",
        }
    )
    done = here.run("apply")

    assert done.code == 3
    places = [
        line.split(" error")[0] for line in (done.err + done.out).splitlines() if " error CF102" in line
    ]
    assert {"workflows/w.yaml:5:5:", "workflows/w.yaml:8:5:", "crewflow.yaml:4:1:"} <= set(places)
    assert "scaffold" not in done.err + done.out
