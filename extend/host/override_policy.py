"""Consent to overrides: the plugins that may replace entries of others, as the user or the owner allows."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["Consents", "OVERRIDES"]

OVERRIDES = "PRIMAX_ALLOW_OVERRIDES"


class Consents:
    """The consents of one host.

    Attributes:
      users: the plugins that the user allows to override; if two override the same entry, the later one has priority.
      in_environment: those of them that the environment variable names.
      by_plugin: for each owner, the plugins that it allows to override its entries.
    """

    def __init__(self) -> None:
        self.users: list[str] = []
        self.in_environment: list[str] = []
        self.by_plugin: dict[str, tuple[str, ...]] = {}

    def read_environment(self) -> None:
        """Add the names in the environment variable."""
        self.in_environment = [name.strip() for name in os.environ.get(OVERRIDES, "").split(",") if name.strip()]
        self.add(self.in_environment)

    def add(self, names: list[str]) -> None:
        """Allow plugins to override; later names have priority over earlier ones."""
        self.users = [*(name for name in self.users if name not in names), *names]

    def is_given(self, plugin: str, owner: str) -> bool:
        """Whether a plugin may override entries of another."""
        return plugin in self.users or plugin in self.by_plugin.get(owner, ()) or "*" in self.by_plugin.get(owner, ())

    def ground(self, plugin: str, owner: str | None) -> str:
        """Who allows a plugin to override entries of another, as a text for users; empty if nobody does."""
        if plugin in self.users:
            others = ", ".join(map(repr, self.users))
            return "the user allows it" + (f"; of {others} the last has priority" if len(self.users) > 1 else "")
        return f"plugin {owner!r} allows it" if owner is not None and self.is_given(plugin, owner) else ""

    def refusal(self, plugin: str, owner: str | None, current: Any, may_ask: bool = True) -> str:
        """Why a plugin may not override an entry of another plugin; empty if it may, or if it is outranked.

        Args:
          plugin: the plugin that would override the entry.
          owner: the plugin that owns the entry; a rule belongs to the owner of its primitive.
          current: the provenance of the current entry.
          may_ask: whether the owner can consent; families of primax cannot.
        """
        if owner is None or plugin in (owner, current.plugin):
            return ""
        if not self.is_given(plugin, owner):
            theirs = f"; plugin {owner!r} may call registry.allow_overrides({plugin!r})" if may_ask else ""
            return (
                f"without consent: the user may call primax.plugins.allow_overrides({plugin!r}) or set "
                f"{OVERRIDES}={plugin}{theirs}"
            )
        rivals = current.plugin not in (owner, plugin) and current.replaced is not None
        if rivals and not {plugin, current.plugin} <= set(self.users):
            return (
                f"since plugin {current.plugin!r} has replaced it already; the user may give the last of "
                f"primax.plugins.allow_overrides({current.plugin!r}, {plugin!r}) priority"
            )
        return ""

    def is_outranked(self, plugin: str, current: Any) -> bool:
        """Whether the plugin that replaced an entry has priority over `plugin`."""
        if current.replaced is None or current.plugin == plugin:
            return False
        if not {plugin, current.plugin} <= set(self.users):
            return False
        return self.users.index(plugin) < self.users.index(current.plugin)
