"""Functions that the commands share: safe loading of plugins, look-up of names, and output."""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any, TypeVar

from primax.core.arguments import nearest
from primax.core.errors import PluginError, PluginWarning
from primax.extend.commands.style import paint, short_paths
from primax.extend.host.plugin_host import PluginRecord, host
from primax.extend.options import strict_plugins

__all__ = [
    "UsageError",
    "add_examples",
    "add_json",
    "fail",
    "load_plugins",
    "look_up",
    "show_json",
    "similar",
    "tell",
    "warn",
    "warn_of_inactive",
]

_T = TypeVar("_T")


class UsageError(ValueError):
    """A command was used wrongly; its message is shown and the exit code is 2."""


def load_plugins() -> list[PluginRecord]:
    """Activate all plugins and return their records. Failures of plugins are recorded; their output goes to stderr.

    Raises:
      PluginError: a variable in the environment names an unknown plugin.
    """
    records = host.records()
    with strict_plugins(False), warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore", PluginWarning)
        while not _activated():
            continue
    return records


def _activated() -> bool:
    """Activate the plugins that are not active; False if a family that primax needs failed, as its record says."""
    try:
        host.activate()
    except PluginError:
        return False
    return True


def warn_of_inactive(records: list[PluginRecord]) -> None:
    """Report on standard error which plugins failed or were refused; of more than four, the first three."""
    inactive = [record for record in records if record.state in ("failed", "refused")]
    shown = inactive if len(inactive) <= 4 else inactive[:3]
    for record in shown:
        warn(record.reason)
    if shown is not inactive:
        warn(f"{len(inactive) - len(shown)} more plugins failed or were refused; `primax plugins --load` shows them")


def warn(message: str) -> None:
    """Write a warning to standard error."""
    tell(f"{paint('warning:', 'bold', 'yellow', stream=sys.stderr)} {message}")


def tell(message: str) -> None:
    """Write a message to standard error."""
    print(f"{paint('primax:', 'bold', stream=sys.stderr)} {short_paths(message)}", file=sys.stderr)


def fail(command: str, message: str) -> None:
    """Write to standard error why a command failed."""
    tell(f"{paint(f'{command}:', 'bold', 'red', stream=sys.stderr)} {message}")


def look_up(what: str, name: str, known: Mapping[str, _T]) -> _T:
    """The object with a given name, or a UsageError.

    Raises:
      UsageError: there is none; the message names the nearest.
    """
    if name not in known:
        raise UsageError(f"there is no {what} {name!r}{similar(name, known)}")
    return known[name]


def similar(name: str, known: Collection[str]) -> str:
    """`; did you mean 'x'?`: the nearest name, or those that begin with the given one; "" if there are none."""
    beginning = sorted(each for each in known if name and each.startswith(name))
    if not beginning:
        return nearest(name, known)
    others = "" if len(beginning) <= 4 else f" or {len(beginning) - 3} others"
    return f"; did you mean {', '.join(map(repr, beginning[: 4 if not others else 3]))}{others}?"


def add_json(parser: argparse.ArgumentParser) -> None:
    """Give a command its option `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def add_examples(parser: argparse.ArgumentParser, examples: Mapping[str, str]) -> None:
    """Show command lines, each with its purpose, at the end of a command's help."""
    lines = [part for line, purpose in examples.items() for part in (f"  {line}", f"      {purpose}")]
    parser.epilog = "\n".join(["examples:", *lines])


def show_json(data: Any) -> None:
    """Print data as JSON."""
    print(import_module("json").dumps(data, indent=2))  # imported here, as it takes 3 ms
