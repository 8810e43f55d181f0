"""Elementwise selection between arrays."""

from __future__ import annotations

from typing import Any, overload

from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import sequence
from primax.extend.provisional.sharding import aval_sharding, match_placement
from primax.extend.provisional.typing import ArrayLike, Arrays
from primax.numpy.programs import one_program
from primax.numpy.promotion import aval_of, boolean, broadcast, broadcast_to_shape, promote
from primax.numpy.searching import nonzero
from primax.plugins.structural import select_n_p

__all__ = ["select", "where"]


def choose(which: Any, x: Any, y: Any) -> Array:
    """x where `which` is true, else y; all have the same shape or are scalars, and x and y have the same dtype."""
    of_x, of_y = get_aval(x), get_aval(y)
    shape = get_aval(which).shape or of_x.shape or of_y.shape
    one, other = broadcast_to_shape(x, shape), broadcast_to_shape(y, shape)
    explicit_x, explicit_y = aval_sharding(of_x), aval_sharding(of_y)
    if explicit_x is not explicit_y:  # a number and a partial sum
        if not of_y.shape and explicit_x is not None and explicit_x.is_pending:
            other = match_placement(other, get_aval(one))
        elif not of_x.shape and explicit_y is not None and explicit_y.is_pending:
            one = match_placement(one, get_aval(other))
    return select_n_p.bind(which, other, one)


@overload
def where(condition: Any, x: Any, y: Any, /) -> Array: ...
@overload
def where(
    condition: Any, x: None = None, y: None = None, /, *, size: int | None = None, fill_value: Any = None
) -> tuple[Array, ...]: ...
def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> tuple[Any, ...] | Array:
    """x where the condition is true, and y elsewhere; without x and y, the positions where it is true, see `nonzero`.

    Args:
      condition: a boolean array; nonzero numbers are true.
      x, y: arrays or numbers; the shapes of all three broadcast together.
      size, fill_value: as for `nonzero`, for a condition without x and y.

    Raises:
      ValueError: only one of x and y is given, or both with `size` or `fill_value`.
      TypeError: an argument is neither an array nor a number, or the shapes do not broadcast.

    >>> import primax as px
    >>> px.numpy.where(px.numpy.array([True, False]), 1.0, px.numpy.array([2.0, 3.0]))
    Array([1., 3.], dtype=float32)
    """
    if x is None or y is None:
        if x is None and y is None:
            return nonzero(condition, size=size, fill_value=fill_value)
        raise ValueError("where: x and y must both be given or both be left out, got one of them")
    if size is not None or fill_value is not None:
        raise ValueError(f"where: size and fill_value must be given only without x and y, got {size} and {fill_value}")
    for value, argument in ((condition, "condition"), (x, "x"), (y, "y")):
        aval_of("where", value, argument)
    return _chosen(condition, x, y)


@one_program(static=3)
def _chosen(condition: Any, x: Any, y: Any) -> Array:
    return choose(*broadcast("where", [boolean(condition), *promote("where", x, y)]))


def select(condlist: Arrays, choicelist: Arrays, default: ArrayLike = 0) -> Array:
    """For each element, the value of the first array whose condition is true.

    Args:
      condlist: boolean arrays.
      choicelist: arrays or numbers, one per condition.
      default: the value where no condition is true.

    Raises:
      ValueError: `condlist` is empty, or `choicelist` has another length.

    Examples:
      >>> import primax.numpy as pnp
      >>> x = pnp.arange(4)
      >>> pnp.select([x > 2, x > 0], [x * 10, -x], default=7)  # the first condition that holds
      Array([ 7, -1, -2, 30], dtype=int32)
    """
    condlist, choicelist = sequence("select", "condlist", condlist), sequence("select", "choicelist", choicelist)
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(
            f"select: condlist and choicelist must be of the same length, of 1 or more, got {len(condlist)} and "
            f"{len(choicelist)}"
        )
    *choices, out = promote("select", *choicelist, default)
    for condition, choice in reversed(list(zip(condlist, choices, strict=True))):
        out = where(condition, choice, out)
    return out
