"""Which plugins may replace rules of other plugins' primitives: those that the user or the primitive's plugin lets."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["Consents", "OVERRIDES"]

OVERRIDES = "PRIMAX_ALLOW_OVERRIDES"


class Consents:
    """The consent that has been given in one host.

    Attributes:
      users: the plugins that the user lets replace rules; of two that replace the same one, the later wins.
      by_plugin: for plugins that let others replace rules of their primitives: whom.
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
        """Let plugins replace rules, each before those that follow."""
        self.users = [*(name for name in self.users if name not in names), *names]

    def is_given(self, plugin: str, owner: str) -> bool:
        """Whether a plugin may replace rules of another's primitives."""
        return plugin in self.users or plugin in self.by_plugin.get(owner, ()) or "*" in self.by_plugin.get(owner, ())

    def refusal(self, plugin: str, owner: str | None, current: Any) -> str:
        """Why a plugin may not replace a rule; empty if it may, or need not since one that has replaced it wins.

        Args:
          plugin: who would replace it.
          owner: the plugin of the primitive.
          current: the provenance of the rule that is there.
        """
        if owner is None or plugin in (owner, current.plugin):
            return ""
        if not self.is_given(plugin, owner):
            return (
                f"without consent: the user gives it by primax.plugins.allow_overrides({plugin!r}) or "
                f"{OVERRIDES}={plugin}, plugin {owner!r} by registry.allow_overrides({plugin!r})"
            )
        rivals = current.plugin not in (owner, plugin) and current.origin == "overridden"
        if rivals and not {plugin, current.plugin} <= set(self.users):
            return (
                f"since plugin {current.plugin!r} has replaced it already; the user says who wins, the last of "
                f"primax.plugins.allow_overrides({current.plugin!r}, {plugin!r})"
            )
        return ""

    def is_outranked(self, plugin: str, current: Any) -> bool:
        """Whether the user has put the plugin that has replaced a rule above the one that would."""
        if current.origin != "overridden" or current.plugin == plugin:
            return False
        if not {plugin, current.plugin} <= set(self.users):
            return False
        return self.users.index(plugin) < self.users.index(current.plugin)
