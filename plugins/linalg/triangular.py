"""Systems of linear equations with triangular matrices."""

from __future__ import annotations

from typing import Any

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.elementwise import FLOAT32_64_OR_COMPLEX, INEXACT
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins import arithmetic
from primax.plugins.linalg.lapack import flag, ir_empty, lapack_call
from primax.plugins.linalg.matrices import columns_merged, conj, matmul, mt, require_matrix, require_square, tril, triu
from primax.plugins.structural import expand_dims, squeeze_p

triangular_solve_p = core.Primitive("triangular_solve")


def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """The solutions X of op(a) X = b, or of X op(a) = b, for a triangular `a`.

    Args:
      a: matrices of shape (..., n, n); one triangle is read.
      b: matrices of the dtype of `a` and of shape (..., n, k) if `left_side`, otherwise (..., k, n); or vectors (...,
        n).
      left_side: whether op(a) is the left factor.
      lower: whether `a` is lower triangular instead of upper.
      transpose_a: whether op transposes.
      conjugate_a: whether op conjugates.
      unit_diagonal: whether the diagonal of `a` is assumed to be ones, and not read.

    Returns:
      An array of the shape and dtype of `b`, infinite or NaN where a matrix is singular.

    Raises:
      TypeError: dtypes differ or are not floating or complex, or shapes do not fit.
      ValueError: `a` is not square.

    >>> import primax as px
    >>> a, b = px.numpy.array([[2.0, 0.0], [1.0, 4.0]]), px.numpy.array([2.0, 9.0])
    >>> px.lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    Array([1., 2.], dtype=float32)
    """
    a_aval, rank = get_aval(a), len(get_aval(b).shape)
    vectors = rank == a_aval.ndim - 1
    if vectors:
        b = expand_dims(b, (rank if left_side else rank - 1,))
    out = triangular_solve_p.bind(
        a,
        b,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a) and dtypes.is_complex(a_aval.dtype),
        unit_diagonal=bool(unit_diagonal),
    )
    return squeeze_p.bind(out, dimensions=(rank if left_side else rank - 1,)) if vectors else out


def _abstract_eval(a: ShapedArray, b: ShapedArray, *, left_side: bool, **params: Any) -> ShapedArray:
    require_square("triangular_solve", a, "a", INEXACT)
    require_matrix("triangular_solve", b, "b", INEXACT)
    if a.dtype != b.dtype:
        raise TypeError(f"triangular_solve: a and b must have the same dtype, got {a.str_short()} and {b.str_short()}")
    if a.shape[:-2] != b.shape[:-2]:
        raise TypeError(
            f"triangular_solve: a and b must have the same leading axes, got {a.shape[:-2]} and {b.shape[:-2]} for "
            f"{a.str_short()} and {b.str_short()}"
        )
    which, size = ("rows", b.shape[-2]) if left_side else ("columns", b.shape[-1])
    if size != a.shape[-1]:
        raise TypeError(
            f"triangular_solve: b must have as many {which} as a, {a.shape[-1]}, got {size} for {a.str_short()} and "
            f"{b.str_short()}"
        )
    return ShapedArray(b.shape, b.dtype)


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    """op(a) dX = db - op(da) X; the same from the right."""
    (a, b), (ta, tb) = primals, tangents
    x = triangular_solve_p.bind(a, b, **params)
    if type(ta) is ad.Zero:
        if type(tb) is ad.Zero:
            return x, ad.Zero.from_primal_value(x)
        return x, triangular_solve_p.bind(a, tb, **params)
    inner = int(params["unit_diagonal"])
    moved = tril(ta, -inner) if params["lower"] else triu(ta, inner)
    if params["transpose_a"]:
        moved = mt(moved)
    if params["conjugate_a"]:
        moved = conj(moved)
    change = arithmetic.neg(matmul(moved, x) if params["left_side"] else matmul(x, moved))
    return x, triangular_solve_p.bind(a, ad.add_tangents(change, tb), **params)


def _transpose(ct: Any, a: Any, b: Any, *, transpose_a: bool, **params: Any) -> tuple[Any, Any]:
    if type(a) is ad.UndefinedPrimal:
        raise TypeError("triangular_solve is linear in b, but not in a")
    if type(ct) is ad.Zero:
        return None, ad.Zero(b.aval)
    return None, triangular_solve_p.bind(a, ct, transpose_a=not transpose_a, **params)


def _batch(axis: batching.AxisData, args: Any, dims: Any, *, left_side: bool, **params: Any) -> tuple[Any, Any]:
    (a, b), (a_dim, b_dim) = args, dims
    if a_dim is None and b_dim is None:
        return triangular_solve_p.bind(a, b, left_side=left_side, **params), None
    if a_dim is not None:
        a, b = batching.to_dim(a, axis.size, a_dim, 0), batching.to_dim(b, axis.size, b_dim, 0)
        return triangular_solve_p.bind(a, b, left_side=left_side, **params), 0
    rank = len(get_aval(b).shape)
    free = rank - 2 if left_side else rank - 3
    return columns_merged(triangular_solve_p, [a], b, b_dim, free, left_side=left_side, **params)


def _lowering(
    ctx: mlir.LoweringRuleContext, a: Any, b: Any, *, transpose_a: bool, conjugate_a: bool, **params: Any
) -> list[Any]:
    hlo = mlir.hlo
    if conjugate_a and not transpose_a:
        a = mlir.chlo.conj(a)
    transpose = "NO_TRANSPOSE" if not transpose_a else "ADJOINT" if conjugate_a else "TRANSPOSE"
    flags = {name: mlir.ir.BoolAttr.get(value) for name, value in params.items()}
    return [hlo.triangular_solve(a, b, transpose_a=hlo.TransposeAttr.get(transpose), **flags)]


def _cpu_lowering(ctx: mlir.LoweringRuleContext, a: Any, b: Any, **params: Any) -> list[Any]:
    a_aval, b_aval = ctx.avals_in
    if not b_aval.size:
        return ir_empty([b_aval])
    if a_aval.dtype not in FLOAT32_64_OR_COMPLEX:
        return _lowering(ctx, a, b, **params)
    transpose_a, conjugate_a = params["transpose_a"], params["conjugate_a"]
    if conjugate_a and not transpose_a:
        a = mlir.chlo.conj(a)
    attributes = {
        "side": flag(params["left_side"], "L", "R"),
        "uplo": flag(params["lower"], "L", "U"),
        "trans_x": flag(transpose_a, "C" if conjugate_a else "T", "N"),
        "diag": flag(params["unit_diagonal"], "U", "N"),
    }
    return lapack_call(ctx, "trsm", b_aval.shape[:-2], [(a, a_aval), (b, b_aval)], [b_aval], attributes, {1: 0})


RULES: Table = {
    triangular_solve_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "transpose": _transpose,
        "axis_batch": _batch,
        "lowering": {None: _lowering, "cpu": _cpu_lowering},
    }
}
