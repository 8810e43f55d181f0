"""Functions for neural networks, under jax.nn's names, and pooling functions under flax's names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from primax.nn import activations, attention, exponentials, initializers, layers, pooling
from primax.nn.activations import *
from primax.nn.attention import *
from primax.nn.exponentials import *
from primax.nn.layers import *
from primax.nn.pooling import *

if TYPE_CHECKING:
    from primax.nn.scaling import get_scaled_dot_general_config, scaled_dot_general, scaled_matmul

__all__ = ["get_scaled_dot_general_config", "initializers", "scaled_dot_general", "scaled_matmul"]
__dir__ = __all__.copy

for _module in (activations, attention, exponentials, layers, pooling):
    __all__ += _module.__all__

# Functions whose module is imported at their first use.
_FUNCTIONS = frozenset(("get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"))


def __getattr__(name: str) -> Any:
    """Import functions when they are first used."""
    if name in _FUNCTIONS:
        function = globals()[name] = getattr(import_module("primax.nn.scaling"), name)
        return function
    raise AttributeError(f"module 'primax.nn' has no attribute {name!r}")
