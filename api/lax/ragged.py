"""Products of groups of rows, whose sizes are arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import integers, sequence
from primax.extend.provisional.precision import PrecisionLike
from primax.extend.provisional.typing import ArrayLike, DTypeLike, ShardingLike
from primax.plugins.arithmetic import sub_p
from primax.plugins.bitwise import and_p
from primax.plugins.comparison import le_p, lt_p
from primax.plugins.cumulative import cumsum_p
from primax.plugins.dot import dot_general
from primax.plugins.resharding import divided_call
from primax.plugins.structural import broadcast_in_dim_p, iota_p, select_n_p, transpose_p, zeros_of

__all__ = ["RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general"]


@dataclass(frozen=True, slots=True)
class RaggedDotDimensionNumbers:
    """The corresponding dimensions of two arrays, and the dimension that is divided into groups.

    Attributes:
      dot_dimension_numbers: as for `dot_general`.
      lhs_ragged_dimensions: the dimension of `lhs` that is divided into groups, in a sequence.
      rhs_group_dimensions: the dimension of `rhs` that counts groups, in a sequence; or an empty sequence.
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]

    def __post_init__(self) -> None:
        for name in ("lhs_ragged_dimensions", "rhs_group_dimensions"):
            object.__setattr__(self, name, tuple(sequence("RaggedDotDimensionNumbers", name, getattr(self, name))))


