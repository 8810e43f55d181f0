"""Householder reflections, from which LAPACK computes orthogonal matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array, ShapedArray
from primax.extend.dimensions import min_dim
from primax.extend.interpreters import mlir
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.linalg.lapack import ir_empty, lapack_call, on_gpu
from primax.plugins.linalg.matrices import front_batch, require_matrix

geqrf_p = core.Primitive("geqrf", multiple_results=True)
geqp3_p = core.Primitive("geqp3", multiple_results=True)
householder_product_p = core.Primitive("householder_product")
ormqr_p = core.Primitive("ormqr")

_NO_DERIVATIVE = {"jvp": "Householder reflections are intermediate results; differentiate qr instead"}


def geqrf(a: Any) -> tuple[Any, Any]:
    """The QR decomposition, with Q as a product of reflections.

    Args:
      a: matrices of shape (..., m, n).

    Returns:
      Two arrays: matrices (..., m, n) with R in the upper triangle and the vectors of the reflections below; and
      the factors of the reflections, of shape (..., min(m, n)).
    """
    reflections, taus = geqrf_p.bind(a)
    return reflections, taus


def geqp3(a: Any, jpvt: Any) -> tuple[Any, Any, Any]:
    """The QR decomposition with column pivoting, with Q as a product of reflections.

    Args:
      a: matrices of shape (..., m, n).
      jpvt: int32 of shape (..., n): columns that are not zero here come first.

    Returns:
      Three arrays: the first of `geqrf`; the columns in their new order, counted from 1; the second of `geqrf`.
    """
    reflections, columns, taus = geqp3_p.bind(a, jpvt)
    return reflections, columns, taus


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first columns of a product of reflections 1 - tau v v^H.

    Args:
      a: an array of shape (..., m, n) with m >= n: the vectors, below the diagonal; on it they are 1, above it 0.
      taus: the factors, of shape (..., k) with k <= n.

    Returns:
      An array of the shape of `a`, with orthonormal columns.

    Raises:
      TypeError: dtypes differ, or LAPACK does not support them; leading axes differ, or a rank is too low.
      ValueError: there are more columns than rows, or more factors than columns.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> abs(lax.linalg.householder_product(np.zeros((3, 2), np.float32), np.float32([2, 0])))
      Array([[1., 0.],
             [0., 1.],
             [0., 0.]], dtype=float32)
    """
    return householder_product_p.bind(a, taus)


def ormqr(a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False) -> Array:
    """The product of a matrix with the orthogonal matrix of reflections, without forming that matrix.

    Args:
      a, taus: the reflections, as for `householder_product`.
      c: an array of shape (..., m, n).
      left: whether the orthogonal matrix is the left factor.
      transpose: whether to take its adjoint.

    Raises:
      TypeError: dtypes differ, or LAPACK does not support them; leading axes differ, or a rank is too low.
      ValueError: the length of the reflections is not the number of rows of `c`, or of columns if not `left`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> a, taus = np.zeros((2, 2), np.float32), np.float32([2, 0])
      >>> lax.linalg.ormqr(a, taus, np.float32([[1], [1]]))
      Array([[-1.],
             [ 1.]], dtype=float32)
    """
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))


def _vector(aval: ShapedArray, size: int, dtype: Any = None) -> ShapedArray:
    """The type of vectors, one for each matrix of a stack."""
    return ShapedArray((*aval.shape[:-2], size), aval.dtype if dtype is None else np.dtype(dtype))


def _geqrf_abstract_eval(a: ShapedArray) -> list[ShapedArray]:
    require_matrix("geqrf", a, "a")
    return [ShapedArray(a.shape, a.dtype), _vector(a, min_dim(*a.shape[-2:]))]


def _geqp3_abstract_eval(a: ShapedArray, jpvt: ShapedArray) -> list[ShapedArray]:
    require_matrix("geqp3", a, "a")
    expected = _vector(a, a.shape[-1], np.int32)
    if (jpvt.shape, jpvt.dtype) != (expected.shape, expected.dtype):
        raise TypeError(
            f"geqp3: jpvt must be {expected.str_short()}, one number for each column of a, got {jpvt.str_short()} for "
            f"{a.str_short()}"
        )
    return [ShapedArray(a.shape, a.dtype), expected, _vector(a, min_dim(*a.shape[-2:]))]


