"""What packages apply to classes of `jax.experimental.hijax` when they are imported."""

from __future__ import annotations

from typing import Any

from primax.extend.core import AbstractValue, ShapedArray
from primax.extend.effects import control_flow_allowed_effects
from primax.extend.interpreters.ad import Zero, instantiate_zeros, is_undefined_primal

__all__ = [
    "AbstractValue",
    "ShapedArray",
    "Zero",
    "aval_method",
    "aval_property",
    "control_flow_allowed_effects",
    "instantiate_zeros",
    "is_undefined_primal",
    "register_hitype",
]


class aval_method:
    """A method of a type of values."""

    def __init__(self, function: Any) -> None:
        self.function = function


class aval_property:
    """A property of a type of values."""

    def __init__(self, function: Any) -> None:
        self.function = function


def register_hitype(value_type: Any, type_of: Any) -> None:
    """Take note of nothing: no value of such a type is ever made."""
