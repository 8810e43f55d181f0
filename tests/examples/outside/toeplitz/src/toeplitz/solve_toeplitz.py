"""The solution of Toeplitz systems, as a primitive whose derivatives solve Toeplitz systems again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import primax.numpy as pnp
from primax.extend import Definitions, core, define_primitive, derive, hookimpl
from primax.extend.interpreters import ad
from primax.typing import ArrayLike

__all__ = ["primax_register", "solve_toeplitz", "solve_toeplitz_p"]

definitions = Definitions()


def solve_toeplitz(column: ArrayLike, row: ArrayLike, b: ArrayLike) -> Any:
    """The vector x for which `T @ x` is b, where T is constant along each diagonal.

    Args:
      column: the first column of T, a floating vector.
      row: the first row of T, without regard to its first element.
      b: a vector. All have the same length, and their dtypes promote.

    Raises:
      TypeError: they are not vectors of the same length, or not floating.

    >>> solve_toeplitz(pnp.array([2.0, 0.0]), pnp.array([2.0, 1.0]), pnp.array([3.0, 2.0])).tolist()
    [1.0, 1.0]
    """
    dtype = pnp.result_type(column, row, b)
    return solve_toeplitz_p.bind(*(pnp.asarray(x, dtype) for x in (column, row, b)))


def _matrix(column: Any, row: Any) -> Any:
    diagonals = pnp.concatenate([row[:0:-1], column])
    size = column.shape[0]
    return diagonals[np.arange(size)[:, None] - np.arange(size) + size - 1]


def _solve_impl(column: Any, row: Any, b: Any) -> Any:
    return pnp.linalg.solve(_matrix(column, row), b)


def _solve_abstract_eval(*avals: core.ShapedArray) -> core.ShapedArray:
    column, row, b = avals
    if not (len(b.shape) == 1 and column.shape == row.shape == b.shape and column.dtype == row.dtype == b.dtype):
        given = ", ".join(x.str_short() for x in avals)
        raise TypeError(f"solve_toeplitz: column, row and b must be vectors of the same length and dtype, got {given}")
    if b.dtype not in (np.float32, np.float64):
        raise TypeError(f"solve_toeplitz: b must be float32 or float64, got {b.str_short()}")
    return core.ShapedArray(b.shape, b.dtype)


def _solve_jvp(primals: Any, tangents: Any) -> Any:
    """From T x = b: T dx = db - dT x, where dT is a Toeplitz matrix."""
    column, row, _ = primals
    x = solve_toeplitz_p.bind(*primals)
    if all(type(t) is ad.Zero for t in tangents):
        return x, ad.Zero.from_primal_value(x)
    d_column, d_row, d_b = map(ad.instantiate_zeros, tangents)
    return x, solve_toeplitz_p.bind(column, row, d_b - _matrix(d_column, d_row) @ x)


def _solve_transpose(ct: Any, column: Any, row: Any, b: Any) -> list[Any]:
    """The solution is linear in b; the transpose of a Toeplitz matrix has its row and column exchanged."""
    first_row = pnp.concatenate([column[:1], row[1:]])
    return [None, None, ct if type(ct) is ad.Zero else solve_toeplitz_p.bind(first_row, column, ct)]


def _samples() -> Iterator[core.Sample]:
    random = np.random.default_rng(0)
    column, row, b = random.uniform(-0.3, 0.3, (3, 4)).astype(np.float32)
    column[0] = row[0] = 2.0
    yield core.Sample([column, row, b], name="diagonally dominant")


solve_toeplitz_p = define_primitive(
    "solve_toeplitz",
    impl=_solve_impl,
    abstract_eval=_solve_abstract_eval,
    jvp=_solve_jvp,
    transpose=_solve_transpose,
    batch=derive.loop,
    lowering=derive.from_impl,
    samples=[_samples],
    doc="The solution of a Toeplitz system.",
    registry=definitions,
)


@hookimpl
def primax_register(registry: core.Registry) -> None:
    """Enter the primitive and its function."""
    definitions.enter(registry)
    registry.functions(solve_toeplitz=solve_toeplitz)
