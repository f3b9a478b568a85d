"""What moves between steps, for real: outputs, results, environments, conditions, retries, inputs."""

import json
from pathlib import Path

import pytest


def test_outputs_of_every_origin_reach_later_steps_and_finally(project):
    here = project(
        """
        steps:
          a:
            run: |
              echo '{"deep": [1, {"k": "found"}]}' > out.json
              echo "name=from output" >> "$CREWFLOW_OUTPUT"
              printf 'many<<END\\none\\ntwo\\nEND\\n' >> "$CREWFLOW_OUTPUT"
              echo '{"n": 7}'
            outputs:
              name: string
              many: string
              all: {type: object, from: json}
              n: {type: integer, from: json:/n}
              file: {type: string, from: file:out.json}
              given: {type: integer, default: 3}
          b:
            needs: a
            env: {MANY: "${{ steps.a.outputs.many }}"}
            run: |
              echo "${{ steps.a.outputs.name }}|$MANY|${{ steps.a.outputs.n }}" > b.txt
              echo "${{ steps.a.outputs.given }}" >> b.txt
              echo "${{ steps.a.outputs.all }}" >> b.txt
              echo "${{ (steps.a.outputs.file | from_json).deep.1.k }}" >> b.txt
        finally:
          c: {run: 'echo "${{ steps.a.outputs.n + 1 }}" > c.txt'}
        """
    )
    done = here.run("apply")

    assert done.code == 0, done
    assert here.lines("b.txt") == ["from output|one", "two|7", "3", '{"n":7}', "found"]
    assert here.lines("c.txt") == ["8"]


def test_a_result_of_a_function_and_of_a_script_and_lists_of_a_fan_out(project):
    here = project(
        """
        steps:
          f: {python: "mod:f", with: {x: [1, 2]}}
          s: {run: 'echo text'}
          legs: {for_each: [b, a], run: 'echo "${{ item }}-${{ item_index }}"'}
          join:
            needs: [f, s, legs]
            run:
              - python3
              - -c
              - "import sys; open('got.json', 'w').write('\\\\n'.join(sys.argv[1:]))"
              - "${{ steps.f.result | to_json }}"
              - "${{ steps.s.result }}"
              - "${{ steps.legs.result }}"
        """
    ).write({"mod.py": "def f(x): return {'sum': sum(x), 'none': None}\n"})
    done = here.run("apply")

    assert done.code == 0, done
    assert here.lines("got.json") == ['{"sum":3,"none":null}', "text", "b-0", "a-1"]


def test_large_outputs_are_whole_in_the_next_step_and_after_a_resume(project):
    here = project(
        """
        steps:
          a:
            run: 'python3 -c "print(str(7) * 60000)"; echo a >> ran'
            outputs: {big: {type: string, from: stdout}}
          b: {needs: a, run: 'echo "${{ steps.a.outputs.big | length }}" >> lengths; test -e go'}
        """
    )
    assert here.run("apply").code == 1
    [ended] = [r for r in here.records("attempt.ended") if r["task"] == "a"]
    assert ended["stored"]["size"] > 60_000
    (here.root / "go").touch()

    assert here.run("resume").code == 0
    assert here.lines("lengths") == ["60000", "60000"]
    assert here.lines("ran") == ["a"]


def test_a_large_output_that_was_changed_stops_resume(project):
    here = project(
        """
        steps:
          a: {run: 'python3 -c "print(str(7) * 60000)"', outputs: {big: {type: string, from: stdout}}}
          b: {needs: a, run: 'echo "${{ steps.a.outputs.big | length }}"; exit 1'}
        """
    )
    here.run("apply")
    stored = Path(here.paths().attempt("a", 1), "result.json")
    stored.write_text(stored.read_text().replace("7", "8"))

    done = here.run("resume")
    assert done.code == 10
    assert "result.json` is missing or was changed: it holds the result of `a`" in done.err
    assert here.run("status").code == 0


@pytest.mark.case("C169")
def test_each_attempt_starts_with_a_clean_output_and_knows_its_number(project):
    here = project(
        """
        steps:
          a:
            run: |
              echo "$CREWFLOW_ATTEMPT, ${{ attempt.number }}: ${{ attempt.last_error | default(1) }}" >> f
              if [ "$CREWFLOW_ATTEMPT" = 1 ]; then echo x=1 >> "$CREWFLOW_OUTPUT"; exit 75; fi
              echo y=2 >> "$CREWFLOW_OUTPUT"
            outputs: {x: {type: string, default: none}, y: string}
            retry: {max_attempts: 2, delay: 0s, when: ["exit:75"]}
        """
    )
    assert here.run("apply").code == 0

    assert here.lines("f") == ["1, 1: 1", "2, 2: exit code 75"]
    [task] = here.status()["tasks"]
    assert task["outputs"] == {"x": "none", "y": "2"}


