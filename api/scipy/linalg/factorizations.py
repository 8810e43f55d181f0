"""Factorizations of matrices under SciPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import among, integers
from primax.extend.provisional.typing import ArrayLike, KeyLike
from primax.numpy import linalg as numpy_linalg
from primax.numpy.conversion import asarray
from primax.numpy.linalg.operands import inexact, matrices, square
from primax.numpy.padding import pad
from primax.numpy.programs import one_program
from primax.numpy.shaping import reshaped
from primax.numpy.triangles import diag
from primax.plugins.linalg.general import hessenberg_p, schur_p
from primax.plugins.linalg.householder import householder_product_p
from primax.plugins.linalg.matrices import adjoint, as_complex, conj, half, triu
from primax.plugins.linalg.orthogonal import qr_p
from primax.plugins.linalg.symmetric import eigh_p
from primax.plugins.structural import stop_gradient
from primax.scipy.linalg.equations import solve_triangular

__all__ = ["eigh", "eigh_tridiagonal", "hessenberg", "polar", "qr", "qr_multiply", "schur", "svd"]


@one_program("lower eigvals_only overwrite_a overwrite_b turbo eigvals type check_finite")
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> tuple[Any, Any]:
    """The eigenvalues and eigenvectors of Hermitian matrices: a v = w v, or a v = w b v.

    Args:
      a: matrices of shape (..., n, n).
      b: None, or a positive definite matrix of the same shape.
      lower: no effect, since `a` is first replaced by the mean of `a` and its adjoint, as in JAX.
      eigvals_only: whether to return only the eigenvalues.
      overwrite_a, overwrite_b, turbo, check_finite: ignored.
      eigvals: None.
      type: 1.

    Returns:
      Eigenvalues of shape (..., n), ascending, and eigenvectors as columns with v^H b v = 1.

    Raises:
      NotImplementedError: `eigvals` is not None or `type` is not 1.
      ValueError: the matrices are not square.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.linalg.eigh(pnp.diag(pnp.array([9.0, 2.0])), eigvals_only=True)  # in ascending order
      Array([2., 9.], dtype=float32)
    """
    if eigvals is not None:
        raise NotImplementedError(f"eigh: eigvals must be None, got {eigvals!r}")
    if not among(type, (1,)):
        raise NotImplementedError(f"eigh: type must be 1, got {type!r}")
    if b is None:
        w, v = numpy_linalg.eigh(a, UPLO="L" if lower else "U")
        return w if eigvals_only else (w, v)
    a, b = inexact("eigh", square("eigh", a), square("eigh", b, "b"))
    l = numpy_linalg.cholesky(b)
    w, v = numpy_linalg.eigh(_between(l, a))
    return w if eigvals_only else (w, _solve(l, v, True))


def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: KeyLike | None = None,
) -> Array | tuple[Array, Array]:
    """The eigenvalues and eigenvectors of a real symmetric or Hermitian tridiagonal matrix.

    Args:
      d: the diagonal, real, of shape (n,).
      e: the superdiagonal, of shape (n - 1,).
      eigvals_only: whether to return only the eigenvalues.
      select: "a" for all eigenvalues, "i" for a range of them.
      select_range: for `select="i"`, the first and the last eigenvalue, counted from 0.
      tol, key: ignored; eigenvalues are as precise as those of `eigh`.

    Returns:
      Eigenvalues, ascending, and eigenvectors as columns.

    Raises:
      NotImplementedError: `select` is "v".
      ValueError: the lengths of `d` and `e` do not fit, or `select` or `select_range` is invalid.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> values = px.scipy.linalg.eigh_tridiagonal(pnp.array([2.0, 2.0]), pnp.array([1.0]), eigvals_only=True)
      >>> values.round()
      Array([1., 3.], dtype=float32)
    """
    d, e = inexact("eigh_tridiagonal", d, e)
    sizes = get_aval(d).shape, get_aval(e).shape
    if any(len(shape) != 1 for shape in sizes) or sizes[0][0] != sizes[1][0] + 1:
        raise ValueError(
            f"eigh_tridiagonal: d must be a vector with one element more than e, got shapes {sizes[0]} and {sizes[1]}"
        )
    if among(select, ("v",)):
        raise NotImplementedError("eigh_tridiagonal: select must be 'a' or 'i', got 'v'")
    if not among(select, ("a", "i")) or (select == "i") != (select_range is not None):
        raise ValueError(
            f"eigh_tridiagonal: select must be 'a', or 'i' with a select_range, got {select!r} and {select_range}"
        )
    subset = None
    if select_range is not None:
        subset = integers(select_range, "eigh_tridiagonal", "select_range")
        if len(subset) != 2:
            raise ValueError(f"eigh_tridiagonal: select_range must be a pair, got {select_range!r}")
        subset = (subset[0], subset[1] + 1)
    v, w = eigh_p.bind(
        diag(d) + diag(conj(e), -1), lower=True, sort_eigenvalues=True, subset_by_index=subset, algorithm=None
    )
    return w if eigvals_only else (w, v)


def _solve(l: Any, x: Any, transposed: bool) -> Array:
    return solve_triangular(l, x, trans=2 if transposed else 0, lower=True)


def _between(l: Any, a: Any) -> Array:
    """inv(L) A inv(L)^H."""
    return adjoint(_solve(l, adjoint(_solve(l, a, False)), False))


@one_program("overwrite_a lwork mode pivoting check_finite")
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: object = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """The QR decompositions of matrices: a = Q R with orthonormal columns of Q and an upper triangular R.

    Args:
      a: matrices of shape (..., m, n).
      overwrite_a, lwork, check_finite: ignored.
      mode: "full" for Q of shape (..., m, m) and R of shape (..., m, n); "economic" for (..., m, k) and (..., k, n)
        with k = min(m, n); "r" for R of shape (..., m, n) alone.
      pivoting: whether to permute the columns of `a` so that absolute values on the diagonal of R descend.

    Returns:
      A tuple of Q, R and, if `pivoting`, the permutation; "r" omits Q.

    Raises:
      ValueError: the rank of `a` is below 2, or `mode` is unknown.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> q, r = px.scipy.linalg.qr(pnp.ones((4, 2)))
      >>> q.shape, r.shape, px.scipy.linalg.qr(pnp.ones((4, 2)), mode="economic")[0].shape
      ((4, 4), (4, 2), (4, 2))
    """
    if not among(mode, ("full", "economic", "r")):
        raise ValueError(f"qr: mode must be 'full', 'economic' or 'r', got {mode!r}")
    a = matrices("qr", a)
    outs = qr_p.bind(a, pivoting=bool(pivoting), full_matrices=mode != "economic", use_magma=None)
    return tuple(outs[1:] if mode == "r" else outs)


def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:
    """The product of a matrix with the Q of a QR decomposition, and R.

    Args:
      a: a matrix of shape (m, n); k is min(m, n).
      c: a matrix or a vector.
      mode: "left" for Q @ c, "right" for c @ Q, where Q is of shape (m, k), or (m, m) if the shape of `c` requires it.
      pivoting: whether to permute the columns of `a`.
      conjugate: whether to conjugate Q.
      overwrite_a, overwrite_c: ignored.

    Returns:
      A tuple of the product, R of shape (k, n) and, if `pivoting`, the permutation.

    Raises:
      ValueError: `mode` is unknown, or the shapes do not fit.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> product, r = px.scipy.linalg.qr_multiply(pnp.ones((4, 2)), pnp.ones((3, 4)))
      >>> product.shape, r.shape
      ((3, 2), (2, 2))
    """
    if not among(mode, ("left", "right")):
        raise ValueError(f"qr_multiply: mode must be 'left' or 'right', got {mode!r}")
    a, c = inexact("qr_multiply", a, c)
    q, r, *rest = qr(a, mode="economic", pivoting=pivoting)
    m, k = get_aval(q).shape[-2:]
    shape = get_aval(c).shape
    if not shape:
        raise ValueError(f"qr_multiply: c must be of rank 1 or more, got {get_aval(c).str_short()}")
    vector = len(shape) == 1
    columns = reshaped(c, (*shape, 1) if mode == "left" else (1, *shape)) if vector else c
    inner = get_aval(columns).shape[-2 if mode == "left" else -1]
    if mode == "left" and inner == m != k:
        q = qr(a, pivoting=pivoting)[0]
    elif inner != (k if mode == "left" else m):
        length = k if mode == "left" else m
        raise ValueError(f"qr_multiply: c must have {length} {'rows' if mode == 'left' else 'columns'}, got {shape}")
    if conjugate:
        q = q.conj()
    out = q @ columns if mode == "left" else columns @ q
    return (out.reshape(-1) if vector else out), r, *rest


@one_program("full_matrices compute_uv overwrite_a check_finite lapack_driver")
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> tuple[Array, ...] | Array:
    """The singular value decompositions of matrices, as `numpy.linalg.svd`, in a tuple.

    Args:
      a: matrices of shape (..., m, n).
      full_matrices: whether U and Vh are square; otherwise U has k = min(m, n) columns, and Vh has k rows.
      compute_uv: whether to return U and Vh.
      overwrite_a, check_finite, lapack_driver: ignored.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.linalg.svd(pnp.diag(pnp.array([-3.0, 4.0])), compute_uv=False)
      Array([4., 3.], dtype=float32)
      >>> u, s, vh = px.scipy.linalg.svd(pnp.ones((4, 2)), full_matrices=False)
      >>> u.shape, s.shape, vh.shape
      ((4, 2), (2,), (2, 2))
    """
    out = numpy_linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(out) if compute_uv else out


@one_program("output")
def schur(a: ArrayLike, output: str = "real") -> tuple[Any, Any]:
    """The Schur decompositions of matrices: a = Z T Z^H with unitary Z and upper triangular T.

    Args:
      a: matrices of shape (..., n, n).
      output: "real", for which real matrices have a real T, with 2 x 2 blocks for pairs of complex eigenvalues; or
        "complex".

    Returns:
      T and Z.

    Raises:
      ValueError: the matrices are not square, or `output` is unknown.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> t, z = px.scipy.linalg.schur(pnp.array([[0.0, 1.0], [-1.0, 0.0]]), output="complex")
      >>> t.dtype, abs(t[1, 0])
      (dtype('complex64'), Array(0., dtype=float32))
    """
    if not among(output, ("real", "complex")):
        raise ValueError(f"schur: output must be 'real' or 'complex', got {output!r}")
    a = square("schur", a)
    if output == "complex":
        a = as_complex(a)
    t, z = schur_p.bind(a, compute_schur_vectors=True, sort_eig_vals=False, select_callable=None)
    return t, z


@one_program("calc_q overwrite_a check_finite")
def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array] | Array:
    """The Hessenberg forms of matrices: a = Q H Q^H with unitary Q, and H zero below its first subdiagonal.

    Args:
      a: matrices of shape (..., n, n).
      calc_q: whether to return Q.
      overwrite_a, check_finite: ignored.

    Returns:
      H, or a pair of H and Q.

    Raises:
      ValueError: the matrices are not square.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.linalg.hessenberg(pnp.ones((3, 3)))[2, 0]
      Array(0., dtype=float32)
    """
    a = square("hessenberg", a)
    if not get_aval(a).size:
        empty = asarray(a)
        return (empty, empty) if calc_q else empty
    reflections, taus = hessenberg_p.bind(a)
    h = triu(reflections, -1)
    if not calc_q:
        return h
    aval = get_aval(a)
    *batch, n, _ = aval.shape
    inner = householder_product_p.bind(reflections[..., 1:, : n - 1], taus)
    q = pad(inner, [(0, 0)] * len(batch) + [(1, 0), (1, 0)])
    corner = np.zeros((n, n), aval.dtype)
    corner[0, 0] = 1
    return h, q + corner


@one_program("side method eps max_iterations")
def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:
    """The polar decompositions of matrices: a = U P, or a = P U; U has orthonormal columns or rows, P is Hermitian.

    Args:
      a: a matrix of shape (m, n).
      side: the side of P, "right" or "left".
      method: "qdwh" or "svd", which have the same result.
      eps, max_iterations: ignored; the singular value decomposition gives U and P.

    Returns:
      U and P, which is positive semidefinite.

    Raises:
      ValueError: `side` or `method` is unknown, or the rank of `a` is below 2.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> u, p = px.scipy.linalg.polar(pnp.diag(pnp.array([-2.0, 3.0])))
      >>> u.round(), p.round()
      (Array([[-1.,  0.],
             [ 0.,  1.]], dtype=float32), Array([[2., 0.],
             [0., 3.]], dtype=float32))
    """
    if not among(side, ("right", "left")):
        raise ValueError(f"polar: side must be 'right' or 'left', got {side!r}")
    if not among(method, ("qdwh", "svd")):
        raise ValueError(f"polar: method must be 'qdwh' or 'svd', got {method!r}")
    a = matrices("polar", a)
    u, s, vh = numpy_linalg.svd(a, full_matrices=False)
    unitary = u @ vh
    # The derivatives of P are those of the product with A, which does not depend on the choice of singular vectors.
    product = adjoint(unitary) @ a if side == "right" else a @ adjoint(unitary)
    factor = adjoint(vh) if side == "right" else u
    p = (factor * s.astype(get_aval(u).dtype)[..., None, :]) @ adjoint(factor)
    return unitary, _with_derivatives_of(half(product + adjoint(product)), p)


def _with_derivatives_of(x: Any, value: Any) -> Array:
    """A value with the derivatives of another array that equals it up to rounding."""
    return x + stop_gradient(value - x)
