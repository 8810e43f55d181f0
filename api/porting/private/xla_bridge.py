"""The names that packages use of `jax._src.xla_bridge`, beside the names of `primax.extend.backend`."""

from __future__ import annotations

from typing import Any

from primax.extend.backend import backends

__all__ = ["backends"]


def __getattr__(name: str) -> Any:
    """`_backends`, the dictionary of backends."""
    if name == "_backends":
        return backends()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