@pytest.mark.case("C184")
def test_skips_and_what_follows_from_them_with_the_reason_of_each(project):
    here = project(
        """
        steps:
          ok: {run: "true"}
          failed: {run: "false"}
          a: {if: "false", run: "true"}
          b: {needs: a, run: "true"}
          c: {needs: b, run: "true"}
          d: {needs: [a, ok], run: "true"}
          e: {needs: c, if: always(), run: "true"}
          f: {needs: failed, if: failure(), run: "true"}
          g: {needs: e, run: "true"}
          h: {needs: failed, run: "true"}
          i: {after: failed, run: "true"}
        """
    )
    assert here.run("apply").code == 1

    tasks = {task["id"]: task for task in here.status()["tasks"]}
    assert {name: task["state"] for name, task in tasks.items()} == {
        "ok": "succeeded",
        "failed": "failed",
        **dict.fromkeys("abcd", "skipped"),
        **dict.fromkeys("efg", "succeeded"),
        "h": "skipped",
        "i": "succeeded",
    }
    assert tasks["a"]["cause"]["kind"] == "condition"
    assert tasks["c"]["cause"] == {"kind": "need_skipped", "step": "b", "root": "a"}
    assert tasks["h"]["cause"] == {"kind": "need_failed", "step": "failed", "root": "failed"}
    shown = here.run("status").out
    assert "skipped    a       its `if` is false" in shown
    assert "skipped    c       `b` was skipped (it began with `a`)" in shown
    assert "skipped    h       `failed` failed" in shown


@pytest.mark.case("C188")
def test_a_condition_of_a_fan_out_is_asked_for_each_of_its_items(project):
    here = project(
        """
        steps:
          a: {if: "false", for_each: [1, 2], run: "true"}
          b: {needs: a, run: "true"}
          c: {for_each: [1, 2, 3], if: item != 2, run: 'echo "${{ item }}" >> f'}
          d: {needs: c, run: "true"}
        """
    )
    assert here.run("apply", "-j1").code == 0
    assert here.states() == {
        "a[0]": "skipped",
        "a[1]": "skipped",
        "b": "skipped",
        "c[0]": "succeeded",
        "c[1]": "skipped",
        "c[2]": "succeeded",
        "d": "succeeded",
    }
    assert here.lines("f") == ["1", "3"]


@pytest.mark.case("C196")
@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("steps.a.reslt == 'failed'", "`steps.a.result`"),
        ("steps.a.outcome == 'failure'", "`failed`"),
        ("steps.nope.state == 'failed'", "`steps.nope`"),
    ],
)
def test_a_condition_with_an_unknown_name_or_word_is_a_fault_with_a_place(project, condition, said):
    here = project(
        f"""
        steps:
          a: {{run: "true"}}
          b: {{needs: a, if: "{condition}", run: "true"}}
        """
    )
    done = here.run("validate")
    assert done.code == 3
    assert done.out.startswith("workflows/w.yaml:")
    assert said in done.out
    assert here.run("apply").code == 3
    assert here.run_ids == []


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (["s=two words"], ["two words", 3.10, True, ["a"], {"k": 1}]),
        (["s=@text"], ["of a file\n", 3.10, True, ["a"], {"k": 1}]),
        (["s=@@at"], ["@at", 3.10, True, ["a"], {"k": 1}]),
        (["s=a=b"], ["a=b", 3.10, True, ["a"], {"k": 1}]),
        (["n=5", "b=false"], ["", 5, False, ["a"], {"k": 1}]),
        (["l=x", "l=y"], ["", 3.10, True, ["x", "y"], {"k": 1}]),
        (['l=["p q"]', 'o={"z": [1]}'], ["", 3.10, True, ["p q"], {"z": [1]}]),
    ],
)
def test_inputs_of_each_type(project, given, value):
    here = project(
        """
        inputs:
          s: {type: string, default: ""}
          n: {type: number, default: 3.10}
          b: {type: boolean, default: true}
          l: {type: array, items: {type: string}, default: [a]}
          o: {type: object, default: {k: 1}}
        steps:
          a:
            env: {ALL: "${{ [inputs.s, inputs.n, inputs.b, inputs.l, inputs.o] | to_json }}"}
            run: printenv ALL > all.json
        """
    ).write({"text": "of a file\n"})
    done = here.run("apply", *(word for one in given for word in ("-i", one)))
    assert done.code == 0, done
    assert json.loads((here.root / "all.json").read_text()) == value


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-i", "n=many"], "input `n` must be a whole number"),
        (["-i", "n=3.5"], "input `n` must be a whole number"),
        (["-i", "n=1", "-i", "n=2"], "input `n` is given 2 times"),
        (["-i", "x=1"], "has no input `x`"),
        ([], "needs input `n`: how many"),
        (["-i", "n=@nowhere"], "cannot read `nowhere`: no such file or directory"),
    ],
)
def test_a_wrong_input_is_wrong_usage_before_anything_is_made(project, words, said):
    inputs = "{n: {type: integer, required: true, description: how many}}"
    here = project(f"inputs: {inputs}\nsteps: {{a: {{run: 'true'}}}}")
    done = here.run("apply", *words)
    assert (done.code, said in done.err) == (2, True), done
    assert not (here.root / ".crewflow").exists()


