"""Show where a rule of a primitive comes from, or why there is none.

Without a kind of rule, the command lists all rules of the primitive.
"""

from __future__ import annotations

import argparse
import inspect
from typing import Any

from primax.core.primitive import Primitive
from primax.core.rules import Provenance, explain_missing, rule_tables, written
from primax.extend.commands.common import add_examples, add_json, load_plugins, look_up, show_json, warn_of_inactive
from primax.extend.commands.coverage import NOT_NEEDED, Coverage, all_primitives, coverage, kinds_of_rules, primitive_of
from primax.extend.commands.style import paint, short_paths
from primax.extend.commands.table import facts, render, terminal_width, wrapped
from primax.extend.host.plugin_host import PluginRecord, host

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("primitive", metavar="PRIMITIVE", help="the name of a primitive, such as sin")
    parser.add_argument(
        "rule", nargs="?", metavar="RULE", help=f"a kind of rule; by default all: {', '.join(rule_tables)}"
    )
    add_json(parser)
    add_examples(
        parser,
        {
            "primax why sin": "all rules of the sine",
            "primax why sin jvp": "where its derivative comes from, with its documentation",
            "primax why nextafter jvp": "why there is none",
        },
    )


def run(arguments: argparse.Namespace) -> int:
    """Show where one rule comes from, or all; exit code 1 if it is missing or unsupported."""
    records = load_plugins()
    warn_of_inactive(records)
    primitive = primitive_of(arguments.primitive, all_primitives())
    if arguments.rule is None:
        return _show_all(primitive, {record.name: record for record in reversed(records)}, as_json=arguments.json)
    table = look_up("kind of rule", arguments.rule, rule_tables)
    cell = coverage(primitive, table.kind)
    absent = cell.status in ("missing", "unsupported")
    explanation = explain_missing(table, primitive, bound=False) if absent else ""
    if cell.status == "not needed":
        explanation = f"{primitive} has no {table.kind} rule and needs none: {_without(table.kind)}."
    by_name = {record.name: record for record in reversed(records)}
    if arguments.json:
        show_json(_data(primitive, table.kind, cell, explanation, by_name))
    elif explanation:
        print(short_paths(explanation))
    else:
        print("\n\n".join(_portrait(primitive, *source, by_name) for source in cell.sources.items()))
        for record, entry in _outranked(primitive, table.kind, records):
            winner = f"{entry.provenance.plugin!r} has priority, since {_ground(primitive, entry.provenance)}"
            print(f"\nThe {entry.kind} rule of plugin {record.name!r} has no effect: plugin {winner}.")
    return 1 if absent else 0


def _show_all(primitive: Primitive, records: dict[str, PluginRecord], *, as_json: bool) -> int:
    """Show all rules of a primitive; the exit code is 1 if one is missing."""
    cells = {kind: coverage(primitive, kind) for kind in kinds_of_rules()}
    missing = [kind for kind, cell in cells.items() if cell.status == "missing"]
    if as_json:
        rules = {kind: cell.as_dict() for kind, cell in cells.items()}
        show_json({"primitive": str(primitive), "plugin": primitive.plugin, "rules": rules})
        return int(bool(missing))
    owner = primitive.plugin or primitive.module
    record = records.get(owner)
    release = f", {record.distribution} {record.version}" if record and record.distribution else ""
    whose = f"{owner} ({record.source}{release})" if record else f"none; module {owner}"
    documentation = vars(primitive).get("__doc__") or ""
    rows, notes = [], []
    for kind, cell in cells.items():
        for name, source in cell.sources.items():
            by = "" if source.plugin == owner else source.plugin
            rows.append([name, source.origin, by, short_paths(f"{source.file}:{source.line}")])
            notes.append(short_paths(f"in place of the one {source.replaced}") if source.replaced else "")
        if cell.status in ("missing", "unsupported"):
            rows.append([kind, paint(cell.status, "red") if cell.status == "missing" else cell.status, "", ""])
            notes.append(cell.reason)
    headers = ["rule", "origin", "by", "place"]
    if not any(row[2] for row in rows):
        headers, rows = [*headers[:2], headers[3]], [[*row[:2], row[3]] for row in rows]
    facts_of_it = facts([("plugin", whose), ("does", documentation)], terminal_width())
    absent = [kind for kind, cell in cells.items() if cell.status == "not needed"]
    print(f"{paint(str(primitive), 'bold')}\n{facts_of_it}\n\n{render(headers, rows, terminal_width(), notes)}\n")
    print("\n".join(wrapped(f"not needed: {', '.join(absent)}", terminal_width())))
    print(f"`primax why {primitive} RULE` says more about one of them.")
    return int(bool(missing))


