"""Products of a matrix with its own transpose, and updates of Cholesky decompositions by such products."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import real_number
from primax.extend.provisional.elementwise import FLOAT32_OR_64, FLOATING
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins import arithmetic, comparison, exponential, structural
from primax.plugins.control_flow import scan
from primax.plugins.linalg.matrices import (
    along_columns,
    along_rows,
    front_batch,
    half_diagonal,
    matmul,
    mt,
    only,
    require_matrix,
    require_square,
    tril,
    triu,
)
from primax.plugins.linalg.triangular import triangular_solve_p

cholesky_update_p = core.Primitive("cholesky_update")
symmetric_product_p = core.Primitive("symmetric_product")


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The upper triangular R' such that R'^T R' is R^T R + w w^T, in time proportional to the size of R.

    Args:
      r_matrix: an upper triangular R of shape (..., n, n), real.
      w_vector: vectors of shape (..., n).

    Returns:
      An array of the shape of `r_matrix`.

    Raises:
      TypeError: dtypes differ or are not float32 or float64; shapes do not fit.
      ValueError: `r_matrix` is not square.

    >>> import primax as px
    >>> px.lax.linalg.cholesky_update(px.numpy.array([[3.0, 0.0], [0.0, 1.0]]), px.numpy.array([4.0, 0.0]))
    Array([[5., 0.],
           [0., 1.]], dtype=float32)
    """
    return cholesky_update_p.bind(r_matrix, w_vector)


def symmetric_product(
    a_matrix: ArrayLike, c_matrix: ArrayLike, *, alpha: float = 1.0, beta: float = 0.0, symmetrize_output: bool = False
) -> Array:
    """alpha A A^T + beta C for a symmetric C.

    Args:
      a_matrix: A, of shape (..., m, n), real.
      c_matrix: C, of shape (..., m, m).
      alpha, beta: the factors.
      symmetrize_output: whether to copy the lower triangles to the upper ones.

    Raises:
      TypeError: dtypes differ or are not floating; shapes do not fit.
      ValueError: `c_matrix` is not square.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> a, c = np.float32([[1, 2]]), np.float32([[10]])
      >>> lax.linalg.symmetric_product(a, c, beta=1.0)
      Array([[15.]], dtype=float32)
    """
    alpha, beta = (real_number("symmetric_product", name, x) for name, x in (("alpha", alpha), ("beta", beta)))
    out = symmetric_product_p.bind(a_matrix, c_matrix, alpha=float(alpha), beta=float(beta))
    if not symmetrize_output:
        return out
    return arithmetic.add(tril(out), mt(tril(out, -1)))


def _update_abstract_eval(r: ShapedArray, w: ShapedArray) -> ShapedArray:
    require_square("cholesky_update", r, "r_matrix", FLOAT32_OR_64)
    if w.shape != r.shape[:-1] or w.dtype != r.dtype:
        raise TypeError(
            f"cholesky_update: w_vector must be of the dtype of r_matrix, with one axis less, got {r.str_short()} and "
            f"{w.str_short()}"
        )
    return ShapedArray(r.shape, r.dtype)


def _rotate_rows(r: Any, w: Any) -> Array:
    """Rotate each row of R and w so that the element of w in the column of the diagonal becomes zero."""
    shape = get_aval(r).shape
    rank, n = len(shape), shape[-1]
    if not get_aval(r).size:
        return r
    places = structural.iota_p.bind(dtype=np.dtype(np.int32), shape=(n,), dimension=0)
    rows = batching.moveaxis(triu(r), rank - 2, 0)

    def step(w: Any, row_and_place: Any) -> tuple[Any, Any]:
        row, place = row_and_place
        x, y = (_element(v, place) for v in (row, w))
        length = exponential.sqrt_p.bind(arithmetic.add(arithmetic.square(x), arithmetic.square(y)))
        nothing = comparison.eq(length, structural.zeros_like(length))  # nothing to rotate, so the angle is 0
        one = structural.ones_like(length)
        length = structural.select(nothing, one, length)
        c, s = structural.select(nothing, one, arithmetic.div(x, length)), arithmetic.div(y, length)
        c, s = (_repeated(v, get_aval(w).shape) for v in (c, s))
        turned = arithmetic.add(arithmetic.mul(c, row), arithmetic.mul(s, w))
        left = arithmetic.sub(arithmetic.mul(c, w), arithmetic.mul(s, row))
        return left, turned

    _, turned = scan(step, w, (rows, places))
    return batching.moveaxis(turned, 0, rank - 2)


