"""The names of `jax._src.checkify` that packages use, besides the names of `primax.experimental.checkify`."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["Out"]

Out = TypeVar("Out")
