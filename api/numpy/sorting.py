"""Sorting, searching and ranking."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, canonical_axis, index_dtype, integer, sequence
from primax.extend.provisional.dimensions import bounds, is_symbolic
from primax.extend.provisional.typing import ArrayLike, Arrays, DTypeLike
from primax.numpy.conversion import asarray, read_dtype
from primax.numpy.joining import concatenate
from primax.numpy.predicates import isnan
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast_to_shape, convert, promote
from primax.numpy.rows import take_rows
from primax.numpy.selection import choose
from primax.numpy.shaping import ravel, reshaped
from primax.numpy.taking import take, take_along_axis
from primax.plugins import arithmetic, bitwise, comparison
from primax.plugins import sorting as primitives
from primax.plugins.bitwise import shift_right_logical_p
from primax.plugins.control_flow import fori_loop
from primax.plugins.reductions import reduce_or_p
from primax.plugins.structural import as_scalar, iota_p, reduce_sum_p, rev_p, slice_p

__all__ = [
    "argpartition",
    "argsort",
    "digitize",
    "isin",
    "lexsort",
    "partition",
    "searchsorted",
    "sort",
    "sort_complex",
    "top_k",
]

_MOST_COMPARISONS = 1 << 16
_FEW_ELEMENTS = 32


def _prepared(function: str, a: Any, axis: Any, kind: Any, order: Any) -> tuple[Any, int]:
    """Convert to an array of rank 1 or more, and check the axis to sort along."""
    if kind is not None or order is not None:
        raise TypeError(f"{function}: kind and order must be None, got {kind!r} and {order!r}")
    aval_of(function, a)
    if axis is None:
        a, axis = ravel(a), 0
    return a, canonical_axis(axis, len(get_aval(a).shape), function)


@one_program("axis kind order stable descending")
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """Sort the elements of an array along an axis; NaN comes last.

    Args:
      a: an array or a number.
      axis: the axis; None to ravel the array first.
      kind, order: None.
      stable: whether equal elements keep their order.
      descending: whether to sort in descending order.

    Raises:
      ValueError: the axis is out of range.

    >>> import primax as px
    >>> px.numpy.sort(px.numpy.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    a, axis = _prepared("sort", a, axis, kind, order)
    (out,) = primitives.sort_p.bind(a, dimension=axis, is_stable=bool(stable), num_keys=1)
    return rev_p.bind(out, dimensions=(axis,)) if descending else out


def top_k(a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True) -> tuple[Any, Any]:
    """The largest or smallest elements along an axis, with their positions.

    NaN is the largest number. Equal elements are taken in their order.

    Args:
      a: an array of real numbers.
      k: the number of elements, from 0 to the length of the axis.
      axis: the axis.
      mode: "largest" or "smallest".
      sorted: ignored: the result is always sorted.

    Returns:
      Two arrays with length `k` along the axis: the elements, the largest or smallest first, and their positions.

    Raises:
      TypeError: `a` is complex.
      ValueError: `axis` is out of range, `k` is negative or exceeds the length of the axis, or `mode` is unknown.

    >>> import primax as px
    >>> px.numpy.top_k(px.numpy.array([3, 1, 2]), 2, mode="smallest")
    (Array([1, 2], dtype=int32), Array([1, 2], dtype=int32))
    """
    shape = aval_of("top_k", a, "a").shape
    if dtypes.is_complex(get_aval(a).dtype):
        raise TypeError(f"top_k: a must be real, got {get_aval(a).str_short()}")
    if not among(mode, ("largest", "smallest")):
        raise ValueError(f"top_k: mode must be 'largest' or 'smallest', got {mode!r}")
    axis = canonical_axis(axis, len(shape), "top_k")
    count = integer("top_k", "k", k)
    if not 0 <= count <= shape[axis]:
        raise ValueError(f"top_k: k must be from 0 to {shape[axis]}, the length of the axis, got {count}")
    if mode == "largest":
        values, positions = primitives.top_k(asarray(a), count, axis=axis)
        return values, positions
    order = argsort(asarray(a), axis)
    positions = convert(order, get_aval(order), np.dtype(np.int32))
    first = slice_p.bind(
        positions,
        start_indices=(0,) * len(shape),
        limit_indices=tuple(count if i == axis else size for i, size in enumerate(shape)),
        strides=None,
    )
    return take_along_axis(a, first, axis), first


@one_program("axis kind order stable descending dtype")
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> Array:
    """The positions that sort an array along an axis.

    Args:
      a: an array or a number.
      axis: the axis; None to ravel the array first.
      kind, order: None.
      stable: whether equal elements keep their order.
      descending: whether to sort in descending order.
      dtype: the dtype of the result; the default int dtype if None.

    Raises:
      ValueError: the axis is out of range.

    >>> import primax as px
    >>> px.numpy.argsort(px.numpy.array([3, 1, 2]))
    Array([1, 2, 0], dtype=int32)
    """
    a, axis = _prepared("argsort", a, axis, kind, order)
    index_type = dtypes.default_int_dtype() if dtype is None else read_dtype(dtype, "argsort")
    return _order(a, axis, index_type, stable, descending)


def _order(a: Any, axis: int, dtype: Any, stable: bool = True, descending: bool = False) -> Array:
    shape = get_aval(a).shape
    places = iota_p.bind(dtype=dtype, shape=shape, dimension=axis)
    if descending:
        # Equal elements keep their order if both the input and the result are reversed.
        a, places = rev_p.bind(a, dimensions=(axis,)), rev_p.bind(places, dimensions=(axis,))
    _, out = primitives.sort_p.bind(a, places, dimension=axis, is_stable=bool(stable), num_keys=1)
    return rev_p.bind(out, dimensions=(axis,)) if descending else out


@one_program("axis batch_size")
def lexsort(keys: Arrays, axis: int = -1, *, batch_size: int = 16) -> Array:
    """The positions that sort elements by several keys; the last key is the primary one.

    Args:
      keys: a sequence of arrays of the same shape.
      axis: the axis.
      batch_size: ignored.

    Raises:
      TypeError: `keys` is empty.
      ValueError: the shapes differ, or `axis` is out of range.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> surnames, names = np.array([2, 1, 2]), np.array([1, 3, 0])
      >>> pnp.lexsort((names, surnames))  # the last key counts most
      Array([1, 2, 0], dtype=int32)
    """
    arrays = sequence("lexsort", "keys", keys)
    if not arrays:
        raise TypeError("lexsort: keys must be one array or more, got none")
    shapes = {aval_of("lexsort", x, i).shape for i, x in enumerate(arrays)}
    if len(shapes) > 1:
        raise ValueError(f"lexsort: keys must be of the same shape, got {sorted(shapes)}")
    (shape,) = shapes
    if not shape:
        return asarray(dtypes.default_int_dtype().type(0))
    axis = canonical_axis(axis, len(shape), "lexsort")
    places = iota_p.bind(dtype=dtypes.default_int_dtype(), shape=shape, dimension=axis)
    *_, out = primitives.sort_p.bind(*arrays[::-1], places, dimension=axis, is_stable=True, num_keys=len(arrays))
    return out


def _kth(function: str, a: Any, kth: Any, axis: int) -> int:
    """A position, counted from the front, after a check."""
    size = get_aval(a).shape[axis]
    position = integer(function, "kth", kth)
    if not -size <= position < size:
        raise ValueError(f"{function}: kth must be in [{-size}, {size}), got {kth}")
    return int(position % size)


def _split_after(x: Any, kth: int, axis: int) -> tuple[Any, Any]:
    """Split along an axis after a position."""
    shape = get_aval(x).shape
    starts, ends = [0] * len(shape), list(shape)
    starts[axis] = ends[axis] = kth + 1
    return (
        slice_p.bind(x, start_indices=(0,) * len(shape), limit_indices=tuple(ends), strides=None),
        slice_p.bind(x, start_indices=tuple(starts), limit_indices=shape, strides=None),
    )


@one_program("kth axis")
def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Partially sort an array: the element at position `kth` is that of the sorted array, and smaller ones precede it.

    Args:
      a: an array of rank 1 or more.
      kth: the position.
      axis: the axis.

    Returns:
      An array like `a`, in ascending order up to the position, and in descending order after it, as in JAX.

    Raises:
      TypeError: `kth` or `axis` is not an integer.
      ValueError: `kth` or `axis` is out of range.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.partition(pnp.array([5, 1, 4, 2]), 1)[:2]
      Array([1, 2], dtype=int32)
    """
    a, axis = _prepared("partition", a, axis, None, None)
    kth = _kth("partition", a, kth, axis)
    first, rest = _split_after(sort(a, axis), kth, axis)
    return concatenate([first, rev_p.bind(rest, dimensions=(axis,))], axis)


@one_program("kth axis")
def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The positions of the elements of `partition`, with its arguments; positions after `kth` ascend, as in JAX.

    Examples:
      >>> import primax.numpy as pnp
      >>> x = pnp.array([5, 1, 4, 2])
      >>> set(x[pnp.argpartition(x, 2)[:2]].tolist())
      {1, 2}
    """
    a, axis = _prepared("argpartition", a, axis, None, None)
    kth = _kth("argpartition", a, kth, axis)
    first, rest = _split_after(argsort(a, axis), kth, axis)
    return concatenate([first, sort(rest, axis)], axis)


@one_program("")
def sort_complex(a: ArrayLike) -> Array:
    """The elements of an array as complex numbers, sorted by real parts, then by imaginary parts.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.sort_complex(pnp.array([2 + 1j, 1 + 5j, 2 - 1j]))
      Array([1.+5.j, 2.-1.j, 2.+1.j], dtype=complex64)
    """
    out = sort(a, -1)
    return convert(out, get_aval(out), dtypes.canonicalize_dtype(dtypes.to_complex_dtype(get_aval(out).dtype)))


@one_program("side method")
def searchsorted(
    a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None, *, method: str = "scan"
) -> Array:
    """The positions at which elements can be inserted into a sorted array to keep it sorted.

    Args:
      a: an array of rank 1, in ascending order.
      v: an array or a number.
      side: "left" for the first such position, "right" for the last.
      sorter: the positions that sort `a`, as returned by `argsort`; None if `a` is sorted.
      method: "scan" for a binary search in a loop, or for comparing all pairs if there are few; "scan_unrolled" for a
        binary search without a loop; "compare_all" for comparing all pairs; "sort" for sorting all elements together.

    Returns:
      Positions in the shape of `v`, of the default int dtype, or of int64 if `a` has 2^31 elements or more.

    Raises:
      TypeError: `a` is not of rank 1.
      ValueError: `side` or `method` is unknown.

    >>> import primax as px
    >>> px.numpy.searchsorted(px.numpy.array([1, 2, 2, 3]), 2, side="right")
    Array(3, dtype=int32)
    """
    if not among(side, ("left", "right")):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    if not among(method, _SEARCHES):
        raise ValueError(f"searchsorted: method must be one of {', '.join(_SEARCHES)}, got {method!r}")
    aval = aval_of("searchsorted", a, "a")
    aval_of("searchsorted", v, "v")
    if len(aval.shape) != 1:
        raise TypeError(f"searchsorted: a must be of rank 1, got {aval.str_short()}")
    if sorter is not None:
        a = take(a, sorter)
        aval = aval_of("searchsorted", a, "sorter")
    dtype = dtypes.default_int_dtype()
    return _searched(a, v, side, method, dtype if dtype.itemsize == 8 else index_dtype(aval.size))


def _searched(a: Any, v: Any, side: str, method: str, dtype: Any) -> Array:
    a, v = promote("searchsorted", a, v)
    aval, query = get_aval(a), get_aval(v)
    flat = reshaped(v, (query.size,))
    few = not is_symbolic((*aval.shape, *query.shape)) and (
        aval.size <= _FEW_ELEMENTS or aval.size * query.size <= _MOST_COMPARISONS
    )
    search = _by_comparing if few and method == "scan" else _SEARCHES[method]
    if dtypes.is_complex(aval.dtype):
        # Only sorting orders complex numbers.
        search = _by_sorting
    positions = search(a, flat, side)
    return reshaped(convert(positions, get_aval(positions), dtype), query.shape)


def _by_comparing(a: Any, v: Any, side: str) -> Array:
    count, size = get_aval(v).shape[0], get_aval(a).shape[0]
    a = broadcast_to_shape(reshaped(a, (1, size)), (count, size))
    v = broadcast_to_shape(reshaped(v, (count, 1)), (count, size))
    before = _precedes(a, v, side)
    return reduce_sum_p.bind(convert(before, get_aval(before), index_dtype(size)), axes=(1,))


def _precedes(x: Any, v: Any, side: str) -> Array:
    """Whether elements of the sorted array precede the position of v; NaN comes last."""
    before = (comparison.lt_p if side == "left" else comparison.le_p).bind(x, v)
    if not dtypes.is_floating(get_aval(x).dtype):
        return before
    last = isnan(v) if side == "right" else bitwise.and_p.bind(isnan(v), bitwise.not_p.bind(isnan(x)))
    return bitwise.or_p.bind(before, last)


def _by_halving(a: Any, v: Any, side: str, unrolled: bool = False) -> Array:
    """Binary search with steps that halve each time; a step is taken if the last element it skips precedes v."""
    count, size = get_aval(v).shape[0], get_aval(a).shape[0]
    dtype = index_dtype(size)
    place = broadcast_to_shape(as_scalar(0, dtype), (count,))
    if not is_symbolic((size,)) and not size:
        return place
    end = broadcast_to_shape(as_scalar(size, dtype), (count,))
    one = dtype.type(1)
    unit = broadcast_to_shape(one, (count,))

    def advance(place: Any, step: Any) -> Any:
        further = place + broadcast_to_shape(step, (count,))
        before = _precedes(take_rows(a, arithmetic.sub_p.bind(further, unit)), v, side)
        return choose(bitwise.and_p.bind(comparison.le_p.bind(further, end), before), further, place)

    def search(_: Any, state: Any) -> tuple[Any, Any]:
        place, step = state
        return advance(place, step), shift_right_logical_p.bind(step, one)

    steps = 8 * dtype.itemsize - 1 if is_symbolic((size,)) else size.bit_length()
    first = dtype.type(1 << (steps - 1))
    if not unrolled:
        return fori_loop(0, steps, search, (place, first))[0]
    for i in range(steps):
        place = advance(place, dtype.type(1 << (steps - 1 - i)))
    return place


def _by_unrolled_halving(a: Any, v: Any, side: str) -> Array:
    return _by_halving(a, v, side, unrolled=True)


def _by_sorting(a: Any, v: Any, side: str) -> Array:
    """Sort all elements together: the rank of v, less the number of smaller elements of v, is its position in a."""
    count, size = get_aval(v).shape[0], get_aval(a).shape[0]
    dtype = index_dtype(size + count)
    together = concatenate([v, a] if side == "left" else [a, v])
    ranks = _order(_order(together, 0, dtype), 0, dtype)
    start = 0 if side == "left" else size
    among_all = slice_p.bind(ranks, start_indices=(start,), limit_indices=(start + count,), strides=None)
    return arithmetic.sub_p.bind(among_all, _order(_order(v, 0, dtype), 0, dtype))


_SEARCHES: dict[str, Callable[[Any, Any, str], Any]] = {
    "scan": _by_halving,
    "scan_unrolled": _by_unrolled_halving,
    "sort": _by_sorting,
    "compare_all": _by_comparing,
}


def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None) -> Array:
    """The bin of each element.

    Args:
      x: an array or a number.
      bins: an array of rank 1, in ascending or descending order.
      right: whether bins include their right end instead of their left end.
      method: see `searchsorted`.

    Raises:
      ValueError: `bins` is not of rank 1.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.digitize(pnp.array([0.5, 1.0, 9.0]), pnp.array([1.0, 2.0]))
      Array([0, 1, 2], dtype=int32)
      >>> pnp.digitize(pnp.array([0.5, 1.0, 9.0]), pnp.array([1.0, 2.0]), right=True)
      Array([0, 0, 2], dtype=int32)
    """
    aval = aval_of("digitize", bins, "bins")
    if len(aval.shape) != 1:
        raise ValueError(f"digitize: bins must be of rank 1, got {aval.str_short()}")
    side = "left" if right else "right"
    method = "scan" if method is None else method
    if not among(method, _SEARCHES):
        raise ValueError(f"digitize: method must be one of {', '.join(_SEARCHES)}, got {method!r}")
    aval_of("digitize", x, "x")
    if aval.size < 2:
        return _searched(bins, x, side, method, index_dtype(1))
    return _digitized(x, bins, side, method)


