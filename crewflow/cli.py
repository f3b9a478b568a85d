"""The command line: words to plain arguments, and the one boundary where exceptions become exit codes.

A command's module is imported after parsing, so that `crewflow version` costs no more than it must.
Commands and options of the language that this version lacks are refused by name (`NOT_BUILT`).
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn

from crewflow.errors import CrewflowError, ExitCode, SpecError, UsageError
from crewflow.report.console import Console, flush

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NOT_BUILT: Final[dict[str, str]] = dict.fromkeys(
    (
        "attach",
        "approve",
        "reject",
        "rerun",
        "cancel",
        "pause",
        "unpause",
        "tell",
        "explain",
        "schedule",
        "workflows",
        "teams",
        "agents",
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
    ),
    "is not available in this version",
)
"""Commands that the language names and this version refuses; `docs/reference.md` lists them."""

NOT_BUILT_RUNS: Final = ("prune", "export", "import", "repair")

NOT_BUILT_OPTIONS: Final = (
    "--template",
    "--inputs-file",
    "--out",
    "--against",
    "--detailed-exitcode",
    "--team",
    "--detach",
    "--auto-approve",
    "--only",
    "--to",
    "--on-busy",
    "--no-reuse",
    "--dry-run",
    "--timeline",
    "--watch",
    "--from",
    "--failed",
    "--with-current",
    "--rerun-lost",
    "--skip-lost",
)


def run(words: Sequence[str]) -> int:
    """Run a command line; never raises. The exit code is that of the table in `docs/reference.md`."""
    console = Console(as_json="--json" in words)
    try:
        chosen = vars(_parse(words))
        console = _console(chosen)
        return _finish(_call(chosen, console))
    except CrewflowError as error:
        return _refuse(error, console)
    except BrokenPipeError:
        return _on_closed_stdout()
    except OSError as error:
        return _refuse_system(error)
    except KeyboardInterrupt:
        return int(ExitCode.SIGINT)
    except Exception as error:  # noqa: BLE001  (the one boundary: a bug is told as one)
        return _confess(error)


def _finish(code: int) -> int:
    flush()
    return code


def _call(chosen: dict[str, Any], console: Console) -> int:
    module = importlib.import_module(f"crewflow.commands.{chosen.pop('module')}")
    folder = os.path.abspath(chosen.pop("folder") or os.getcwd())
    if not os.path.isdir(folder):
        raise UsageError(f"`{folder}` is no folder", hint="give an existing one with `-C`")
    for name in ("as_json", "quiet", "verbose", "color", "command"):
        chosen.pop(name, None)
    code: int = module.run(console, folder, **chosen)
    return code


def _console(chosen: dict[str, Any]) -> Console:
    return Console(
        as_json=chosen.get("as_json") or False,
        quiet=chosen.get("quiet") or False,
        verbose=chosen.get("verbose") or False,
        color=chosen.get("color") or "auto",
    )


# --- parsing --------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """argparse with our words: one line that says what is wrong, and how to ask for help."""

    def error(self, message: str) -> NoReturn:
        for option in NOT_BUILT_OPTIONS:
            if message.startswith("unrecognized arguments:") and option in message.replace("=", " ").split():
                raise UsageError(f"`{option}` is not available in this version")
        raise UsageError(_in_our_words(message), hint=f"`{self.prog} --help` lists what there is")


def _in_our_words(message: str) -> str:
    words = message.replace("'", "`").replace("argument ", "", 1)
    return words[:1].lower() + words[1:]


def _parse(words: Sequence[str]) -> argparse.Namespace:
    _refuse_not_built(words)
    parser = _build_parser()
    return parser.parse_args(list(words))


def _refuse_not_built(words: Sequence[str]) -> None:
    plain = _without_globals(words)
    if plain and plain[0] in NOT_BUILT:
        raise UsageError(f"`{plain[0]}` {NOT_BUILT[plain[0]]}", hint="`crewflow --help` lists what there is")
    if plain[:1] == ["runs"] and plain[1:2] and plain[1] in NOT_BUILT_RUNS:
        raise UsageError(f"`runs {plain[1]}` is not available in this version")


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


def _build_parser() -> _Parser:
    parser = _Parser(
        prog="crewflow",
        description="workflow-as-code: check, plan and run workflows that are kept as YAML",
        allow_abbrev=False,
    )
    _add_globals(parser, top=True)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    commands.required = True
    for name, (summary, fill) in _COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        _add_globals(command, top=False)
        fill(command)
    return parser


def _add_globals(parser: argparse.ArgumentParser, *, top: bool) -> None:
    """The options that may stand before or after the command; after it they only speak if they are given."""

    def default(name: str, value: Any = None) -> Any:
        return _environment(name, value) if top else argparse.SUPPRESS

    group = parser.add_argument_group("everywhere")
    group.add_argument(
        "-C", dest="folder", metavar="DIR", default=default("", None), help="act in this folder"
    )
    group.add_argument(
        "--json",
        dest="as_json",
        action="store_true",
        default=default("json", value=False),
        help="print data as one JSON document",
    )
    group.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        default=default("quiet", value=False),
        help="only what failed, and the last word",
    )
    group.add_argument(
        "-v", "--verbose", action="store_true", default=default("verbose", value=False), help="say more"
    )
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default=default("color", "auto"),
        help="when to use colours",
    )


def _environment(name: str, value: Any) -> Any:
    """The default of a long option: `CREWFLOW_<NAME>`, if it is set."""
    text = os.environ.get(f"CREWFLOW_{name.upper().replace('-', '_')}") if name else None
    if text is None:
        return value
    if isinstance(value, bool):
        return text.lower() not in {"", "0", "false", "no"}
    return text


def _run_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "reference", nargs="?", metavar="RUN", help="an id, a unique prefix, or `@latest` (default)"
    )


def _workflow_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workflow", nargs="?", metavar="WORKFLOW", help="a name, or the path of a file")
    parser.add_argument(
        "-i", dest="inputs", action="append", type=_input, default=[], metavar="KEY=VALUE", help="an input"
    )


def _jobs_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-j",
        "--jobs",
        type=_jobs,
        default=_jobs_default(),
        metavar="N",
        help="how many tasks may run at once (default: CPUs)",
    )


def _executor_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--executor",
        choices=("local", "inline"),
        default=_environment("executor", "local"),
        help="run tasks in worker processes (default), or in this one",
    )


def _input(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"`{text}` is no `KEY=VALUE`")
    return name, _from_file(value[1:]) if value.startswith("@") else value


def _from_file(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot read `{path}`: {(error.strerror or '').lower()}") from None
    except UnicodeDecodeError:
        raise argparse.ArgumentTypeError(f"`{path}` is not UTF-8 text") from None


def _jobs(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 10_000:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"`{text}` is no number from 1 to 10000")
    return int(text)


def _jobs_default() -> int | None:
    text = os.environ.get("CREWFLOW_JOBS")
    return None if text is None else _jobs(text)


def _fill_init(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="init")
    parser.add_argument("target", nargs="?", default=".", metavar="DIR", help="where (default: here)")


def _fill_validate(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="validate")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: the project)")
    parser.add_argument(
        "--format", dest="output", choices=("text", "json"), default=_environment("format", "text")
    )
    parser.add_argument(
        "--strict", action="store_true", default=_environment("strict", value=False), help="warnings fail too"
    )
    parser.add_argument(
        "--fail-level", choices=("warning", "error"), default=_environment("fail-level", "error")
    )


def _fill_plan(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="plan")
    _workflow_argument(parser)
    _jobs_argument(parser)
    parser.add_argument(
        "--format", dest="output", choices=("text", "json"), default=_environment("format", "text")
    )


def _fill_apply(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="apply")
    _workflow_argument(parser)
    _jobs_argument(parser)
    _executor_argument(parser)
    parser.add_argument(
        "--on-failure",
        choices=("finish", "stop", "cancel"),
        default=_environment("on-failure", None),
        help="instead of the workflow's own policy",
    )


def _fill_resume(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="resume")
    _run_argument(parser)
    _jobs_argument(parser)
    _executor_argument(parser)


def _fill_status(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="status")
    _run_argument(parser)
    parser.add_argument(
        "--exit-code",
        action="store_true",
        default=_environment("exit-code", value=False),
        help="exit as the run did",
    )


def _fill_logs(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="logs")
    parser.add_argument("task", nargs="?", metavar="TASK", help="one task (default: all)")
    parser.add_argument(
        "-r", "--run", dest="reference", metavar="RUN", help="which run (default: the latest)"
    )
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the run has ended")


def _fill_events(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="events")
    _run_argument(parser)
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the run has ended")


def _fill_runs(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="command", metavar="ACTION", parser_class=_Parser)
    actions.required = True
    listing = actions.add_parser("list", help="the runs of this project, newest first", allow_abbrev=False)
    _add_globals(listing, top=False)
    listing.set_defaults(module="runs")
    show = actions.add_parser("show", help="one run, as `status` does", allow_abbrev=False)
    _add_globals(show, top=False)
    _fill_status(show)


def _fill_graph(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="graph")
    _workflow_argument(parser)
    parser.add_argument(
        "--format",
        dest="output",
        choices=("ascii", "mermaid", "json"),
        default=_environment("format", "ascii"),
    )


def _fill_schema(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="schema")
    parser.add_argument(
        "kind", nargs="?", choices=("project", "workflow"), metavar="KIND", help="project or workflow"
    )


def _fill_version(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="version")


_COMMANDS: Final[dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]]] = {
    "init": ("write a project that runs at once", _fill_init),
    "validate": ("say every fault of the project's files", _fill_validate),
    "plan": ("say what would run, in what order, and why", _fill_plan),
    "apply": ("validate, compile and run a workflow", _fill_apply),
    "resume": ("go on with a run, keeping what succeeded", _fill_resume),
    "status": ("show how a run stands", _fill_status),
    "logs": ("show the output of tasks", _fill_logs),
    "events": ("show the records of a run", _fill_events),
    "runs": ("list runs, show one", _fill_runs),
    "graph": ("draw the DAG of a workflow", _fill_graph),
    "schema": ("print the JSON Schema of a kind of document", _fill_schema),
    "version": ("print the version", _fill_version),
}


# --- from exceptions to exit codes ------------------------------------------------------------------


def _refuse(error: CrewflowError, console: Console) -> int:
    if isinstance(error, SpecError):
        _show_problems(error, console)
    elif console.as_json:
        document = {
            "reason": type(error).exit_code.name.lower(),
            "message": error.message,
            "hint": error.hint,
        }
        console.document({"error": document})
    else:
        console.talk(f"{console.paint('error', 'red', sys.stderr)}: {error.message}")
        if error.hint:
            console.talk(f"hint: {error.hint}")
    return int(error.exit_code)


def _show_problems(error: SpecError, console: Console) -> None:
    from crewflow.report.problems import to_json, to_text  # noqa: PLC0415  (only where there are problems)

    if console.as_json:
        console.document(to_json(error.problems))
    else:
        console.talk(to_text(error.problems, color=console.has_color(sys.stderr)))


def _on_closed_stdout() -> int:
    """Whoever read our output has gone: end as quietly as other tools in a pipe do."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return int(ExitCode.DONE)


def _refuse_system(error: OSError) -> int:
    where = f"`{error.filename}`: " if error.filename else ""
    sys.stderr.write(f"error: {where}{(error.strerror or 'the system refused').lower()}\n")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still buffered cannot be written either
    return int(ExitCode.STATE)


def _confess(error: Exception) -> int:
    """A bug: the story goes into a file, one line to the user."""
    import tempfile  # noqa: PLC0415  (never needed where all is well)
    import traceback  # noqa: PLC0415  (as above)

    with tempfile.NamedTemporaryFile(
        "w", prefix="crewflow-", suffix=".log", delete=False, encoding="utf-8"
    ) as log:
        traceback.print_exception(error, file=log)
    sys.stderr.write(f"error: this is a bug in crewflow; what is known of it is in {log.name}\n")
    return int(ExitCode.BUG)
