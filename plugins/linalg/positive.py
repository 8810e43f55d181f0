"""The Cholesky decomposition of positive definite matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, mlir
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins import arithmetic
from primax.plugins.linalg.lapack import ir_empty, ir_tril, lapack_call, letter, on_gpu, unless_failed
from primax.plugins.linalg.matrices import (
    adjoint,
    from_triangle,
    front_batch,
    half,
    half_diagonal,
    inexact,
    matmul,
    require_square,
    tril,
)
from primax.plugins.linalg.triangular import triangular_solve_p

cholesky_p = core.Primitive("cholesky")


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """The lower triangular matrices L with positive diagonals such that L times its adjoint is `x`.

    Args:
      x: Hermitian positive definite matrices of shape (..., n, n); integers and booleans become floats.
      symmetrize_input: whether to take the mean of `x` and its adjoint first. Otherwise only the lower triangles
        are read.

    Returns:
      An array of the shape of `x`; its triangle is NaN where a matrix is not positive definite.

    Raises:
      TypeError: `x` has a rank below 2, or a dtype that LAPACK does not support.
      ValueError: the matrices are not square.

    >>> import primax as px
    >>> px.lax.linalg.cholesky(px.numpy.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    x = inexact(x)
    return cholesky_p.bind(symmetrize("cholesky", x) if symmetrize_input else x)


def symmetrize(function: str, x: Any) -> Array:
    """The means of matrices and their adjoints."""
    require_square(function, get_aval(x), "x")
    return half(arithmetic.add(x, adjoint(x)))


def _abstract_eval(x: ShapedArray) -> ShapedArray:
    require_square("cholesky", x, "x")
    return ShapedArray(x.shape, x.dtype)


def _jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """dL = L phi(inv(L) dA inv(L)^H), where phi takes the lower triangle, with half of the diagonal.

    Iain Murray, Differentiation of the Cholesky decomposition, arXiv:1602.07527, equations 8 to 10.
    """
    (t,) = tangents
    l = cholesky_p.bind(*primals)
    if type(t) is ad.Zero:
        return l, ad.Zero.from_primal_value(l)
    inner = _solve(l, _solve(l, from_triangle(t), left_side=True), left_side=False)
    return l, matmul(l, half_diagonal(tril(inner)))


def _solve(l: Any, b: Any, left_side: bool) -> Array:
    """The solution of L X = B, or of X L^H = B."""
    adjoint_a = not left_side
    return triangular_solve_p.bind(
        l,
        b,
        left_side=left_side,
        lower=True,
        transpose_a=adjoint_a,
        conjugate_a=adjoint_a and np.issubdtype(get_aval(l).dtype, np.complexfloating),
        unit_diagonal=False,
    )


def _builtin_lowering(ctx: mlir.LoweringRuleContext, x: Any) -> list[Any]:
    (aval,) = ctx.avals_out
    return [ir_tril(mlir.hlo.cholesky(x, lower=mlir.ir.BoolAttr.get(True)), aval)]


def _lowering(ctx: mlir.LoweringRuleContext, x: Any) -> list[Any]:
    (aval,) = ctx.avals_out
    if not aval.size:
        return ir_empty([aval])
    batch = aval.shape[:-2]
    codes = ShapedArray(batch, np.dtype(np.int32))
    attributes = {"lower": True} if on_gpu(ctx) else {"uplo": letter("L")}
    out, info = lapack_call(ctx, "potrf", batch, [(x, aval)], [aval, codes], attributes, {0: 0})
    (out,) = unless_failed(info, batch, [(out, aval)])
    return [ir_tril(out, aval)]


RULES: Table = {
    cholesky_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "axis_batch": front_batch(cholesky_p),
        "lowering": {None: _builtin_lowering, "cpu": _lowering, "gpu": _lowering},
    }
}
