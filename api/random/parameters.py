"""Validation of the shape, dtype and parameters of distributions, and compilation of their programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array
from primax.numpy.conversion import read_shape
from primax.numpy.promotion import aval_of
from primax.plugins.random.arguments import check_key
from primax.plugins.structural import broadcast_shapes


def drawn(function: str, key: Any, shape: Any, dtype: Any) -> tuple[Any, tuple[int, ...], Any]:
    """The validated key, shape and dtype of a real distribution without parameters."""
    dtype = _dtype_of_kind(function, dtype, dtypes.is_floating, "a float dtype")
    return check_key(key, function), read_shape(shape, function), dtype


def float_dtype(function: str, dtype: Any) -> np.dtype[Any] | Array:
    """A float dtype, by default that of Python's floats.

    Raises:
      TypeError: `dtype` is not a dtype.
      ValueError: `dtype` is not a float dtype.
    """
    return _dtype_of_kind(function, dtype, dtypes.is_floating, "a float dtype")


def inexact_dtype(function: str, dtype: Any) -> np.dtype[Any] | Array:
    """A float or complex dtype; see `float_dtype`."""
    return _dtype_of_kind(function, dtype, dtypes.is_inexact, "a float or complex dtype")


def _dtype_of_kind(function: str, dtype: Any, accepts: Callable[[Any], bool], kind: str) -> np.dtype[Any] | Array:
    if dtype is None:
        return dtypes.default_float_dtype()
    checked = dtypes.check_user_dtype(dtype, "dtype", function)
    if not accepts(checked):
        raise ValueError(f"{function}: dtype must be {kind}, got {checked}")
    return checked


def integer_dtype(function: str, dtype: Any, error: type[Exception] = ValueError) -> np.dtype[Any]:
    """An integer dtype, by default that of Python's ints.

    Raises:
      TypeError: `dtype` is not a dtype.
      error: `dtype` is not an integer dtype.
    """
    if dtype is None:
        return dtypes.default_int_dtype()
    checked = dtypes.check_user_dtype(dtype, "dtype", function)
    if not dtypes.is_integer(checked):
        raise error(f"{function}: dtype must be an integer dtype, got {checked}")
    return checked


def parameter_shape(function: str, value: Any, name: str) -> tuple[int, ...]:
    """The shape of a real parameter.

    Raises:
      TypeError: `value` is not an array or a number, or is complex.
    """
    aval = aval_of(function, value, name)
    if dtypes.is_complex(aval.dtype):
        raise TypeError(f"{function}: {name} must be real, got {aval.str_short()}")
    return aval.shape


def common_shape(function: str, shape: Any, **parameters: Any) -> tuple[int, ...]:
    """`shape`, or the common shape of the parameters if it is None.

    Raises:
      TypeError: `shape` is not a shape, or a parameter is not a real array or number.
      ValueError: the parameters do not broadcast, or do not broadcast to `shape`.
    """
    shape = None if shape is None else read_shape(shape, function)
    return broadcast_to(function, shape, {name: parameter_shape(function, x, name) for name, x in parameters.items()})


def broadcast_to(function: str, shape: tuple[int, ...] | None, shapes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """`shape`, to which the other shapes must broadcast; if it is None, their common shape.

    Raises:
      ValueError: the shapes do not broadcast.
    """
    if not any(shapes.values()):
        return () if shape is None else shape
    try:
        common = broadcast_shapes(*shapes.values(), *(() if shape is None else (shape,)))
    except ValueError:
        common = None
    if common is None or (shape is not None and common != shape):
        listed = ", ".join(f"{name} of shape {x_shape}" for name, x_shape in shapes.items())
        to = "" if shape is None else f" to shape {shape}"
        raise ValueError(f"{function}: parameters must broadcast{to}, got {listed}")
    return common
