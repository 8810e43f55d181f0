"""Random permutations and choices."""

from __future__ import annotations

from math import ceil, log, prod
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import canonical_axis
from primax.extend.provisional.dimensions import is_symbolic
from primax.extend.provisional.typing import ArrayLike, KeyLike, ShapeLike, ShardingLike
from primax.numpy.conversion import read_shape
from primax.numpy.promotion import aval_of, cast
from primax.numpy.reductions import argmax
from primax.numpy.scans import cumsum
from primax.numpy.shaping import moveaxis
from primax.numpy.sorting import searchsorted
from primax.plugins.exponential import log_p
from primax.plugins.random.arguments import check_key
from primax.plugins.random.keys import random_bits, random_split
from primax.plugins.random.numbers import sampler, unit
from primax.plugins.resharding import divided_call
from primax.plugins.sorting import sort_p, top_k_p
from primax.plugins.structural import as_scalar, expand_dims, iota_p, reshape_p, slice_p
from primax.random.integers import integers_between
from primax.random.inversion import gumbel_numbers, read_mode
from primax.random.parameters import broadcast_to, parameter_shape

__all__ = ["categorical", "choice", "permutation"]

_GREATEST_BITS = 2**32 - 1


@sampler
def _shuffled(key: Any, x: Any, shape: tuple[int, ...], axis: int) -> Array:
    """Shuffle elements along an axis: sort by random bits, repeatedly so that equal bits are unlikely."""
    size = prod(shape)
    if is_symbolic(shape):
        raise core.UnsupportedError(f"permutation and shuffle: the number of elements must be known, got shape {shape}")
    for _ in range(ceil(3 * log(max(1, size)) / log(_GREATEST_BITS))):
        key, bits = random_split(key, (2,))
        _, x = sort_p.bind(random_bits(bits, 32, shape), x, dimension=axis, is_stable=True, num_keys=1)
    return x


def _permuted(key: Any, count: int, dtype: Any) -> Array:
    return _shuffled(key, iota_p.bind(dtype=dtype, shape=(count,), dimension=0), (count,), 0)


def _elements(x: Any, positions: Any, axis: int) -> Array:
    return x[(*[slice(None)] * axis, positions)]


@sampler
def _permutation(key: Any, x: Any, shape: tuple[int, ...], axis: int) -> Array:
    return _elements(x, _permuted(key, shape[axis], np.dtype(np.int32)), axis)


def permutation(
    key: KeyLike, x: ArrayLike, axis: int = 0, independent: bool = False, *, out_sharding: ShardingLike | None = None
) -> Array:
    """Permute elements randomly.

    Args:
      key: a random key.
      x: an array, or an integer n for the numbers 0, 1, ..., n - 1.
      axis: the axis along which elements are permuted.
      independent: whether each vector along the axis gets its own permutation.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `key` is not a key, or `x` is neither an array nor an integer.
      ValueError: `key` is an array of keys, or `axis` is out of range.
      UnsupportedError: the axis has a symbolic size.

    >>> import primax as px
    >>> px.random.permutation(px.random.key(0), 5).tolist()
    [0, 1, 4, 3, 2]
    """
    if out_sharding is not None:
        return divided_call(permutation, (key, x, axis, independent), {}, out_sharding)
    key, aval = check_key(key, "permutation"), aval_of("permutation", x, "x")
    if not aval.shape:
        canonical_axis(axis, 1, "permutation")
        return _permuted(key, max(_count("permutation", x, "x"), 0), dtypes.default_int_dtype())
    axis = canonical_axis(axis, len(aval.shape), "permutation")
    draw = _shuffled if independent or len(aval.shape) == 1 else _permutation
    return draw(key, x, aval.shape, axis)


def _count(function: str, x: Any, name: str) -> int:
    """Read a number of elements, which must not be traced; `choice` reads True as 1 element.

    Raises:
      TypeError: the value is not an integer.
    """
    if function == "choice" and get_aval(x).dtype == bool:
        return int(bool(x))
    if not dtypes.is_integer(get_aval(x).dtype):
        raise TypeError(f"{function}: {name} must be an integer or an array with an axis, got {x!r}")
    return x.__index__()


