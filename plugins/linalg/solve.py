"""Solutions of systems of linear equations by factored matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.rule_types import Table
from primax.plugins import arithmetic
from primax.plugins.linalg.gauss import lu_p
from primax.plugins.linalg.in_parts import InParts
from primax.plugins.linalg.matrices import (
    columns_merged,
    conj,
    from_triangle,
    matmul,
    mt,
    require_square,
    rows_at,
    rows_to,
)
from primax.plugins.linalg.positive import cholesky_p
from primax.plugins.linalg.triangular import triangular_solve_p
from primax.plugins.structural import stop_gradient

# The solution x of a x = b by the factors of a; its derivatives are those of a function of a and b.
solve_p = InParts("solve")


def _constant(x: Any) -> Any:
    """A value without its derivatives; unchanged outside of transformations."""
    return stop_gradient(x) if isinstance(x, core.Tracer) else x


def by_lu(a: Any, b: Any) -> Array:
    """The solution X of a X = b for square matrices of shape (..., n, n) and (..., n, k)."""
    factors, _, permutation = lu_p.bind(_constant(a))
    return solve_p.bind(a, factors, permutation, b, transpose_a=False)


def by_cholesky(a: Any, b: Any) -> Array:
    """The solution for Hermitian positive definite matrices, whose lower triangles are read, also by derivatives."""
    return solve_p.bind(from_triangle(a), cholesky_p.bind(_constant(a)), b, transpose_a=False)


def _abstract_eval(a: ShapedArray, factors: ShapedArray, *others: ShapedArray, transpose_a: bool) -> ShapedArray:
    require_square("solve", a, "a")
    permutations = [aval for aval in others[:-1] if aval.shape == a.shape[:-1] and aval.dtype == np.int32]
    if (
        not 1 <= len(others) <= 2
        or len(permutations) != len(others) - 1
        or (factors.shape, factors.dtype) != (a.shape, a.dtype)
    ):
        actual = ", ".join(aval.str_short() for aval in (a, factors, *others))
        raise TypeError(f"solve: factors must be of the type of a, with permutations or without, got {actual}")
    b = others[-1]
    if a.dtype != b.dtype or a.ndim != b.ndim or a.shape[:-1] != b.shape[:-1]:
        raise TypeError(
            f"solve: a and b must have the same dtype, the same leading axes and as many rows, got {a.str_short()} and "
            f"{b.str_short()}"
        )
    return ShapedArray(b.shape, b.dtype)


def _jvp(primals: Any, tangents: Any, *, transpose_a: bool) -> tuple[Any, Any]:
    """a dX = db - da X, by the same factors; the tangents of the factors are ignored."""
    a, *factors, _ = primals
    ta, *_, tb = tangents
    x = solve_p.bind(*primals, transpose_a=transpose_a)
    change = tb
    if type(ta) is not ad.Zero:
        moved = matmul(mt(ta) if transpose_a else ta, x)
        change = ad.add_tangents(arithmetic.neg(moved), tb)
    if type(change) is ad.Zero:
        return x, ad.Zero.from_primal_value(x)
    return x, solve_p.bind(a, *factors, change, transpose_a=transpose_a)


def _transpose(ct: Any, *args: Any, transpose_a: bool) -> list[Any]:
    *known, b = args
    if any(type(x) is ad.UndefinedPrimal for x in known):
        raise TypeError("solve is linear in b, but not in a")
    if type(ct) is ad.Zero:
        return [*[None] * len(known), ad.Zero(b.aval)]
    return [*[None] * len(known), solve_p.bind(*known, ct, transpose_a=not transpose_a)]


def _batch(axis: batching.AxisData, args: Any, dims: Any, *, transpose_a: bool) -> tuple[Any, Any]:
    *known, b = args
    *of_known, of_b = dims
    if all(dim is None for dim in dims):
        return solve_p.bind(*args, transpose_a=transpose_a), None
    if all(dim is None for dim in of_known):
        free = len(get_aval(b).shape) - 2
        return columns_merged(solve_p, known, b, of_b, free, transpose_a=transpose_a)
    moved = [batching.to_dim(x, axis.size, dim, 0) for x, dim in zip(args, dims, strict=True)]
    return solve_p.bind(*moved, transpose_a=transpose_a), 0


def _solve_triangle(a: Any, b: Any, lower: bool, transpose: bool, adjoint: bool = False, unit: bool = False) -> Array:
    return triangular_solve_p.bind(
        a, b, left_side=True, lower=lower, transpose_a=transpose, conjugate_a=adjoint, unit_diagonal=unit
    )


def _by_factors(a: Any, *factors_and_b: Any, transpose_a: bool) -> Array:
    *factors, b = factors_and_b
    if len(factors) == 1:
        return _by_lower(factors[0], b, transpose_a)
    lu, permutation = factors
    if not transpose_a:
        x = _solve_triangle(lu, rows_at(b, permutation), True, False, unit=True)
        return _solve_triangle(lu, x, False, False)
    x = _solve_triangle(lu, b, False, True)
    return rows_to(_solve_triangle(lu, x, True, True, unit=True), permutation)


def _by_lower(l: Any, b: Any, transpose_a: bool) -> Array:
    """The solution for the matrix L L^H, whose transpose is its conjugate."""
    is_complex = dtypes.is_complex(get_aval(l).dtype)
    if transpose_a and is_complex:
        return conj(_by_lower(l, conj(b), False))
    return _solve_triangle(l, _solve_triangle(l, b, True, False), True, True, is_complex)


RULES: Table = {
    solve_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "transpose": _transpose,
        "axis_batch": _batch,
        "lowering": mlir.lower_fun(_by_factors, multiple_results=False),
        "makes_nan": True,
    }
}
