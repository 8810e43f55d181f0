"""Systems of linear equations with tridiagonal matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins import arithmetic, structural
from primax.plugins.linalg.lapack import ir_by_operations, ir_empty, lapack_call, on_gpu, unless_failed
from primax.plugins.linalg.matrices import along_columns, columns_merged, front_batch, require_matrix

tridiagonal_solve_p = core.Primitive("tridiagonal_solve")


def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """The solutions X of A X = b for tridiagonal matrices A.

    Args:
      dl: the diagonal below the main one, of shape (..., n): `A[i, i - 1] == dl[i]`; its first element is not read.
      d: the main diagonal, of shape (..., n).
      du: the diagonal above, of shape (..., n): `A[i, i + 1] == du[i]`; its last element is not read.
      b: an array of shape (..., n, k).
      perturb_singular: whether to change pivots near zero so that the solution is finite.

    Returns:
      An array of the shape of `b`; NaN where a matrix is singular.

    Raises:
      TypeError: dtypes differ, or LAPACK does not support them; shapes do not fit.

    >>> import primax as px
    >>> ones, b = px.numpy.ones(3), px.numpy.array([[3.0], [4.0], [3.0]])
    >>> px.lax.linalg.tridiagonal_solve(ones, 2.0 * ones, ones, b)[:, 0]
    Array([1., 1., 1.], dtype=float32)
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=bool(perturb_singular))


def _abstract_eval(
    dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *, perturb_singular: bool
) -> ShapedArray:
    require_matrix("tridiagonal_solve", b, "b")
    for name, aval in (("dl", dl), ("d", d), ("du", du)):
        if aval.shape != b.shape[:-1] or aval.dtype != b.dtype:
            raise TypeError(
                f"tridiagonal_solve: {name} must be of the dtype of b, and have its axes except the last one, "
                f"got {aval.str_short()} and {b.str_short()}"
            )
    return ShapedArray(b.shape, b.dtype)


def _shifted(x: Any, by: int, axis: int) -> Array:
    """The element `by` places before each element along an axis, which is counted from the end; zeros enter."""
    aval = get_aval(x)
    config = [(0, 0, 0)] * aval.ndim
    config[axis] = (by, -by, 0)
    return structural.pad_p.bind(x, aval.dtype.type(0), padding_config=tuple(config))


def _times(diagonals: Sequence[Any], x: Any) -> Array:
    """The product of a tridiagonal matrix, some of whose diagonals may be zero, with X."""
    total: Any = None
    for diagonal, by in zip(diagonals, (1, 0, -1), strict=True):
        if type(diagonal) is not ad.Zero:
            moved = _shifted(x, by, -2) if by else x
            term = arithmetic.mul(along_columns(diagonal, get_aval(x).shape), moved)
            total = term if total is None else arithmetic.add(total, term)
    return total


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    """A dX = db - dA X."""
    *diagonals, b = primals
    *changes, tb = tangents
    x = tridiagonal_solve_p.bind(*diagonals, b, **params)
    moved = _times(changes, x)
    right = tb if moved is None else ad.add_tangents(arithmetic.neg(moved), tb)
    if type(right) is ad.Zero:
        return x, ad.Zero.from_primal_value(x)
    return x, tridiagonal_solve_p.bind(*diagonals, right, **params)


def _transpose(ct: Any, dl: Any, d: Any, du: Any, b: Any, **params: Any) -> list[Any]:
    if any(type(x) is ad.UndefinedPrimal for x in (dl, d, du)):
        raise TypeError("tridiagonal_solve is linear in b, but not in the diagonals")
    if type(ct) is ad.Zero:
        return [None, None, None, ad.Zero(b.aval)]
    below, above = _shifted(du, 1, -1), _shifted(dl, -1, -1)
    return [None, None, None, tridiagonal_solve_p.bind(below, d, above, ct, **params)]


_all_in_front = front_batch(tridiagonal_solve_p)


def _batch(axis: batching.AxisData, args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
    *diagonals, b = args
    *of_diagonals, of_b = dims
    if of_b is not None and all(dim is None for dim in of_diagonals):
        return columns_merged(tridiagonal_solve_p, diagonals, b, of_b, len(get_aval(b).shape) - 2, **params)
    return _all_in_front(axis, args, dims, **params)


_LEAST_ROWS = 3  # the fewest that the routine of GPUs accepts


def _solve_small(dl: Any, d: Any, du: Any, b: Any) -> list[Any]:
    """The solution for matrices of one or two rows, by Cramer's rule."""
    add, sub, mul, div = (
        primitive.bind for primitive in (arithmetic.add_p, arithmetic.sub_p, arithmetic.mul_p, arithmetic.div_p)
    )
    shape = get_aval(b).shape
    if shape[-2] == 1:
        return [div(b, along_columns(d, shape))]

    def exchanged(x: Any, axis: int) -> Array:
        return add(_shifted(x, 1, axis), _shifted(x, -1, axis))

    beside = add(_shifted(_shifted(du, 1, -1), -1, -1), _shifted(_shifted(dl, -1, -1), 1, -1))
    determinant = sub(mul(d, exchanged(d, -1)), mul(beside, exchanged(beside, -1)))
    scaled, rest = along_columns(exchanged(d, -1), shape), along_columns(beside, shape)
    return [div(sub(mul(scaled, b), mul(rest, exchanged(b, -2))), along_columns(determinant, shape))]


def _lowering(ctx: mlir.LoweringRuleContext, dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool) -> list[Any]:
    (aval,) = ctx.avals_out
    if not aval.size:
        return ir_empty([aval])
    batch = aval.shape[:-2]
    operands = list(zip((dl, d, du, b), ctx.avals_in, strict=True))
    if perturb_singular:
        return lapack_call(ctx, "tridiagonal_solve_perturbed", batch, operands, [aval])
    if on_gpu(ctx):
        if aval.shape[-2] < _LEAST_ROWS:
            return ir_by_operations(ctx, _solve_small, operands)
        return lapack_call(ctx, "gtsv", batch, operands, [aval], aliases={3: 0})
    results = [*ctx.avals_in, ShapedArray(batch, np.dtype(np.int32))]
    *_, x, info = lapack_call(ctx, "gtsv", batch, operands, results, aliases={i: i for i in range(4)})
    return unless_failed(info, batch, [(x, aval)])


RULES: Table = {
    tridiagonal_solve_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "transpose": _transpose,
        "axis_batch": _batch,
        "lowering": dict.fromkeys(("cpu", "gpu"), _lowering),
    }
}
