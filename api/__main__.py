"""`python -m primax` and the program `primax`: show plugins and rules, check them, start a package, port from JAX."""

from __future__ import annotations

import sys
from typing import Any

from primax import __version__
from primax.extend import commands

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "port": ("rewrite programs for JAX into programs for primax", "primax.porting.commands.port"),
    "as-jax": ("run an unchanged program for JAX on primax", "primax.porting.commands.as_jax"),
}


def main() -> int:
    """Run the command line of this process and return the exit code."""
    streams: tuple[Any, ...] = sys.stdout, sys.stderr
    for stream in streams:
        stream.reconfigure(errors="backslashreplace")  # a plugin's text may have characters that the terminal lacks
    return commands.main(version=__version__, further=COMMANDS)


if __name__ == "__main__":
    sys.exit(main())
