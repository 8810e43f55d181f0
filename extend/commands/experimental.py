"""The experimental features that a plugin uses, and whether its author accepts that they may change."""

from __future__ import annotations

from primax.core.experimental import accepted_by
from primax.core.rules import rule_tables
from primax.extend.host.plugin_host import PluginRecord

__all__ = ["experimental_features", "remark"]


def experimental_features(record: PluginRecord) -> dict[str, bool]:
    """The experimental features that a plugin uses, each with whether its author accepts that it may change.

    The author accepts it by `experimental=True`, where the rule is registered or in the plugin's file.
    """
    authors = {what: {record.name} for what in ["custom aval types"] if _has_protocol(record)}
    for table in rule_tables.values():
        if table.experimental and record.source != "built-in":
            found = {source.plugin for source in table.sources.values()}
            found = {name for name in found if name == record.name or record.match(name)}
            if found:
                authors[f"{table.kind} rules"] = found
    by_file = bool((record.manifest or {}).get("experimental"))
    return {
        what: by_file or all((name, what) in accepted_by for name in names) for what, names in sorted(authors.items())
    }


def _has_protocol(record: PluginRecord) -> bool:
    return record.source != "built-in" and any(entry.what == "protocol" for entry in record.entries)


def remark(record: PluginRecord) -> str:
    """A sentence for the author about features that they have not accepted; empty if there are none."""
    left = " and ".join(what for what, accepted in experimental_features(record).items() if not accepted)
    change = "are experimental: they may change in any release of primax"
    return left and f"{left} {change}; experimental=True where they are registered, or in primax.json, accepts this"
