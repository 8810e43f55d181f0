"""Compare every rule of a plugin's primitives with a computation that does not use it, for the plugin's samples."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import time
from importlib import import_module
from typing import Any

from primax.extend.commands.common import (
    UsageError,
    add_examples,
    add_json,
    load_plugins,
    look_up,
    show_json,
    similar,
    warn_of_inactive,
)
from primax.extend.commands.experimental import experimental_features, remark
from primax.extend.commands.style import paint, short_paths
from primax.extend.commands.table import columns, render, terminal_width, wrapped
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
    parser.add_argument("--seed", type=int, default=0, help="draws other tangents and cotangents; by default 0")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the checks that were not run, with reasons")
    add_json(parser)
    add_examples(
        parser,
        {
            "primax check my-plugin": "all checks of all primitives",
            "primax check my-plugin --primitive axpy -k jvp -k transpose": "two checks of one primitive",
            "primax check my-plugin --seed 7": "with other tangents and cotangents",
        },
    )


def run(arguments: argparse.Namespace) -> int:
    """Check a plugin; exit code 1 if a check failed."""
    records = load_plugins()
    if arguments.plugin not in {record.name for record in records}:
        warn_of_inactive(records)
        raise UsageError(_unknown(arguments.plugin, [record.name for record in records]))
    host.activate_plugin(arguments.plugin)
    record = host.record(arguments.plugin)
    names = dict.fromkeys([*record.primitives, *(rule.name for rule in record.rules)])
    known = {name: host.primitives[name] for name in names if name in host.primitives}
    chosen = [look_up("primitive of this plugin", name, known) for name in arguments.primitive or ()]
    testing: Any = import_module("primax.extend.testing")  # 30 ms that other commands do not spend
    known_checks = import_module("primax.extend.testing.runner").known_checks()
    for name in arguments.only or ():
        look_up("check", name, known_checks)
    values: Any = import_module("primax.extend.testing.values")
    start = time.perf_counter()
    with contextlib.redirect_stdout(sys.stderr), values.directions_of_seed(arguments.seed):
        checks = testing.iter_checks(arguments.plugin, only=arguments.only)
        report = testing.Report(_run(check) for check in checks if not chosen or check.primitive in chosen)
    seconds = time.perf_counter() - start
    if arguments.json:
        used = experimental_features(host.record(arguments.plugin))
        features = {"experimental": used} if used else {}
        show_json({**report.as_dict(), "seconds": round(seconds, 3), "seed": arguments.seed, **features})
    else:
        print(_summary(report))
        if report.failed:
            text = re.sub(
                r"^failed\b.*$", lambda head: paint(head[0], "bold", "red"), report.explained(), flags=re.MULTILINE
            )
            print(f"\n{short_paths(text)}")
        print()
        if arguments.verbose:
            print("\n".join(part for line in _reasons(report) for part in wrapped(line, terminal_width())))
        note = remark(host.record(arguments.plugin))
        if note:
            print("\n".join(wrapped(note, terminal_width())))
        totals = f"{_totals(report, folded=not arguments.verbose)}, {seconds:.1f} s, seed {arguments.seed}"
        print("\n".join(wrapped(totals, terminal_width())))
    return 0 if report.ok else 1


def _unknown(name: str, plugins: list[str]) -> str:
    """The message about a name that no plugin has."""
    text = f"there is no plugin {name!r}"
    primitive = host.primitives.get(name)
    if primitive is not None and primitive.plugin:
        return f"{text}; the primitive is of another: primax check {primitive.plugin} --primitive {name}"
    return f"{text}{similar(name, plugins) or '; `primax plugins` lists them'}"


def _reasons(report: Any) -> list[str]:
    lines: list[str] = import_module("primax.extend.testing.report").reasons(report.not_run)
    return lines


def _totals(report: Any, *, folded: bool) -> str:
    passed, failed = f"{len(report.passed)} passed", f"{len(report.failed)} failed"
    count = len(_reasons(report))
    hint = f" for {count} reason{'s' * (count != 1)}, which -v lists" if folded and count else ""
    return ", ".join(
        [
            paint(passed, "green") if report.ok else passed,
            paint(failed, "bold", "red") if report.failed else failed,
            f"{len(report.not_run)} not run{hint}",
        ]
    )


def _run(check: Any) -> Any:
    """The outcome of one check; a terminal shows its name while it runs."""
    if not sys.stderr.isatty():
        return check.run()
    print(f"\r{check.label[: columns() - 1]}\x1b[K", end="", file=sys.stderr, flush=True)
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
