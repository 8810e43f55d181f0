"""Tangents and cotangents: symbolic zeros, sums, and the unknowns of transposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.core import dtypes, tree
from primax.core.array_protocol import protocol_of
from primax.core.avals import get_aval, is_void
from primax.core.placement import placed_like


class Zero:
    """A symbolic zero: a tangent or cotangent that is known to be zero.

    It is a pytree without leaves, so that functions which return some can be mapped and compiled.
    """

    __slots__ = ("_aval", "_primal")

    _aval: Any
    _primal: Any

    def __init__(self, aval: Any) -> None:
        self._aval = aval

    @staticmethod
    def from_primal_value(primal: Any) -> Zero:
        """The zero tangent of a value; its type is computed on demand."""
        zero = Zero.__new__(Zero)
        zero._aval = None
        zero._primal = primal
        return zero

    @property
    def aval(self) -> Any:
        if self._aval is None:
            self._aval = get_aval(self._primal).to_tangent_aval()
            self._primal = None
        return self._aval

    def instantiate(self) -> Any:
        """The zero as a value."""
        return zeros_like_aval(self.aval)

    @property
    def shape(self) -> Any:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    def __repr__(self) -> str:
        typed = self._aval is not None or hasattr(self, "_primal")
        return f"{type(self).__name__}({self.aval.str_short() if typed else None})"

    __array_ufunc__ = None  # NumPy leaves arithmetic to the methods of this class

    @property
    def _not_an_array(self) -> str:
        """The message for code that uses this object as an array; see `get_aval`."""
        return f"{self!r} is a symbolic zero, not an array: {_REMEDY}"


tree.register_pytree_node(Zero, lambda zero: ((), zero.aval), lambda aval, _: Zero(aval))


class SymbolicZero(Zero):
    """A symbolic zero in the functions of users: a leaf of a pytree, beside tangents that are arrays."""

    __slots__ = ()


def as_leaf(tangent: Any) -> Any:
    """A tangent for a user's function; see `SymbolicZero`."""
    return SymbolicZero(tangent.aval) if type(tangent) is Zero else tangent


def from_leaf(tangent: Any) -> Any:
    """A tangent that a user's function returned."""
    return Zero(tangent.aval) if type(tangent) is SymbolicZero else tangent


_REMEDY = "convert it by ad.instantiate_zeros(t), or skip it if type(t) is ad.Zero"


def _refuse(operator: str) -> Any:
    def method(self: Any, *others: Any) -> Any:
        raise TypeError(f"{operator}: {self._not_an_array}")

    return method


def _refuse_attribute(self: Any, name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
    raise AttributeError(f"{name}: {self._not_an_array}")


Zero.__getattr__ = _refuse_attribute  # type: ignore[attr-defined]


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangents of the arrays of a tree.

    Args:
      val: arrays and numbers in any containers.
      symbolic_zeros: whether to return `SymbolicZero`s instead of arrays.

    Returns:
      The same structure with zeros; those of integers are NumPy arrays of dtype float0.

    >>> from primax.custom_derivatives import zero_from_primal
    >>> zero_from_primal((1.0, 2), symbolic_zeros=True)
    (SymbolicZero(f32[]), SymbolicZero(float0[]))
    """

    def zero(x: Any) -> Any:
        aval = get_aval(x).to_tangent_aval()
        return SymbolicZero(aval) if symbolic_zeros else zeros_like_aval(aval)

    return tree.tree_map(zero, val)


class UndefinedPrimal:
    """In transpose rules, the placeholder for an argument in which the function is linear; a pytree without leaves."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval.str_short()})"

    __array_ufunc__ = None
    __getattr__ = _refuse_attribute

    @property
    def _not_an_array(self) -> str:
        return (
            f"{self!r} is the placeholder of an argument in which the primitive is linear: it has no value, so a "
            "cotangent must not depend on it; its type is x.aval. A jvp rule that is not linear in its tangents, as "
            "one that computes mul(t, t), also causes this error"
        )


tree.register_pytree_node(UndefinedPrimal, lambda x: ((), x.aval), lambda aval, _: UndefinedPrimal(aval))

for _kind in (Zero, UndefinedPrimal):
    for _operator in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
        setattr(_kind, f"__{_operator}__", _refuse(_operator))
        setattr(_kind, f"__r{_operator}__", _refuse(_operator))
    for _operator in ("neg", "pos", "abs", "array", "getitem", "float"):
        setattr(_kind, f"__{_operator}__", _refuse(_operator))


def is_undefined_primal(x: Any) -> bool:
    """Whether `x` is an argument for which a transpose rule should return a cotangent."""
    return type(x) is UndefinedPrimal


def zeros_like_aval(aval: Any) -> Any:
    """An array of zeros of a given type."""
    if is_void(aval):
        return np.zeros(aval.shape, dtypes.float0)
    return placed_like(protocol_of(aval).zeros(aval), aval)


def instantiate_zeros(tangent: Any) -> Any:
    """A tangent as a value; zeros if it is symbolic."""
    return zeros_like_aval(tangent.aval) if isinstance(tangent, Zero) else tangent


def of_number(x: Any, aval: Any) -> Any:
    """A Python number as a tangent or cotangent of a type; None if `x` is not a number, or the type cannot hold it."""
    fits = dtypes.is_complex if type(x) is complex else dtypes.is_inexact
    if type(x) not in (int, float, complex) or aval.composite:
        return None
    if fits(aval.dtype) and all(type(size) is int for size in aval.shape):
        return np.full(aval.shape, x, aval.dtype)[()]
    return None


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents or cotangents of the same type."""
    if type(x) is Zero:
        return y
    if type(y) is Zero:
        return x
    return protocol_of(get_aval(x)).add(x, y)
