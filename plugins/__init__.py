"""The families of primitives, each a plugin, and plugins that are registered by hand.

The entry points of primax list the families, and `primax.json` beside this file lists the contents of each."""

from __future__ import annotations

from primax.extend.provisional.records import allow_overrides, register, unregister

__all__ = ["allow_overrides", "register", "unregister"]
__dir__ = __all__.copy
