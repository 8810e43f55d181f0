"""The rules of primitives, and the plugins, as tables for sessions and notebooks."""

from __future__ import annotations

from primax.extend.commands.common import load_plugins
from primax.extend.commands.rules import MARKS, Matrix, details, kinds_in, matrix_of, text_of
from primax.extend.drawing.html import table_html
from primax.extend.host.plugin_host import PluginRecord, host

__all__ = ["RuleMatrix", "plugins_html", "record_html", "rules"]


def rules(*primitives: str, plugin: str | None = None, missing: bool = False) -> RuleMatrix:
    """Which rules primitives have, and which they lack, as `primax rules` shows; all plugins are activated.

    Args:
      primitives: the names of the primitives; all if there are none.
      plugin: the plugin whose primitives are shown; None for all.
      missing: whether only primitives that lack a rule are shown.

    Returns:
      A table, which notebooks show in colours.

    Raises:
      ValueError: there is no such primitive or plugin; the message suggests one.

    >>> import primax as px
    >>> table = px.plugins.rules("sin")
    >>> table.status("sin", "jvp")
    'given'
    """
    load_plugins()
    return RuleMatrix(matrix_of(primitives, plugin, missing), detailed=bool(primitives))


class RuleMatrix:
    """The states of rules, by primitive and kind."""

    def __init__(self, matrix: Matrix, detailed: bool) -> None:
        self._matrix = matrix
        self._detailed = detailed

    def __len__(self) -> int:
        return len(self._matrix)

    def status(self, primitive: str, kind: str) -> str:
        """`"given"`, `"derived"`, `"overridden"`, `"unsupported"`, `"missing"` or `"not needed"`.

        Raises:
          KeyError: the table has no such primitive or kind.
        """
        return {str(p): row for p, row in self._matrix.items()}[primitive][kind].status

    def __repr__(self) -> str:
        return text_of(self._matrix, detailed=self._detailed)

    def _repr_html_(self) -> str:
        kinds = kinds_in(self._matrix)
        rows = [
            [str(p), p.plugin or p.module, *(MARKS[row[kind].status] for kind in kinds)]
            for p, row in self._matrix.items()
        ]
        legend = "\u2003".join(f"{mark} {status}" for status, mark in MARKS.items())
        notes = list(map(details, self._matrix.values()))
        return table_html(["primitive", "plugin", *kinds], rows, notes, families=[row[1] for row in rows], below=legend)


def plugins_html() -> str:
    """All plugins as a table for notebooks; nothing is imported for it."""
    records = host.records()
    rows = [[r.name, r.source, f"{r.distribution} {r.version}".strip(), r.state] for r in records]
    notes = [record.reason or record.describe() for record in records]
    return table_html(["plugin", "source", "distribution", "state"], rows, notes, families=[r.name for r in records])


def record_html(record: PluginRecord) -> str:
    """A plugin as a table of its rules, with its state below it."""
    rows = [[rule.name, rule.kind, str(rule.provenance)] for rule in record.rules]
    below = f"plugin {record.describe()}: {record.state}{f': {record.reason}' if record.reason else ''}"
    families = [record.name] * len(rows)
    return table_html(["primitive", "rule", "origin"], rows, [""] * len(rows), families=families, below=below)
