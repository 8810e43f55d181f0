"""`python -m primax` and the program `primax`: see plugins and rules, check them, start a package."""

from __future__ import annotations

import sys

from primax import __version__
from primax.extend import commands

__all__ = ["main"]


def main() -> int:
    """Run the command line of this process and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # plugins may have reasons that the terminal cannot spell
    return commands.main(version=__version__)


if __name__ == "__main__":
    sys.exit(main())
