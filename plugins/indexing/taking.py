"""Elements of arrays along axes, at positions in arrays of integers: the most common gathers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.provisional.arguments import canonical_axes
from primax.extend.provisional.typing import ArrayLike
from primax.plugins.arithmetic import rem
from primax.plugins.indexing.dimensions import GatherDimensionNumbers, GatherScatterMode, as_scatter
from primax.plugins.indexing.positions import from_the_end
from primax.plugins.indexing.primitives import gather_p, scatter_p
from primax.plugins.structural import broadcast_in_dim_p, concatenate_p, convert_element_type_p, zeros_of


def index_take(src: ArrayLike, idxs: ArrayLike | Sequence[ArrayLike], axes: Sequence[int]) -> Array:
    """Elements of an array at positions along some of its axes.

    Args:
      src: an array.
      idxs: for each axis the positions, arrays of integers of rank 1 and of the same length, modulo the length of the
        axis.
      axes: the axes.

    Returns:
      An array with an axis for the positions first, then the axes of `src` that are not among `axes`.

    Raises:
      TypeError: the number of arrays of integers is not that of axes.
      ValueError: an axis is out of range or repeated.

    >>> import primax as px
    >>> x = px.numpy.arange(6).reshape(2, 3)
    >>> px.lax.index_take(x, (px.numpy.array([1, 0]), px.numpy.array([2, -1])), (0, 1))
    Array([5, 2], dtype=int32)
    """
    shape = get_aval(src).shape
    axes = canonical_axes(axes, len(shape), "index_take")
    given: Any = idxs
    arrays = list(given) if isinstance(given, tuple | list) or len(get_aval(given).shape) > 1 else [given]
    avals = [get_aval(x) for x in arrays]
    if len(arrays) != len(axes):
        raise TypeError(f"index_take: idxs must hold one array per axis, got {len(arrays)} for axes {axes}")
    for aval in avals:
        if len(aval.shape) != 1 or aval.shape != avals[0].shape or not dtypes.is_integer(aval.dtype):
            raise TypeError(
                f"index_take: idxs must be integers of rank 1 and of the same length, got {aval.str_short()}"
            )
    dtype = dtypes.result_type(*avals)
    columns = []
    for x, d in zip(arrays, axes, strict=True):
        if get_aval(x).dtype != dtype:
            x = convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)
        x = from_the_end(rem(x, dtype.type(shape[d])), shape[d])
        columns.append(broadcast_in_dim_p.bind(x, shape=(*avals[0].shape, 1), broadcast_dimensions=(0,)))
    kept = len(shape) - len(axes)
    vectors = columns[0] if len(columns) == 1 else concatenate_p.bind(*columns, dimension=1)
    return gather_p.bind(
        src,
        vectors,
        dimension_numbers=GatherDimensionNumbers(tuple(range(1, kept + 1)), tuple(sorted(axes)), axes),
        slice_sizes=tuple([1 if d in axes else size for d, size in enumerate(shape)]),
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )


def along(rank: int, axis: int) -> GatherDimensionNumbers:
    """The dimension numbers for one element per index along an axis; other axes correspond to those of the indices."""
    others = tuple([d for d in range(rank) if d != axis])
    return GatherDimensionNumbers((), (axis,), (axis,), others, others)


def _as_vectors(positions: Any) -> Array:
    """Positions as index vectors of one element."""
    shape = get_aval(positions).shape
    return broadcast_in_dim_p.bind(positions, shape=(*shape, 1), broadcast_dimensions=tuple(range(len(shape))))


def take_along(x: Any, positions: Any, axis: int, unique: bool = False) -> Array:
    """`x[.., positions[.., i, ..], ..]` for positions that are known to be inside.

    Args:
      x: an array.
      positions: integers, in an array with the shape of `x` except along the axis.
      axis: the axis.
      unique: whether the positions are all different.
    """
    aval, shape = get_aval(x), get_aval(positions).shape
    if 0 in shape:
        return zeros_of(ShapedArray(shape, aval.dtype, aval.weak_type))
    rank = len(shape)
    return gather_p.bind(
        x,
        _as_vectors(positions),
        dimension_numbers=along(rank, axis),
        slice_sizes=(1,) * rank,
        indices_are_sorted=False,
        unique_indices=unique,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )


def put_along(x: Any, positions: Any, axis: int, size: int) -> Array:
    """The transpose of `take_along`: elements at positions along an axis, in an array of zeros.

    Args:
      x: the elements.
      positions: their positions, integers in an array of the shape of `x`; no two of a row are equal.
      axis: the axis.
      size: the length of the result along it.
    """
    aval = get_aval(x)
    shape = aval.shape
    zeros = zeros_of(ShapedArray((*shape[:axis], size, *shape[axis + 1 :]), aval.dtype))
    if 0 in shape:
        return zeros
    rank = len(shape)
    return scatter_p.bind(
        zeros,
        _as_vectors(positions),
        x,
        dimension_numbers=as_scatter(along(rank, axis)),
        indices_are_sorted=False,
        unique_indices=True,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
    )
