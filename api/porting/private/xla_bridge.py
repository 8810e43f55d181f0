"""What packages use of `jax._src.xla_bridge`, beside the names of `primax.extend.backend`."""

from __future__ import annotations

from typing import Any

from primax.extend.backend import backends

__all__ = ["backends"]


def __getattr__(name: str) -> Any:
    """`_backends` are the backends that there are."""
    if name == "_backends":
        return backends()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
