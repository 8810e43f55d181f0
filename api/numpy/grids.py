"""Objects that build grids and indices from brackets: `mgrid[0:3, 0:2]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import check_function, read_size
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.conversion import asarray
from primax.numpy.creation import ones
from primax.numpy.joining import concatenate, stack
from primax.numpy.promotion import aval_of
from primax.numpy.ranges import arange, linspace, meshgrid
from primax.numpy.searching import nonzero
from primax.numpy.shaping import reshaped
from primax.plugins.resharding import from_host

__all__ = ["c_", "diag_indices", "diag_indices_from", "index_exp", "ix_", "mask_indices", "mgrid", "ogrid", "r_", "s_"]


def _points(part: Any) -> Any:
    """The points of a slice; an imaginary step is their number, and includes the end."""
    if not isinstance(part, slice):
        return arange(part)
    start = 0 if part.start is None else part.start
    if isinstance(part.step, complex):
        return linspace(start, part.stop, int(abs(part.step)))
    return arange(start, part.stop, part.step)


class _Grid:
    """Builds a grid from the slices in its brackets."""

    __slots__ = ("_sparse",)

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, key: Any) -> list[Any] | Array:
        if not isinstance(key, tuple):
            return _points(key)
        points = [_points(part) for part in key]
        if not points:
            return [] if self._sparse else asarray(np.zeros(0, dtypes.default_int_dtype()))
        dtype = dtypes.result_type(*points)
        arrays = meshgrid(*[x.astype(dtype) for x in points], sparse=self._sparse, indexing="ij")
        return list(arrays) if self._sparse else stack(arrays)


class Joined:
    """Joins the slices, arrays and numbers in its brackets along an axis.

    The first entry may be a string of up to three integers, such as "1", "0,2" or "-1,2,0": the axis, the minimal rank
    of the parts, and the position of a part's own axes in that rank. "r" and "c" build a matrix of one row or one
    column.
    """

    __slots__ = ("_axis", "_begin", "_rank")

    def __init__(self, axis: int = 0, rank: int = 1, begin: int = -1) -> None:
        self._axis = axis
        self._rank = rank
        self._begin = begin

    def __getitem__(self, key: Any) -> Array:
        parts = list(key) if isinstance(key, tuple) else [key]
        if isinstance(parts[0], str):
            directive = parts.pop(0)
            if directive in ("r", "c"):
                row = concatenate([self._part(part) for part in parts], self._axis)
                return reshaped(row, (1, row.size) if directive == "r" else (row.size, 1)) if row.ndim == 1 else row
            return Joined(*_directive(directive, self))[tuple(parts)]
        return concatenate([self._part(part) for part in parts], self._axis)

    def _part(self, part: Any) -> Array:
        """An array of at least the minimal rank."""
        if isinstance(part, str):
            raise ValueError(f"r_: a string must be the first entry, got {part!r}")
        x = _points(part) if isinstance(part, slice) else asarray(part)
        missing = self._rank - x.ndim
        if missing <= 0:
            return x
        begin = 0 if not x.ndim else self._begin if self._begin >= 0 else self._begin + missing + 1
        return reshaped(x, (*[1] * begin, *x.shape, *[1] * (missing - begin)))


class JoinedColumns(Joined):
    """Joins vectors as the columns of a matrix, and other arrays along their last axes."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(-1, 2, 0)


def _directive(text: str, default: Joined) -> list[int]:
    try:
        numbers = [int(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 3:
        raise ValueError(f"r_: a string must be 'r', 'c' or up to three integers, got {text!r}")
    return [*numbers, *[default._axis, default._rank, default._begin][len(numbers) :]]


r_ = Joined()
c_ = JoinedColumns()
mgrid = _Grid(False)
ogrid = _Grid(True)
s_ = np.s_
index_exp = np.index_exp


def ix_(*args: ArrayLike) -> tuple[Any, ...]:
    """Reshape vectors so that they broadcast against each other, each along its own axis.

    Args:
      args: arrays of rank 1; booleans are replaced by the positions of True.

    Raises:
      ValueError: an array is not of rank 1.
      ConcretizationTypeError: a boolean array is traced.

    Examples:
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> x = pnp.arange(9).reshape(3, 3)
      >>> x[pnp.ix_(np.array([0, 2]), np.array([True, False, True]))]
      Array([[0, 2],
             [6, 8]], dtype=int32)
    """
    out = []
    for i, x in enumerate(args):
        aval = aval_of("ix_", x, i)
        if len(aval.shape) != 1:
            raise ValueError(f"ix_: arguments must be of rank 1, got {aval.str_short()}")
        if dtypes.is_bool(aval.dtype):
            (x,) = nonzero(x)
        out.append(reshaped(x, tuple([get_aval(x).shape[0] if k == i else 1 for k in range(len(args))])))
    return tuple(out)


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array whose axes have the same length.

    Args:
      n: the length.
      ndim: the number of axes.

    Examples:
      >>> import primax.numpy as pnp
      >>> rows, columns = pnp.diag_indices(3)
      >>> pnp.zeros((3, 3)).at[rows, columns].set(7).sum()
      Array(21., dtype=float32)
    """
    n, ndim = read_size("diag_indices", "n", n), read_size("diag_indices", "ndim", ndim)
    positions = from_host(np.arange(n, dtype=dtypes.default_int_dtype()))
    return (positions,) * ndim


def diag_indices_from(arr: ArrayLike) -> tuple[Any, ...]:
    """`diag_indices` for the shape of an array.

    Raises:
      ValueError: the axes have different lengths, or there are fewer than two.

    Examples:
      >>> import primax.numpy as pnp
      >>> x = pnp.arange(9).reshape(3, 3)
      >>> x[pnp.diag_indices_from(x)]
      Array([0, 4, 8], dtype=int32)
    """
    shape = aval_of("diag_indices_from", arr).shape
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ValueError(f"diag_indices_from: arr must have two axes or more, of the same length, got shape {shape}")
    return diag_indices(shape[0], len(shape))


def mask_indices(
    n: int, mask_func: Callable[..., Any], k: SupportsIndex = 0, *, size: int | None = None
) -> tuple[Any, ...]:
    """The positions that a function such as `triu` keeps in a square matrix.

    Args:
      n: the length of both axes.
      mask_func: a function `(matrix, k) -> matrix` that sets the other elements to zero.
      k: the second argument of `mask_func`.
      size: the number of positions to return; see `nonzero`.

    >>> import primax as px
    >>> px.numpy.mask_indices(2, px.numpy.triu)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    check_function("mask_indices", "mask_func", mask_func)
    return nonzero(mask_func(ones((n, n)), k), size=size)
