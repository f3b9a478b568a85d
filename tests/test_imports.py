"""What is loaded when: reading commands, the keeper and the workers stay small."""

import json
import subprocess
import sys
from pathlib import Path

HEAVY = {"networkx", "jsonschema", "jsonschema_rs", "jinja2", "rich", "yaml", "psutil", "filelock"}

SCRIPT = """
import json, sys
from crewflow.cli import run
code = run(sys.argv[1:])
sys.stderr.write("\\n" + json.dumps([code, sorted(sys.modules)]))
"""


def modules_of(here, *words):
    """What a command has loaded by its end."""
    done = subprocess.run(
        (sys.executable, "-P", "-c", SCRIPT, *words),
        cwd=here.root,
        env=here.env,
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(done.stderr.rpartition("\n")[2])
    assert code == 0, done
    return set(modules)


def tops(modules):
    return {name.partition(".")[0] for name in modules}


READING = [["status"], ["runs", "list"], ["runs", "show"], ["logs"], ["logs", "a"], ["events"]]


def test_commands_that_read_load_nothing_that_is_heavy(project):
    here = project("steps: {a: {run: 'false'}}")
    here.run("apply")

    for words in READING:
        modules = modules_of(here, *words)
        assert not tops(modules) & HEAVY, words
        assert not {name for name in modules if name.startswith("crewflow.engine")}, words


def test_version_loads_next_to_nothing(project):
    modules = modules_of(project({}), "version")

    assert not tops(modules) & HEAVY
    own = {name for name in modules if name.startswith("crewflow.")}
    assert own == {
        "crewflow.cli",
        "crewflow.commands",
        "crewflow.commands.arguments",
        "crewflow.commands.version",
        "crewflow.errors",
        "crewflow.report",
        "crewflow.report.console",
    }


def test_keeper_and_workers_load_nothing_that_is_heavy(project, until):
    """A callable, which a worker runs, sees none; and no library of one is mapped into the keeper."""
    here = project("steps: {a: {python: 'mod:modules'}}").write(
        {
            "mod.py": """
            import json, os, pathlib, sys

            def modules():
                maps = pathlib.Path(f"/proc/{os.getppid()}/maps").read_text()
                return {"worker": sorted({name.partition(".")[0] for name in sys.modules}), "keeper": maps}
            """
        }
    )
    assert here.run("apply").code == 0
    [ended] = here.records("attempt.ended")
    stored = Path(here.paths().attempt("a", 1), "result.json")
    result = ended["result"] if "result" in ended else json.loads(stored.read_text())["result"]

    assert not set(result["worker"]) & (HEAVY - {"psutil"})
    assert not [name for name in ("jsonschema_rs", "yaml", "rpds") if f"/{name}" in result["keeper"]]
