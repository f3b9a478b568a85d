"""Programs and builtins that read some of their arguments as code, as a name or as a number: the tables.

`shell.rules` reads them. Options are regular expressions that must match the whole option.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SHELLS: Final = frozenset(
    {"sh", "bash", "dash", "ash", "ksh", "mksh", "pdksh", "zsh", "rbash", "yash", "fish", "csh", "tcsh", "nu"}
)


class Operands(StrEnum):
    """What follows the code of an interpreter."""

    DATA = "data"
    OPTIONS = "options"  # more options, so that an argument must not look like one
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A program that reads code.

    Attributes:
        code: options whose next word is the code; with the word attached they hold it.
        loads: options whose next word is code beside the program.
        takes: options whose next word is a plain argument.
        last: options after which nothing more is code.
        before: plain arguments before the code.
        script: the first plain argument after those is code, or names it, where no option gave any.
        stdin: without code elsewhere, standard input is the code.
        operands: what the plain arguments after the code are.
    """

    code: str
    loads: str = ""
    takes: str = ""
    last: str = ""
    before: int = 0
    script: bool = True
    stdin: bool = True
    operands: Operands = Operands.DATA


_SHELL = Interpreter(
    code=r"-[A-Za-z]*c[A-Za-z]*|--command|-Command|-EncodedCommand",
    loads=r"--rcfile|--init-file",
    takes=r"[-+][A-Za-z]*[oO]",
    last=r"-[A-Za-z]*s[A-Za-z]*",
)
_PYTHON = Interpreter(code=r"-[A-Za-z]*c", takes=r"-[WX]", last=r"-[A-Za-z]*m")
_NODE = Interpreter(code=r"-[pe]+|--eval|--print", loads=r"-r|--require|--import")
_AS_USER = Interpreter(code=r"-c|--command|--session-command", takes=r"-[usgG]", script=False)
_SQL = Interpreter(code=r"-[A-Za-z]*e|--execute|--init-command", takes=r"-[hPuDS]", script=False)

INTERPRETERS: Final[dict[str, Interpreter]] = {
    **dict.fromkeys([*SHELLS, "pwsh", "powershell"], _SHELL),
    "python": _PYTHON,
    "pypy": _PYTHON,
    "perl": Interpreter(code=r"-[A-Za-z0-9]*[eE]", loads=r"-[MmI]"),
    "ruby": Interpreter(code=r"-[A-Za-z]*e", loads=r"-[rI]", takes=r"-[CE]"),
    "node": _NODE,
    "nodejs": _NODE,
    "bun": _NODE,
    "deno": Interpreter(code=r"eval|--eval", script=False, stdin=False),
    "php": Interpreter(code=r"-[rBRE]|--run|--process-code", takes=r"-[cdfz]"),
    "lua": Interpreter(code=r"-e", loads=r"-l"),
    "luajit": Interpreter(code=r"-e", loads=r"-[lj]"),
    "julia": Interpreter(code=r"-[eE]|--eval|--print", loads=r"-L"),
    "Rscript": Interpreter(code=r"-e"),
    "R": Interpreter(code=r"-e", script=False),
    "tclsh": Interpreter(code=r"-c"),
    "expect": Interpreter(code=r"-c"),
    "osascript": Interpreter(code=r"-e"),
    "groovy": Interpreter(code=r"-e"),
    "gdb": Interpreter(code=r"-ex|-iex|-x|--eval-command|--command", script=False),
    "vim": Interpreter(code=r"-c|--cmd|-S", script=False, stdin=False),
    "awk": Interpreter(
        code=r"-[efE]|--source|--file",
        loads=r"-[vil]|--assign|--include|--load",
        takes=r"-F",
        stdin=False,
    ),
    "sed": Interpreter(
        code=r"-[A-Za-z]*[ef]|--expression|--file", takes=r"-l", stdin=False, operands=Operands.OPTIONS
    ),
    "jq": Interpreter(code=r"-f|--from-file", loads=r"-L", takes=r"--indent", stdin=False),
    "bc": Interpreter(code=r"-e|--expression"),
    "dc": Interpreter(code=r"-[ef]|--expression|--file"),
    "psql": Interpreter(code=r"-[A-Za-z]*c|--command", takes=r"-[dfhLopPRTUvF]", script=False),
    "mysql": _SQL,
    "mariadb": _SQL,
    "sqlite3": Interpreter(code=r"-init", loads=r"-cmd", before=1, operands=Operands.CODE),
    "su": _AS_USER,
    "runuser": _AS_USER,
    "script": Interpreter(code=r"-[A-Za-z]*c|--command", script=False, stdin=False),
    "npx": Interpreter(code=r"-c|--call", script=False, stdin=False),
    "nix-shell": Interpreter(code=r"--run|--command|-E|--expr|-p", script=False, stdin=False),
    "git": Interpreter(
        code=r"--exec|foreach|--[a-z]+-filter|--upload-pack|--receive-pack", script=False, stdin=False
    ),
    "rsync": Interpreter(code=r"-[A-Za-z]*e|--rsh|--rsync-path", script=False, stdin=False),
    "tar": Interpreter(
        code=r"-I|--use-compress-program|--to-command|--checkpoint-action", script=False, stdin=False
    ),
    "crontab": Interpreter(code=r"-f", takes=r"-u"),
    "at": Interpreter(code=r"-f", script=False),
    "batch": Interpreter(code=r"-f", script=False),
    **dict.fromkeys(["ed", "red", "ex", "ftp", "telnet"], Interpreter(code=r"-c", script=False)),
    "sg": _AS_USER,
    "newgrp": _AS_USER,
    "zip": Interpreter(code=r"-TT|--unzip-command", script=False, stdin=False),
    "split": Interpreter(code=r"--filter", script=False, stdin=False),
    "scp": Interpreter(code=r"-[oSFD]", script=False, stdin=False),
    "sftp": Interpreter(code=r"-[oSFDbs]", script=False),
}

