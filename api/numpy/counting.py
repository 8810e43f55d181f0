"""Counts of numbers and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, Tracer, get_aval, tree
from primax.extend.provisional.arguments import integer, naming, sequence
from primax.extend.provisional.typing import ArrayLike, ShardingLike
from primax.numpy.conversion import asarray
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, broadcast_to_shape, cast, promote
from primax.numpy.ranges import linspace
from primax.numpy.reductions import FLOAT32, is_half
from primax.numpy.rows import add_rows, concrete
from primax.numpy.selection import choose
from primax.numpy.shaping import ravel, reshaped
from primax.numpy.sorting import searchsorted
from primax.plugins.arithmetic import max_p
from primax.plugins.calls import jit
from primax.plugins.comparison import eq_p
from primax.plugins.resharding import divided_call
from primax.plugins.structural import slice_p, unstack_p

__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The number of occurrences of each integer from 0.

    Args:
      x: an array of integers or booleans, of rank 1; negative integers count as 0.
      weights: the weight of each element, an array of the shape of `x`; 1 if None.
      minlength: the minimal length of the result; only used if `length` is None.
      length: the length of the result; larger numbers are ignored. If None, the largest element plus 1, and `x` must
        not be traced.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Raises:
      TypeError: `x` does not hold integers.
      ValueError: `x` is not of rank 1, or `weights` has another shape.
      ConcretizationTypeError: `x` is traced and `length` is None.

    >>> import primax as px
    >>> px.numpy.bincount(px.numpy.array([1, 1, 3]))
    Array([0, 2, 0, 1], dtype=int32)
    """
    if out_sharding is not None:
        return divided_call(bincount, (x, weights, minlength), {"length": length}, out_sharding)
    aval = aval_of("bincount", x, "x")
    if not (dtypes.is_integer(aval.dtype) or dtypes.is_bool(aval.dtype)):
        raise TypeError(f"bincount: x must be integers, got {aval.str_short()}")
    if len(aval.shape) != 1:
        raise ValueError(f"bincount: x must be of rank 1, got {aval.str_short()}")
    if length is None:
        known = concrete("bincount", "x", x, "length")
        length = max(minlength, 1 + int(known.max()) if known.size else 0, 1 if known.size else 0)
    length = integer("bincount", "length", length)
    if weights is not None and aval_of("bincount", weights, "weights").shape != aval.shape:
        raise ValueError(f"bincount: weights must have the shape of x, {aval.shape}, got {get_aval(weights).shape}")
    return _counted(x, weights, length)


@one_program(static=2)
def _counted(x: Any, weights: Any, length: int) -> Array:
    shape = get_aval(x).shape
    if dtypes.is_bool(get_aval(x).dtype):
        x = cast(x, dtypes.default_int_dtype())
    if weights is None:
        weights = broadcast_to_shape(dtypes.default_int_dtype().type(1), shape)
    dtype = get_aval(weights).dtype
    if is_half(dtype):
        return cast(_counted(x, cast(weights, FLOAT32), length), dtype)
    zero = np.zeros((), dtype)[()]
    places = max_p.bind(x, get_aval(x).dtype.type(0))
    return add_rows(broadcast_to_shape(zero, (length,)), places, weights)


def histogram_bin_edges(
    a: ArrayLike, bins: ArrayLike | str = 10, range: ArrayLike | Sequence[ArrayLike] | None = None, weights: None = None
) -> Array:
    """The edges of equally wide bins that contain all elements of an array.

    Args:
      a: an array.
      bins: the number of bins, or the edges, which are then returned.
      range: the first and the last edge; the minimum and maximum if None. If both are equal, the bins extend 0.5 to
        each side.
      weights: ignored.

    Returns:
      An array of `bins + 1` edges.

    Raises:
      TypeError: `bins` is a string.
      ValueError: `bins` is below 1, edges decrease, or `range` is not two finite numbers in ascending order. Traced
        values are not checked.

    >>> import primax as px
    >>> px.numpy.histogram_bin_edges(px.numpy.array([1., 2., 5.]), bins=2)
    Array([1., 3., 5.], dtype=float32)
    """
    _check_bins("histogram_bin_edges", bins, range)
    return _finite("histogram_bin_edges", bins, _edges("histogram_bin_edges", a, bins, range))


def _check_bins(function: str, bins: Any, range: Any) -> None:
    """Check the known values of bins and range."""
    if isinstance(bins, str):
        raise TypeError(f"{function}: bins must be a number or edges, got {bins!r}")
    if not _is_sequence(bins):
        if (count := integer(function, "bins", bins)) < 1:
            raise ValueError(f"{function}: bins must be 1 or more, got {count}")
    elif _known(bins):
        edges = _host_edges(function, "bins", bins)
        if (edges[:-1] > edges[1:]).any():
            raise ValueError(f"{function}: bins must be edges that do not decrease, got {edges.tolist()}")
    if range is not None and not _is_sequence(bins) and _known(range):
        if np.shape(edges := _host_edges(function, "range", range)) != (2,):
            raise ValueError(f"{function}: range must be two numbers, got {range!r}")
        low, high = edges
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise ValueError(f"{function}: range must be two finite numbers in order, got {low} and {high}")


