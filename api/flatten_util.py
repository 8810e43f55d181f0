"""Conversion of a pytree of arrays to one vector."""

from __future__ import annotations

from primax.numpy.raveling import ravel_pytree

__all__ = ["ravel_pytree"]


def __dir__() -> list[str]:
    return sorted(__all__)
