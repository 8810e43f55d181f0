"""The example libraries of JAX: optimizers and layers of networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.extend.lazy_names import lazy_names

if TYPE_CHECKING:
    from primax.example_libraries import optimizers as optimizers
    from primax.example_libraries import stax as stax

__all__ = ["optimizers", "stax"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __all__, __all__)
