"""The hooks of the plugin host, which plugins implement with `hookimpl`, and the version of the plugin API."""

from __future__ import annotations

from typing import Any

import pluggy

__all__ = ["API_VERSION", "hookimpl", "hookspec"]

API_VERSION = (1, 0)

hookspec = pluggy.HookspecMarker("primax")
hookimpl = pluggy.HookimplMarker("primax")


@hookspec
def primax_register(registry: Any) -> None:
    """Enter the plugin's primitives, rules, operators, effects and types.

    The host calls this function once, when it activates the plugin: at the first bind that needs a rule, never at
    `import primax`. If the function raises, the host undoes its entries and its writes to primax's tables, and no more.

    Args:
      registry: a `primax.extend.host.registry.Registry`, usable until this returns.
    """
