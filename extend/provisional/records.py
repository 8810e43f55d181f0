"""Registration and look-up of plugins."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from primax.core import undo_log
from primax.extend.host.plugin_host import PluginRecord, host

__all__ = ["allow_overrides", "enter_reversibly", "load_plugin", "plugin_of", "register", "unregister"]


def plugin_of(module: str) -> str | None:
    """The name of the installed or registered plugin that a module belongs to; None if it is in none."""
    best = max(host.records(), key=lambda record: record.match(module), default=None)
    return best.name if best is not None and best.match(module) else None


def enter_reversibly(table: MutableMapping[Any, Any], key: Any, value: Any) -> None:
    """`table[key] = value`, which the host undoes if a plugin that led to it fails."""
    undo_log.put(table, key, value)


def load_plugin(name: str) -> None:
    """Import and activate an installed plugin, if it is not active yet.

    Raises:
      PluginError: there is no plugin with that name, or it is not active; the message has the reason.
    """
    host.activate_plugin(name)


def register(plugin: Any, *, name: str | None = None) -> PluginRecord:
    """Activate a plugin for this process, in a notebook, a script, or a test.

    Args:
      plugin: a module, class or object with a function `primax_register` that is marked by `hookimpl`.
      name: the name of the plugin; by default the name of the module or class.

    Returns:
      Its record.

    Raises:
      PluginError: the plugin failed or was refused, or the name is taken; none of its entries remain.

    >>> import primax as px
    >>> from primax.extend import define_primitive, derive, hookimpl
    >>> class halves:
    ...     @staticmethod
    ...     @hookimpl
    ...     def primax_register(registry):
    ...         define_primitive("half_of", impl=lambda x: x / 2, registry=registry)
    >>> px.plugins.register(halves).primitives
    ['half_of']
    >>> px.plugins.unregister("halves")
    """
    return host.register_module(plugin, name=name)


def unregister(name: str) -> None:
    """Withdraw an active plugin: its entries are removed, and overridden entries are restored.

    Raises:
      PluginError: no plugin of this name is active.
    """
    host.unregister(name)


def allow_overrides(*names: str) -> None:
    """Let plugins replace entries of other plugins, as `PRIMAX_ALLOW_OVERRIDES=a,b` does.

    A plugin that was refused because of missing consent is activated now.

    Args:
      names: the plugins; of two that replace the same rule, the later wins.

    Raises:
      PluginError: there is no plugin with one of the names.
    """
    host.allow_overrides(*names)
