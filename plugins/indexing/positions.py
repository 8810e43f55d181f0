"""Positions in arrays: conversion of arguments, and ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import ShapedArray, get_aval
from primax.extend.dimensions import is_symbolic_dim
from primax.extend.interpreters import mlir
from primax.extend.provisional.arguments import aval_of, index_dtype, of_call
from primax.extend.provisional.dimensions import is_symbolic
from primax.plugins.arithmetic import add
from primax.plugins.arithmetic import min as min_
from primax.plugins.comparison import lt
from primax.plugins.structural import as_scalar, concatenate_p, convert_element_type_p, reshape_p, select_n_p

_INT32 = np.dtype(np.int32)


def cast_indices(function: str, argument: str, indices: Any) -> Any:
    """Indices as an array, a NumPy array or a number.

    Raises:
      TypeError: `indices` are not integers.
    """
    aval = aval_of(function, argument, indices)
    if not dtypes.is_integer(aval.dtype):
        raise TypeError(f"{function}: {argument} must be integers, got {aval.str_short()}")
    return indices


def clipped(index: Any, first: int, last: int) -> Any:
    """Known positions, limited to a range whose ends their dtype may not be able to represent."""
    index = np.asarray(index)
    limits = np.iinfo(index.dtype)
    return np.clip(index, max(first, int(limits.min)), min(last, int(limits.max)))


def from_the_end(index: Any, size: int) -> Any:
    """Positions along an axis of a given length; negative positions count from the end."""
    if type(index) is int:
        dtype = index_dtype(size)
        if is_symbolic_dim(size):
            return as_scalar(index + size if index < 0 else index, dtype)
        try:
            return dtype.type(index + size if index < 0 else index)
        except OverflowError:
            raise OverflowError(f"an index must fit {dtype}, got {index}{of_call()}") from None
    dtype = get_aval(index).dtype
    if dtypes.is_unsigned_integer(dtype):
        return index
    if isinstance(index, np.ndarray | np.generic) and not is_symbolic_dim(size):
        index = np.asarray(index, np.int64)
        return np.where(index < 0, index + size, index)
    if dtypes.itemsize_bits(dtype) < 32:
        dtype = _INT32
        index = convert_element_type_p.bind(index, new_dtype=dtype, weak_type=False)
    return select_n_p.bind(lt(index, dtype.type(0)), index, add(index, as_scalar(size, dtype)))


def bounds(shape: Sequence[int], sizes: Sequence[int], numbers: Any, dtype: Any) -> Any:
    """The last positions at which windows are inside, for each entry of an index vector."""
    _, _, index_map, _, _ = numbers
    most = dtypes.iinfo(dtype).max
    last = [shape[d] - sizes[d] for d in index_map]
    if not is_symbolic(last):
        return np.array([min(position, most) for position in last], dtype)
    wide = index_dtype(next(filter(is_symbolic_dim, last)))
    limit = wide.type(min(most, dtypes.iinfo(wide).max))
    parts = [reshape_p.bind(min_(as_scalar(x, wide), limit), new_sizes=(1,), dimensions=None) for x in last]
    return convert_element_type_p.bind(concatenate_p.bind(*parts, dimension=0), new_dtype=dtype, weak_type=False)


def in_words(aval: ShapedArray, x: Any) -> mlir.ir.Value:
    """Indices of at least 32 bits, as an IR value; narrower ones might not reach the end of an axis."""
    if dtypes.itemsize_bits(aval.dtype) >= 32:
        return x
    return mlir.hlo.convert(mlir.aval_to_ir_type(aval.update(dtype=_INT32)), x)