def _host_edges(function: str, argument: str, values: Any) -> np.ndarray:
    with naming(function):
        edges = np.asarray(values)
    if edges.dtype.kind not in "biuf":
        raise TypeError(f"{function}: {argument} must consist of real numbers, got {values!r}")
    return edges


def _known(values: Any) -> bool:
    return not any(isinstance(x, Tracer) for x in tree.tree_leaves(values))


def _finite(function: str, bins: Any, edges: Any) -> Array:
    """Return edges after a check that they are finite; infinite or NaN elements lead to edges that are not."""
    if _is_sequence(bins) or isinstance(edges, Tracer) or np.isfinite(np.asarray(edges)).all():
        return edges
    raise ValueError(f"{function}: a must be finite where range is None, got elements that are NaN or infinite")


def _edges(function: str, a: Any, bins: Any, range: Any) -> tuple[Array, Array] | Array:
    aval = aval_of(function, a, "a")
    dtype = dtypes.to_inexact_dtype(aval.dtype)
    if _is_sequence(bins):
        edges = asarray(bins)
        return cast(edges, dtypes.result_type(dtype, edges) if dtypes.is_inexact(edges.dtype) else dtype)
    if range is None:
        low, high = (asarray(a).min(), asarray(a).max()) if aval.size else (0.0, 1.0)
    else:
        pair = sequence(function, "range", range)
        if len(pair) != 2:
            raise ValueError(f"{function}: range must be two numbers, got {range!r}")
        low, high = pair
    low, high = cast(asarray(low), dtype), cast(asarray(high), dtype)
    same = eq_p.bind(low, high)
    half = dtype.type(0.5)
    return linspace(choose(same, low - half, low), choose(same, high + half, high), int(bins) + 1, dtype=dtype)


def _is_sequence(bins: Any) -> bool:
    return isinstance(bins, list | tuple) or len(aval_of("histogram", bins, "bins").shape) == 1


def histogram(
    a: ArrayLike,
    bins: ArrayLike | str = 10,
    range: ArrayLike | Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
    out_sharding: ShardingLike | None = None,
) -> tuple[Any, Array] | Array:
    """The number of elements of an array in each bin.

    Args:
      a: an array.
      bins: the number of bins, or their edges in ascending order.
      range: the first and the last edge; see `histogram_bin_edges`.
      weights: the weight of each element, an array of the shape of `a`; 1 if None.
      density: whether to normalize: the integral of the result over the bins is then 1.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Returns:
      The counts, and the edges. A bin includes its left edge; the last bin includes both edges.

    Raises:
      TypeError: `bins` is a string.
      ValueError: `weights` has another shape, or `bins` or `range` is invalid; see `histogram_bin_edges`.

    >>> import primax as px
    >>> counts, edges = px.numpy.histogram(px.numpy.array([1., 2., 2., 4.]), bins=3)
    >>> counts
    Array([1., 2., 1.], dtype=float32)
    """
    if out_sharding is not None:
        return divided_call(histogram, (a, bins, range, weights, density), {}, out_sharding)
    _check_bins("histogram", bins, range)
    shape = aval_of("histogram", a, "a").shape
    if weights is not None and aval_of("histogram", weights, "weights").shape != shape:
        raise ValueError(f"histogram: weights must have the shape of a, {shape}, got {get_aval(weights).shape}")
    count = None if _is_sequence(bins) else integer("histogram", "bins", bins)
    counts, edges = _compiled_histogram(a, bins if count is None else None, range, weights, count, bool(density))
    return counts, _finite("histogram", bins, edges)


def _histogram(a: Any, edges: Any, range: Any, weights: Any, bins: int | None, density: bool) -> tuple[Any, Any]:
    edges = _edges("histogram", a, edges if bins is None else bins, range)
    shape = get_aval(a).shape
    if weights is None:
        weights = broadcast_to_shape(dtypes.to_inexact_dtype(get_aval(a).dtype).type(1), shape)
    else:
        _, weights = promote("histogram", a, weights, to=dtypes.to_inexact_dtype)
    a = cast(a, dtypes.to_inexact_dtype(get_aval(a).dtype))
    a, edges = promote("histogram", a, edges)
    counts = _counted(_bins_of(ravel(a), edges), ravel(weights), edges.shape[0] + 1)
    counts = slice_p.bind(counts, start_indices=(1,), limit_indices=(edges.shape[0],), strides=None)
    if density:
        widths = edges[1:] - edges[:-1]
        counts = counts / widths / counts.sum()
    return counts, edges


# One call in programs, and one program outside of them.
_compiled_histogram = jit(_histogram, static_argnums=(4, 5))


