"""The Moore-Penrose inverse of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, mlir
from primax.extend.rule_types import Table
from primax.plugins import arithmetic, comparison, structural
from primax.plugins.linalg.in_parts import InParts
from primax.plugins.linalg.matrices import (
    adjoint,
    along_rows,
    columns_at,
    diagonal,
    eye,
    from_triangle,
    front_batch,
    full_like,
    matmul,
    real_dtype,
    real_part,
    require_matrix,
    require_square,
    scaled,
)
from primax.plugins.linalg.singular import svd_p
from primax.plugins.linalg.symmetric import eigh_p
from primax.plugins.reductions import reduce_max_p
from primax.plugins.sorting import sort_p

pinv_p = InParts("pinv")


def hermitian_svd(a: Any) -> tuple[Any, Any, Any]:
    """The singular value decomposition of Hermitian matrices by their eigenvectors: U, s descending, and V^H."""
    v, w = eigh_p.bind(a, lower=True, sort_eigenvalues=True, subset_by_index=None, algorithm=None)
    shape, rank = get_aval(w).shape, get_aval(w).ndim
    places = structural.iota_p.bind(dtype=np.dtype(np.int32), shape=shape, dimension=rank - 1)
    keys = arithmetic.neg(arithmetic.abs(w)), w, places
    key, w, order = sort_p.bind(*keys, dimension=rank - 1, is_stable=True, num_keys=1)
    u = columns_at(v, order)
    zeros = full_like(w, 0)
    signs = structural.select_n_p.bind(comparison.lt(w, zeros), full_like(w, 1), full_like(w, -1))
    return u, arithmetic.neg(key), adjoint(scaled(u, along_rows(signs, get_aval(v).shape)))


def _abstract_eval(a: ShapedArray, rtol: ShapedArray, *, hermitian: bool) -> ShapedArray:
    (require_square if hermitian else require_matrix)("pinv", a, "a")
    if rtol.shape != a.shape[:-2] or rtol.dtype != real_dtype(a.dtype):
        raise TypeError(
            f"pinv: rtol must be {real_dtype(a.dtype)}, one number for each matrix, got {rtol.str_short()} for "
            f"{a.str_short()}"
        )
    *batch, m, n = a.shape
    return ShapedArray((*batch, n, m), a.dtype)


def _pseudoinvert(a: Any, rtol: Any, *, hermitian: bool) -> Array:
    if not get_aval(a).size:
        *batch, m, n = get_aval(a).shape
        return full_like(a, 0, (*batch, n, m))
    if hermitian:
        u, s, vh = hermitian_svd(a)
    else:
        s, u, vh = svd_p.bind(a, compute_uv=True, full_matrices=False, subset_by_index=None, algorithm=None)
    greatest = reduce_max_p.bind(s, axes=(get_aval(s).ndim - 1,))
    cutoff = arithmetic.mul(rtol, greatest)
    shape = get_aval(s).shape
    dims = tuple(range(len(shape) - 1))
    cutoff = structural.broadcast_in_dim_p.bind(cutoff, shape=shape, broadcast_dimensions=dims)
    kept = comparison.gt(s, cutoff)
    inverse = arithmetic.div(get_aval(s).dtype.type(1), structural.select_n_p.bind(kept, full_like(s, np.inf), s))
    v = adjoint(vh)
    return matmul(scaled(v, along_rows(inverse, get_aval(v).shape)), adjoint(u))


def _jvp(primals: Any, tangents: Any, *, hermitian: bool) -> tuple[Any, Any]:
    """dP = - P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P, at a constant rank, full or not.

    G. H. Golub and V. Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems whose
    variables separate, SIAM J. Numer. Anal. 10 (1973), equation 4.12.
    """
    (a, rtol), (t, _) = primals, tangents
    p = pinv_p.bind(a, rtol, hermitian=hermitian)
    if type(t) is ad.Zero:
        return p, ad.Zero.from_primal_value(p)
    if hermitian:
        a, t = from_triangle(a), from_triangle(t)
    th, ph = adjoint(t), adjoint(p)
    change = arithmetic.neg(matmul(matmul(p, t), p))
    change = arithmetic.add(change, matmul(matmul(p, matmul(ph, th)), _complement(matmul(a, p))))
    return p, arithmetic.add(change, matmul(_complement(matmul(p, a)), matmul(matmul(th, ph), p)))


def _complement(projection: Any) -> Array:
    """The complement of a projection; exactly zero if the projection is the identity."""
    aval = get_aval(projection)
    rank = structural.reduce_sum_p.bind(real_part(diagonal(projection)), axes=(aval.ndim - 2,))
    n = aval.shape[-1]
    whole = comparison.gt(rank, full_like(rank, n - 0.5))
    whole = structural.broadcast_in_dim_p.bind(
        whole, shape=aval.shape, broadcast_dimensions=tuple(range(aval.ndim - 2))
    )
    rest = arithmetic.sub(eye(aval.dtype, aval.shape), projection)
    return structural.select_n_p.bind(whole, rest, full_like(rest, 0))


RULES: Table = {
    pinv_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "axis_batch": front_batch(pinv_p),
        "lowering": mlir.lower_fun(_pseudoinvert, multiple_results=False),
    }
}
