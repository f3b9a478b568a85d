"""`run:` text made safe: for real, in every shell that is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from crewflow.spec.expression import ExpressionFault, evaluate, text_form
from crewflow.spec.scalars import SpelledInt
from crewflow.spec.script import SafeScript, make_safe, shell_name

sys.path.insert(0, str(Path(__file__).parent))
from script_corpus import BASH, EVERY_SHELL, SAY  # tables beside this file
from script_refusals import REFUSED  # as above

HOSTILE = (
    "plain",
    "",
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "a b  c\n\n; touch pwned",
    "-rf",
    "-n",
    "*",
    "[a-z]*",
    "a\\nb\\",
    "\\",
    "!x ~ & %s",
    "~",
    "${HOME}$HOME",
    "} ; touch pwned; {",
    ") ; touch pwned; (",
    "a[$(touch pwned)]",
    "x=1",
    "# no comment",
    "ä € 😀 \u202e",
    "\t",
    "END",
)
"""Tried in the places that scripts are made of."""

DENSE = (
    "",
    "-rf",
    "*",
    "\\",
    "$(touch pwned)`touch pwned`${HOME} \\n%s!x",
    "'; touch pwned; '\"; touch pwned; \"\n; touch pwned; a[$(touch pwned)]",
)
"""Tried everywhere."""

THOROUGHLY = frozenset(
    {
        "bare word",
        "double quotes",
        "assignment",
        "here-document",
        "default",
        "cut start",
        "case pattern",
        "list",
    }
)
NUMBER = 8


def safe(script, language="bash"):
    return make_safe(script, language, lambda expression: expression.source == "inputs.n")


def authored(script):
    return script.replace("§", "${{ inputs.x }}").replace("№", "${{ inputs.n }}")


def run(shell, script, value, folder):
    """What the script prints when the expression has this value; nothing it makes may be called `pwned`."""
    made = safe(SAY + authored(script), shell)
    values = {"inputs.x": value, "(inputs.n) + 0": str(NUMBER), "inputs.n": str(NUMBER)}
    variables = {name: values[expression.source] for name, expression in made.variables}
    process = subprocess.run(
        [shell, "-c", made.text],
        cwd=folder,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nowhere", "LC_ALL": "C.UTF-8", **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert not list(folder.iterdir()), (made.text, process.stderr)
    return process.stdout.decode(errors="surrogateescape"), process.stderr.decode()


def corpus():
    every = ("dash", "bash", "ksh", "zsh")
    for shells, scripts in ((every, EVERY_SHELL), (("bash",), BASH)):
        for shell in filter(shutil.which, shells):
            for name, (script, printed) in scripts.items():
                values = HOSTILE if name in THOROUGHLY else DENSE
                yield pytest.param(shell, script, printed, values, id=f"{shell}-{name}")


@pytest.mark.case("C170")
@pytest.mark.parametrize(("shell", "script", "printed", "values"), list(corpus()))
def test_a_value_reaches_a_script_unchanged_and_is_never_run(shell, script, printed, values, tmp_path):
    for value in values:
        expected = printed.replace("§", value).replace("№", str(NUMBER))
        output, error = run(shell, script, value, tmp_path)
        assert output == expected, (value, error)


@pytest.mark.case("C170")
@pytest.mark.parametrize(
    ("script", "message", "hint"),
    [
        pytest.param(script, message, hint, id=script.replace("\n", "~"))
        for message, (hint, scripts) in REFUSED.items()
        for script in scripts
    ],
)
def test_a_place_where_a_value_would_be_read_again_is_refused(script, message, hint):
    with pytest.raises(ExpressionFault) as caught:
        safe(authored(script))
    fault = caught.value
    assert (fault.message, fault.hint) == (message, hint)
    assert authored(script)[fault.offset : fault.offset + fault.length] == "${{ inputs.x }}"


@pytest.mark.parametrize("language", ["python3", "pwsh", "fish", "node", "", "/usr/bin/env python3"])
def test_the_script_of_another_language_takes_no_expression(language):
    with pytest.raises(ExpressionFault, match="cannot hold expressions") as caught:
        safe("print('${{ inputs.x }}')", language)
    assert caught.value.hint == "put the value in `env:` and read the variable in the script"
    assert safe("print('x')", language).text == "print('x')"
    assert safe("print('$${{ x }}')", language).text == "print('${{ x }}')"


@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("sh", "sh"),
        ("/bin/bash", "bash"),
        ("/usr/bin/env bash", "bash"),
        (("bash", "-eo", "pipefail", "-c"), "bash"),
        (("/usr/bin/env", "-i", "PATH=/bin", "zsh", "-c"), "zsh"),
        (("ssh", "host"), "ssh"),
        ((), ""),
    ],
)
def test_the_shell_is_known_by_its_program(language, name):
    assert shell_name(language) == name


def test_a_script_without_expressions_is_left_as_it_is():
    script = "say 'unclosed $(( \\"
    assert safe(script) == SafeScript(script)


def test_an_expression_in_a_comment_is_left_and_needs_no_variable():
    made = safe("say a # ${{ inputs.x |\n  default('y') }}\nsay ${{ inputs.x }}")
    assert made.text == "say a # ${{ inputs.x | default('y') }}\nsay \"${CREWFLOW_EXPR_1}\""
    assert [expression.source for _, expression in made.variables] == ["inputs.x"]


def test_the_same_expression_has_the_same_variable():
    made = safe("say ${{ inputs.x }} ${{inputs.x}} ${{ env.Y }} ${{ inputs.x }}")
    assert (
        made.text == 'say "${CREWFLOW_EXPR_1}" "${CREWFLOW_EXPR_1}" "${CREWFLOW_EXPR_2}" "${CREWFLOW_EXPR_1}"'
    )
    assert [(name, expression.source) for name, expression in made.variables] == [
        ("CREWFLOW_EXPR_1", "inputs.x"),
        ("CREWFLOW_EXPR_2", "env.Y"),
    ]


def test_a_number_in_arithmetic_is_written_anew():
    made = safe("say $(( ${{ inputs.n }} )) ${{ inputs.n }}")
    assert made.text == 'say $(( (${CREWFLOW_EXPR_1}) )) "${CREWFLOW_EXPR_2}"'
    values = [
        text_form(evaluate(expression, lambda _: SpelledInt(31, "0x1F"))) for _, expression in made.variables
    ]
    assert values == ["31", "0x1F"]


def test_a_fault_of_an_expression_counts_from_the_start_of_the_script():
    script = "say a\nsay ${{ inputs.x | uper }}"
    with pytest.raises(ExpressionFault, match="unknown filter `uper`") as caught:
        safe(script)
    assert script[caught.value.offset :].startswith("uper")


def test_a_long_script_is_read_in_time_that_grows_with_its_length():
    made = safe("if [ -n ${{ inputs.x }} ]; then say \"a ${{ inputs.x }}\" '$(('; fi # it's\n" * 2_000)
    assert made.text.count("${CREWFLOW_EXPR_1}") == 4_000


def joined(pieces):
    return st.lists(pieces, min_size=1, max_size=3).map(
        lambda pairs: tuple("".join(part) for part in zip(*pairs, strict=True))
    )


def around(strategy, before, after, printed="{}"):
    return strategy.map(lambda pair: (f"{before}{pair[0]}{after}", printed.format(pair[1])))


def plain(pair):
    """Without what means something else within backquotes."""
    return not set('\\"`') & set(pair[0])


def quoted_pieces(words, quoted):
    return st.one_of(
        st.sampled_from(
            [("§", "§"), ("§", "§"), ("a b", "a b"), ('\\"', '"'), ("\\$x", "$x"), ("#", "#"), ("'", "'")]
        ),
        around(words, "$(printf %s. ", ")", "{}."),
        around(words, "$(printf %s. ", " # it's\n)", "{}."),
        around(words.filter(plain), "`printf %s. ", "`", "{}."),
        around(words, "$(case a in a) printf %s. ", ";; esac)", "{}."),
        around(quoted, "${nothing:-", "}"),
        around(quoted, "${set:+", "}"),
    )


def word_pieces(words, quoted):
    return st.one_of(
        st.sampled_from([("§", "§"), ("§", "§"), ("x", "x"), ("'b \" $('", 'b " $('), ("\\\\", "\\")]),
        around(quoted, '"', '"'),
        around(words, "${nothing:-", "}"),
        around(quoted.filter(lambda pair: '\\"' not in pair[0]), '"$(cat <<A\n', '.\nA\n)"', "{}."),
    )


quoted = st.deferred(lambda: joined(quoted_pieces(words, quoted)))
words = st.deferred(lambda: joined(word_pieces(words, quoted)))
STRUCTURES = (
    "{}",
    "({})",
    "{{ {}; }}",
    "if true; then {}; fi",
    "case § in *) {};; esac",
    "for i in 1; do {}; done",
    "f() {{ {}; }}; f",
    "true && {} | cat",
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(words, st.lists(st.sampled_from(STRUCTURES), max_size=2), st.sampled_from(DENSE[1:]), st.data())
def test_however_quotes_are_nested_a_value_is_refused_or_exact(
    tmp_path_factory, word, structures, value, data
):
    source, printed = word
    script = f'set=1; say ""{source}'
    for structure in structures:
        script = structure.format(script)
    assume("§" in script)
    shell = data.draw(st.sampled_from([shell for shell in ("dash", "bash") if shutil.which(shell)]))
    try:
        safe(authored(script), shell)
    except ExpressionFault:
        return
    output, error = run(shell, script, value, tmp_path_factory.mktemp("nested"))
    assert output == f"<{printed}>\n".replace("§", value), (script, error)


@pytest.mark.parametrize("opening", ["$((", "${a:-", "$(", "`"])
def test_a_script_that_is_nested_without_end_is_refused(opening):
    script = opening * 20_000 + " ${{ inputs.x }}"

    with pytest.raises(ExpressionFault):
        make_safe(script, "sh", lambda _: False)
