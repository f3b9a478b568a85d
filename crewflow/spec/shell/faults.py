"""The words for an expression in `run:` text that cannot stand where it stands, and the cure for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crewflow.spec.expression_tokens import ExpressionFault

if TYPE_CHECKING:
    from crewflow.spec.template import Placed

_USE_ENV: Final = 'put the value in `env:` and write "$NAME"'
_AS_ARGUMENT: Final = "give it as an argument behind the code, or put it in `env:`, and use it there as data"

_FAULTS: Final[dict[str, tuple[str, str]]] = {
    "code": ("`{program}` would read the value as code", _AS_ARGUMENT),
    "stdin": ("`{program}` would read the value as code, from its standard input", _AS_ARGUMENT),
    "startup": ("shells read `{program}` as code", "choose another variable"),
    "name": (
        "the value would be read as a name",
        "write the name into the script, and only values as expressions",
    ),
    "command": ("the value would name the program to run", f"{_USE_ENV}, or use a `run:` list"),
    "format": (
        "`{program}` would read the value for `%` and `\\`",
        "write `printf '%s\\n'` and the value behind it",
    ),
    "integer": ("`{program}` needs an integer, and this value could be anything", "declare it as `integer`"),
    "arithmetic": (
        "arithmetic needs an integer, and this value could be anything",
        "declare it as `integer`",
    ),
    "nested arithmetic": (
        "what this prints is computed, and the value could be anything",
        "assign it to a variable first, and check it",
    ),
    "index": ("the index of a list is computed, and this value could be anything", "declare it as `integer`"),
    "computed": (
        "`{program}` is computed or run as code in this script, and this value could be anything",
        "declare it as `integer`, or use another variable",
    ),
    "file": ("`{program}` would hold the value, and this script may run it as code", _USE_ENV),
    "unsure": ("what stands here cannot be read for certain, so the value might be read as code", _USE_ENV),
    "option": ("`{program}` could read the value as an option", "write `--` before it"),
    "single quotes": ("nothing is replaced within single quotes", "use double quotes"),
    "quoted document": (
        "nothing is replaced in a here-document whose `{program}` is quoted",
        "write the word behind `<<` without quotes, or put the value in `env:`",
    ),
    "delimiter": ("the word behind `<<` cannot be an expression", "choose a fixed word, such as `END`"),
    "descriptor": (
        "the value would be read as the number of a file",
        "write the number, or put a space before `>`",
    ),
    "escape": ("a `\\` stands before the expression", "remove it; a literal `${{` is written `$${{`"),
    "localized": ('text in `$"..."` is translated, and then read again', "write it without `$`"),
    "backquotes": (
        "quotes within backquotes cannot be read for certain",
        "write `$( )` instead of the backquotes",
    ),
    "alias": ("`alias` changes how the rest of the script is read", "use a function instead of the alias"),
    "language": (
        "`{program}` scripts cannot hold expressions",
        "put the value in `env:` and read the variable in the script",
    ),
}
_HINTS: Final[dict[str, str]] = {
    "awk": 'put the value in `env:` and read `ENVIRON["NAME"]`',
    "python": "put the value in `env:` and read `os.environ`, or give it behind the code and read `sys.argv`",
    "perl": 'put the value in `env:` and read `$ENV{"NAME"}`',
    "ruby": 'put the value in `env:` and read `ENV["NAME"]`',
    "node": "put the value in `env:` and read `process.env.NAME`",
    "jq": "write `jq --arg name ${{ ... }}` and use `$name` in the filter",
    "psql": "write `psql -v name=${{ ... }}` and use `:'name'` in the statement",
    "ssh": "send the value on standard input: `printf '%s' ${{ ... }} | ssh ...`",
    **dict.fromkeys(["eval", "trap", "alias"], _USE_ENV),
    **dict.fromkeys([".", "source"], "write the name of the file into the script"),
    "make": "put the value in `env:` and read it in the recipe as `$$NAME`",
    "sed": 'put the value in `env:` and use `awk` with `ENVIRON["NAME"]`',
}


def fault_of(place: str, program: str, placed: Placed) -> ExpressionFault:
    """The fault for an expression that stands in `place`, one of the keys of the table above."""
    message, hint = _FAULTS[place]
    if place in {"code", "stdin"}:
        hint = _HINTS.get(program, hint)
        if program in _SHELL_LIKE:
            hint = "give it as an argument: `" + program + " -c '... \"$1\"' " + program + " ${{ ... }}`"
    return ExpressionFault(message.format(program=program), hint, placed.offset, placed.length)


_SHELL_LIKE: Final = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
