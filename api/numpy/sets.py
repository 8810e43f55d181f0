"""Set operations on the elements of arrays.

The number of distinct elements depends on values. Without `size`, the values must be known, and NumPy computes the
result; with `size`, the result has that length, and arrays may be traced.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, Tracer, get_aval
from primax.extend.provisional.arguments import canonical_axis, read_size
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.indexing import getitem
from primax.numpy.predicates import isnan
from primax.numpy.promotion import aval_of, broadcast_to_shape, cast, convert, promote
from primax.numpy.rows import below, concrete, count_true, put_rows, take_rows, true_places
from primax.numpy.selection import choose
from primax.numpy.shaping import moveaxis, ravel, reshaped
from primax.plugins import bitwise, comparison
from primax.plugins.calls import jit
from primax.plugins.cumulative import cummax_p, cumsum_p
from primax.plugins.sorting import sort_p
from primax.plugins.structural import concatenate_p, convert_element_type_p, iota_p, slice_p, unstack_p

__all__ = [
    "intersect1d",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

_INT32 = np.dtype(np.int32)


class UniqueAllResult(NamedTuple):
    """The result of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """The result of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """The result of `unique_inverse`."""

    values: Any
    inverse_indices: Any


@overload
def unique(
    ar: Any,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Array: ...
@overload
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Array | tuple[Array, ...]: ...
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array | tuple[Array, ...]:
    """The distinct elements of an array in ascending order.

    Args:
      ar: an array.
      return_index: whether to return the first position of each element too.
      return_inverse: whether to return, for each element of `ar`, its position in the result.
      return_counts: whether to return the number of occurrences of each element.
      axis: the axis whose slices are compared; None to ravel the array first.
      equal_nan: whether NaN equals NaN.
      size: the number of elements to return; further ones are dropped, missing ones are filled. None returns all, and
        `ar` must then not be traced.
      fill_value: the value of missing elements; the smallest element if None.
      sorted: ignored: the result is always sorted.

    Returns:
      The elements; or a tuple of the elements and the other requested results.

    Raises:
      ConcretizationTypeError: `ar` is traced and `size` is None.
      ValueError: `axis` is out of range, or an empty array must be filled with its smallest element.

    >>> import primax as px
    >>> px.numpy.unique(px.numpy.array([3, 1, 3]), return_counts=True)
    (Array([1, 3], dtype=int32), Array([1, 2], dtype=int32))
    """
    aval = aval_of("unique", ar, "ar")
    if axis is not None:
        axis = canonical_axis(axis, len(aval.shape), "unique")
    if size is None:
        outs = _known_unique(ar, axis, equal_nan)
    else:
        outs = _sized_unique(ar, fill_value, axis, bool(equal_nan), _size("unique", size))
    requested = [out for out, want in zip(outs[1:], (return_index, return_inverse, return_counts), strict=True) if want]
    return (outs[0], *requested) if requested else outs[0]


def _known_unique(ar: Any, axis: int | None, equal_nan: bool) -> list[Any]:
    host = concrete("unique", "ar", ar, "size")
    distinct, *places = np.unique(host, True, True, True, axis, equal_nan=equal_nan)
    if isinstance(ar, Tracer):
        values = getitem(ravel(ar), places[0]) if axis is None else getitem(ar, (slice(None),) * axis + (places[0],))
    else:
        aval = get_aval(ar)
        values = convert_element_type_p.bind(asarray(distinct), new_dtype=aval.dtype, weak_type=aval.weak_type)
    return [values, *(asarray(place, dtypes.default_int_dtype()) for place in places)]


def _size(function: str, value: Any) -> int:
    return read_size(function, "size", value, 2**31 - 1)  # positions are of dtype int32


@partial(jit, static_argnums=(2, 3, 4))
def _sized_unique(ar: Any, fill_value: Any, axis: int | None, equal_nan: bool, size: int) -> list[Any]:
    ar = asarray(ar)
    rows = ravel(ar) if axis is None else moveaxis(ar, axis, 0)
    count = rows.shape[0]
    if not count:
        return _filled_unique(ar, rows, axis, size, fill_value)
    order, first = _in_order(rows, equal_nan)
    ranks = cumsum_p.bind(convert(first, get_aval(first), _INT32), axis=0, reverse=False) - 1
    firsts = take_rows(order, true_places(first, size, 0))
    values = take_rows(rows, firsts)
    if fill_value is not None:
        there = below(count_true(first), size)
        there = broadcast_to_shape(reshaped(there, (size, *[1] * (rows.ndim - 1))), values.shape)
        values = choose(there, values, cast(fill_value, rows.dtype))
    ends = true_places(first, size + 1, count)
    counts = _part(ends, 1, size + 1) - _part(ends, 0, size)
    inverse = put_rows(order, order, ranks)
    if axis is None:
        return [values, *_as_int(firsts, reshaped(inverse, ar.shape), counts)]
    return [moveaxis(values, 0, axis), *_as_int(firsts, inverse, counts)]


def _filled_unique(ar: Any, rows: Any, axis: int | None, size: int, fill_value: Any) -> list[Any]:
    """The results for an array without elements."""
    if fill_value is None and size:
        raise ValueError(f"unique: fill_value must be given for an array without elements and size {size}")
    shape = (size, *rows.shape[1:])
    values = broadcast_to_shape(asarray(0 if fill_value is None else fill_value, rows.dtype), shape)
    nothing = np.zeros((size,), _INT32)
    inverse = np.zeros(ar.shape if axis is None else (0,), _INT32)
    values = asarray(values) if axis is None else moveaxis(values, 0, axis)
    return [values, *_as_int(*map(asarray, (nothing, inverse, nothing)))]


def _as_int(*arrays: Any) -> list[Any]:
    return [cast(x, dtypes.default_int_dtype()) for x in arrays]


def _part(x: Any, start: int, limit: int) -> Array:
    return slice_p.bind(x, start_indices=(start,), limit_indices=(limit,), strides=None)


def _in_order(rows: Any, equal_nan: bool) -> tuple[Any, Any]:
    """The order of rows, and the mask of rows, in this order, that differ from their predecessor."""
    count = rows.shape[0]
    columns = [rows] if rows.ndim == 1 else unstack_p.bind(reshaped(rows, (count, rows.size // count)), axis=1)
    places = iota_p.bind(dtype=_INT32, shape=(count,), dimension=0)
    if not columns:
        return places, comparison.eq_p.bind(places, np.int32(0))
    *in_order, order = sort_p.bind(*columns, places, dimension=0, is_stable=True, num_keys=len(columns))
    changed: Any = None
    for x in in_order:
        differs = _differs(x, equal_nan)
        changed = differs if changed is None else bitwise.or_p.bind(changed, differs)
    return order, concatenate_p.bind(np.ones((1,), np.bool_), changed, dimension=0)


def _differs(x: Any, equal_nan: bool) -> Array:
    """Whether each element of a sorted array, without the first, differs from its predecessor."""
    before, after = _part(x, 0, x.shape[0] - 1), _part(x, 1, x.shape[0])
    differs = comparison.ne_p.bind(before, after)
    if not equal_nan or not dtypes.is_inexact(x.dtype):
        return differs
    return bitwise.and_p.bind(differs, bitwise.not_p.bind(bitwise.and_p.bind(isnan(before), isnan(after))))


def unique_all(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> UniqueAllResult:
    """The distinct elements of an array, with first positions, inverse positions and counts.

    NaN does not equal NaN. The arguments are those of `unique`.

    Examples:
      >>> import primax.numpy as pnp
      >>> found = pnp.unique_all(pnp.array([3, 1, 3]))
      >>> found.values, found.indices, found.inverse_indices
      (Array([1, 3], dtype=int32), Array([1, 0], dtype=int32), Array([1, 0, 1], dtype=int32))
    """
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueCountsResult:
    """The distinct elements of an array and their counts; see `unique_all`.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.unique_counts(pnp.array([3, 1, 3]))
      UniqueCountsResult(values=Array([1, 3], dtype=int32), counts=Array([1, 2], dtype=int32))
    """
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueInverseResult:
    """The distinct elements of an array and the position of each element among them; see `unique_all`.

    Examples:
      >>> import primax.numpy as pnp
      >>> values, inverse = pnp.unique_inverse(pnp.array([[3, 1], [3, 3]]))
      >>> values, inverse.shape
      (Array([1, 3], dtype=int32), (2, 2))
    """
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_values(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The distinct elements of an array; see `unique_all`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> pnp.unique_values(pnp.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
      >>> px.jit(lambda x: pnp.unique_values(x, size=3, fill_value=-1))(pnp.array([3, 1, 3]))
      Array([ 1,  3, -1], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


def union1d(ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The distinct elements of two arrays in ascending order.

    Args:
      ar1, ar2: arrays.
      size: the number of elements to return; see `unique`.
      fill_value: the value of missing elements; the smallest element if None.

    >>> import primax as px
    >>> px.numpy.union1d(px.numpy.array([1, 2]), px.numpy.array([5, 2]))
    Array([1, 2, 5], dtype=int32)
    """
    return unique(concatenate_p.bind(*_vectors("union1d", ar1, ar2), dimension=0), size=size, fill_value=fill_value)


