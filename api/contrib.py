"""The functions of plugins: `px.contrib.my_plugin` has those of the plugin `my-plugin`."""

from __future__ import annotations

import re
from typing import Any

from primax.core.errors import PluginError
from primax.extend.host.contributions import contributions
from primax.extend.host.plugin_host import host

__all__: list[str] = []


class Namespace:
    """The functions of one plugin, as attributes."""

    def __init__(self, plugin: str) -> None:
        self.__name__ = f"primax.contrib.{_attribute(plugin)}"
        self._plugin = plugin

    def __repr__(self) -> str:
        return f"<functions of plugin {self._plugin!r}: {', '.join(dir(self))}>"

    def __getattr__(self, name: str) -> Any:
        function = contributions.get((self._plugin, name))
        if function is None:
            raise AttributeError(
                f"contrib: plugin {self._plugin!r} has no function {name!r} (it has {', '.join(dir(self)) or 'none'})"
            )
        return function

    def __dir__(self) -> list[str]:
        return sorted(name for plugin, name in contributions if plugin == self._plugin)


def __getattr__(name: str) -> Any:
    """Activate a plugin and return its functions."""
    if name.startswith("__"):
        raise AttributeError(f"module 'primax.contrib' has no attribute {name!r}")
    try:
        plugin = _plugin_of(name)
        host.activate_plugin(plugin)
    except PluginError as error:
        raise AttributeError(f"module 'primax.contrib' has no attribute {name!r}: {error}") from error
    return Namespace(plugin)


def _attribute(plugin: str) -> str:
    """The name of a plugin as an attribute: `my_plugin` of the plugin `my-plugin`."""
    return re.sub(r"\W", "_", plugin)


def _plugin_of(attribute: str) -> str:
    """The plugin of an attribute: the plugin of this name, or else one whose name has hyphens and the like for `_`.

    Raises:
      PluginError: several plugins have such a name.
    """
    plugins = [record.name for record in host.records()]
    similar = [] if attribute in plugins else [name for name in plugins if _attribute(name) == attribute]
    if len(similar) > 1:
        raise PluginError(
            f"plugins {' and '.join(map(repr, similar))} have it; use getattr(px.contrib, {similar[0]!r})"
        )
    return similar[0] if similar else attribute


def __dir__() -> list[str]:
    host.activate()
    return sorted({_attribute(plugin) for plugin, _ in contributions})
