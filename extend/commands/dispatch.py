"""The program `primax`: reads the command line and runs one command."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from primax.core.arguments import nearest
from primax.core.errors import PluginError
from primax.extend.commands.common import UsageError, tell
from primax.extend.commands.table import columns
from primax.extend.host.hookspec import API_VERSION

__all__ = ["main"]

_COMMANDS = {
    "plugins": "list the plugins, or show one",
    "rules": "show which primitive has which rules",
    "why": "show where a rule comes from",
    "check": "run the conformance kit on a plugin",
    "devices": "show the platforms and devices, and why others cannot be used",
    "cache": "show or clear the cache of compiled programs",
    "draw": "draw the program of a function",
    "new": "write a package with a new plugin",
}
_EPILOG = """exit codes:
  0  success
  1  the answer is no: a plugin is not active, a rule is missing, a check failed,
     a function cannot be traced, a name of JAX has no counterpart
  2  bad usage: an unknown command, plugin, primitive, rule or function"""


class _Help(argparse.RawDescriptionHelpFormatter):
    """The layout of help, with a given width: argparse makes one for each argument, and would import `shutil`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - 2)


def main(
    arguments: Sequence[str] | None = None,
    *,
    version: str = "unknown",
    further: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> int:
    """Run a command.

    Args:
      arguments: the command line after the program's name; that of the process if None.
      version: the version of primax.
      further: commands of other packages, by name: the purpose of each, and its module.

    Returns:
      The exit code.

    Raises:
      SystemExit: the command line asks for help or the version (code 0), or is wrong (code 2).
    """
    argv = list(sys.argv[1:] if arguments is None else arguments)
    command = argv[0] if argv else ""
    commands = {name: (purpose, f"{__package__}.{name}") for name, purpose in _COMMANDS.items()} | dict(further)
    parser = _parser(command, version, commands)
    if command and not command.startswith("-") and command not in commands:
        parser.error(f"there is no command {command!r}{nearest(command, commands)}")
    parsed = parser.parse_args(argv)
    if parsed.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        with _any_text():
            code: int = parsed.run(parsed)
            sys.stdout.flush()
    except (UsageError, PluginError) as error:
        tell(f"{parsed.command}: {error}")
        return 2
    except BrokenPipeError:
        # The reader has closed the pipe. Python flushes standard output at its end, which needs a valid file.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


@contextlib.contextmanager
def _any_text() -> Iterator[None]:
    """A `with` block in which output escapes characters that its encoding lacks: names of plugins may have any."""
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper):
        yield
        return
    before = stream.errors
    stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        stream.reconfigure(errors=before)


def _parser(chosen: str, version: str, known: Mapping[str, tuple[str, str]]) -> argparse.ArgumentParser:
    """The command line, with the arguments of the chosen command."""
    parser = argparse.ArgumentParser(
        prog="primax",
        description="Show plugins and their rules, check them, draw programs, start a package, and port programs from "
        "JAX.",
        epilog=_EPILOG,
        formatter_class=_Help,
    )
    api = ".".join(map(str, API_VERSION))
    parser.add_argument("--version", action="version", version=f"primax {version} (plugin API {api})")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, (purpose, path) in known.items():
        command = commands.add_parser(name, help=purpose, formatter_class=_Help)
        if name == chosen:
            module = import_module(path)
            command.description = module.__doc__
            module.configure(command)
            command.set_defaults(run=module.run, version=version)
    return parser