def _vectors(function: str, ar1: Any, ar2: Any) -> list[Any]:
    aval_of(function, ar1, "ar1"), aval_of(function, ar2, "ar2")
    return [ravel(asarray(x)) for x in promote(function, ar1, ar2)]


def _by_numpy(function: str, ar1: Any, ar2: Any, **options: Any) -> Any:
    """Apply a function of NumPy to the values of two arrays."""
    hosts = [
        concrete(function, name, x, "size")
        for name, x in zip(("ar1", "ar2"), _vectors(function, ar1, ar2), strict=True)
    ]
    return getattr(np, function)(*hosts, **options)


class _Together(NamedTuple):
    """The sorted elements of two arrays; of equal elements, those of the first array come first.

    Attributes:
      values: the elements.
      second: whether each element is from the second array.
      places: the position of each element in its array.
      starts: whether each element differs from its predecessor.
      ends: whether each element differs from its successor.
    """

    values: Any
    second: Any
    places: Any
    starts: Any
    ends: Any


def _sorted_together(function: str, ar1: Any, ar2: Any) -> _Together:
    x, y = _vectors(function, ar1, ar2)
    values = concatenate_p.bind(x, y, dimension=0)
    order = np.concatenate([np.arange(x.shape[0]), np.arange(y.shape[0])]).astype(_INT32)
    of_second = np.arange(values.shape[0]) >= x.shape[0]
    values, second, places = sort_p.bind(values, of_second, order, dimension=0, is_stable=True, num_keys=1)
    if not values.shape[0]:
        return _Together(values, second, places, second, second)
    changed = _differs(values, equal_nan=False)
    edge = np.ones((1,), np.bool_)
    starts = concatenate_p.bind(edge, changed, dimension=0)
    return _Together(values, second, places, starts, concatenate_p.bind(changed, edge, dimension=0))


