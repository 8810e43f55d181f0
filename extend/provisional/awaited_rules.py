"""Rules of kinds that other plugins make: each is entered when the other plugin is active."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from primax.core.arguments import nearest
from primax.core.derivation import Derivation
from primax.core.primitive import Primitive
from primax.core.rules import rule_tables

__all__ = ["Awaited", "awaited_rules"]


class Awaited(NamedTuple):
    """A rule that waits for a plugin.

    Attributes:
      plugin: the name of the plugin that makes the kind.
      primitive, kind, rule: as for `Registry.define`.
    """

    plugin: str
    primitive: Primitive
    kind: str
    rule: Any

    def fault(self) -> str:
        """The message for the case that the plugin is active but has no such kind; empty if it has the kind."""
        if self.kind in rule_tables:
            return ""
        hint = nearest(self.kind, rule_tables)
        return f"with_plugins must name kinds of rules of plugin {self.plugin!r}, got {self.kind!r}{hint}"


def awaited_rules(where: str, primitive: Primitive, with_plugins: Any) -> list[Awaited]:
    """The rules in the argument `with_plugins`, a mapping from plugins to rules by kind.

    Raises:
      TypeError: it is something else.
    """
    rules = []
    must = f"{where}: with_plugins must map names of plugins to rules by kind"
    if not isinstance(with_plugins, Mapping | None):
        raise TypeError(f"{must}, got {with_plugins!r}")
    for plugin, by_kind in (with_plugins or {}).items():
        if not (isinstance(plugin, str) and plugin and isinstance(by_kind, Mapping)):
            raise TypeError(f"{must}, got {plugin!r}: {by_kind!r}")
        for kind, rule in by_kind.items():
            if not (isinstance(kind, str) and (callable(rule) or isinstance(rule, Derivation))):
                raise TypeError(f"{where}: with_plugins must map kinds to rules, got {kind!r}: {rule!r}")
            rules.append(Awaited(plugin, primitive, kind, rule))
    return rules