def _bins_of(x: Any, edges: Any) -> Array:
    """The bin of each element: 0 before the first edge, and the number of edges after the last."""
    x, count = cast(x, dtypes.to_inexact_dtype(get_aval(x).dtype)), edges.shape[0]
    bins = searchsorted(edges, x, "right")
    last = broadcast_to_shape(edges[count - 1], x.shape)
    return choose(eq_p.bind(*promote("histogram", x, last)), np.asarray(count - 1, bins.dtype)[()], bins)


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[Sequence[float] | None] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Any, ...]:
    """The number of points in each rectangle of a grid in the plane.

    Args:
      x, y: the coordinates, arrays of rank 1.
      bins: the number of bins along both axes, or their edges; or a pair of these, one for each axis.
      range: for each axis a pair, the first and the last edge.
      weights: the weight of each point; 1 if None.
      density: whether to normalize: the integral of the result is then 1.

    Returns:
      The count of each rectangle, and the edges along both axes.

    Examples:
      >>> import primax.numpy as pnp
      >>> counts, rows, columns = pnp.histogram2d(pnp.array([0.0, 1.0, 1.0]), pnp.array([0.0, 0.0, 2.0]), bins=2)
      >>> counts, columns
      (Array([[1, 0],
             [1, 1]], dtype=int32), Array([0., 1., 2.], dtype=float32))
    """
    shapes = [aval_of("histogram2d", v, name).shape for v, name in ((x, "x"), (y, "y"))]
    if shapes[0] != shapes[1] or len(shapes[0]) != 1:
        raise ValueError(f"histogram2d: x and y must be of rank 1 and the same length, got {shapes[0]} and {shapes[1]}")
    each: Any = bins
    if _is_sequence(each) and len(each) != 2:
        each = [bins, bins]
    counts, edges = histogramdd((x, y), each, range, weights, density)
    return counts, *edges


def histogramdd(
    sample: ArrayLike | Sequence[ArrayLike],
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[Sequence[float] | None] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Any, Any]:
    """The number of points in each box of a grid.

    Args:
      sample: an array of shape (n, d), or d arrays of length n.
      bins: the number of bins along all axes; or for each axis its number of bins or its edges.
      range: for each axis a pair, the first and the last edge, or None.
      weights: the weight of each point, an array of length n; 1 if None.
      density: whether to normalize: the integral of the result is then 1.

    Returns:
      The count of each box, and a list of the edges along each axis.

    Raises:
      ValueError: `bins`, `range` or `weights` has the wrong length.

    Examples:
      >>> import primax.numpy as pnp
      >>> counts, edges = pnp.histogramdd(pnp.array([[0.0, 0.0], [1.0, 2.0]]), bins=(1, 2))
      >>> counts, len(edges)
      (Array([[1, 1]], dtype=int32), 2)
    """
    columns = list(sample) if isinstance(sample, tuple | list) else list(unstack_p.bind(_points(sample), axis=1))
    if not columns or any(len(aval_of("histogramdd", x, "sample").shape) != 1 for x in columns):
        raise ValueError("histogramdd: sample must be of shape (n, d), or d arrays of rank 1")
    columns = [asarray(column) for column in promote("histogramdd", *columns)]
    count, rank = columns[0].shape[0], len(columns)
    given: Any = bins
    bins = list(given) if _is_sequence(given) else [given] * rank
    range = [None] * rank if range is None else sequence("histogramdd", "range", range)
    if len(bins) != rank or len(range) != rank:
        raise ValueError(
            f"histogramdd: bins and range must have one entry per axis, {rank}, got {len(bins)} and {len(range)}"
        )
    if weights is not None and aval_of("histogramdd", weights, "weights").shape != (count,):
        raise ValueError(f"histogramdd: weights must have length {count}, got shape {get_aval(weights).shape}")
    if weights is not None:
        _, weights = promote("histogramdd", columns[0], weights, to=dtypes.to_inexact_dtype)
    edges = []
    for x, b, r in zip(columns, bins, range, strict=True):
        _check_bins("histogramdd", b, r)
        edges.append(_finite("histogramdd", b, _edges("histogramdd", x, b, r)))
    shape = tuple([edge.shape[0] + 1 for edge in edges])
    place: Any = None
    for x, edge, size in zip(columns, edges, shape, strict=True):
        bin_numbers = _bins_of(x, edge)
        place = bin_numbers if place is None else place * size + bin_numbers
    counts = reshaped(_counted(place, weights, int(np.prod(shape))), shape)
    inner = tuple([size - 1 for size in shape])
    counts = slice_p.bind(counts, start_indices=(1,) * rank, limit_indices=inner, strides=None)
    if density:
        counts = counts / counts.sum()
        for axis, edge in enumerate(edges):
            widths = edge[1:] - edge[:-1]
            counts = counts / reshaped(widths, (*[1] * axis, widths.shape[0], *[1] * (rank - axis - 1)))
    return counts, edges


def _points(sample: Any) -> Array:
    aval = aval_of("histogramdd", sample, "sample")
    if len(aval.shape) != 2:
        raise ValueError(f"histogramdd: sample must be of shape (n, d), got {aval.str_short()}")
    return sample
