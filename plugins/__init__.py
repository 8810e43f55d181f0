"""The families of primitives, each a plugin, and plugins that are given by hand.

Which families there are is told by the entry points of primax, and what each has by `primax.json` beside this file.
"""

from __future__ import annotations

from primax.extend.records import allow_overrides, register, unregister

__all__ = ["allow_overrides", "register", "unregister"]
