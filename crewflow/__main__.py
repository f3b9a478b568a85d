"""The entry point of `crewflow` and of `python -m crewflow`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    try:
        from crewflow.cli import run  # noqa: PLC0415  (the first line of the process stays cheap)
    except KeyboardInterrupt:
        sys.exit(130)  # as after any other Ctrl-C; there is nothing to say yet
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
