"""The program `primax`: reads the command line and runs one command."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any

from primax.core.errors import PluginError
from primax.extend.commands.common import UsageError, fail, similar
from primax.extend.commands.style import has_colours
from primax.extend.commands.table import columns
from primax.extend.host.hookspec import API_VERSION

__all__ = ["command_names", "main"]

_COMMANDS = {
    "plugins": "list the plugins, or show one",
    "rules": "show which primitive has which rules",
    "why": "show where a rule comes from",
    "check": "run the conformance kit on a plugin",
    "env": "show versions, devices, options and plugins, for a bug report",
    "devices": "show the platforms and devices, and why others cannot be used",
    "cache": "show or clear the cache of compiled programs",
    "draw": "draw the program of a function",
    "new": "write a package with a new plugin",
    "metadata": "show or write the file that describes a plugin to primax",
}
_EPILOG = """examples:
  primax plugins --load
      the plugins, with the numbers of their primitives and rules
  primax why sin jvp
      where the derivative of the sine comes from
  primax draw primax.numpy:hypot 'f32[3]' 'f32[3]' --out hypot.svg
      a picture of a program
  primax COMMAND --help
      the arguments of a command, with examples

exit codes:
  0  success
  1  the answer is no: a plugin is not active, a rule is missing, a check failed, a function cannot be traced, a name of JAX has no counterpart
  2  bad usage: an unknown command, plugin, primitive, rule or function

environment: colours follow NO_COLOR, FORCE_COLOR and TERM."""  # noqa: E501 - lines are wrapped when they are shown


def command_names() -> list[str]:
    """The commands of this package."""
    return list(_COMMANDS)


class _Help(argparse.HelpFormatter):
    """The layout of help, as wide as the terminal: argparse makes one for each argument, and would import `shutil`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - 1)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Paragraphs that fill the lines; indented lines stay lines, and begin again below their text."""
        textwrap = import_module("textwrap")
        lines: list[str] = []
        for line in _paragraphs(text):
            if line.startswith("  primax "):  # to be copied, so a shell must join the lines
                parts = textwrap.wrap(line, width - 2, subsequent_indent=" " * 6, break_on_hyphens=False)
                lines.append(" \\\n".join(parts))
                continue
            within = " " * len(re.match(r" *(?:\d  )?", line)[0])  # type: ignore[index]
            options = {"initial_indent": indent, "subsequent_indent": indent + within, "break_on_hyphens": False}
            lines += textwrap.wrap(line, width, break_long_words=False, **options) or [""]
        return "\n".join(lines)

    def _format_usage(self, usage: str | None, *others: Any) -> str:
        if usage is None:
            return super()._format_usage(usage, *others)
        lines = import_module("textwrap").wrap(f"usage: {usage}", self._width, subsequent_indent=" " * 7)
        return "\n".join(lines) + "\n\n"

    def format_help(self) -> str:
        text = super().format_help()
        if not has_colours():
            return text
        text = re.sub(r"^([a-z ]+:)(?= |$)", "\x1b[1m\\1\x1b[0m", text, flags=re.MULTILINE)
        return re.sub(
            r"^ +(-.*?(?=  |$)|(?<= {4})[a-z-]+(?=  )|(?<=^  )primax .*$)", _coloured, text, flags=re.MULTILINE
        )


def _coloured(found: re.Match[str]) -> str:
    return f"{found[0][: found.start(1) - found.start()]}\x1b[36m{found[1]}\x1b[0m"


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a text, each on one line, and its indented lines and headings."""
    for block in re.split(r"\n[ \t]*\n", text.strip("\n")):
        lines = block.splitlines()
        if any(line.startswith(" ") for line in lines):
            yield from lines
        else:
            yield " ".join(map(str.strip, lines))
        yield ""


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
        parser.error(f"there is no command {command!r}{similar(command, commands)}")
    parsed = parser.parse_args(argv)
    if parsed.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        with _any_text():
            code: int = parsed.run(parsed)
            sys.stdout.flush()
    except (UsageError, PluginError) as error:
        fail(parsed.command, str(error))
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
    vars(parser)["color"] = False
    api = ".".join(map(str, API_VERSION))
    parser.add_argument("--version", action="version", version=f"primax {version} (plugin API {api})")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, (purpose, path) in known.items():
        command = commands.add_parser(name, help=purpose, formatter_class=_Help)
        if name == chosen:
            module = import_module(path)
            command.description = module.__doc__
            vars(command)["color"] = False  # of Python 3.14; the formatter above has colours
            module.configure(command)
            command.set_defaults(run=module.run, version=version)
    return parser
