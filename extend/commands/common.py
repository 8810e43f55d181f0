"""Functions that the commands share: safe loading of plugins, look-up of names, and output."""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar

from primax.core.arguments import nearest
from primax.core.errors import PluginError, PluginWarning
from primax.extend.host.plugin_host import PluginRecord, host
from primax.extend.options import strict_plugins

__all__ = ["UsageError", "add_json", "load_plugins", "look_up", "show_json", "tell", "warn_of_inactive"]

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
    """Report on standard error which plugins failed or were refused."""
    for record in records:
        if record.state in ("failed", "refused"):
            tell(f"warning: {record.reason}")


def tell(message: str) -> None:
    """Write a message to standard error."""
    print(f"primax: {message}", file=sys.stderr)


def look_up(what: str, name: str, known: Mapping[str, _T]) -> _T:
    """The object with a given name, or a UsageError.

    Raises:
      UsageError: there is none; the message names the nearest.
    """
    if name not in known:
        raise UsageError(f"there is no {what} {name!r}{nearest(name, known)}")
    return known[name]


def add_json(parser: argparse.ArgumentParser) -> None:
    """Give a command its option `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def show_json(data: Any) -> None:
    """Print data as JSON."""
    print(import_module("json").dumps(data, indent=2))  # imported here, as it takes 3 ms