_MATRICES = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The products of groups of rows, each with its own matrix.

    Args:
      lhs: an array of shape (m, k): the rows of group 0, then those of group 1, and so on.
      rhs: an array of shape (g, k, n): one matrix per group.
      group_sizes: integers of shape (g,): the number of rows in each group.
      precision: see `dot_general`.
      preferred_element_type: see `dot_general`.
      group_offset: None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Returns:
      An array of shape (m, n); rows after the last group are zero.

    Raises:
      TypeError: shapes do not match, or `group_sizes` are not integers.

    >>> import primax as px
    >>> matrices = px.numpy.array([[[1.]], [[5.]]])
    >>> px.lax.ragged_dot(px.numpy.array([[1.], [2.], [3.]]), matrices, px.numpy.array([2, 1])).ravel()
    Array([ 1.,  2., 15.], dtype=float32)
    """
    if out_sharding is not None:
        return divided_call(
            ragged_dot, (lhs, rhs, group_sizes, precision, preferred_element_type, group_offset), {}, out_sharding
        )
    for name, x, rank in (("lhs", lhs, 2), ("rhs", rhs, 3)):
        if len(get_aval(x).shape) != rank:
            raise TypeError(f"ragged_dot: {name} must have rank {rank}, got {get_aval(x).str_short()}")
    return ragged_dot_general(lhs, rhs, group_sizes, _MATRICES, precision, preferred_element_type, group_offset)


def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """`dot_general` for groups of the elements of one dimension of `lhs`, the ragged dimension.

    If the ragged dimension is neither a batch dimension nor contracted, `rhs` has a group dimension, and each group of
    `lhs` is multiplied by its part of `rhs`. If it is contracted, the result has a leading group dimension with the
    product of each group. If it is a batch dimension, the groups have no effect.

    Args:
      lhs: an array.
      rhs: an array.
      group_sizes: integers of shape (g,), the sizes of groups. They may have leading dimensions, along which they vary:
        the batch dimensions, and the dimensions of the ragged dimension's kind that precede it.
      ragged_dot_dimension_numbers: a `RaggedDotDimensionNumbers`.
      precision: see `dot_general`.
      preferred_element_type: see `dot_general`.
      group_offset: None.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; inferred if None.

    Returns:
      The array that `dot_general` returns, with a leading group dimension if the ragged dimension is contracted.

    Raises:
      TypeError: shapes do not match, or `group_sizes` are not integers.
      NotImplementedError: `group_offset` is not None.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> rows = np.arange(6, dtype=np.float32).reshape(3, 2)
      >>> groups = np.float32([np.eye(2), 10 * np.eye(2)])
      >>> numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])
      >>> lax.ragged_dot_general(rows, groups, np.array([1, 2]), numbers)  # one row for the first group
      Array([[ 0.,  1.],
             [20., 30.],
             [40., 50.]], dtype=float32)
    """
    if out_sharding is not None:
        return divided_call(
            ragged_dot_general,
            (lhs, rhs, group_sizes, ragged_dot_dimension_numbers, precision, preferred_element_type, group_offset),
            {},
            out_sharding,
        )
    name = "ragged_dot_general"
    if group_offset is not None:
        raise NotImplementedError(f"{name}: group_offset must be None, got {group_offset!r}")
    numbers = ragged_dot_dimension_numbers
    if not isinstance(numbers, RaggedDotDimensionNumbers):
        raise TypeError(
            f"{name}: ragged_dot_dimension_numbers must be RaggedDotDimensionNumbers, got {type(numbers).__name__}"
        )
    (contract, rhs_contract), (batch, rhs_batch) = (
        tuple(integers(dims, name, "dot_dimension_numbers") for dims in pair) for pair in numbers.dot_dimension_numbers
    )
    ragged, groups = _dimensions(name, numbers, get_aval(lhs), get_aval(rhs))
    sizes = get_aval(group_sizes)
    if not dtypes.is_integer(sizes.dtype) or not sizes.shape:
        raise TypeError(f"{name}: group_sizes must be integers of rank 1 or more, got {sizes.str_short()}")
    options = (precision, preferred_element_type)
    if ragged in batch:
        return dot_general(lhs, rhs, ((contract, rhs_contract), (batch, rhs_batch)), *options)
    free = [d for d in range(get_aval(lhs).ndim) if d not in contract and d not in batch]
    before = [d for d in (contract if ragged in contract else free) if d < ragged]
    parts = _grouped(name, lhs, group_sizes, ragged, [*batch, *before])
    moved_contract, moved_batch = tuple([d + 1 for d in contract]), tuple([d + 1 for d in batch])
    if ragged in contract:
        if groups is not None:
            raise TypeError(f"{name}: rhs_group_dimensions must be empty where the ragged dimension is contracted")
        out = dot_general(parts, rhs, ((moved_contract, rhs_contract), (moved_batch, rhs_batch)), *options)
        count = len(batch)
        order = (count, *range(count), *range(count + 1, get_aval(out).ndim))
        return transpose_p.bind(out, permutation=order) if count else out
    if groups is None:
        raise TypeError(f"{name}: rhs_group_dimensions must hold one dimension for a ragged one that is not contracted")
    if get_aval(rhs).shape[groups] != sizes.shape[-1]:
        raise TypeError(
            f"{name}: rhs must have one part per group, {sizes.shape[-1]}, got {get_aval(rhs).shape[groups]} in "
            f"dimension {groups} of {get_aval(rhs).str_short()}"
        )
    dims = ((0, *moved_contract), (groups, *rhs_contract)), (moved_batch, rhs_batch)
    return dot_general(parts, rhs, dims, *options)


def _dimensions(name: str, numbers: Any, lhs: Any, rhs: Any) -> tuple[int, int | None]:
    ragged = integers(numbers.lhs_ragged_dimensions, name, "lhs_ragged_dimensions")
    groups = integers(numbers.rhs_group_dimensions, name, "rhs_group_dimensions")
    if len(ragged) != 1 or not 0 <= ragged[0] < lhs.ndim:
        raise TypeError(f"{name}: lhs_ragged_dimensions must be one dimension of {lhs.str_short()}, got {ragged}")
    if len(groups) > 1 or any(not 0 <= d < rhs.ndim for d in groups):
        raise TypeError(f"{name}: rhs_group_dimensions must be none or one of {rhs.str_short()}, got {groups}")
    return ragged[0], groups[0] if groups else None


def _grouped(name: str, x: Any, group_sizes: Any, ragged: int, leading: Sequence[int]) -> Array:
    """The array repeated for each group along a new first axis, with zeros outside of the group."""
    aval, sizes = get_aval(x), get_aval(group_sizes)
    leading_shape = tuple([aval.shape[d] for d in leading])
    if sizes.shape[:-1] not in ((), leading_shape):
        raise TypeError(
            f"{name}: group_sizes must be of shape (g,) or ({', '.join(map(str, (*leading_shape, 'g')))}), "
            f"got {sizes.str_short()} for {aval.str_short()}"
        )
    shape = (sizes.shape[-1], *aval.shape)
    rank = sizes.ndim - 1
    ends = cumsum_p.bind(group_sizes, axis=rank, reverse=False)
    dims = (*(d + 1 for d in (leading if rank else ())), 0)
    low, high = (_spread(bound, shape, dims) for bound in (sub_p.bind(ends, group_sizes), ends))
    place = iota_p.bind(dtype=sizes.dtype, shape=shape, dimension=ragged + 1)
    within = and_p.bind(le_p.bind(low, place), lt_p.bind(place, high))
    repeated = broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=tuple(range(1, len(shape))))
    return select_n_p.bind(within, zeros_of(get_aval(repeated)), repeated)


def _spread(x: Any, shape: tuple[int, ...], dims: tuple[int, ...]) -> Array:
    """Broadcast an array whose axes are axes `dims` of a shape, in any order."""
    order = tuple(np.argsort(dims).tolist())
    x = transpose_p.bind(x, permutation=order) if order != tuple(range(len(dims))) else x
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=tuple(sorted(dims)))