def _chosen(mask: Any, size: int, fill_value: Any, *arrays: Any) -> tuple[list[Any], Any]:
    """The first `size` elements where a mask is true, and whether each of them exists.

    Missing elements of the first array are `fill_value`; if None, the first chosen element, or 0 if there is none.
    """
    there = below(count_true(mask), size)
    if not get_aval(mask).shape[0]:
        return [broadcast_to_shape(np.zeros((), x.dtype)[()], (size,)) for x in arrays], there
    places = true_places(mask, size, 0)
    values, *others = [take_rows(x, places) for x in arrays]
    if fill_value is None:
        first = _part(values, 0, 1) if size else values
        fill_value = choose(_part(there, 0, 1), first, np.zeros((1,), values.dtype)) if size else first
        fill_value = broadcast_to_shape(fill_value, (size,))
    else:
        fill_value = broadcast_to_shape(cast(fill_value, values.dtype), (size,))
    return [choose(there, values, fill_value), *others], there


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, ...]:
    """The distinct elements that two arrays share, in ascending order.

    Args:
      ar1, ar2: arrays.
      assume_unique: a promise that the elements of each array are distinct. If they are not, the result has an element
        for each pair of equal neighbors in the sorted elements of both arrays.
      return_indices: whether to return the first position of each element in both arrays too.
      size: the number of elements to return; see `unique`.
      fill_value: the value of missing elements; if None, the smallest element, or 0 if there is none. Missing positions
        are the length of the array.

    >>> import primax as px
    >>> px.numpy.intersect1d(px.numpy.array([3, 2, 1]), px.numpy.array([2, 3]))
    Array([2, 3], dtype=int32)
    """
    if size is None:
        outs = _by_numpy("intersect1d", ar1, ar2, assume_unique=bool(assume_unique), return_indices=True)
        outs = [asarray(outs[0]), *(asarray(x, dtypes.default_int_dtype()) for x in outs[1:])]
        return tuple(outs) if return_indices else outs[0]
    aval_of("intersect1d", ar1, "ar1"), aval_of("intersect1d", ar2, "ar2")
    outs = _sized_intersection(ar1, ar2, fill_value, bool(assume_unique), _size("intersect1d", size))
    return tuple(outs) if return_indices else outs[0]


