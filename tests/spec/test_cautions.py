import pytest

from crewflow.errors import Severity
from crewflow.spec.build import build_workflow
from crewflow.spec.model import Defaults
from crewflow.spec.source import read_documents


def warned(text):
    """`rule underlined` of each warning of a workflow; there is nothing but warnings."""
    (document,), _ = read_documents("f.yaml", f"kind: workflow\nname: demo\n{text}".encode())
    _, problems = build_workflow(document, document.data, Defaults())
    assert all(problem.severity is Severity.WARNING for problem in problems)
    return [f"{problem.rule} {shown(problem)}" for problem in problems]


def shown(problem):
    """What is underlined."""
    start = problem.place.column - 1
    return problem.source_line[start : start + problem.place.width]


def of_step(body):
    return warned(f"steps:\n  a: {{{body}}}\n")


@pytest.mark.parametrize(
    "text",
    [
        "{{ inputs.x }}",
        "{{inputs.x}}",
        "{{ steps.a.result }}",
        "{{ matrix.v }}",
        "{{ item }}",
        "{{ item_index }}",
    ],
)
def test_an_expression_without_its_dollar_is_told_wherever_it_may_stand(text):
    assert of_step(f"run: 'a {text}'") == ["CF115 {{"]
    assert of_step(f"run: [echo, '{text}']") == ["CF115 {{"]
    assert of_step(f"run: x, env: {{A: '{text}'}}") == ["CF115 {{"]
    assert of_step(f"python: 'a:b', with: {{x: [{{y: '{text}'}}]}}") == ["CF115 {{"]
    assert warned(f"env: {{A: '{text}'}}\nsteps: {{a: {{run: x}}}}\n") == ["CF115 {{"]


@pytest.mark.parametrize(
    "text",
    [
        "${{ inputs.x }}",
        "$${{ inputs.x }}",
        "{{ .State }}",
        "{{ items }}",
        "{{ env.X }}",
        "${{ '{{ inputs.x' }}",
    ],
)
def test_other_braces_are_left_alone(text):
    assert of_step(f'run: x, env: {{A: "{text}"}}') == []


@pytest.mark.parametrize("word", ["|", "||", "&&", ";", ">", ">>"])
def test_an_operator_of_a_shell_in_a_list_is_told(word):
    assert of_step(f"run: [echo, hi, '{word}', ls, '{word}']") == [f"CF116 '{word}'"]


def test_a_program_with_a_space_in_its_name_is_told():
    assert of_step("run: [echo hi]") == ["CF116 echo hi"]


@pytest.mark.parametrize(
    "command",
    [
        '[find, ., -exec, rm, "{}", ";"]',
        '[cut, -d, "|", x]',
        '[test, a, ">", b]',
        '["${{ inputs.program or 1 }}", x]',
        '["/opt/My App/run"]',
        '[sh, -c, "a | b"]',
        "[5, a]",
    ],
)
def test_a_list_that_is_one_command_is_left_alone(command):
    assert of_step(f"run: {command}") == []


def test_an_input_that_is_required_and_has_a_default_is_told():
    assert warned("inputs: {x: {required: true, default: a}}\nsteps: {a: {run: x}}\n") == ["CF117 true"]
    assert warned("inputs: {x: {required: false, default: a}}\nsteps: {a: {run: x}}\n") == []


def test_a_fan_out_over_nothing_is_told():
    assert of_step("run: x, for_each: []") == ["CF117 []"]
    assert of_step("run: x, matrix: {v: [], w: [1]}") == ["CF117 []"]
    assert of_step("run: x, matrix: {v: [1], include: [], exclude: []}") == []


def test_a_text_of_many_faults_tells_each():
    (document,), _ = read_documents(
        "f.yaml",
        b"kind: workflow\nname: demo\nsteps:\n  a:\n    run: x\n"
        b"    env: {A: '${{ one }} ${{ inputs.y }} ${{ two }}', B: '${{ one }} ${{ open'}\n",
    )
    workflow, problems = build_workflow(document, document.data, Defaults())

    assert [(p.message, shown(p)) for p in problems] == [
        ("unknown name `one`", "one"),
        ("unknown name `two`", "two"),
        ("unknown name `one`", "one"),
        ("`${{` is not closed", "${{"),
    ]
    assert [path.keys for path in workflow.steps[0].env["A"].parts[1].paths] == [("inputs", "y")]
