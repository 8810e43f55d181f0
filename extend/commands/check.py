"""Compare every rule of a plugin's primitives with a computation that does not use it, for the plugin's samples."""

from __future__ import annotations

import argparse
import contextlib
import sys
from importlib import import_module
from typing import Any

from primax.extend.commands.common import add_json, load_plugins, look_up, show_json
from primax.extend.commands.table import render, terminal_width
from primax.extend.host.plugin_host import host

__all__ = ["configure", "run"]

_STATUSES = ("passed", "failed", "not run")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plugin", metavar="PLUGIN", help="the name of an active plugin")
    parser.add_argument(
        "--primitive", action="append", metavar="NAME", help="check only this primitive; may be repeated"
    )
    parser.add_argument(
        "-k", action="append", metavar="CHECK", dest="only", help="run only this check; may be repeated"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check a plugin; exit code 1 if a check failed."""
    load_plugins()
    host.activate_plugin(arguments.plugin)
    known = {name: host.primitives[name] for name in host.record(arguments.plugin).primitives}
    chosen = [look_up("primitive of this plugin", name, known) for name in arguments.primitive or ()]
    testing: Any = import_module("primax.extend.testing")  # 30 ms that other commands do not spend
    for name in arguments.only or ():
        look_up("check", name, testing.CHECKS)
    with contextlib.redirect_stdout(sys.stderr):
        checks = testing.iter_checks(*(chosen or (arguments.plugin,)), only=arguments.only)
        report = testing.Report(map(_run, checks))
    if arguments.json:
        show_json(report.as_dict())
    else:
        print(_summary(report), report, sep="\n\n")
    return 0 if report.ok else 1


def _run(check: Any) -> Any:
    """The outcome of one check; a terminal shows its name while it runs."""
    if not sys.stderr.isatty():
        return check.run()
    print(f"\r{check.label}\x1b[K", end="", file=sys.stderr, flush=True)
    outcome = check.run()
    print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return outcome


def _summary(report: Any) -> str:
    """How many checks of each primitive passed, failed, and did not run."""
    counts: dict[str, dict[str, int]] = {}
    for outcome in report:
        own = counts.setdefault(outcome.primitive, dict.fromkeys(_STATUSES, 0))
        own[outcome.status] += 1
    rows = [[name, *(str(own[status]) for status in _STATUSES)] for name, own in counts.items()]
    return render(["primitive", *_STATUSES], rows, terminal_width())
