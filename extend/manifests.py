"""The entries of a plugin as plain data: for the description in its file, and for reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from primax.extend.host.metadata import FLAGS, LISTS, OF_CLASSES

__all__ = ["as_dict", "describe", "flags", "unlisted"]


def describe(entries: Iterable[Any]) -> dict[str, Any]:
    """The contents of the file for a plugin with these entries."""
    entries = list(entries)
    own = {entry.name: entry.name.rpartition("::")[2] for entry in entries if entry.what == "primitive"}
    primitives: dict[str, list[str]] = {short: [] for short in own.values()}
    extends, others = set(), set()
    for entry in entries:
        if entry.what in ("rule", "awaited") and entry.name in own:
            primitives[own[entry.name]].append(entry.kind)
        elif entry.what in ("rule", "awaited", "unsupported", "samples"):
            if entry.name not in own:
                extends.add(f"{entry.name} {entry.kind or entry.what}")
        elif entry.what != "primitive":
            others.add(_written(entry))
    return {
        "primitives": {name: sorted(set(kinds)) for name, kinds in sorted(primitives.items())},
        "extends": sorted(extends),
        "others": sorted(others),
    }


def _written(entry: Any) -> str:
    """The text in the file for an entry that is not a rule."""
    if entry.what in OF_CLASSES:
        return f"{entry.what} {entry.home}.{entry.name}"
    return f"{entry.what} {entry.name}{f' in {entry.home}' if entry.home else ''}"


def flags(description: dict[str, Any]) -> dict[str, bool]:
    """The flags in the file for the loading of its plugin, which its entries do not determine."""
    return {flag: description[flag] for flag in FLAGS if flag in description}


def unlisted(description: dict[str, Any], entries: Iterable[Any]) -> list[str]:
    """The entries of a plugin that others may use and that its file omits."""
    want = describe(entries)
    return [entry for name in LISTS for entry in want[name] if entry not in description[name]]


def as_dict(record: Any) -> dict[str, Any]:
    """A record of a plugin as plain data for JSON."""
    names = "name source distribution version entry_point api state reason traceback primitives".split()
    others: dict[str, list[str]] = {}
    for entry in record.entries:
        if entry.what not in ("primitive", "rule", "awaited", "unsupported", "samples") and not entry.outranked:
            others.setdefault(entry.what + "s", []).append(entry.name)
    return {
        **{name: getattr(record, name) for name in names},
        "rules": [_rule_as_dict(rule) for rule in record.rules],
        "unsupported": [
            {"primitive": entry.name, "kind": entry.kind} for entry in record.entries if entry.what == "unsupported"
        ],
        **others,
        **({"waiting": [_awaited_as_dict(rule) for rule in record.waiting]} if record.waiting else {}),
        **({"outranked": [_outranked_as_dict(entry) for entry in record.outranked]} if record.outranked else {}),
    }


def _awaited_as_dict(rule: Any) -> dict[str, Any]:
    return {"primitive": str(rule.primitive), "kind": rule.kind, "plugin": rule.plugin}


def _outranked_as_dict(entry: Any) -> dict[str, Any]:
    by = "" if entry.provenance is None else entry.provenance.plugin
    return {"what": entry.what, "name": entry.name, "kind": entry.kind, "by": by}


def _rule_as_dict(rule: Any) -> dict[str, Any]:
    """A rule as plain data; with the replaced rule, if there is one."""
    data = {"primitive": rule.name, "kind": rule.kind, "provenance": str(rule.provenance)}
    replaced = rule.provenance.replaced if rule.provenance is not None else None
    return data if replaced is None else {**data, "replaced": str(replaced)}
