"""The functions of plugins: `px.contrib.kepler` has those of the plugin `kepler`."""

from __future__ import annotations

from typing import Any

from primax.core.errors import PluginError
from primax.extend.host.contributions import contributions
from primax.extend.host.plugin_host import host

__all__: list[str] = []


class Namespace:
    """The functions of one plugin, as attributes."""

    def __init__(self, plugin: str) -> None:
        self.__name__ = f"primax.contrib.{plugin}"
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
        host.activate_plugin(name)
    except PluginError as error:
        raise AttributeError(f"module 'primax.contrib' has no attribute {name!r}: {error}") from error
    return Namespace(name)


def __dir__() -> list[str]:
    host.activate()
    return sorted({plugin for plugin, _ in contributions})
