"""Products of matrices with low-precision elements and a scale for each block."""

from __future__ import annotations

from typing import Any

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.typing import ArrayLike, DotDimensionNumbers, DTypeLike
from primax.plugins.dot import dot_general
from primax.plugins.structural import broadcast_in_dim, convert_element_type, reshape

__all__ = ["scaled_dot"]


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: DotDimensionNumbers | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """`dot_general` of operands times their scales.

    Args:
      lhs: an array.
      rhs: an array.
      lhs_scale: factors of `lhs`, an array of its rank, whose axes may be n times shorter: a factor then belongs to n
        elements. 1 if None.
      rhs_scale: factors of `rhs`.
      dimension_numbers: as for `dot_general`. By default the last axis of `lhs` and the first axis of `rhs` after batch
        axes are contracted; all axes of `lhs` except its last two are batch axes.
      preferred_element_type: the dtype of the result; bfloat16 by default.

    Raises:
      TypeError: a scale does not have the operand's rank, or a size of the operand is not a multiple of the
        scale's size.

    >>> import primax as px
    >>> import primax.numpy as pnp
    >>> px.lax.scaled_dot(pnp.ones((1, 4)), pnp.ones((4, 1)), lhs_scale=pnp.array([[1.0, 3.0]])).tolist()
    [[8.0]]
    """
    if dimension_numbers is None:
        rank = len(get_aval(lhs).shape)
        shared = tuple(range(rank - 2)) if rank > 2 else ()
        dimension_numbers = (((rank - 1,), (len(shared),)), (shared, shared))
    dtype = dtypes.bfloat16 if preferred_element_type is None else preferred_element_type
    a, b = _scaled("lhs", lhs, lhs_scale), _scaled("rhs", rhs, rhs_scale)
    product = dot_general(a, b, dimension_numbers, preferred_element_type=dtypes.dtype("float32"))
    return convert_element_type(product, dtype)


def _scaled(name: str, x: Any, scale: Any) -> Array:
    """An operand in single precision, times its scale."""
    wide = convert_element_type(x, "float32")
    if scale is None:
        return wide
    shape, parts = get_aval(x).shape, get_aval(scale).shape
    if len(shape) != len(parts):
        raise TypeError(f"scaled_dot: {name}_scale must have the rank {len(shape)} of {name}, got the shape {parts}")
    for axis, (size, count) in enumerate(zip(shape, parts, strict=True)):
        if not count or size % count:
            raise TypeError(
                f"scaled_dot: {name}_scale must have a length that divides {size} in axis {axis}, got {count}"
            )
    split = [n for size, count in zip(shape, parts, strict=True) for n in (count, size // count)]
    places = tuple(range(0, 2 * len(parts), 2))
    spread = broadcast_in_dim(convert_element_type(scale, "float32"), tuple(split), places)
    return wide * reshape(spread, shape)