@partial(jit, static_argnums=(3, 4))
def _sized_intersection(ar1: Any, ar2: Any, fill_value: Any, assume_unique: bool, size: int) -> list[Any]:
    x = _sorted_together("intersect1d", ar1, ar2)
    count = x.values.shape[0]
    lengths = [aval_of("intersect1d", ar).size for ar in (ar1, ar2)]
    mask, firsts, seconds = x.second, x.places, x.places
    if assume_unique and count:
        # Each element that equals the next one. Places count from the beginning of the first array and of the second.
        mask = bitwise.not_p.bind(x.ends)
        firsts = x.places + choose(x.second, np.int32(lengths[0]), np.int32(0))
        seconds = take_rows(firsts, iota_p.bind(dtype=_INT32, shape=(count,), dimension=0) + 1) - lengths[0]
    elif count:
        # The last element of the first array that equals the next one, which is of the second.
        follows = concatenate_p.bind(_part(x.second, 1, count), np.zeros((1,), np.bool_), dimension=0)
        joined = bitwise.and_p.bind(follows, bitwise.not_p.bind(x.ends))
        mask = bitwise.and_p.bind(joined, bitwise.not_p.bind(x.second))
        own = iota_p.bind(dtype=_INT32, shape=(count,), dimension=0)
        begin = cummax_p.bind(choose(x.starts, own, np.int32(0)), axis=0, reverse=False)
        firsts = take_rows(x.places, begin)
        seconds = take_rows(x.places, own + 1)
    (values, *places), there = _chosen(mask, size, fill_value, x.values, firsts, seconds)
    places = [choose(there, place, np.int32(length)) for place, length in zip(places, lengths, strict=True)]
    return [values, *_as_int(*places)]


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The distinct elements of an array that are not in another, in its dtype and in ascending order.

    Args:
      ar1, ar2: arrays.
      assume_unique: a promise that the elements of `ar1` are distinct; the result then keeps their order.
      size: the number of elements to return; see `unique`.
      fill_value: the value of missing elements; 0 if None.

    >>> import primax as px
    >>> px.numpy.setdiff1d(px.numpy.array([3, 2, 1]), px.numpy.array([2]))
    Array([1, 3], dtype=int32)
    """
    if size is None:
        out = asarray(_by_numpy("setdiff1d", ar1, ar2, assume_unique=assume_unique))
    else:
        aval_of("setdiff1d", ar1, "ar1"), aval_of("setdiff1d", ar2, "ar2")
        out = _sized_difference(ar1, ar2, fill_value, bool(assume_unique), _size("setdiff1d", size))
    aval = get_aval(ar1)
    return convert_element_type_p.bind(out, new_dtype=aval.dtype, weak_type=aval.weak_type)


@partial(jit, static_argnums=(3, 4))
def _sized_difference(ar1: Any, ar2: Any, fill_value: Any, assume_unique: bool, size: int) -> Array:
    x = _sorted_together("setdiff1d", ar1, ar2)
    mask = bitwise.and_p.bind(x.ends, bitwise.not_p.bind(x.second))
    fill_value = 0 if fill_value is None else fill_value
    if assume_unique:
        first = _vectors("setdiff1d", ar1, ar2)[0]
        size1 = first.shape[0]
        # Elements of the second array get a position out of range, and are dropped.
        targets = choose(x.second, np.int32(size1), x.places)
        kept = put_rows(np.zeros((size1,), np.bool_), targets, mask)
        return _chosen(kept, size, fill_value, first)[0][0]
    return _chosen(mask, size, fill_value, x.values)[0][0]


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The distinct elements that are in exactly one of two arrays, in ascending order.

    Args:
      ar1, ar2: arrays.
      assume_unique: a promise that the elements of each array are distinct; repeated elements are then treated as
        shared.
      size: the number of elements to return; see `unique`.
      fill_value: the value of missing elements; if None, the smallest element, or 0 if there is none.

    >>> import primax as px
    >>> px.numpy.setxor1d(px.numpy.array([3, 2, 1]), px.numpy.array([2, 5]))
    Array([1, 3, 5], dtype=int32)
    """
    if size is None:
        return asarray(_by_numpy("setxor1d", ar1, ar2, assume_unique=bool(assume_unique)))
    aval_of("setxor1d", ar1, "ar1"), aval_of("setxor1d", ar2, "ar2")
    return _sized_exclusion(ar1, ar2, fill_value, bool(assume_unique), _size("setxor1d", size))


@partial(jit, static_argnums=(3, 4))
def _sized_exclusion(ar1: Any, ar2: Any, fill_value: Any, assume_unique: bool, size: int) -> Array:
    x = _sorted_together("setxor1d", ar1, ar2)
    count = x.values.shape[0]
    if not count:
        return _chosen(x.ends, size, fill_value, x.values)[0][0]
    if assume_unique:
        return _chosen(bitwise.and_p.bind(x.starts, x.ends), size, fill_value, x.values)[0][0]
    # Of equal elements those of the first array come first, so the last is of the same array as the first.
    own = iota_p.bind(dtype=_INT32, shape=(count,), dimension=0)
    begin = cummax_p.bind(choose(x.starts, own, np.int32(0)), axis=0, reverse=False)
    alone = comparison.eq_p.bind(take_rows(x.second, begin), x.second)
    return _chosen(bitwise.and_p.bind(x.ends, alone), size, fill_value, x.values)[0][0]