@one_program(static=2)
def _digitized(x: Any, bins: Any, side: str, method: str) -> Array:
    bins = asarray(bins)
    flipped = bins[-1] < bins[0]
    positions = _searched(
        choose(flipped, rev_p.bind(bins, dimensions=(0,)), bins), x, side, method, index_dtype(bins.shape[0])
    )
    return choose(flipped, get_aval(positions).dtype.type(bins.shape[0]) - positions, positions)


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Whether each element occurs in another array.

    Args:
      element: an array or a number.
      test_elements: the values to look for, an array or a number.
      assume_unique: ignored.
      invert: whether to return whether each element does not occur.
      method: "compare_all" to compare all pairs; "binary_search" or "sort" to sort `test_elements` first; "auto" for
        the cheaper one.

    Raises:
      ValueError: `method` is unknown.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.isin(pnp.array([[1, 2], [3, 4]]), pnp.array([2, 4, 9]), invert=True)
      Array([[ True, False],
             [ True, False]], dtype=bool)
    """
    if not among(method, ("auto", "compare_all", "binary_search", "sort")):
        raise ValueError(f"isin: method must be auto, compare_all, binary_search or sort, got {method!r}")
    aval_of("isin", element, "element"), aval_of("isin", test_elements, "test_elements")
    contained = _is_in(element, test_elements, method)
    return bitwise.not_p.bind(contained) if invert else contained


@one_program(static=2)
def _is_in(element: Any, test_elements: Any, method: str) -> Array:
    x, others = promote("isin", element, test_elements)
    shape, size = get_aval(x).shape, get_aval(others).size
    others = reshaped(others, (size,))
    few = bounds(math.prod(shape) * size)[1] <= _MOST_COMPARISONS
    if not size or method == "compare_all" or (method == "auto" and few):
        wide = (*shape, size)
        spread = broadcast_to_shape(reshaped(x, (*shape, 1)), wide)
        same = comparison.eq_p.bind(spread, broadcast_to_shape(others, wide))
        return reduce_or_p.bind(same, axes=(len(shape),))
    others, flat = sort(others), reshaped(x, (math.prod(shape),))
    place = _searched(others, flat, "left", "sort" if method == "sort" else "scan", index_dtype(get_aval(others).size))
    return reshaped(comparison.eq_p.bind(take_rows(others, place), flat), shape)
