"""List the plugins, or show one of them with all its entries.

The list comes from the metadata of installed packages and imports nothing. With --load, or a name, the command imports
all plugins and shows which of them fail.
"""

from __future__ import annotations

import argparse
from typing import Any

from primax.core.rules import rule_tables
from primax.extend.commands.common import add_examples, add_json, load_plugins, look_up, show_json
from primax.extend.commands.experimental import experimental_features, remark
from primax.extend.commands.style import paint, short_paths
from primax.extend.commands.table import facts, render, terminal_width, wrapped
from primax.extend.host.metadata import FILE
from primax.extend.host.plugin_host import PluginRecord, host

__all__ = ["configure", "run"]

_COLOURS = {"active": "green", "blocked": "yellow", "failed": "red", "refused": "red"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="show only this plugin, with its rules; exit code 1 unless it is active"
    )
    parser.add_argument("--load", action="store_true", help="import the plugins, count their rules and show failures")
    add_json(parser)
    add_examples(
        parser,
        {
            "primax plugins": "the plugins that are found, without importing them",
            "primax plugins --load": "which of them fail, and how many rules each has",
            "primax plugins dot": "all entries of one plugin",
        },
    )


def run(arguments: argparse.Namespace) -> int:
    """List plugins or show one."""
    records = load_plugins() if arguments.load or arguments.name else host.records()
    if arguments.name:
        look_up("plugin", arguments.name, {record.name: record for record in records})
        records = [record for record in records if record.name == arguments.name]
    if arguments.json:
        show_json([_data(record) for record in records])
    elif arguments.name:
        print("\n\n".join(map(_portrait, records)))
    else:
        print(_listing(records, arguments.load))
    return 1 if arguments.name and records[0].state != "active" else 0


def _standing(record: PluginRecord) -> tuple[str, str]:
    """The state of a plugin and its reason; "refused" also if activation would refuse the plugin."""
    refusal = host.catalog.refusal(record) if record.state == "discovered" else ""
    return (
        ("refused", f"plugin {record.describe()} is refused: {refusal}") if refusal else (record.state, record.reason)
    )


def _data(record: PluginRecord) -> dict[str, Any]:
    state, reason = _standing(record)
    features = experimental_features(record)
    return {**record.as_dict(), "state": state, "reason": reason, **({"experimental": features} if features else {})}


def _listing(records: list[PluginRecord], loaded: bool) -> str:
    headers = ["plugin", "source", "distribution", "state"]
    rows, notes = [], []
    for record in records:
        state, reason = _standing(record)
        row = [record.name, record.source, f"{record.distribution} {record.version}", _painted(state)]
        if loaded:
            row += [str(len(record.primitives) or "-"), str(len(record.rules) or "-")]
        rows.append(row)
        notes.append("; ".join(filter(None, (short_paths(reason) or remark(record), _waiting(record)))))
    if loaded:
        headers += ["primitives", "rules"]
    width = terminal_width()
    count = f"{len(records)} plugins"
    last = count if loaded else f"{count}, not imported. --load imports them, counts their rules and shows failures."
    return "\n".join(
        [
            render(headers, rows, width, notes),
            "",
            *(line for note in host.idle_consents() for line in wrapped(f"{note}.", width)),
            *wrapped(last, width),
        ]
    )


def _painted(state: str) -> str:
    return paint(state, _COLOURS[state]) if state in _COLOURS else state


def _in_place_of(name: str, entry: Any, source: Any) -> str:
    """The text about the entry that another one replaced, and about the consent."""
    if source.replaced is None:
        return ""
    primitive = host.primitives.get(entry.name) if entry.what == "rule" else None
    owner = source.replaced.plugin if primitive is None else primitive.plugin
    ground = host.ground_to_override(name, owner)
    return f"in place of the one {source.replaced}{f'; {ground}' if ground else ''}"


def _loaded(record: PluginRecord) -> str:
    """When a program imports an installed plugin."""
    if record.source != "installed" or record.unreadable:
        return ""
    if record.manifest is None:
        return f"by every program that looks for a missing rule: package {record.home} has no readable {FILE}"
    if record.triggers is None:
        return f"by every program that looks for a missing rule: its {FILE} lists things that programs do not ask for"
    uses = {f"primitive {name}" if what.endswith(" rule") else f"{what} {name}" for name, what in record.triggers}
    return f"by programs that import {record.home}" + (f" or use {', '.join(sorted(uses))}" if uses else "")


def _waiting(record: PluginRecord) -> str:
    """The plugins for which rules wait, with the reason why they are not active."""
    rules: dict[str, list[str]] = {}
    for rule in record.waiting:
        rules.setdefault(rule.plugin, []).append(f"{rule.kind} of {rule.primitive}")
    texts = []
    for name, awaited in rules.items():
        other = host.catalog.find(name)
        why = f"not installed{host.catalog.nearest(name)}" if other is None else _standing(other)[0]
        if other is not None and other.state == "active":
            why = next(
                filter(None, (rule.fault() for rule in record.waiting if rule.plugin == name)), "it has another rule"
            )
        texts.append(f"waiting for package {name!r} ({why}): {', '.join(awaited)}")
    return "; ".join(texts)


def _portrait(record: PluginRecord) -> str:
    """The text about one plugin: facts, rules and traceback."""
    width = terminal_width()
    others: dict[str, list[str]] = {what: [] for what in ("primitive", "operator", "protocol", "effect", "aval")}
    for entry in record.entries:
        if entry.what not in ("rule", "awaited", "unsupported", "samples") and not entry.outranked:
            others.setdefault(entry.what, []).append(entry.name)
    parts = [
        f"{paint(record.name, 'bold')}: {_painted(record.state)}",
        facts(
            [
                ("why", short_paths(record.reason)),
                ("source", record.source),
                ("distribution", f"{record.distribution} {record.version}"),
                ("entry point", record.entry_point),
                ("plugin API", record.api),
                ("imported", _loaded(record)),
                ("waiting", _waiting(record).removeprefix("waiting ")),
                (
                    "experimental",
                    remark(record) or ", ".join(f"{what}, accepted" for what in experimental_features(record)),
                ),
                *((f"{what}s", ", ".join(names)) for what, names in others.items()),
            ],
            width,
        ),
    ]
    rows, notes = [], []
    for entry in record.entries:
        source = entry.provenance
        if entry.outranked and source is not None:
            rows.append([entry.name, entry.kind or entry.what, "no effect", f"the one {source} has priority"])
            notes.append(host.ground_to_override(source.plugin, None))
        elif source is not None and (entry.what == "rule" or source.replaced is not None):
            rows.append([entry.name, entry.kind or entry.what, source.origin, f"{source.file}:{source.line}"])
            notes.append(_in_place_of(record.name, entry, source))
        elif entry.what == "unsupported":
            reason = rule_tables[entry.kind].unsupported.get(host.primitives.get(entry.name), "")
            rows.append([entry.name, entry.kind, "unsupported", reason])
            notes.append("")
    if rows:
        shown = [[short_paths(cell) for cell in row] for row in rows]
        headers = ["primitive", "rule", "origin", "place"]
        parts += ["", render(headers, shown, width, [short_paths(note) for note in notes], keys=2)]
    if record.traceback:
        parts += ["", short_paths(record.traceback.rstrip())]
    return "\n".join(parts)
