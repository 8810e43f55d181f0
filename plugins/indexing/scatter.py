"""Scatter: an array with windows changed, at positions in arrays of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from primax.extend import core
from primax.extend.core import Array
from primax.extend.provisional.arguments import rename
from primax.extend.provisional.typing import ArrayLike
from primax.plugins.indexing.dimensions import GatherScatterMode, ScatterDimensionNumbers, canonical_numbers
from primax.plugins.indexing.positions import cast_indices
from primax.plugins.indexing.primitives import (
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)


def scatter(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """An array with windows replaced at computed positions.

    Args:
      operand: an array.
      scatter_indices: integers; the last axis has index vectors, each of which is the start of a window.
      updates: the windows, of the dtype of `operand`. Where several overlap, any of them may remain.
      dimension_numbers: the correspondence of the axes.
      indices_are_sorted: a promise that the index vectors are sorted.
      unique_indices: a promise that no two windows overlap.
      mode: the behavior for windows that are not wholly inside: 'clip' moves them, 'drop' (the default) skips them;
        'promise_in_bounds' is a promise that there are none.

    Returns:
      An array like `operand`. `x.at[...].set(...)` is easier to use.

    Raises:
      TypeError: the dimension numbers, shapes or dtypes do not fit.
      ValueError: there is no such mode.

    >>> import primax as px
    >>> numbers = px.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> px.lax.scatter(px.numpy.zeros(3), px.numpy.array([[2], [9]]), px.numpy.array([1., 5.]), numbers)
    Array([0., 0., 1.], dtype=float32)
    """
    return _scatter(
        "scatter",
        scatter_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def _scatter(
    name: str,
    primitive: core.Primitive,
    operand: Any,
    indices: Any,
    updates: Any,
    numbers: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
) -> Array:
    return primitive.bind(
        operand,
        cast_indices(name, "scatter_indices", indices),
        updates,
        dimension_numbers=canonical_numbers(name, numbers, ScatterDimensionNumbers),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode),
    )


if TYPE_CHECKING:

    class Combining(Protocol):
        """`scatter` that combines updates with the elements of the operand."""

        def __call__(
            self,
            operand: ArrayLike,
            scatter_indices: ArrayLike,
            updates: ArrayLike,
            dimension_numbers: ScatterDimensionNumbers,
            *,
            indices_are_sorted: bool = False,
            unique_indices: bool = False,
            mode: str | GatherScatterMode | None = None,
        ) -> Array: ...


def _combining(primitive: core.Primitive, name: str, what: str, result: str) -> Combining:
    def combined(
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
    ) -> Array:
        return _scatter(
            name,
            primitive,
            operand,
            scatter_indices,
            updates,
            dimension_numbers,
            indices_are_sorted,
            unique_indices,
            mode,
        )

    rename(combined, name)
    combined.__doc__ = f"""An array {what} at computed positions.

    The arguments are those of `scatter`; where several windows overlap, all of them count.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> numbers = lax.ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
      >>> lax.{name}(np.array([1, 2, 3]), np.array([[1], [1]]), np.array([10, 20]), numbers)
      Array({result}, dtype=int32)
    """
    return combined


scatter_add = _combining(scatter_add_p, "scatter_add", "with windows added to it", "[ 1, 32,  3]")
scatter_sub = _combining(scatter_sub_p, "scatter_sub", "with windows subtracted from it", "[  1, -28,   3]")
scatter_mul = _combining(scatter_mul_p, "scatter_mul", "multiplied by windows", "[  1, 400,   3]")
scatter_min = _combining(scatter_min_p, "scatter_min", "lowered to windows", "[1, 2, 3]")
scatter_max = _combining(scatter_max_p, "scatter_max", "raised to windows", "[ 1, 20,  3]")
