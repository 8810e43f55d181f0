"""Memory spaces. All arrays of primax are in device memory."""

from __future__ import annotations

from primax.core.placement import Space

__all__ = ["Space"]
__dir__ = __all__.copy