def _outranked(primitive: Primitive, kind: str, records: list[PluginRecord]) -> list[tuple[PluginRecord, Any]]:
    """Rules of this kind without effect, because the user gave another plugin's rule priority."""
    names = {primitive.name, primitive.full_name}
    return [
        (record, entry)
        for record in records
        for entry in record.outranked
        if entry.what == "rule" and entry.name in names and entry.kind.partition("[")[0] == kind
    ]


def _ground(primitive: Primitive, source: Provenance) -> str:
    return host.ground_to_override(source.plugin, primitive.plugin)


def _without(kind: str) -> str:
    return NOT_NEEDED.get(kind) or rule_tables[kind].remedy or "its transformation works without it"


def _rule(primitive: Primitive, name: str) -> Any:
    """The rule with a name such as `jvp` or `lowering[cpu]`."""
    kind, _, platform = name.removesuffix("]").partition("[")
    return rule_tables[kind].functions[(primitive, platform) if platform else primitive]


def _portrait(primitive: Primitive, name: str, source: Provenance, records: dict[str, PluginRecord]) -> str:
    """The text about one rule."""
    rule = _rule(primitive, name)
    record = records.get(source.plugin)
    pairs = [
        ("plugin", f"{source.plugin} ({record.source})" if record else f"none; module {source.plugin}"),
        ("distribution", f"{record.distribution} {record.version}" if record else ""),
        ("defined at", f"{source.file}:{source.line}"),
        ("code at", _place(rule, source)),
        ("rule", getattr(rule, "__name__", None) or repr(rule)),
        ("docstring", _doc(rule)),
        ("in place of", f"the one {source.replaced}" if source.replaced else ""),
        ("consent", _ground(primitive, source) if source.replaced else ""),
        ("primitive", _primitive(primitive, source)),
    ]
    shown = [(name, short_paths(value)) for name, value in pairs]
    return f"{paint(f'{name} of {primitive}', 'bold')}: {source.origin}\n{facts(shown, terminal_width())}"


def _place(rule: Any, source: Provenance) -> str:
    """The file and line of the rule's function, if the rule was defined elsewhere, as by a factory."""
    code = getattr(rule, "__code__", None) or getattr(written(rule), "__code__", None)
    place = f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    return "" if place == f"{source.file}:{source.line}" else place


def _primitive(primitive: Primitive, source: Provenance) -> str:
    """The owner of the primitive, if another plugin gave the rule, and the primitive's docstring."""
    owner = primitive.plugin or primitive.module
    own = vars(primitive).get("__doc__") or ""
    return ": ".join(text for text in ("" if owner == source.plugin else f"of {owner}", own) if text)


def _data(
    primitive: Primitive, kind: str, cell: Coverage, explanation: str, records: dict[str, PluginRecord]
) -> dict[str, Any]:
    data = {"primitive": str(primitive), "plugin": primitive.plugin, "kind": kind, **cell.as_dict()}
    for name, source in data.get("sources", {}).items():
        record = records.get(source["plugin"])
        source["distribution"] = record.distribution if record else ""
        source["version"] = record.version if record else ""
        source["doc"] = _doc(_rule(primitive, name))
        if source.get("replaced"):
            source["consent"] = host.ground_to_override(source["plugin"], primitive.plugin)
    return {**data, "explanation": explanation} if explanation else data


def _doc(rule: Any) -> str:
    """The first paragraph of a rule's docstring."""
    return (inspect.getdoc(rule) or "").partition("\n\n")[0]
