"""Functions that networks are made of, under jax.nn's names, and pooling under flax's."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from primax.nn import initializers
from primax.plugins.nn.activations import (
    celu,
    elu,
    gelu,
    glu,
    hard_sigmoid,
    hard_silu,
    hard_swish,
    hard_tanh,
    identity,
    leaky_relu,
    log1mexp,
    log_sigmoid,
    mish,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    soft_sign,
    softplus,
    sparse_plus,
    sparse_sigmoid,
    squareplus,
    swish,
    tanh,
)
from primax.plugins.nn.attention import dot_product_attention
from primax.plugins.nn.layers import one_hot, standardize
from primax.plugins.nn.softmax import log_softmax, logmeanexp, logsumexp, softmax
from primax.plugins.windows import (
    avg_pool,
    max_pool,
    min_pool,
    pool,
)

__all__ = [
    "avg_pool",
    "celu",
    "dot_product_attention",
    "elu",
    "gelu",
    "get_scaled_dot_general_config",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "initializers",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "max_pool",
    "min_pool",
    "mish",
    "one_hot",
    "pool",
    "relu",
    "relu6",
    "scaled_dot_general",
    "scaled_matmul",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]

# Functions whose module is imported when they are first used.
_FUNCTIONS = frozenset(("get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"))


def __getattr__(name: str) -> Any:
    """Import functions when they are first used."""
    if name in _FUNCTIONS:
        function = globals()[name] = getattr(import_module("primax.nn.scaling"), name)
        return function
    raise AttributeError(f"module 'primax.nn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_FUNCTIONS})
