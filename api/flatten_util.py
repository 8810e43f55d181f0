"""Conversion of a pytree of arrays to one vector."""

from __future__ import annotations

from primax.numpy.raveling import ravel_pytree

__all__ = ["ravel_pytree"]
__dir__ = __all__.copy
