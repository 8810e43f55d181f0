"""The error for a value of a plugin's type where an array is needed."""

from __future__ import annotations

from typing import Any

from primax.core.avals import AbstractToken, AbstractValue
from primax.core.source_info import called

__all__ = ["NotAnArrayError", "missing_attribute"]

# The functions that users call, by those of primax that ask for a type, where these have other names.
_CALLED = {"check_field": "jacfwd or jacrev", "check_input": "grad", "normalize": "vmap", "whole": "pmap"}
_CALLED |= {name: name for name in "cond device_put eval_shape fori_loop lower map scan switch while_loop".split()}
_OF_ARRAYS = frozenset(("shape", "dtype", "ndim", "size", "weak_type"))


class NotAnArrayError(TypeError, AttributeError):
    """A value of a plugin's type was given in place of an array.

    It is an AttributeError, too, so that `hasattr` is False.
    """

    __module__ = "primax.errors"  # where users find it

    def __init__(self, aval: AbstractValue, name: str) -> None:
        super().__init__()
        self.aval, self.name = aval, name
        self.function = _CALLED.get(called(), "")

    def __str__(self) -> str:
        kind, function = type(self.aval).__name__, self.function and f"{self.function}: "
        if self.aval.composite:
            owner = getattr(type(self.aval), "value_class", None)
            advice = f"\n  Values are mapped if {kind} defines shape, mapped and unmapped."
            return (
                f"{function}a value of type {self.aval.str_short()} is not an array, and has no {self.name}.\n"
                f"  Its type, {kind}, belongs to {type(self.aval).__module__}: use the methods of "
                f"{owner.__name__ if owner else 'its class'} and the functions of that package, which can also enter a "
                f"rule for a primitive: core.register_on_type(primitive, {kind}, its_primitive)."
                f"{advice if self.name == 'shape' and self.function in ('map', 'scan', 'vmap') else ''}"
            )
        return (
            f"{function}values of type {self.aval.str_short()} have no {self.name}: their aval, {kind}, is not that of "
            "an array.\n"
            "  Compiled programs (jit, loops, branches) hold arrays: make the class of these values a pytree of arrays "
            "with tree_util.register_pytree_node, or their data an array with a dtype of its own, see extend.dtypes.\n"
            f"  Outside of jit, {kind} needs for grad a dtype and to_tangent_aval, for vmap a shape, mapped and "
            f"unmapped, and for both registry.array_protocol({kind}, ...)."
        )


def missing_attribute(aval: AbstractValue, name: str) -> Any:
    """Raise the error for an absent attribute of an aval: the `__getattr__` of `AbstractValue`."""
    if name not in _OF_ARRAYS or isinstance(aval, AbstractToken):
        raise AttributeError(f"{type(aval).__name__!r} object has no attribute {name!r}", name=name, obj=aval)
    raise NotAnArrayError(aval, name)
