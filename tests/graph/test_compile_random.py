"""Workflows made of fragments that fit and that do not: nothing raises, and the stages agree."""

from flows import project_of, read
from hypothesis import given, settings
from hypothesis import strategies as st

from crewflow.errors import Severity, SpecError
from crewflow.graph.compile import check_workflow, compile_workflow
from crewflow.graph.plan import from_bytes
from crewflow.report.graph import graph_ascii, graph_mermaid
from crewflow.report.plan import plan_text

INPUTS = {
    "t": ("string", ["x", "90s", "../a", "a\0", "", None]),
    "l": ("array", [[], ["a", None], [1, 1], ["a", "A"], [{"k": [1]}], None]),
    "n": ("integer", [1, None]),
    "f": ("boolean", [True, None]),
    "o": ("object", [{}, {"b": 1, "a": [None]}, None]),
}
PATHS = st.sampled_from(
    [
        *("inputs.t", "inputs.l", "inputs.n", "inputs.f", "inputs.o", "inputs.o.a", "inputs.nope"),
        *("env.A", "env.B", "run.id", "run.workflow", "item", "item_index", "matrix.v", "matrix.w"),
        *("attempt.number", "steps.s0.state", "steps.s1.result", "steps.s2.outputs.out", "steps"),
        *("inputs.t", "inputs.o.a", "env.A", "env.B", "run.id", "attempt.number"),  # which fit most fields
        *("steps.s0.exit_code", "steps.s3.artifacts.art", "steps.nope.state"),
    ]
)
EXPRESSIONS = st.one_of(
    PATHS,
    PATHS.map(lambda path: f"{path} | default('d')"),
    PATHS.map(lambda path: f"{path} == 'succeeded'"),
    st.builds("{} ~ {}".format, PATHS, PATHS),
    st.sampled_from(
        ["always()", "failure() or inputs.f", "cancelled()", "1 +", "5", "'90s'", "[1, 2]", "true"]
    ),
)
TEXTS = st.one_of(
    st.sampled_from(["x", "y", "z", "90s", "5", "../x", "$${{ a }}"]),
    st.just("x"),
    EXPRESSIONS.map("${{{{ {} }}}}".format),
    st.builds("a ${{{{ {} }}}} ${{{{ {} }}}}".format, EXPRESSIONS, EXPRESSIONS),
)
SOUND_TEXTS = st.sampled_from(
    [
        "x",
        "a ${{ run.id }}",
        "${{ inputs.t | default('d') }}",
        "b${{ env.B }}",
        "${{ inputs.o | default('o') }}",
    ]
)
LISTS = st.one_of(
    TEXTS.map('"{}"'.format),
    st.sampled_from(["[]", "[1, 2]", "[a, null, {k: 1}]", "[3.1, 3.10]", "[a, A]", "5"]),
)
FANS = st.one_of(
    LISTS.map("for_each: {}".format),
    st.builds(
        "matrix: {{v: {}, include: [{}]}}".format,
        LISTS,
        st.sampled_from(["", "{w: 1}", "{v: 1, w: 2}", "{}"]),
    ),
    LISTS.map("matrix: {{v: {}, exclude: [{{v: 1}}, {{u: 2}}]}}".format),
)
SOUND_FANS = st.sampled_from(
    [
        "for_each: [a, {b: 1, a: 2}]",
        "for_each: []",
        "matrix: {v: [3.1, 3.10], u: [x, {k: [1]}], include: [{v: 9}], exclude: [{u: x, v: 3.10}]}",
        "matrix: {include: [{v: 1}, {v: 2, w: null}]}",
    ]
)


def steps_of(texts, conditions, durations, booleans, fans, needs):
    """Steps, up to three and one under `finally`, as mappings from a key to how its value is written."""
    quoted = texts.map('"{}"'.format)
    needed = st.lists(st.sampled_from(needs), max_size=2).map(lambda ids: f"[{', '.join(ids)}]")
    words = st.lists(quoted, max_size=2).map(lambda rest: f"[{', '.join(['echo', *rest])}]")
    numbers = conditions.map('"echo $(( ${{{{ {} }}}} + 1 ))"'.format)
    fields = st.fixed_dictionaries(
        {"run": st.one_of(quoted, words, numbers) if conditions is EXPRESSIONS else st.one_of(quoted, words)},
        optional={
            "needs": needed,
            "after": needed,
            "if": conditions.map('"{}"'.format),
            "env": quoted.map("{{E: {}}}".format),
            "cwd": quoted,
            "timeout": durations.map('"{}"'.format),
            "grace": durations.map('"{}"'.format),
            "allow_failure": booleans.map('"{}"'.format),
            "artifacts": quoted.map("{{art: [{}]}}".format),
            "outputs": st.sampled_from(["{out: string}", "{out: {type: integer, from: stdout}}"]),
            "fan": fans,
        },
    )
    return st.lists(fields, min_size=1, max_size=4)


FLOWS = st.one_of(
    steps_of(TEXTS, EXPRESSIONS, TEXTS, TEXTS, FANS, ["s0", "s1", "s2", "s3", "nope"]),
    steps_of(
        SOUND_TEXTS,
        st.sampled_from(["always()", "inputs.f == true", "env.B == 'b'", "not failure()"]),
        st.sampled_from(["90s", "${{ run.id }}", "${{ '1h' }}"]),
        st.sampled_from(["${{ inputs.f == true }}", "${{ run.id == 'a' }}"]),
        SOUND_FANS,
        ["s0"],
    ),
)


def text_of(steps):
    declared = ", ".join(f"{name}: {{type: {word}}}" for name, (word, _) in INPUTS.items())
    lines = [f"inputs: {{{declared}}}", 'env: {A: "${{ inputs.n }}", B: b}', "steps:"]
    for index, authored in enumerate(steps):
        fields = (
            authored if index else {key: authored[key] for key in authored if key not in {"needs", "after"}}
        )
        body = ", ".join(value if key == "fan" else f"{key}: {value}" for key, value in fields.items())
        lines += ["finally:"] if index == 3 else []
        lines.append(f"  s{index}: {{{body}}}")
    return "\n".join(lines) + "\n"


def places(problems):
    return {problem.place for problem in problems if problem.severity is Severity.ERROR}


def compiled(project, workflow, inputs):
    """The plan, or what keeps it from being made."""
    try:
        return compile_workflow(project, workflow, inputs), ()
    except SpecError as error:
        return None, error.problems


@settings(deadline=None, max_examples=300)
@given(FLOWS, st.fixed_dictionaries({name: st.sampled_from(values) for name, (_, values) in INPUTS.items()}))
def test_what_is_refused_without_inputs_is_refused_with_any(steps, inputs):
    workflow = read(text_of(steps))
    project = project_of(workflow)
    told = check_workflow(project, workflow)

    assert list(told) == sorted(told, key=lambda problem: (problem.place, problem.rule, problem.message))
    made, refused = compiled(project, workflow, inputs)
    assert places(told) <= places(refused)
    assert len({(problem.place, problem.rule) for problem in refused}) == len(refused)
    if made is not None:
        assert from_bytes(made.to_bytes()) == made
        assert plan_text(from_bytes(made.to_bytes()), 1) == plan_text(made, 1)
        assert graph_ascii(made)
        assert graph_mermaid(made)
        assert made.fingerprint() == compile_workflow(project, workflow, inputs).fingerprint()
