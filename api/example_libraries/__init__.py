"""The example libraries of JAX: optimizers and layers of networks."""

from __future__ import annotations

from primax.extend.lazy_names import lazy_names

__all__ = ["optimizers", "stax"]

__getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
