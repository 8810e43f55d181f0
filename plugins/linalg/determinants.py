"""Determinants, by LU decompositions."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, mlir
from primax.extend.rule_types import Table
from primax.plugins import arithmetic, comparison, structural
from primax.plugins.bitwise import bitwise_and, bitwise_not, bitwise_or
from primax.plugins.control_flow import cond
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.exponential import log
from primax.plugins.linalg.gauss import lu_p
from primax.plugins.linalg.householder import geqrf_p
from primax.plugins.linalg.in_parts import InParts
from primax.plugins.linalg.matrices import (
    adjoint,
    along_rows,
    as_complex,
    conj,
    diagonal,
    front_batch,
    full_like,
    matmul,
    on_diagonals,
    real_dtype,
    require_square,
    rows_at,
    scaled,
)
from primax.plugins.linalg.singular import svd_p
from primax.plugins.linalg.solve import solve_p
from primax.plugins.linalg.triangular import triangular_solve_p
from primax.plugins.reductions import reduce_or_p, reduce_prod_p

det_p = InParts("det")
slogdet_p = InParts("slogdet", multiple_results=True)


def _sum(x: Any) -> Array:
    return structural.reduce_sum_p.bind(x, axes=(len(get_aval(x).shape) - 1,))


def _product(x: Any) -> Array:
    return reduce_prod_p.bind(x, axes=(len(get_aval(x).shape) - 1,))


def _trace(x: Any) -> Array:
    return _sum(diagonal(x))


def _parity(pivots: Any, dtype: Any) -> Array:
    """1 for an even number of row exchanges, -1 for an odd one."""
    shape = get_aval(pivots).shape
    rows = structural.iota_p.bind(dtype=np.dtype(np.int32), shape=shape, dimension=len(shape) - 1)
    ones = structural.broadcast_in_dim_p.bind(dtype.type(1), shape=shape, broadcast_dimensions=())
    minus_ones = structural.broadcast_in_dim_p.bind(dtype.type(-1), shape=shape, broadcast_dimensions=())
    return _product(structural.select_n_p.bind(comparison.ne(pivots, rows), ones, minus_ones))


def _det_abstract_eval(a: ShapedArray) -> ShapedArray:
    require_square("det", a, "a")
    return ShapedArray(a.shape[:-2], a.dtype)


def _det(a: Any) -> Array:
    factors, pivots, _ = lu_p.bind(a)
    return arithmetic.mul(_product(diagonal(factors)), _parity(pivots, get_aval(a).dtype))


def _det_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """d det(A) = tr(adj(A) dA), where adj(A) dA = det(A) inv(A) dA is computed without division by the last pivot.

    The derivative is then correct if the last pivot is zero. With U x = y, the last row of det(A) x is the last row of
    y times the other pivots; the other rows follow from an equation with a one in place of the last pivot.
    """
    (a,), (t,) = primals, tangents
    shape, dtype = get_aval(a).shape, get_aval(a).dtype
    factors, pivots, permutation = lu_p.bind(a)
    pivotal = diagonal(factors)
    parity = _parity(pivots, dtype)
    det = arithmetic.mul(_product(pivotal), parity)
    if type(t) is ad.Zero or not shape[-1]:
        return det, ad.Zero.from_primal_value(det)
    rank, n = len(shape), shape[-1]
    is_last = comparison.eq(
        structural.iota_p.bind(dtype=np.dtype(np.int32), shape=shape[:-1], dimension=rank - 2), np.int32(n - 1)
    )
    others = _product(structural.select_n_p.bind(is_last, pivotal, full_like(pivotal, 1)))
    batch = tuple(range(rank - 2))
    every_det, every_other = (
        structural.broadcast_in_dim_p.bind(x, shape=shape[:-1], broadcast_dimensions=batch)
        for x in (det, arithmetic.mul(others, parity))
    )
    scale = structural.select_n_p.bind(is_last, every_det, every_other)
    flags = {"left_side": True, "transpose_a": False, "conjugate_a": False}
    y = triangular_solve_p.bind(factors, rows_at(t, permutation), lower=True, unit_diagonal=True, **flags)
    y = arithmetic.mul(
        y, structural.broadcast_in_dim_p.bind(scale, shape=shape, broadcast_dimensions=(*batch, rank - 2))
    )
    zero = comparison.eq(pivotal, full_like(pivotal, 0))
    corner = bitwise_and(on_diagonals(shape), along_rows(bitwise_or(is_last, zero), shape))
    upper = structural.select_n_p.bind(corner, factors, full_like(factors, 1))
    by_pivots = _trace(triangular_solve_p.bind(upper, y, lower=False, unit_diagonal=False, **flags))
    stuck = reduce_or_p.bind(bitwise_and(zero, bitwise_not(is_last)), axes=(rank - 2,))
    by_values = _trace(matmul(_adjugate(a, stuck), t))
    return det, structural.select_n_p.bind(stuck, by_pivots, by_values)


@custom_jvp
def _adjugate(a: Any, stuck: Any) -> Array:
    """The adjugates of matrices, one of which has a pivot of zero before the last pivot."""
    some = reduce_or_p.bind(stuck, axes=tuple(range(get_aval(stuck).ndim)))
    return cond(some, _adjugate_by_values, lambda a: full_like(a, 0), a)


@_adjugate.defjvp
def _adjugate_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """NaN: the decomposition into singular values does not determine second derivatives of the determinant."""
    a, stuck = primals
    shape = get_aval(a).shape
    flags = structural.broadcast_in_dim_p.bind(stuck, shape=shape, broadcast_dimensions=tuple(range(len(shape) - 2)))
    factor = structural.select_n_p.bind(flags, full_like(a, 0), full_like(a, np.nan))
    return _adjugate(a, stuck), arithmetic.mul(tangents[0], factor)


def _adjugate_by_values(a: Any) -> Array:
    """The adjugates, by singular values: the product of all others in place of each."""
    u, s, vh = _svd(a)
    shape = get_aval(a).shape
    others = structural.select_n_p.bind(on_diagonals(shape), along_rows(s, shape), full_like(s, 1, shape))
    phase = arithmetic.mul(_det(u), _det(vh))
    phase = structural.broadcast_in_dim_p.bind(phase, shape=shape, broadcast_dimensions=tuple(range(len(shape) - 2)))
    inner = scaled(adjoint(vh), along_rows(_product(others), shape))
    return arithmetic.mul(phase, matmul(inner, adjoint(u)))


def _svd(a: Any) -> tuple[Any, Any, Any]:
    s, u, vh = svd_p.bind(a, compute_uv=True, full_matrices=False, subset_by_index=None, algorithm=None)
    return u, s, vh


def _slogdet_abstract_eval(a: ShapedArray, *, method: str) -> list[ShapedArray]:
    require_square("slogdet", a, "a")
    return [ShapedArray(a.shape[:-2], a.dtype), ShapedArray(a.shape[:-2], real_dtype(a.dtype))]


def _slogdet(a: Any, *, method: str) -> list[Any]:
    if method == "qr":
        return _of_reflections(*geqrf_p.bind(a))
    factors, pivots, _ = lu_p.bind(a)
    return _of_factors(factors, pivots)


def _of_reflections(reflections: Any, taus: Any) -> list[Any]:
    """The product of the determinants of R and of reflections 1 - tau v v^H, whose vectors are in R.

    The reflections are unitary, so their determinants are - tau / conj(tau), or 1 if tau is 0.
    """
    pivotal = diagonal(reflections)
    sign = _product(arithmetic.sign(pivotal))
    none = comparison.eq(taus, full_like(taus, 0))
    turned = arithmetic.neg(arithmetic.div(taus, conj(structural.select_n_p.bind(none, taus, full_like(taus, 1)))))
    turn = _product(structural.select_n_p.bind(none, turned, full_like(taus, 1)))
    return [arithmetic.mul(sign, turn), _sum(log(arithmetic.abs(pivotal)))]


def _of_factors(factors: Any, pivots: Any) -> list[Any]:
    pivotal = diagonal(factors)
    dtype = get_aval(pivotal).dtype
    sign = arithmetic.mul(_product(arithmetic.sign(pivotal)), _parity(pivots, dtype))
    return [sign, _sum(log(arithmetic.abs(pivotal)))]


def _slogdet_jvp(primals: Any, tangents: Any, *, method: str) -> tuple[Any, Any]:
    """d log det(A) = tr(inv(A) dA); its imaginary part rotates the sign."""
    (a,), (t,) = primals, tangents
    factors, pivots, permutation = lu_p.bind(a)
    sign, logabsdet = _of_factors(factors, pivots) if method == "lu" else slogdet_p.bind(a, method=method)
    if type(t) is ad.Zero:
        return [sign, logabsdet], [ad.Zero.from_primal_value(sign), ad.Zero.from_primal_value(logabsdet)]
    change = _trace(solve_p.bind(a, factors, permutation, t, transpose_a=False))
    if not dtypes.is_complex(get_aval(a).dtype):
        return [sign, logabsdet], [ad.Zero.from_primal_value(sign), change]
    growth = arithmetic.real(change)
    turn = arithmetic.mul(sign, arithmetic.sub(change, as_complex(growth)))
    return [sign, logabsdet], [turn, growth]


RULES: Table = {
    det_p: {
        "abstract_eval": _det_abstract_eval,
        "jvp": _det_jvp,
        "axis_batch": front_batch(det_p),
        "lowering": mlir.lower_fun(_det, multiple_results=False),
    },
    slogdet_p: {
        "abstract_eval": _slogdet_abstract_eval,
        "jvp": _slogdet_jvp,
        "axis_batch": front_batch(slogdet_p),
        "lowering": mlir.lower_fun(_slogdet),
    },
}
