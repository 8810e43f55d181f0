"""The names that packages use of `jax._src.checkify`, beside the names of `primax.experimental.checkify`."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["Out"]

Out = TypeVar("Out")
