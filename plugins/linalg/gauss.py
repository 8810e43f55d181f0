"""The LU decomposition: Gaussian elimination with row exchanges."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.dimensions import min_dim
from primax.extend.interpreters import ad, mlir
from primax.extend.provisional.arguments import integer
from primax.extend.provisional.elementwise import ir_full
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins import arithmetic, comparison, structural
from primax.plugins.control_flow import fori_loop
from primax.plugins.linalg.lapack import ir_empty, lapack_call, on_gpu, unless_failed
from primax.plugins.linalg.matrices import eye, front_batch, matmul, require_matrix, rows_at, tril, triu
from primax.plugins.linalg.triangular import triangular_solve_p

_INT32 = np.dtype(np.int32)

lu_p = core.Primitive("lu", multiple_results=True)
lu_pivots_to_permutation_p = core.Primitive("lu_pivots_to_permutation")


def lu(x: ArrayLike) -> tuple[Any, Any, Any]:
    """The LU decomposition with partial pivoting: with the rows of `x` permuted, x = L U.

    Args:
      x: matrices of shape (..., m, n).

    Returns:
      Three arrays. L and U in one array of the shape of `x`: L is the part below the diagonal, with ones on the
      diagonal. For each of the first min(m, n) rows, the row with which it was exchanged, an int32. The permutation, an
      int32 for each row: `x[permutation] == L @ U`.

    Raises:
      TypeError: `x` has a rank below 2, or a dtype that LAPACK does not support.

    >>> import primax as px
    >>> factors, pivots, permutation = px.lax.linalg.lu(px.numpy.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> factors
    Array([[4.  , 4.  ],
           [0.25, 1.  ]], dtype=float32)
    >>> permutation
    Array([1, 0], dtype=int32)
    """
    factors, pivots, permutation = lu_p.bind(x)
    return factors, pivots, permutation


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The permutation that results from row exchanges.

    Args:
      pivots: for each of the first k rows the row with which it is exchanged, an int32 of shape (..., k).
      permutation_size: the number of rows, k or more.

    Returns:
      An int32 array of shape (..., permutation_size).

    Raises:
      TypeError: `pivots` are not vectors of int32.
      ValueError: there are fewer rows than pivots.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.linalg.lu_pivots_to_permutation(np.int32([2, 2]), 3)
      Array([2, 0, 1], dtype=int32)
    """
    return lu_pivots_to_permutation_p.bind(
        pivots, permutation_size=integer("lu_pivots_to_permutation", "permutation_size", permutation_size)
    )


def _lu_abstract_eval(x: ShapedArray) -> list[ShapedArray]:
    require_matrix("lu", x, "x")
    *batch, m, n = x.shape
    return [
        ShapedArray(x.shape, x.dtype),
        ShapedArray((*batch, min_dim(m, n)), _INT32),
        ShapedArray((*batch, m), _INT32),
    ]


def _lu_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """With F = inv(L) P dA inv(U): dL = L tril(F, -1), dU = triu(F) U.

    L and U are extended to square matrices with ones on the diagonal, which leaves the products unchanged. S. F. Walter
    and L. Lehmann, Algorithmic differentiation of linear algebra functions, arXiv:1009.3112, section 4.2.
    """
    (x,), (t,) = primals, tangents
    factors, pivots, permutation = lu_p.bind(x)
    outs = [factors, pivots, permutation]
    zeros = [ad.Zero.from_primal_value(out) for out in outs]
    if type(t) is ad.Zero or not get_aval(x).size:
        return outs, zeros
    *batch, m, n = get_aval(x).shape
    ones = eye(get_aval(x).dtype, (*batch, m, m))
    l = arithmetic.add(tril(_squared(factors, m), -1), ones)
    u = triu(_squared(factors, n))
    if n > m:
        u = arithmetic.add(u, _last_ones(get_aval(x).dtype, (*batch, n, n), m))
    inner = _solve(l, rows_at(t, permutation), left_side=True, lower=True, unit_diagonal=True)
    inner = _solve(u, inner, left_side=False, lower=False, unit_diagonal=False)
    changes = arithmetic.add(matmul(l, tril(inner, -1)), matmul(triu(inner), u))
    return outs, [changes, *zeros[1:]]


def _squared(x: Any, size: int) -> Array:
    """Matrices cropped or padded with zeros to squares."""
    shape = get_aval(x).shape
    config = [(0, 0, 0)] * (len(shape) - 2) + [(0, size - length, 0) for length in shape[-2:]]
    return structural.pad_p.bind(x, get_aval(x).dtype.type(0), padding_config=tuple(config))


def _last_ones(dtype: Any, shape: tuple[int, ...], first: int) -> Any:
    """Matrices with ones on the diagonal from a position on, and zeros elsewhere."""
    *batch, n, _ = shape
    small = eye(dtype, (*batch, n - first, n - first))
    config = ((0, 0, 0),) * len(batch) + ((first, 0, 0),) * 2
    return structural.pad_p.bind(small, np.dtype(dtype).type(0), padding_config=config)


def _solve(a: Any, b: Any, **params: Any) -> Array:
    return triangular_solve_p.bind(a, b, **{"transpose_a": False, "conjugate_a": False, **params})


def _lu_lowering(ctx: mlir.LoweringRuleContext, x: Any) -> list[Any]:
    hlo = mlir.hlo
    aval, of_pivots, of_permutation = ctx.avals_out
    batch = aval.shape[:-2]
    if aval.size:
        codes = ShapedArray(batch, _INT32)
        out, pivots, info = lapack_call(ctx, "getrf", batch, [(x, aval)], [aval, of_pivots, codes], aliases={0: 0})
        (out,) = unless_failed(info, batch, [(out, aval)], "GE")
        pivots = hlo.subtract(pivots, ir_full(1, of_pivots))
    else:
        out, pivots = ir_empty([aval, of_pivots])
    inner = ctx.replace(primitive=lu_pivots_to_permutation_p, avals_in=[of_pivots], avals_out=[of_permutation])
    rule = _permutation_gpu_lowering if on_gpu(ctx) else _permutation_lowering
    return [out, pivots, *rule(inner, pivots, permutation_size=of_permutation.shape[-1])]


def _permutation_abstract_eval(pivots: ShapedArray, *, permutation_size: int) -> ShapedArray:
    if pivots.ndim < 1 or pivots.dtype != _INT32:
        raise TypeError(f"lu_pivots_to_permutation: pivots must be vectors of int32, got {pivots.str_short()}")
    if permutation_size < pivots.shape[-1]:
        raise ValueError(
            f"lu_pivots_to_permutation: permutation_size must be at least the number of pivots, {pivots.shape[-1]}, "
            f"got {permutation_size}"
        )
    return ShapedArray((*pivots.shape[:-1], permutation_size), _INT32)


def _permute(pivots: Any, *, permutation_size: int) -> Array:
    """Exchange one row after the other, in all stacks at once."""
    *batch, count = get_aval(pivots).shape
    shape = (*batch, permutation_size)
    places = structural.iota_p.bind(dtype=_INT32, shape=shape, dimension=len(batch))
    if not count:
        return places
    steps = structural.iota_p.bind(dtype=_INT32, shape=(*batch, count), dimension=len(batch))
    last = len(batch)

    def picked(x: Any, where: Any) -> Array:
        """The element of each vector at which a condition holds, broadcast to the shape of the permutation."""
        zeros = structural.broadcast_in_dim_p.bind(np.int32(0), shape=get_aval(x).shape, broadcast_dimensions=())
        one = structural.reduce_sum(structural.select(where, x, zeros), (last,))
        return structural.broadcast_in_dim_p.bind(one, shape=shape, broadcast_dimensions=tuple(range(last)))

    def exchange(step: Any, permutation: Any) -> Array:
        i = structural.convert_element_type_p.bind(step, new_dtype=_INT32, weak_type=False)
        at_step = comparison.eq(places, i)
        at_pivot = comparison.eq(places, picked(pivots, comparison.eq(steps, i)))
        first, second = picked(permutation, at_step), picked(permutation, at_pivot)
        return structural.select(at_step, second, structural.select(at_pivot, first, permutation))

    return fori_loop(0, count, exchange, places)


_permutation_lowering = mlir.lower_fun(_permute, multiple_results=False)


def _permutation_gpu_lowering(ctx: mlir.LoweringRuleContext, pivots: Any, *, permutation_size: int) -> list[Any]:
    (of_pivots,), (aval,) = ctx.avals_in, ctx.avals_out
    if not of_pivots.size:
        return _permutation_lowering(ctx, pivots, permutation_size=permutation_size)
    return lapack_call(ctx, "lu_pivots_to_permutation", aval.shape[:-1], [(pivots, of_pivots)], [aval])


RULES: Table = {
    lu_p: {
        "abstract_eval": _lu_abstract_eval,
        "jvp": _lu_jvp,
        "axis_batch": front_batch(lu_p),
        "lowering": dict.fromkeys(("cpu", "gpu"), _lu_lowering),
    },
    lu_pivots_to_permutation_p: {
        "abstract_eval": _permutation_abstract_eval,
        "jvp": ad.zero_jvp(lu_pivots_to_permutation_p),
        "axis_batch": front_batch(lu_pivots_to_permutation_p),
        "lowering": {None: _permutation_lowering, "gpu": _permutation_gpu_lowering},
    },
}
