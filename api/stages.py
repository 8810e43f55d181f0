"""The stages a jitted function goes through."""

from __future__ import annotations

from primax.plugins.calls import Compiled, Lowered, Traced

__all__ = ["Compiled", "Lowered", "Traced"]
