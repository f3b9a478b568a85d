"""`run:` text made safe: for real, in every shell that is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crewflow.spec.expression import ExpressionFault, parse_expression
from crewflow.spec.script import make_safe, shell_name

sys.path.insert(0, str(Path(__file__).parent))
from script_corpus import BASH, EVERY_SHELL, SAY

VALUES = (
    "plain",
    "",
    "a b  c",
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "a\nb; touch pwned",
    "touch pwned",
    "-rf",
    "-n",
    "*",
    "[a-z]*",
    "a\\nb\\",
    "\\",
    "!x",
    "${HOME}",
    "$HOME",
    "~",
    "} ; touch pwned; {",
    ") ; touch pwned; (",
    "a[$(touch pwned)]",
    "x=1",
    "# no comment",
    "%s %n %d",
    "&",
    "ä € 😀 \u202e",
    "\t",
    "END",
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
                yield pytest.param(shell, script, printed, id=f"{shell}-{name}")


@pytest.mark.case("C170")
@pytest.mark.parametrize(("shell", "script", "printed"), list(corpus()))
def test_a_value_reaches_a_script_unchanged_and_is_never_run(shell, script, printed, tmp_path):
    for value in VALUES:
        expected = printed.replace("§", value).replace("№", str(NUMBER))
        output, error = run(shell, script, value, tmp_path)
        assert output == expected, (value, error)
