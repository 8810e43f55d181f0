"""The QR decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.dimensions import min_dim
from primax.extend.interpreters import ad, mlir
from primax.extend.provisional.dimensions import bounds
from primax.extend.provisional.elementwise import FLOAT32_64_OR_COMPLEX, Accepts
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins import arithmetic, structural
from primax.plugins.linalg.householder import geqp3_p, geqrf_p, householder_product
from primax.plugins.linalg.matrices import (
    adjoint,
    as_complex,
    columns_at,
    eye,
    front_batch,
    matmul,
    on_diagonals,
    only,
    require_matrix,
    tril,
    triu,
)
from primax.plugins.linalg.triangular import triangular_solve_p

qr_p = core.Primitive("qr", multiple_results=True)

_NARROW = np.dtype(np.float16), np.dtype(dtypes.bfloat16)
_ACCEPTED = Accepts(
    "float16, bfloat16, float32, float64 or complex", lambda d: d in _NARROW or d in FLOAT32_64_OR_COMPLEX
)


def qr(
    x: ArrayLike, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Any, ...]:
    """The QR decomposition: x = Q R with orthonormal columns of Q and an upper triangular R.

    Args:
      x: matrices of shape (..., m, n).
      pivoting: whether to permute the columns of `x` first, so that the absolute values on the diagonal of R descend.
      full_matrices: whether Q has shape (..., m, m) and R shape (..., m, n); otherwise (..., m, k) and (..., k, n),
        where k is min(m, n).
      use_magma: None; MAGMA is not available.

    Returns:
      Q and R; if `pivoting`, also the permutation, an int32 array of shape (..., n):
      `x[:, permutation] == Q @ R`.

    Raises:
      NotImplementedError: it is differentiated with `full_matrices` and m > n.
      TypeError: `x` has a rank below 2, or another dtype than float16, bfloat16, float32, float64 or a complex one.

    >>> import primax as px
    >>> q, r = px.lax.linalg.qr(px.numpy.array([[0.0, 2.0], [1.0, 3.0]]))
    >>> px.numpy.abs(r)
    Array([[1., 3.],
           [0., 2.]], dtype=float32)
    """
    return tuple(qr_p.bind(x, pivoting=bool(pivoting), full_matrices=bool(full_matrices), use_magma=use_magma))


def _sizes(aval: ShapedArray, full_matrices: bool) -> tuple[Any, int, int, int]:
    *batch, m, n = aval.shape
    return batch, m, n, m if full_matrices else min_dim(m, n)


def _abstract_eval(x: ShapedArray, *, pivoting: bool, full_matrices: bool, use_magma: Any) -> list[ShapedArray]:
    require_matrix("qr", x, "x", _ACCEPTED)
    if use_magma:
        raise ValueError(f"qr: use_magma must be None or False: there is no MAGMA here, got {use_magma!r}")
    batch, m, n, k = _sizes(x, full_matrices)
    outs = [ShapedArray((*batch, m, k), x.dtype), ShapedArray((*batch, k, n), x.dtype)]
    return [*outs, ShapedArray((*batch, n), np.dtype(np.int32))] if pivoting else outs


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, ...]:
    """With F = Q^H dA inv(R) and the skew-Hermitian S that is F below the diagonal: dQ = Q (S - F) + dA inv(R).

    Then dR = Q^H (dA - dQ R). For wide matrices dQ follows from the first columns. S. F. Walter and L. Lehmann,
    Algorithmic differentiation of linear algebra functions, arXiv:1009.3112, section 4.3. The diagonal of R is real,
    so that on that of S there are the imaginary parts of F.
    """
    (x,), (t,) = primals, tangents
    dtype = get_aval(x).dtype
    if dtype in _NARROW and type(t) is not ad.Zero and get_aval(x).size:
        both = _jvp([_converted(x, np.float32)], [_converted(t, np.float32)], **params)
        return tuple(_all_converted(outs, dtype) for outs in both)
    outs = qr_p.bind(x, **params)
    zeros = [ad.Zero.from_primal_value(out) for out in outs]
    *_, n, k = _sizes(get_aval(x), params["full_matrices"])
    if type(t) is ad.Zero or not get_aval(x).size:
        return outs, zeros
    if bounds(k - n)[1] > 0:
        raise NotImplementedError(
            "qr: x must have no more rows than columns to differentiate with full_matrices=True, since it does not "
            f"determine the derivative otherwise, got {get_aval(x).str_short()}"
        )
    q, r, *permutation = outs
    if permutation:
        t = columns_at(t, permutation[0])
    first_t, first_r = _first_columns(t, k), _first_columns(r, k)
    change = triangular_solve_p.bind(
        first_r,
        first_t,
        left_side=False,
        lower=False,
        transpose_a=False,
        conjugate_a=False,
        unit_diagonal=False,
    )
    inner = matmul(adjoint(q), change)
    below = tril(inner, -1)
    skew = arithmetic.sub(below, adjoint(below))
    if dtypes.is_complex(get_aval(x).dtype):
        turned = arithmetic.sub(inner, as_complex(arithmetic.real(inner)))
        skew = arithmetic.add(skew, only(turned, on_diagonals(get_aval(inner).shape)))
    dq = arithmetic.add(matmul(q, arithmetic.sub(skew, inner)), change)
    dr = triu(arithmetic.sub(matmul(adjoint(q), t), matmul(skew, r)))
    return outs, [dq, dr, *zeros[2:]]


def _first_columns(x: Any, count: int) -> Array:
    return _cut(x, get_aval(x).shape[-2], count)


def _cut(x: Any, m: int, n: int) -> Array:
    """The first rows and columns of matrices."""
    shape = get_aval(x).shape
    limits = (*shape[:-2], m, n)
    if limits == shape:
        return x
    return structural.slice_p.bind(x, start_indices=(0,) * len(shape), limit_indices=limits, strides=None)


def _converted(x: Any, dtype: Any) -> Array:
    return structural.convert_element_type_p.bind(x, new_dtype=np.dtype(dtype), weak_type=False)


def _all_converted(outs: Sequence[Any], dtype: Any) -> list[Any]:
    """Q and R in another dtype, followed by the permutation if there is one."""
    return [*(_converted(x, dtype) for x in outs[:2]), *outs[2:]]


def _decompose(x: Any, *, pivoting: bool, full_matrices: bool, use_magma: Any) -> list[Any]:
    aval = get_aval(x)
    if aval.dtype in _NARROW:  # LAPACK supports none of these
        params = {"pivoting": pivoting, "full_matrices": full_matrices, "use_magma": use_magma}
        return _all_converted(_decompose(_converted(x, np.float32), **params), aval.dtype)
    batch, m, n, k = _sizes(aval, full_matrices)
    rest = []
    if pivoting:
        free = structural.broadcast_in_dim_p.bind(np.int32(0), shape=(*batch, n), broadcast_dimensions=())
        reflections, columns, taus = geqp3_p.bind(x, free)
        rest = [arithmetic.sub(columns, np.int32(1))]
    else:
        reflections, taus = geqrf_p.bind(x)
    if not aval.size:
        return [eye(aval.dtype, (*batch, m, k)), triu(_cut(reflections, k, n)), *rest]
    vectors = _cut(reflections, m, min_dim(m, n))
    if bounds(k - n)[1] > 0:
        config = ((0, 0, 0),) * (len(batch) + 1) + ((0, k - n, 0),)
        vectors = structural.pad_p.bind(vectors, aval.dtype.type(0), padding_config=config)
    return [householder_product(vectors, taus), triu(_cut(reflections, k, n)), *rest]


RULES: Table = {
    qr_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "axis_batch": front_batch(qr_p),
        "lowering": mlir.lower_fun(_decompose),
    }
}
