"""Consent to overrides: the plugins that may replace entries of others, by the word of the user or of the owner."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["Consents", "OVERRIDES"]

OVERRIDES = "PRIMAX_ALLOW_OVERRIDES"


class Consents:
    """The consent that has been given in one host.

    Attributes:
      users: the plugins that the user lets replace such things; of two that replace the same one, the later wins.
      by_plugin: for plugins that let others replace what is theirs: whom.
    """

    def __init__(self) -> None:
        self.users: list[str] = []
        self.by_plugin: dict[str, tuple[str, ...]] = {}

    def read_environment(self) -> list[str]:
        """Take note of the names in the variable, which are returned."""
        names = [name.strip() for name in os.environ.get(OVERRIDES, "").split(",") if name.strip()]
        self.add(names)
        return names

    def add(self, names: list[str]) -> None:
        """Let plugins replace what others have given, each before those that follow."""
        self.users = [*(name for name in self.users if name not in names), *names]

    def is_given(self, plugin: str, owner: str) -> bool:
        """Whether a plugin may replace what another has given."""
        return plugin in self.users or plugin in self.by_plugin.get(owner, ()) or "*" in self.by_plugin.get(owner, ())

    def ground(self, plugin: str, owner: str | None) -> str:
        """On whose word a plugin may replace what another has given, for those who ask; empty if it may not."""
        if plugin in self.users:
            others = ", ".join(map(repr, self.users))
            return "the user lets it" + (f", and of {others} the last wins" if len(self.users) > 1 else "")
        return f"plugin {owner!r} lets it" if owner is not None and self.is_given(plugin, owner) else ""

    def refusal(self, plugin: str, owner: str | None, current: Any, may_ask: bool = True) -> str:
        """Why a plugin may not replace a rule, or what else others have given; empty if it may, or need not.

        It need not if the user has put another that has replaced it above this one.

        Args:
          plugin: who would replace it.
          owner: the plugin that it belongs to: that of the primitive.
          current: the provenance of what is there.
          may_ask: whether the owner could be asked for consent, who is not if it comes with primax.
        """
        if owner is None or plugin in (owner, current.plugin):
            return ""
        if not self.is_given(plugin, owner):
            theirs = f", plugin {owner!r} by registry.allow_overrides({plugin!r})" if may_ask else ""
            return (
                f"without consent: the user gives it by primax.plugins.allow_overrides({plugin!r}) or "
                f"{OVERRIDES}={plugin}{theirs}"
            )
        rivals = current.plugin not in (owner, plugin) and current.origin == "overridden"
        if rivals and not {plugin, current.plugin} <= set(self.users):
            return (
                f"since plugin {current.plugin!r} has replaced it already; the user says who wins, the last of "
                f"primax.plugins.allow_overrides({current.plugin!r}, {plugin!r})"
            )
        return ""

    def is_outranked(self, plugin: str, current: Any) -> bool:
        """Whether the user has put the plugin that has replaced something above the one that would."""
        if current.origin != "overridden" or current.plugin == plugin:
            return False
        if not {plugin, current.plugin} <= set(self.users):
            return False
        return self.users.index(plugin) < self.users.index(current.plugin)