ALL_CODE: Final = frozenset(
    {
        *("eval", "trap", "alias", "bind", "complete", "compgen", "enable", "fc", "hist", "sched", "emulate"),
        *(
            "zmodload",
            "autoload",
            "functions",
            "zle",
            "watch",
            "parallel",
            "hyperfine",
            "concurrently",
            "entr",
        ),
        *("tmux", "screen", "capsh"),
    }
)
"""All their arguments are code, or become code."""

DECLARES: Final = frozenset(
    {"declare", "typeset", "local", "export", "readonly", "integer", "float", "private", "nameref"}
)
NAMES: Final = frozenset({"read", "mapfile", "readarray", "unset", "getopts", "vared"})
"""Their arguments name variables. A name may hold an index, which is computed, and may so hold commands."""

NUMBERS: Final = frozenset({"exit", "return", "shift", "break", "continue", "ulimit", "let", "wait"})
"""Some shells compute their arguments."""

COMPARES_NUMBERS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
NAMING_TESTS: Final = frozenset({"-v", "-R"})

WRAPPERS: Final[dict[str, tuple[str, int]]] = {
    "command": (r"", 0),
    "builtin": (r"", 0),
    "exec": (r"-a", 0),
    "noglob": (r"", 0),
    "nocorrect": (r"", 0),
    "env": (r"-[uC]|--unset|--chdir", 0),
    "sudo": (r"-[A-Za-z]*[ughpCrtDRT]|--user|--group|--host|--prompt|--chdir", 0),
    "doas": (r"-[uC]", 0),
    "nohup": (r"", 0),
    "setsid": (r"", 0),
    "nice": (r"-n|--adjustment", 0),
    "ionice": (r"-[cnpPu]|--class|--classdata", 0),
    "chrt": (r"-[TPD]", 1),
    "taskset": (r"", 1),
    "time": (r"-[fo]|--format|--output", 0),
    "timeout": (r"-[sk]|--signal|--kill-after", 1),
    "stdbuf": (r"-[ioe]", 0),
    "unbuffer": (r"", 0),
    "strace": (r"-[eopPsuEaIOSX]", 0),
    "ltrace": (r"-[eopsuaFln]", 0),
    "chroot": (r"", 1),
    "unshare": (r"-[SGR]", 0),
    "nsenter": (r"-[tSG]|--target", 0),
    "flock": (r"-[wE]|--timeout|--wait|--conflict-exit-code", 1),
    "xargs": (r"-[IEdnPLsa]|--max-args|--max-procs|--max-lines|--delimiter|--arg-file|--replace", 0),
    "systemd-run": (r"-[pMHEu]|--unit|--property|--uid|--gid", 0),
    "busybox": (r"", 0),
    "toybox": (r"", 0),
    "poetry": (r"", 1),
    "uv": (r"--with|--python|-p", 1),
    "xvfb-run": (r"-[nsefw]", 0),
}
"""Programs that run the command behind their own arguments: their options that take a word, and how many
plain arguments come before the command."""

WRAPPER_CODE: Final = {"env": r"-[A-Za-z]*S|--split-string", "flock": r"-c|--command"}
CONTAINER_TOOLS: Final = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "docker-compose"})
FIND_COMMANDS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
JQ_ARGUMENTS: Final = {"--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2}
SSH_TAKES: Final = r"-[BbcDEeIiJLlmpRSWwFOoQ]"
SSH_CODE: Final = r"-[FOoQ]"

_SAME: Final = {
    "gawk": "awk",
    "mawk": "awk",
    "nawk": "awk",
    "gsed": "sed",
    "vi": "vim",
    "nvim": "vim",
    "gmake": "make",
    "gtar": "tar",
    "gtimeout": "timeout",
    "genv": "env",
    "gxargs": "xargs",
}
_VERSION: Final = re.compile(r"(?<=[A-Za-z])[0-9.]+\Z")


def program_name(text: str) -> str:
    """The name by which the tables know a program: without folder and version."""
    base = posixpath.basename(text)
    plain = base if base in INTERPRETERS else _VERSION.sub("", base)
    return _SAME.get(plain, plain)