def test_the_environment_reaches_the_step_and_not_the_next_one(project):
    here = project(
        {
            "crewflow.yaml": "kind: project\nname: shop\nenv: {A: project, B: project, C: project}\n",
            "workflows/w.yaml": """
                kind: workflow
                name: w
                env: {B: workflow, C: workflow}
                steps:
                  a: {env: {C: step, OWN: "x\\ny", EMPTY: ""}, run: 'env -0 > a.env'}
                  b: {needs: a, run: 'env -0 > b.env'}
                """,
        }
    )
    assert here.run("apply", "-j1", env={"A": "caller", "FROM": "caller"}).code == 0

    first, second = (
        dict(line.split("=", 1) for line in (here.root / name).read_text().split("\0") if line)
        for name in ("a.env", "b.env")
    )
    wanted = {"A": "project", "B": "workflow", "C": "step", "FROM": "caller", "OWN": "x\ny", "EMPTY": ""}
    assert {name: first[name] for name in wanted} == wanted
    assert second["C"] == "workflow"
    assert not {"OWN", "EMPTY"} & second.keys()
    assert (second["CREWFLOW_TASK"], second["CREWFLOW_ATTEMPT"]) == ("b", "1")


def test_artifacts_are_listed_with_a_path_that_can_be_typed(project):
    here = project(
        """
        steps:
          a:
            run: 'mkdir -p out; echo 1 > out/x; echo 2 > out/y'
            artifacts: {o: out/}
        """
    )
    assert here.run("apply").out == "o: out/x\no: out/y\n"
    assert here.run("apply", cwd=here.root / "out").out == "o: x\no: y\n"
    elsewhere = here.run("-C", here.root, "apply", cwd=here.root.parent)
    assert elsewhere.out == f"o: {here.root.name}/out/x\no: {here.root.name}/out/y\n"


@pytest.mark.case("C121")
def test_a_declared_artifact_that_is_not_made_fails_the_step(project):
    here = project("steps: {a: {run: 'true', artifacts: {p: p.txt}}, b: {needs: a, run: 'true'}}")
    done = here.run("apply")
    assert done.code == 1
    assert "`a` failed: artifact `p` is missing: nothing matches `p.txt`" in done.err
    assert here.states() == {"a": "failed", "b": "skipped"}


@pytest.mark.case("C190")
def test_resume_runs_the_plan_that_was_begun_whatever_the_file_says_by_now(project):
    here = project("steps: {a: {run: 'echo a >> f'}, b: {needs: a, run: 'test -e go; echo b >> f'}}")
    assert here.run("apply").code == 1
    path = here.root / "workflows/w.yaml"
    path.write_text(path.read_text().replace("echo b", "echo other"))
    (here.root / "go").touch()

    assert here.run("resume").code == 0
    assert here.lines("f") == ["a", "b"]
    path.unlink()
    assert here.run("apply").code == 2


@pytest.mark.case("C191")
def test_a_plan_is_the_same_whatever_comments_and_line_ends_say(project):
    text = "kind: workflow\nname: w\nsteps:\n  a:\n    run: echo é\n  b:\n    needs: a\n    run: 'true'\n"
    here = project({"workflows/w.yaml": text})

    def fingerprint(**env):
        return here.run("plan", "--json", env=env).json["fingerprint"]

    same = fingerprint()
    (here.root / "workflows/w.yaml").write_bytes(
        ("# why\r\n" + text.replace("\n", "\r\n") + "# end\r\n").encode()
    )
    assert fingerprint() == same
    assert fingerprint(LC_ALL="C", PYTHONHASHSEED="1") == same
    here.write({"workflows/w.yaml": text.replace("echo é", "echo e")})
    assert fingerprint() != same