def _require_reflections(function: str, a: ShapedArray, taus: ShapedArray) -> None:
    require_matrix(function, a, "a")
    if taus.ndim != a.ndim - 1 or taus.shape[:-1] != a.shape[:-2] or taus.dtype != a.dtype:
        raise TypeError(
            f"{function}: taus must be vectors of the dtype of a, one for each matrix, got {taus.str_short()} for "
            f"{a.str_short()}"
        )
    m, n = a.shape[-2:]
    k = taus.shape[-1]
    if n > m or k > n:
        raise ValueError(
            f"{function}: a must have as many rows as columns or more, and as many columns as taus or more, "
            f"got {m} rows, {n} columns and {k} factors"
        )


def _householder_product_abstract_eval(a: ShapedArray, taus: ShapedArray) -> ShapedArray:
    _require_reflections("householder_product", a, taus)
    return ShapedArray(a.shape, a.dtype)


def _ormqr_abstract_eval(
    a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left: bool, transpose: bool
) -> ShapedArray:
    _require_reflections("ormqr", a, taus)
    require_matrix("ormqr", c, "c")
    if c.dtype != a.dtype or c.shape[:-2] != a.shape[:-2]:
        raise TypeError(
            f"ormqr: a and c must have the same dtype and the same leading axes, got {a.str_short()} and "
            f"{c.str_short()}"
        )
    which, size = ("rows", c.shape[-2]) if left else ("columns", c.shape[-1])
    if size != a.shape[-2]:
        raise ValueError(
            f"ormqr: c must have as many {which} as a has rows, {a.shape[-2]}, got {size} for {a.str_short()} and "
            f"{c.str_short()}"
        )
    return ShapedArray(c.shape, c.dtype)


def _geqrf_lowering(ctx: mlir.LoweringRuleContext, a: Any) -> list[Any]:
    aval, of_taus = ctx.avals_out
    if not aval.size:
        return ir_empty(ctx.avals_out)
    return lapack_call(ctx, "geqrf", aval.shape[:-2], [(a, aval)], [aval, of_taus], aliases={0: 0})


def _geqp3_lowering(ctx: mlir.LoweringRuleContext, a: Any, jpvt: Any) -> list[Any]:
    aval, of_columns, of_taus = ctx.avals_out
    if not aval.size:
        return [*ir_empty([aval]), _counted(of_columns), *ir_empty([of_taus])]
    operands, results = [(a, aval), (jpvt, of_columns)], [aval, of_columns, of_taus]
    attributes = {"magma": "auto"} if on_gpu(ctx) else {}
    return lapack_call(ctx, "geqp3", aval.shape[:-2], operands, results, attributes, {0: 0, 1: 1})


def _counted(aval: ShapedArray) -> mlir.ir.Value:
    """Vectors 1, 2, 3, ..."""
    return mlir.ir_constant(np.broadcast_to(np.arange(1, aval.shape[-1] + 1, dtype=aval.dtype), aval.shape))


def _householder_product_lowering(ctx: mlir.LoweringRuleContext, a: Any, taus: Any) -> list[Any]:
    (aval,) = ctx.avals_out
    if not aval.size:
        return ir_empty([aval])
    operands = list(zip((a, taus), ctx.avals_in, strict=True))
    return lapack_call(ctx, "orgqr", aval.shape[:-2], operands, [aval], aliases={0: 0})


def _ormqr_lowering(
    ctx: mlir.LoweringRuleContext, a: Any, taus: Any, c: Any, *, left: bool, transpose: bool
) -> list[Any]:
    (aval,) = ctx.avals_out
    if not aval.size or not ctx.avals_in[1].size:
        return [c]
    operands = list(zip((a, taus, c), ctx.avals_in, strict=True))
    attributes = {"left": left, "transpose": transpose}
    return lapack_call(ctx, "ormqr", aval.shape[:-2], operands, [aval], attributes, {2: 0})


RULES: Table = {
    primitive: {
        "abstract_eval": abstract_eval,
        "axis_batch": front_batch(primitive),
        "lowering": {"cpu": lowering, "gpu": lowering},
        "unsupported": _NO_DERIVATIVE,
    }
    for primitive, abstract_eval, lowering in (
        (geqrf_p, _geqrf_abstract_eval, _geqrf_lowering),
        (geqp3_p, _geqp3_abstract_eval, _geqp3_lowering),
        (
            householder_product_p,
            _householder_product_abstract_eval,
            _householder_product_lowering,
        ),
        (ormqr_p, _ormqr_abstract_eval, _ormqr_lowering),
    )
}