def _element(v: Any, place: Any) -> Array:
    """One element of each of several vectors."""
    shape = get_aval(v).shape
    places = structural.iota_p.bind(dtype=np.dtype(np.int32), shape=shape, dimension=len(shape) - 1)
    return structural.reduce_sum_p.bind(only(v, comparison.eq(places, place)), axes=(len(shape) - 1,))


def _repeated(x: Any, shape: tuple[int, ...]) -> Array:
    """Numbers repeated along a new last axis."""
    return structural.broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=tuple(range(len(shape) - 1)))


def _jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """With M = R^T R + w w^T, dR' = triu_half(inv(R')^T dM inv(R')) R', as for the Cholesky decomposition."""
    (r, w), (tr, tw) = primals, tangents
    out = cholesky_update(r, w)
    terms = []
    if type(tr) is not ad.Zero:
        terms.append(matmul(mt(triu(tr)), triu(r)))
    if type(tw) is not ad.Zero:
        shape = get_aval(r).shape
        terms.append(arithmetic.mul(along_columns(tw, shape), along_rows(w, shape)))
    if not terms:
        return out, ad.Zero.from_primal_value(out)
    change = terms[0] if len(terms) == 1 else arithmetic.add_p.bind(*terms)
    change = arithmetic.add(change, mt(change))
    flags = {"lower": False, "conjugate_a": False, "unit_diagonal": False}
    inner = triangular_solve_p.bind(out, change, left_side=True, transpose_a=True, **flags)
    inner = triangular_solve_p.bind(out, inner, left_side=False, transpose_a=False, **flags)
    return out, matmul(half_diagonal(triu(inner)), out)


def _product_abstract_eval(a: ShapedArray, c: ShapedArray, *, alpha: float, beta: float) -> ShapedArray:
    require_matrix("symmetric_product", a, "a_matrix", FLOATING)
    require_square("symmetric_product", c, "c_matrix", FLOATING)
    if a.dtype != c.dtype or a.shape[:-1] != c.shape[:-1]:
        raise TypeError(
            f"symmetric_product: c_matrix must have the dtype, the leading axes and the rows of a_matrix, "
            f"got {a.str_short()} and {c.str_short()}"
        )
    return ShapedArray(c.shape, c.dtype)


def _multiply(a: Any, c: Any, *, alpha: float, beta: float) -> Array:
    scale = get_aval(a).dtype.type
    product = arithmetic.mul(matmul(a, mt(a)), scale(alpha))
    return arithmetic.add(product, arithmetic.mul(c, scale(beta))) if beta else product


def _product_jvp(primals: Any, tangents: Any, *, alpha: float, beta: float) -> tuple[Any, Any]:
    (a, c), (ta, tc) = primals, tangents
    out = symmetric_product_p.bind(a, c, alpha=alpha, beta=beta)
    scale = get_aval(a).dtype.type
    change: Any = ad.Zero.from_primal_value(out)
    if type(ta) is not ad.Zero:
        one_side = arithmetic.mul(matmul(ta, mt(a)), scale(alpha))
        change = arithmetic.add(one_side, mt(one_side))
    if type(tc) is not ad.Zero:
        change = ad.add_tangents(change, arithmetic.mul(tc, scale(beta)))
    return out, change


RULES: Table = {
    cholesky_update_p: {
        "abstract_eval": _update_abstract_eval,
        "jvp": _jvp,
        "axis_batch": front_batch(cholesky_update_p),
        "lowering": mlir.lower_fun(_rotate_rows, multiple_results=False),
    },
    symmetric_product_p: {
        "abstract_eval": _product_abstract_eval,
        "jvp": _product_jvp,
        "axis_batch": front_batch(symmetric_product_p),
        "lowering": mlir.lower_fun(_multiply, multiple_results=False),
    },
}
