"""The arguments of every command: which words and options there are, and what they default to.

What the words leave open, the environment says: `CREWFLOW_<NAME>` for each long option.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

from crewflow.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Actions = dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]]
    """Word -> what it does, and what adds its arguments."""

LATER: Final = "is not available in this version"
"""What is said of what the language names and this version lacks."""

SCHEMAS: Final = (
    "project",
    "workflow",
    "team",
    "agent",
    "schedule",
    "expansion",
    "event",
    "problems",
)
"""The schemas that `crewflow schema` prints."""

_MOST_JOBS: Final = 10_000


def build_parser() -> Parser:
    """The parser of the whole command line; what it finds has `parser`: that of the chosen command."""
    parser = Parser(
        prog="crewflow",
        description="workflow-as-code: check, plan and run workflows that are kept as YAML",
        allow_abbrev=False,
    )
    _add_globals(parser, top=True)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name, (summary, fill) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        _add_globals(command, top=False)
        command.set_defaults(parser=command)
        fill(command)
    return parser


class Parser(argparse.ArgumentParser):
    """argparse with our words: one line that says what is wrong, and how to ask for help."""

    def error(self, message: str) -> NoReturn:
        """Refuse the words. Raises UsageError."""
        raise UsageError(_in_our_words(message), hint=f"`{self.prog} --help` lists what there is")

    def unknown(self, word: str) -> UsageError:
        """What to say about a word that is left over."""
        name = word.partition("=")[0]
        if not name.startswith("-"):
            return UsageError(f"`{word}` is one word too many", hint=f"see `{self.prog} --help`")
        hint = near(name, self._option_string_actions)
        return UsageError(f"there is no option `{name}`", hint=hint or f"see `{self.prog} --help`")


def _in_our_words(message: str) -> str:
    option, colon, rest = message.removeprefix("argument ").partition(": ")
    if message.startswith("argument ") and colon:
        return f"`{option}`: {rest}"
    if message.startswith("the following arguments are required: "):
        return f"`{message.partition(': ')[2]}` is missing"
    return message[:1].lower() + message[1:]


def near(word: str, known: Iterable[str]) -> str | None:
    """The hint for a word that nobody knows."""
    from crewflow.spec.suggest import did_you_mean  # noqa: PLC0415  (only where something is wrong)

    return did_you_mean(word, known)


@dataclass(frozen=True, slots=True)
class Wish:
    """What the environment says about an option that the words leave open; read only if it is asked for."""

    variable: str
    text: str
    read: Callable[[str], Any]

    def get(self) -> Any:
        """The value. Raises UsageError."""
        try:
            return self.read(self.text)
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"`{self.variable}`: {error}", hint="change or unset it") from None


def _default(option: str, value: Any, read: Callable[[str], Any] = str) -> Any:
    """The default of a long option: `CREWFLOW_<NAME>`, if that is set and not empty."""
    text = os.environ.get(variable(option))
    return Wish(variable(option), text, read) if text else value


def variable(option: str) -> str:
    """The environment variable of a long option: `CREWFLOW_ON_FAILURE` for `--on-failure`."""
    return f"CREWFLOW_{option.removeprefix('--').replace('-', '_').upper()}"


def flag(text: str) -> bool:
    """What an environment variable says about an option that takes no value."""
    return text.lower() not in {"", "0", "false", "no", "off"}


def _one_of(*words: str, later: tuple[str, ...] = ()) -> Callable[[str], str]:
    """Reads one of some words, and refuses those by name that this version lacks."""

    def read(text: str) -> str:
        if text in later:
            raise argparse.ArgumentTypeError(f"`{text}` {LATER}")
        if text not in words:
            known = ", ".join(f"`{word}`" for word in words)
            raise argparse.ArgumentTypeError(f"`{text}` is none of {known}")
        return text

    return read


def _add_globals(parser: argparse.ArgumentParser, *, top: bool) -> None:
    """The options that may stand before or after the command; after it they only speak if they are given."""

    def unsaid(default: Any) -> Any:
        return default if top else argparse.SUPPRESS

    group = parser.add_argument_group("everywhere")
    group.add_argument("-C", dest="folder", metavar="DIR", default=unsaid(None), help="act in this folder")
    _add_flag(group, "--json", dest="as_json", default=unsaid, help="print data as one JSON document")
    _add_flag(group, "-q", "--quiet", default=unsaid, help="only what failed, and the last word")
    _add_flag(group, "-v", "--verbose", default=unsaid, help="say more")
    color = _one_of("auto", "always", "never")
    group.add_argument(
        "--color",
        type=color,
        default=unsaid(_default("--color", "auto", color)),
        metavar="{auto,always,never}",
        help="when to use colours",
    )


def _add_flag(
    parser: Any,
    *names: str,
    default: Callable[[Any], Any] = lambda value: value,
    **more: Any,
) -> None:
    value = default(_default(names[-1], value=False, read=flag))
    parser.add_argument(*names, action="store_true", default=value, **more)


def _run_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "reference", nargs="?", metavar="RUN", help="an id, a unique prefix, or `@latest` (default)"
    )


def _workflow_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workflow", nargs="?", metavar="WORKFLOW", help="a name, or the path of a file")
    parser.add_argument(
        "-i",
        dest="inputs",
        action="append",
        type=_input,
        default=[],
        metavar="KEY=VALUE",
        help="an input; `KEY=@FILE` takes the content of a file",
    )


def _jobs_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-j",
        "--jobs",
        type=_jobs,
        default=_default("--jobs", None, _jobs),
        metavar="N",
        help="how many tasks may run at once (default: CPUs)",
    )


def _executor_argument(parser: argparse.ArgumentParser) -> None:
    _add_choice(
        parser,
        "--executor",
        ("local", "inline"),
        help="run tasks in worker processes (default), or in this one, one at a time",
    )


def _format_argument(parser: argparse.ArgumentParser, words: tuple[str, ...], later: tuple[str, ...]) -> None:
    _add_choice(parser, "--format", words, later, dest="output", help=f"default: {words[0]}")


def _add_choice(
    parser: argparse.ArgumentParser,
    option: str,
    words: tuple[str, ...],
    later: tuple[str, ...] = (),
    **more: Any,
) -> None:
    """An option that takes one of some words, the first by default."""
    read = _one_of(*words, later=later)
    shown = f"{{{','.join(words)}}}"
    parser.add_argument(option, type=read, default=_default(option, words[0], read), metavar=shown, **more)


def _input(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"`{text}` is no `KEY=VALUE`")
    return name, value


def _jobs(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _MOST_JOBS:
        raise argparse.ArgumentTypeError(f"`{text}` is no whole number from 1 to {_MOST_JOBS}")
    return int(text)


def _fill_init(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="init")
    parser.add_argument("target", nargs="?", default=".", metavar="DIR", help="where (default: here)")


def _fill_validate(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="validate")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: the project)")
    _format_argument(parser, ("text", "json", "github", "gitlab", "sarif", "junit"), ())
    _add_flag(parser, "--strict", help="warnings fail too")
    _add_choice(parser, "--fail-level", ("error", "warning"), help="from what on it fails (default: error)")


def _fill_plan(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="plan")
    _workflow_argument(parser)
    _jobs_argument(parser)
    _format_argument(parser, ("text", "json"), ("markdown",))


def _fill_apply(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="apply")
    _workflow_argument(parser)
    _jobs_argument(parser)
    _executor_argument(parser)
    policy = _one_of("finish", "stop", "cancel")
    parser.add_argument(
        "--on-failure",
        type=policy,
        default=_default("--on-failure", None, policy),
        metavar="{finish,stop,cancel}",
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
    _add_flag(parser, "--exit-code", help="exit as the run did")


def _fill_logs(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="logs")
    parser.add_argument("task", nargs="?", metavar="TASK", help="one task (default: all)")
    parser.add_argument(
        "-r",
        "--run",
        dest="reference",
        default=_default("--run", None),
        metavar="RUN",
        help="which run (default: the latest)",
    )
    _add_flag(parser, "-f", "--follow", help="go on until the run has ended")


def _fill_events(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="events")
    _run_argument(parser)
    _add_flag(parser, "-f", "--follow", help="go on until the run has ended")


def _fill_runs(parser: argparse.ArgumentParser) -> None:
    _add_actions(parser, RUNS_ACTIONS)


def _add_actions(parser: argparse.ArgumentParser, known: Actions) -> None:
    actions = parser.add_subparsers(metavar="ACTION", parser_class=Parser, required=True)
    for name, (summary, fill) in known.items():
        action = actions.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        _add_globals(action, top=False)
        action.set_defaults(parser=action)
        fill(action)


def _fill_runs_list(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="runs")


def _fill_graph(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="graph")
    _workflow_argument(parser)
    _format_argument(parser, ("ascii", "mermaid", "dot", "svg", "json"), ())


def _fill_explain(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="explain")
    what = "a rule such as CF201 (default: list all), a run, or a task of the latest run"
    parser.add_argument("subject", nargs="?", metavar="RULE|RUN", help=what)
    parser.add_argument("task", nargs="?", metavar="TASK", help="the task of that run")


def _fill_workflows(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="listing", what="workflows")


def _fill_teams(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="listing", what="teams")


def _fill_agents(parser: argparse.ArgumentParser) -> None:
    _add_actions(parser, AGENTS_ACTIONS)


def _fill_agents_list(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="listing", what="agents")


def _fill_schedule(parser: argparse.ArgumentParser) -> None:
    _add_actions(parser, SCHEDULE_ACTIONS)


def _fill_schedule_list(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="listing", what="schedules")


def _fill_schema(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="schema")
    kind = _one_of(*SCHEMAS)
    parser.add_argument("kind", nargs="?", type=kind, metavar="KIND", help=f"one of {', '.join(SCHEMAS)}")


def _fill_version(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(module="version")


COMMANDS: Final[Actions] = {
    "init": ("write a project that runs at once", _fill_init),
    "validate": ("say every fault of the project's files", _fill_validate),
    "plan": ("say what would run, in what order, and why", _fill_plan),
    "apply": ("validate, compile and run a workflow", _fill_apply),
    "resume": ("go on with a run, keeping what succeeded", _fill_resume),
    "status": ("show how a run stands", _fill_status),
    "logs": ("show the output of tasks", _fill_logs),
    "events": ("show the records of a run", _fill_events),
    "runs": ("list runs, show one", _fill_runs),
    "graph": ("draw the DAG of a workflow, or of a run with its states", _fill_graph),
    "explain": ("say what a rule means, or why a task ran, waited or failed", _fill_explain),
    "workflows": ("list the workflows that can be applied here", _fill_workflows),
    "teams": ("list the teams", _fill_teams),
    "agents": ("list the agents, and which are installed", _fill_agents),
    "schedule": ("list the schedules", _fill_schedule),
    "schema": ("print the JSON Schema of a kind of document", _fill_schema),
    "version": ("print the version", _fill_version),
}

RUNS_ACTIONS: Final[dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]]] = {
    "list": ("the runs of this project, newest first", _fill_runs_list),
    "show": ("one run, as `status` does", _fill_status),
}

AGENTS_ACTIONS: Final[Actions] = {
    "list": ("the agents, and whether their programs are here", _fill_agents_list),
}

SCHEDULE_ACTIONS: Final[Actions] = {
    "list": ("the schedules of this project", _fill_schedule_list),
}
