"""The command line: words to plain arguments, and the one boundary where exceptions become exit codes.

A command's module is imported after parsing, so that `crewflow version` costs no more than it must.
Commands and options of the language that this version lacks are refused by name (`NOT_BUILT`).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from crewflow.commands.arguments import (
    AGENTS_ACTIONS,
    COMMANDS,
    LATER,
    RUNS_ACTIONS,
    SCHEDULE_ACTIONS,
    Wish,
    build_parser,
    flag,
    near,
    variable,
)
from crewflow.errors import CrewflowError, ExitCode, SpecError, UsageError
from crewflow.report.console import Console, OutputError, ReaderGoneError, flush, open_missing_streams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crewflow.commands.arguments import Parser

NOT_BUILT: Final = (
    "attach",
    "approve",
    "reject",
    "rerun",
    "cancel",
    "pause",
    "unpause",
    "tell",
    "recommend",
    "costs",
    "tighten",
    "test",
    "fmt",
    "lsp",
    "import",
    "doctor",
    "config",
    "completion",
)
"""Commands that the language names and this version refuses; `docs/reference.md` lists them."""

NOT_BUILT_ACTIONS: Final[dict[str, tuple[str, ...]]] = {
    "runs": ("prune", "export", "import", "repair"),
    "agents": ("show", "check", "try"),
    "schedule": ("next", "run", "pause", "resume", "history", "start", "once", "simulate", "install"),
}
"""The same of what a command can do."""

_ACTIONS: Final = {"runs": RUNS_ACTIONS, "agents": AGENTS_ACTIONS, "schedule": SCHEDULE_ACTIONS}

_LATER_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "init": ("--template",),
    "plan": ("--inputs-file", "--out", "--against", "--detailed-exitcode"),
    "apply": (
        "--inputs-file",
        "--team",
        "--detach",
        "--auto-approve",
        "--only",
        "--to",
        "--on-busy",
        "--no-reuse",
        "--dry-run",
    ),
    "resume": ("--from", "--failed", "--with-current", "--rerun-lost", "--skip-lost"),
    "status": ("--watch",),
    "runs": ("--timeline",),
}

NOT_BUILT_OPTIONS: Final = tuple(
    dict.fromkeys(option for options in _LATER_OPTIONS.values() for option in options)
)
"""Options that the language names and this version refuses, whichever command they stand with."""


def run(words: Sequence[str]) -> int:
    """Run a command line; never raises. The exit code is that of the table in `docs/reference.md`."""
    open_missing_streams()
    words = ["version"] if list(words) == ["--version"] else words
    console = Console(as_json=_wants_json(words))
    try:
        chosen = _parse(words)
        if chosen is None:
            return _finish(ExitCode.DONE)
        console = _console(chosen)
        return _finish(_call(chosen, console))
    except KeyboardInterrupt:
        return int(ExitCode.SIGINT)
    except Exception as error:  # noqa: BLE001  (the one boundary: a bug is told as one)
        return int(_told(error, console))


def _finish(code: int) -> int:
    """Write out what is buffered; that the reader has gone does not change how the command ended."""
    with contextlib.suppress(ReaderGoneError):
        flush()
    return int(code)


def _call(chosen: dict[str, Any], console: Console) -> int:
    folder = _folder(chosen.pop("folder"))
    module = importlib.import_module(f"crewflow.commands.{chosen.pop('module')}")
    if "inputs" in chosen:
        chosen["inputs"] = [(name, _input_text(folder, text)) for name, text in chosen["inputs"]]
    for name in ("as_json", "quiet", "verbose", "color"):
        chosen.pop(name)
    code: int = module.run(console, folder, **chosen)
    return code


def _folder(given: str | None) -> str:
    try:
        folder = os.path.abspath(given or os.getcwd())
    except FileNotFoundError:
        raise UsageError("the current folder is gone", hint="change to one that exists") from None
    if not os.path.isdir(folder):
        raise UsageError(f"there is no folder `{given}`", hint="give an existing one with `-C`")
    return folder


def _input_text(folder: str, text: str) -> str:
    """The text of an input; after an `@` the content of a file, and `@@` stands for a plain `@`."""
    if not text.startswith("@"):
        return text
    if text.startswith("@@"):
        return text[1:]
    path = text[1:]
    try:
        with open(os.path.join(folder, path), encoding="utf-8", newline="") as file:
            return file.read()
    except UnicodeDecodeError:
        raise UsageError(f"`{path}` is not UTF-8 text", hint="give its path as an input instead") from None
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or "it is no path").lower()
        hint = "after an `@` stands a file; write `@@` for a plain `@`"
        raise UsageError(f"cannot read `{path}`: {why}", hint=hint) from None


def _console(chosen: dict[str, Any]) -> Console:
    return Console(**{name: chosen[name] for name in ("as_json", "quiet", "verbose", "color")})


# --- parsing --------------------------------------------------------------------------------------


def _parse(words: Sequence[str]) -> dict[str, Any] | None:
    """The chosen command and its plain arguments; None if help was asked for. Raises UsageError."""
    command = _refuse_what_is_not_built(words)
    try:
        namespace, rest = build_parser().parse_known_args(list(words))
    except SystemExit:
        return None
    chosen = vars(namespace)
    parser: Parser = chosen.pop("parser")
    if rest:
        raise parser.unknown(rest[0])
    chosen.pop("command")
    _refuse_later_environment(command)
    return {name: value.get() if isinstance(value, Wish) else value for name, value in chosen.items()}


def _refuse_what_is_not_built(words: Sequence[str]) -> str:
    """The command; that it exists, and that no word asks for what this version lacks, is seen to."""
    command, *rest = [*_without_globals(words), "", ""][:2]
    for word in words:
        if (option := word.partition("=")[0]) in NOT_BUILT_OPTIONS:
            raise UsageError(f"`{option}` {LATER}", hint="`docs/reference.md` lists what is there")
    if command in NOT_BUILT:
        raise UsageError(f"`{command}` {LATER}", hint="`crewflow --help` lists what there is")
    if command in _ACTIONS and rest[0]:
        _refuse_action(command, rest[0])
    if command and command not in COMMANDS:
        meant = _OTHER_WORDS.get(command)
        known = f"did you mean `crewflow {meant}`?" if meant else near(command, COMMANDS)
        hint = known or "`crewflow --help` lists what there is"
        raise UsageError(f"there is no command `{command}`", hint=hint)
    if not command and not {"-h", "--help"} & set(words):
        raise UsageError("a command is missing", hint="`crewflow --help` lists what there is")
    return command


_OTHER_WORDS: Final = {
    "run": "apply",
    "start": "apply",
    "exec": "apply",
    "up": "apply",
    "ls": "runs list",
    "list": "runs list",
    "history": "runs list",
    "show": "status",
    "ps": "status",
    "log": "logs",
    "check": "validate",
    "lint": "validate",
    "new": "init",
    "create": "init",
    "help": "--help",
}
"""What other tools call our commands."""


def _refuse_action(command: str, action: str) -> None:
    hint = f"`crewflow {command} --help` lists what there is"
    if action in NOT_BUILT_ACTIONS[command]:
        raise UsageError(f"`{command} {action}` {LATER}", hint=hint)
    if action not in _ACTIONS[command]:
        raise UsageError(f"there is no `{command} {action}`", hint=near(action, _ACTIONS[command]) or hint)


def _refuse_later_environment(command: str) -> None:
    for option in _LATER_OPTIONS.get(command, ()):
        if os.environ.get(variable(option)):
            raise UsageError(f"`{variable(option)}` is set, and `{option}` {LATER}", hint="unset it")


def _without_globals(words: Sequence[str]) -> list[str]:
    kept = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in {"-C", "--color"}:
            skip = True
        elif not word.startswith("-"):
            kept.append(word)
    return kept


def _wants_json(words: Sequence[str]) -> bool:
    """Whether even a fault in the words themselves is to be told as JSON."""
    return "--json" in words or flag(os.environ.get("CREWFLOW_JSON", ""))


# --- from exceptions to exit codes ------------------------------------------------------------------


def _told(error: Exception, console: Console) -> ExitCode:
    """Tell what failed, in the form that was asked for."""
    match error:
        case ReaderGoneError():
            return ExitCode.DONE  # as quietly as other tools in a pipe do
        case OutputError():
            return _refuse(error, Console())  # on stderr, for stdout is what failed
        case CrewflowError():
            return _refuse(error, console)
        case OSError():
            return _refuse_system(error, console)
    return _confess(error, console)


def _refuse(error: CrewflowError, console: Console) -> ExitCode:
    if isinstance(error, SpecError):
        _show_problems(error, console)
    else:
        _tell(console, type(error).exit_code, error.message, error.hint)
    return type(error).exit_code


def _tell(console: Console, code: ExitCode, message: str, hint: str | None = None) -> None:
    """Say what failed: on stderr, or as the one document on stdout."""
    if console.as_json:
        document = {"reason": code.name.lower(), "exit_code": int(code), "message": message, "hint": hint}
        _print_document(console, {"error": document})
        return
    console.talk(f"{console.paint('error', 'red', sys.stderr)}: {message}")
    if hint:
        console.talk(f"hint: {hint}")


def _print_document(console: Console, document: dict[str, Any]) -> None:
    """Print it if somebody reads; what failed is told by the exit code too."""
    with contextlib.suppress(OutputError, ReaderGoneError):
        console.document(document)
        flush()


def _show_problems(error: SpecError, console: Console) -> None:
    from crewflow.report.problems import to_json, to_text  # noqa: PLC0415  (only where there are problems)

    if console.as_json:
        _print_document(console, to_json(error.problems))
    else:
        console.talk(to_text(error.problems, color=console.has_color(sys.stderr)))


def _refuse_system(error: OSError, console: Console) -> ExitCode:
    where = f"`{error.filename}`: " if error.filename else ""
    _tell(console, ExitCode.STATE, f"{where}{(error.strerror or 'the system refused').lower()}")
    return ExitCode.STATE


def _confess(error: Exception, console: Console) -> ExitCode:
    """A bug: the story goes into a file, one line to the user."""
    import tempfile  # noqa: PLC0415  (never needed where all is well)
    import traceback  # noqa: PLC0415  (as above)

    with tempfile.NamedTemporaryFile(
        "w", prefix="crewflow-", suffix=".log", delete=False, encoding="utf-8", errors="backslashreplace"
    ) as log:
        traceback.print_exception(error, file=log)
    hint = "please report it with that file"
    _tell(console, ExitCode.BUG, f"this is a bug in crewflow; what is known of it is in `{log.name}`", hint)
    return ExitCode.BUG