@sampler
def _positions(key: Any, p: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Draw positions with probabilities: search uniform numbers in the cumulative sums."""
    sums = cumsum(p)
    return cast(searchsorted(sums, sums[-1] * (1.0 - unit(key, shape, p.dtype))), dtype)


@sampler
def _different_positions(key: Any, p: Any, shape: tuple[int, ...], dtype: Any, mode: str) -> Array:
    """Draw different positions with probabilities: those of the largest sums of log(p) and Gumbel numbers."""
    scores = gumbel_numbers(key, p.shape, p.dtype, mode) + log_p.bind(p)
    _, positions = top_k_p.bind(scores, k=prod(shape), axis=0)
    return cast(reshape_p.bind(positions, new_sizes=shape, dimensions=None), dtype)


@sampler
def _first_of_permutation(key: Any, shape: tuple[int, ...], dtype: Any, count: int) -> Array:
    order = _permuted(key, count, dtype)
    positions = slice_p.bind(order, start_indices=(0,), limit_indices=(prod(shape),), strides=None)
    return reshape_p.bind(positions, new_sizes=shape, dimensions=None)


def choice(
    key: KeyLike,
    a: ArrayLike,
    shape: ShapeLike = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Choose among elements.

    Args:
      key: a random key.
      a: an array, or an integer n for the numbers 0, 1, ..., n - 1.
      shape: the shape of the choices; it replaces `axis` in the shape of `a`.
      replace: whether an element may be chosen more than once.
      p: the probabilities of the elements along the axis; equal ones if None.
      axis: the axis along which to choose.
      mode: for choices without replacement with `p`, as in `gumbel`.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, `a` is neither an array nor an integer, or `p` is not real.
      ValueError: `key` is an array of keys, `axis` is out of range, there are fewer elements than choices without
        replacement, or `p` does not have one number per element.

    >>> import primax as px
    >>> px.random.choice(px.random.key(0), px.numpy.arange(10.0), (3,), replace=False).tolist()
    [0.0, 1.0, 8.0]
    """
    key, shape, aval = check_key(key, "choice"), read_shape(shape, "choice"), aval_of("choice", a, "a")
    axis = canonical_axis(axis, max(1, len(aval.shape)), "choice")
    count = aval.shape[axis] if aval.shape else _count("choice", a, "a")
    draws = prod(shape)
    if count < 1 and draws:
        raise ValueError(f"choice: a must have elements to choose {draws} of, got {count}")
    if not replace and draws > count:
        raise ValueError(f"choice: without replacement there are {count} to choose, got shape {shape} of {draws}")
    if p is not None and parameter_shape("choice", p, "p") != (count,):
        raise ValueError(
            f"choice: p must be of shape {(count,)}, one number per element, got {get_aval(p).str_short()}"
        )
    positions = _chosen(key, shape, dtypes.default_int_dtype(), count, replace, p, read_mode("choice", mode))
    return _taken(a, positions, aval.shape, axis) if aval.shape else positions


@sampler
def _taken(a: Any, positions: Any, shape: tuple[int, ...], axis: int) -> Array:
    return _elements(a, positions, axis)


def _chosen(key: Any, shape: tuple[int, ...], dtype: Any, count: int, replace: bool, p: Any, mode: str) -> Array:
    """The positions of the chosen elements."""
    if p is None:
        if replace:
            return integers_between(key, dtype.type(0), as_scalar(count, dtype), shape, dtype)
        return _first_of_permutation(key, shape, dtype, count)
    p = p if dtypes.is_floating(get_aval(p).dtype) else cast(p, dtypes.default_float_dtype())
    if replace:
        return _positions(key, p, shape, dtype)
    return _different_positions(key, p, shape, dtype, mode)


@sampler
def _categorical(key: Any, logits: Any, shape: tuple[int, ...], axis: int, mode: str) -> Array:
    """The position of the largest sum of logits and Gumbel numbers; `axis` counts from the end."""
    prefix = shape[: len(shape) - (logits.ndim - 1)]
    rest = list(shape[len(prefix) :])
    rest.insert(axis + logits.ndim, logits.shape[axis])
    scores = gumbel_numbers(key, (*prefix, *rest), logits.dtype, mode) + expand_dims(logits, range(len(prefix)))
    return argmax(scores, axis)


@sampler
def _different_categories(key: Any, logits: Any, shape: tuple[int, ...], axis: int, mode: str) -> Array:
    scores = moveaxis(logits + gumbel_numbers(key, logits.shape, logits.dtype, mode), axis, -1)
    count = prod(shape[: len(shape) - (logits.ndim - 1)])
    _, categories = top_k_p.bind(scores, k=count, axis=logits.ndim - 1)
    return moveaxis(categories, -1, 0).reshape(shape)


def categorical(
    key: KeyLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: ShapeLike | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draw categories, whose probabilities are the softmax of logits.

    Args:
      key: a random key.
      logits: logarithms of probabilities along an axis, up to a constant; a float array.
      axis: the axis of categories.
      shape: the shape of the result: the shape of `logits` without the axis, which may follow further axes; without
        further axes if None.
      replace: whether choices along the further axes may be equal.
      mode: as in `gumbel`.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Returns:
      Positions along the axis.

    Raises:
      TypeError: `key` is not a key, `shape` is not a shape, or `logits` is not an array of a float dtype.
      ValueError: `key` is an array of keys, `axis` is out of range, there are no categories, `shape` does not fit,
        `mode` is unknown, or more choices are drawn without replacement than there are categories.

    >>> import primax as px
    >>> px.random.categorical(px.random.key(0), px.numpy.zeros((2, 5))).tolist()
    [1, 3]
    """
    if out_sharding is not None:
        return divided_call(categorical, (key, logits, axis, shape, replace, mode), {}, out_sharding)
    key, aval = check_key(key, "categorical"), aval_of("categorical", logits, "logits")
    if not dtypes.is_floating(aval.dtype):
        raise TypeError(f"categorical: logits must be of a float dtype, got {aval.str_short()}")
    axis = canonical_axis(axis, len(aval.shape), "categorical")
    count = aval.shape[axis]
    if not count:
        raise ValueError(f"categorical: logits must have categories along axis {axis}, got {aval.str_short()}")
    batch = (*aval.shape[:axis], *aval.shape[axis + 1 :])
    shape = None if shape is None else read_shape(shape, "categorical")
    shape = broadcast_to("categorical", shape, {"logits without the axis of categories": batch})
    mode = read_mode("categorical", mode)
    if replace:
        return _categorical(key, logits, shape, axis - len(aval.shape), mode)
    drawn = prod(shape[: len(shape) - len(batch)])
    if drawn > count:
        raise ValueError(
            f"categorical: without replacement there are as many to draw as categories, {count}, got shape {shape}"
        )
    if shape[len(shape) - len(batch) :] != batch:
        raise ValueError(f"categorical: without replacement shape must end with {batch}, got {shape}")
    return _different_categories(key, logits, shape, axis, mode)
