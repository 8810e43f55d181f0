"""The names that packages apply to classes of `jax.experimental.hijax` at import."""

from __future__ import annotations

from typing import Any

from primax.extend.core import AbstractValue, ShapedArray
from primax.extend.effects import control_flow_allowed_effects
from primax.extend.interpreters.ad import Zero, instantiate_zeros, is_undefined_primal
from primax.porting.absent import AbsentNameError, record

__all__ = [
    "AbstractValue",
    "HiPrimitive",
    "ShapedArray",
    "Zero",
    "aval_method",
    "aval_property",
    "control_flow_allowed_effects",
    "instantiate_zeros",
    "is_undefined_primal",
    "register_hitype",
]


class HiPrimitive:
    """A primitive on values of users' types: it can be created, and raises an error when it is applied."""

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, *args: Any, **params: Any) -> Any:
        """Raise an error.

        Raises:
          AbsentNameError: such values do not exist.
        """
        raise AbsentNameError(record("jax.experimental.hijax.HiPrimitive"))


class aval_method:
    """A method of a type of values."""

    def __init__(self, fget: Any) -> None:
        self.fget = fget


class aval_property:
    """A property of a type of values."""

    def __init__(self, fget: Any) -> None:
        self.fget = fget


def register_hitype(value_type: Any, type_of: Any) -> None:
    """Do nothing: no value of such a type exists."""
