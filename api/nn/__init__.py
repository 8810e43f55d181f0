"""Functions for neural networks, under jax.nn's names, and pooling functions under flax's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.extend.lazy_names import lazy_names
from primax.nn import activations, attention, exponentials, initializers, layers, pooling
from primax.nn.activations import *
from primax.nn.attention import *
from primax.nn.exponentials import *
from primax.nn.layers import *
from primax.nn.pooling import *

if TYPE_CHECKING:
    from primax.nn.scaling import get_scaled_dot_general_config, scaled_dot_general, scaled_matmul

__all__ = ["get_scaled_dot_general_config", "initializers", "scaled_dot_general", "scaled_matmul"]

for _module in (activations, attention, exponentials, layers, pooling):
    __all__ += _module.__all__

_SCALING = ("get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul")
if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, __all__, functions=dict.fromkeys(_SCALING, "primax.nn.scaling"))
