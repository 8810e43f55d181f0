"""Validation of the arguments of public functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, TypeGuard

import numpy as np
from numpy.exceptions import AxisError

from primax.core.arguments import (
    among,
    check_function,
    check_hashable,
    integer,
    name_of,
    naming,
    nearest,
    numpy_dtype,
    one_or_several,
    real_number,
    rename,
    sequence,
    wraps,
)
from primax.core.caller import warn_caller
from primax.core.diagnostics import of_call, shorten
from primax.core.errors import ArgumentError
from primax.core.text.debug_info import source_of
from primax.extend import core, dtypes
from primax.extend.dimensions import is_symbolic_dim
from primax.extend.provisional.dimensions import as_size
from primax.interpreters.call_signature import STATIC, argument_positions, aval_of, avals_of, split_arguments

__all__ = [
    "ArgumentError",
    "RuleName",
    "STATIC",
    "among",
    "argument_positions",
    "aval_of",
    "avals_of",
    "canonical_axes",
    "canonical_axis",
    "canonical_shape",
    "check_function",
    "check_hashable",
    "incompatible_shapes",
    "index_dtype",
    "inserted",
    "integer",
    "integers",
    "is_value",
    "listed",
    "name_of",
    "naming",
    "nearest",
    "numpy_dtype",
    "of_call",
    "one_or_several",
    "read_size",
    "real_number",
    "rename",
    "renumbered",
    "sequence",
    "shape_or_size",
    "shorten",
    "source_of",
    "split_arguments",
    "warn_caller",
    "wraps",
]

_VALUES = (core.Array, core.Tracer)
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


class RuleName:
    """The name of a user's rule and its line, for messages; the text is made when a message needs it.

    Args:
      what: the words before the name, such as `the backward rule of f`.
      rule: the function.
    """

    __slots__ = ("_rule", "_what")

    def __init__(self, what: str, rule: Any) -> None:
        self._what, self._rule = what, rule

    def __str__(self) -> str:
        return f"{self._what}, {source_of(self._rule)},"


def is_value(x: Any) -> TypeGuard[Any]:
    """Whether `x` is an array or a tracer, and not a NumPy array or a Python scalar."""
    return isinstance(x, _VALUES)


def index_dtype(size: int) -> np.dtype[Any]:
    """The dtype of indices along an axis of a given length."""
    if is_symbolic_dim(size):
        return dtypes.canonicalize_dtype(_INT64)  # type: ignore[no-any-return]
    return _INT32 if size < 2**31 else _INT64


def integers(values: Iterable[Any], function: str, argument: str) -> tuple[int, ...]:
    """A tuple of Python ints.

    Raises:
      TypeError: `values` is not a sequence of integers.
    """
    try:
        sizes = tuple(values)
        for value in sizes:
            if type(value) is not int:
                return tuple(map(as_size, sizes))
    except core.ConcretizationTypeError:
        raise
    except TypeError:
        raise TypeError(f"{function}: {argument} must be a sequence of integers, got {values!r}") from None
    return sizes


def read_size(function: str, argument: str, value: Any, most: int = 2**59 - 1) -> int:
    """A number of elements.

    Raises:
      TypeError: `value` is not an integer.
      ValueError: it is negative, or above `most`.
    """
    size = integer(function, argument, value)
    if size < 0:
        raise ValueError(f"{function}: {argument} must not be negative, got {size}")
    if type(size) is int and size > most:
        raise ValueError(f"{function}: {argument} must be at most {most}, got {size}")
    return size


def incompatible_shapes(shapes: Sequence[Any]) -> str:
    """The text in errors about shapes that do not broadcast: all of them, and the first axis in which two differ."""
    text = f"incompatible shapes for broadcasting: {', '.join([str(tuple(shape)) for shape in shapes])}"
    for axis in range(-1, -max(map(len, shapes)) - 1, -1):
        sizes = dict.fromkeys([shape[axis] for shape in shapes if len(shape) >= -axis and shape[axis] != 1])
        if len(sizes) > 1:
            different = " and ".join(map(str, sizes))
            return f"{text}. Counted from the last axis, sizes must be equal or 1, but axis {axis} has {different}"
    return text


def listed(values: Any) -> tuple[Any, ...]:
    """A tuple of one value, or of the values of an iterable; a traced array is one value."""
    if isinstance(values, core.Tracer) and not values.is_concrete:
        return (values,)
    if not hasattr(values, "__iter__") or not getattr(values, "ndim", 1):
        return (values,)
    try:
        iter(values)
    except TypeError:
        return (values,)
    return tuple(values)


def shape_or_size(shape: Any, function: str, argument: str = "shape") -> tuple[int, ...]:
    """A tuple of sizes; a single size needs no tuple. See `canonical_shape`."""
    return canonical_shape((shape,) if isinstance(shape, int) else shape, function, argument)


def canonical_shape(shape: Iterable[Any], function: str, argument: str = "shape") -> tuple[int, ...]:
    """A tuple of sizes.

    Raises:
      TypeError: `shape` is not a sequence of integers, or one of them is negative.
    """
    sizes = integers(shape, function, argument)
    for size in sizes:
        if size < 0:
            raise TypeError(f"{function}: {argument} must consist of non-negative integers, got {sizes}")
    return sizes


def canonical_axis(axis: Any, rank: int, function: str, argument: str = "axis") -> int:
    """An axis counted from the front.

    Raises:
      TypeError: `axis` is not an integer.
      AxisError: `axis` is out of range; NumPy's class, which is a ValueError and an IndexError.
    """
    try:
        place = index(axis)
    except core.ConcretizationTypeError:
        raise
    except TypeError:
        raise TypeError(f"{function}: {argument} must be an integer, got {axis!r}") from None
    if not -rank <= place < rank:
        if not rank:
            raise AxisError(f"{function}: an array of rank 0 has no axes, got {argument} {place}")
        raise AxisError(f"{function}: {argument} must be in [{-rank}, {rank}), got {place} for an array of rank {rank}")
    return place + rank if place < 0 else place


def canonical_axes(axes: Sequence[Any], rank: int, function: str, argument: str = "axes") -> tuple[int, ...]:
    """Axes counted from the front, each once.

    Raises:
      TypeError: `axes` is not a sequence of integers.
      ValueError: an axis is out of range or repeated.
    """
    positions = tuple([canonical_axis(axis, rank, function, argument) for axis in integers(axes, function, argument)])
    if len(set(positions)) != len(positions):
        raise ValueError(f"{function}: {argument} must be distinct, got {tuple(axes)} for an array of rank {rank}")
    return positions


def renumbered(axes: Iterable[int], place: int) -> tuple[int, ...]:
    """The numbers of axes after a new axis has been inserted."""
    return tuple([d + (d >= place) for d in axes])


def inserted(values: tuple[Any, ...], position: int, value: Any) -> tuple[Any, ...]:
    """A tuple with one more value, at a position."""
    if not isinstance(values, tuple | list):
        raise TypeError(f"inserted: values must be a tuple, got {values!r}")
    return (*values[:position], value, *values[position:])
