"""The entry point of `crewflow` and of `python -m crewflow`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from crewflow.cli import run  # noqa: PLC0415  (the first line of the process stays cheap)

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
