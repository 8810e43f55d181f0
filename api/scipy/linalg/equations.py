"""Linear systems, and the factorizations that solve them."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, sequence
from primax.extend.provisional.typing import ArrayLike
from primax.numpy import linalg as numpy_linalg
from primax.numpy.linalg.operands import inexact, matrices, require_square, square, stacked
from primax.numpy.programs import one_program
from primax.numpy.shaping import broadcast_to, reshaped
from primax.plugins import structural
from primax.plugins.linalg.gauss import lu_p, lu_pivots_to_permutation_p
from primax.plugins.linalg.matrices import adjoint, eye, rows_at, rows_to, tril, triu
from primax.plugins.linalg.positive import cholesky_p
from primax.plugins.linalg.solve import by_cholesky, by_lu
from primax.plugins.linalg.triangular import triangular_solve_p

__all__ = [
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "inv",
    "lu",
    "lu_factor",
    "lu_solve",
    "solve",
    "solve_triangular",
]


@one_program("lower overwrite_a check_finite")
def cholesky(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The Cholesky decompositions of Hermitian positive definite matrices.

    Args:
      a: matrices of shape (..., n, n); only the lower triangles are read if `lower`, else only the upper ones.
      lower: whether to return lower triangular matrices L with a = L @ L.T.conj(), instead of upper triangular matrices
        U with a = U.T.conj() @ U.
      overwrite_a, check_finite: ignored.

    Returns:
      An array of the shape of `a`; NaN for matrices that are not positive definite.

    Raises:
      ValueError: the matrices are not square.

    >>> import primax as px
    >>> px.scipy.linalg.cholesky(px.numpy.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 1.],
           [0., 2.]], dtype=float32)
    """
    return _cholesky("cholesky", a, lower)


def _cholesky(function: str, a: Any, lower: bool) -> Array:
    a = square(function, a)
    return cholesky_p.bind(a) if lower else adjoint(cholesky_p.bind(adjoint(a)))


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """Cholesky decompositions for `cho_solve`: a pair of `cholesky(a, lower)` and `lower`.

    Args:
      a, lower, overwrite_a, check_finite: see `cholesky`.

    Examples:
      >>> import primax.numpy as pnp
      >>> from primax.scipy.linalg import cho_factor, cho_solve
      >>> factor, lower = cho_factor(pnp.diag(pnp.array([4.0, 9.0])))
      >>> factor, lower, cho_solve((factor, lower), pnp.array([4.0, 9.0]))
      (Array([[2., 0.],
             [0., 3.]], dtype=float32), False, Array([1., 1.], dtype=float32))
    """
    return _cho_factor(a, lower), lower


@one_program(static=1)
def _cho_factor(a: Any, lower: bool) -> Array:
    return _cholesky("cho_factor", a, lower)


def cho_solve(
    c_and_lower: tuple[ArrayLike, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """The solutions X of a @ X = b, from the Cholesky decompositions of `a`.

    Args:
      c_and_lower: the result of `cho_factor`.
      b: a vector of shape (n,), or matrices of shape (..., n, k).
      overwrite_b, check_finite: ignored.

    Raises:
      ValueError: the factors are not square, or the shapes do not fit.

    >>> import primax as px
    >>> a, b = px.numpy.array([[4.0, 2.0], [2.0, 5.0]]), px.numpy.array([8.0, 12.0])
    >>> px.scipy.linalg.cho_solve(px.scipy.linalg.cho_factor(a), b)
    Array([1., 2.], dtype=float32)
    """
    c, lower = _pair("cho_solve", "c_and_lower", c_and_lower)
    return _cho_solve(c, b, bool(lower))


def _pair(function: str, argument: str, value: Any) -> list[Any]:
    pair = sequence(function, argument, value)
    if len(pair) != 2:
        raise ValueError(f"{function}: {argument} must be a pair, got {value!r}")
    return pair


@one_program(static=2)
def _cho_solve(c: Any, b: Any, lower: bool) -> Array:
    c, columns, vector = _system("cho_solve", c, b)
    first, last = ("N", "C") if lower else ("C", "N")
    out = _triangular(c, _triangular(c, columns, first, lower, False), last, lower, False)
    return _without_axis(out) if vector else out


@one_program("overwrite_a check_finite")
def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """LU decompositions for `lu_solve`.

    Args:
      a: matrices of shape (..., m, n).
      overwrite_a, check_finite: ignored.

    Returns:
      L and U in one array of the shape of `a`, and for each row the row that it was exchanged with, an int32.

    Raises:
      ValueError: the rank of `a` is below 2.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> lu, pivots = px.scipy.linalg.lu_factor(pnp.array([[0.0, 2.0], [4.0, 8.0]]))
      >>> lu, pivots
      (Array([[4., 8.],
             [0., 2.]], dtype=float32), Array([1, 1], dtype=int32))
    """
    factors, pivots, _ = lu_p.bind(matrices("lu_factor", a))
    return factors, pivots


def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solutions X of op(a) @ X = b, from the LU decompositions of `a`.

    Args:
      lu_and_piv: the result of `lu_factor` for square matrices.
      b: a vector of shape (n,), or matrices of shape (..., n, k).
      trans: op(a) is `a` for 0, its transpose for 1, its adjoint for 2.
      overwrite_b, check_finite: ignored.

    Raises:
      ValueError: the factors are not square, the shapes do not fit, or `trans` is unknown.

    Examples:
      >>> import primax.numpy as pnp
      >>> from primax.scipy.linalg import lu_factor, lu_solve
      >>> factors = lu_factor(pnp.array([[0.0, 2.0], [4.0, 8.0]]))
      >>> lu_solve(factors, pnp.array([2.0, 8.0])), lu_solve(factors, pnp.array([4.0, 10.0]), trans=1)
      (Array([0., 1.], dtype=float32), Array([1., 1.], dtype=float32))
    """
    if not among(trans, (0, 1, 2)):
        raise ValueError(f"lu_solve: trans must be 0, 1 or 2, got {trans!r}")
    factors, pivots = _pair("lu_solve", "lu_and_piv", lu_and_piv)
    return _lu_solve(factors, pivots, b, trans)


@one_program(static=3)
def _lu_solve(factors: Any, pivots: Any, b: Any, trans: int) -> Array:
    factors, columns, vector = _system("lu_solve", factors, b)
    n = get_aval(factors).shape[-1]
    permutation = lu_pivots_to_permutation_p.bind(pivots, permutation_size=n)
    permutation = broadcast_to(permutation, (*get_aval(factors).shape[:-2], n))
    if trans == 0:
        out = _triangular(factors, rows_at(columns, permutation), "N", True, True)
        out = _triangular(factors, out, "N", False, False)
    else:
        how = "T" if trans == 1 else "C"
        out = _triangular(factors, _triangular(factors, columns, how, False, False), how, True, True)
        out = rows_to(out, permutation)
    return _without_axis(out) if vector else out


@one_program("permute_l overwrite_a check_finite")
def lu(a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, ...]:
    """LU decompositions: a = P @ L @ U with permutation matrices P, unit lower triangular L and upper triangular U.

    Args:
      a: matrices of shape (..., m, n); k is min(m, n).
      permute_l: whether to return only P @ L and U.
      overwrite_a, check_finite: ignored.

    Returns:
      P (real), L and U of shapes (..., m, m), (..., m, k) and (..., k, n); or a pair of P @ L and U.

    Raises:
      ValueError: the rank of `a` is below 2.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> p, l, u = px.scipy.linalg.lu(pnp.array([[0.0, 2.0], [4.0, 8.0]]))
      >>> p, l, u
      (Array([[0., 1.],
             [1., 0.]], dtype=float32), Array([[1., 0.],
             [0., 1.]], dtype=float32), Array([[4., 8.],
             [0., 2.]], dtype=float32))
    """
    a = matrices("lu", a)
    aval = get_aval(a)
    *batch, m, n = aval.shape
    k = min(m, n)
    factors, _, permutation = lu_p.bind(a)
    ones = eye(aval.dtype, (*batch, m, k))
    l = tril(_cut(factors, m, k), -1) + ones
    u = triu(_cut(factors, k, n))
    if permute_l:
        return rows_to(l, permutation), u
    real = np.empty(0, aval.dtype).real.dtype
    return rows_to(eye(real, (*batch, m, m)), permutation), l, u


def _cut(x: Any, m: int, n: int) -> Array:
    """The first rows and columns of matrices."""
    shape = get_aval(x).shape
    limits = (*shape[:-2], m, n)
    return structural.slice_p.bind(x, start_indices=(0,) * len(shape), limit_indices=limits, strides=None)


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinants of square matrices, as `numpy.linalg.det`.

    Args:
      a: matrices of shape (..., n, n).
      overwrite_a, check_finite: ignored.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.linalg.det(pnp.array([[1, 2], [3, 4]])).dtype, px.scipy.linalg.det(pnp.ones((5, 2, 2))).shape
      (dtype('float32'), (5,))
    """
    return numpy_linalg.det(a)


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverses of square matrices, as `numpy.linalg.inv`.

    Args:
      a: matrices of shape (..., n, n).
      overwrite_a, check_finite: ignored.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.linalg.inv(pnp.diag(pnp.array([2, 4])))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    """
    return numpy_linalg.inv(a)


def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """The solutions X of a @ X = b.

    Args:
      a: square matrices of shape (..., n, n).
      b: a vector of shape (n,), or matrices of shape (..., n, k).
      lower: whether to read the lower triangle of a positive definite matrix, instead of the upper one.
      overwrite_a, overwrite_b, debug, check_finite: ignored.
      assume_a: "gen" for any matrix, "sym" for symmetric, "her" for Hermitian, "pos" for positive definite matrices.

    Raises:
      ValueError: `a` is not square, the shapes do not fit, or `assume_a` is unknown.

    >>> import primax as px
    >>> a, b = px.numpy.array([[4.0, 2.0], [2.0, 5.0]]), px.numpy.array([8.0, 12.0])
    >>> px.scipy.linalg.solve(a, b, assume_a="pos")
    Array([1., 2.], dtype=float32)
    """
    if not among(assume_a, ("gen", "sym", "her", "pos")):
        raise ValueError(f"solve: assume_a must be 'gen', 'sym', 'her' or 'pos', got {assume_a!r}")
    return _solve(a, b, bool(lower), assume_a)


@one_program(static=2)
def _solve(a: Any, b: Any, lower: bool, assume_a: str) -> Array:
    a, columns, vector = _system("solve", a, b)
    if assume_a == "pos":
        out = by_cholesky(a if lower else adjoint(a), columns)
    else:
        out = by_lu(a, columns)
    return _without_axis(out) if vector else out


@one_program("trans lower unit_diagonal overwrite_b debug check_finite")
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: object = None,
    check_finite: bool = True,
) -> Array:
    """The solutions X of op(a) @ X = b for triangular matrices.

    Args:
      a: matrices of shape (..., n, n); only one triangle is read.
      b: a vector of shape (n,), or matrices of shape (..., n, k).
      trans: whether to solve with `a` (0 or "N"), its transpose (1 or "T"), or its adjoint (2 or "C").
      lower: whether `a` is lower triangular; if False, it is upper triangular.
      unit_diagonal: whether the diagonal of `a` is ones; it is then not read.
      overwrite_b, debug, check_finite: ignored.

    Raises:
      ValueError: `a` is not square, the shapes do not fit, or `trans` is unknown.

    >>> import primax as px
    >>> a, b = px.numpy.array([[2.0, 0.0], [1.0, 4.0]]), px.numpy.array([2.0, 9.0])
    >>> px.scipy.linalg.solve_triangular(a, b, lower=True)
    Array([1., 2.], dtype=float32)
    """
    names = {0: "N", 1: "T", 2: "C", "N": "N", "T": "T", "C": "C"}
    if not among(trans, names):
        raise ValueError(f"solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    return _solve_triangular(a, b, names[trans], bool(lower), bool(unit_diagonal))


def _solve_triangular(a: Any, b: Any, how: str, lower: bool, unit_diagonal: bool) -> Array:
    a, columns, vector = _system("solve_triangular", a, b)
    out = _triangular(a, columns, how, lower, unit_diagonal)
    return _without_axis(out) if vector else out


def _system(function: str, a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Square matrices, right-hand sides as columns, and whether `b` is a vector."""
    a, b = inexact(function, a, b)
    x, y = get_aval(a).shape, get_aval(b).shape
    require_square(function, x)
    vector = len(y) == 1
    if not y or y[-1 if vector else -2] != x[-1]:
        raise ValueError(f"{function}: b must have as many rows as a, {x[-1]}, got shapes {x} and {y}")
    return *stacked(function, a, reshaped(b, (*y, 1)) if vector else b), vector


def _without_axis(x: Any) -> Array:
    return reshaped(x, get_aval(x).shape[:-1])


def _triangular(a: Any, b: Any, how: str, lower: bool, unit: bool) -> Array:
    return triangular_solve_p.bind(
        a,
        b,
        left_side=True,
        lower=bool(lower),
        transpose_a=how != "N",
        conjugate_a=how == "C" and dtypes.is_complex(get_aval(a).dtype),
        unit_diagonal=unit,
    )
