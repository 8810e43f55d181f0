"""Factorizations of matrices under NumPy's names."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

from primax.extend.core import Array
from primax.extend.provisional.arguments import among, integers
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.linalg.operands import matrices, square
from primax.numpy.programs import one_program
from primax.plugins.linalg.general import eig_p
from primax.plugins.linalg.householder import geqrf_p
from primax.plugins.linalg.matrices import adjoint, mt, picked
from primax.plugins.linalg.orthogonal import qr_p
from primax.plugins.linalg.positive import cholesky_p, symmetrize
from primax.plugins.linalg.pseudoinverse import hermitian_svd
from primax.plugins.linalg.singular import svd_p
from primax.plugins.linalg.symmetric import eigh_p

__all__ = [
    "EigResult",
    "EighResult",
    "QRResult",
    "SVDResult",
    "cholesky",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "qr",
    "svd",
    "svdvals",
]


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.eig(pnp.eye(2)).eigenvalues
      Array([1.+0.j, 1.+0.j], dtype=complex64)
    """

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.eigh(pnp.diag(pnp.array([2.0, 1.0]))).eigenvalues
      Array([1., 2.], dtype=float32)
    """

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """A matrix Q with orthonormal columns, and an upper triangular matrix R.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.qr(pnp.ones((3, 2))).R.shape
      (2, 2)
    """

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """Left singular vectors as columns, singular values, and the adjoint of right singular vectors.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.svd(pnp.ones((3, 2)), full_matrices=False).Vh.shape
      (2, 2)
    """

    U: Any
    S: Any
    Vh: Any


@one_program("upper symmetrize_input")
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The Cholesky decompositions of Hermitian positive definite matrices.

    Args:
      a: matrices of shape (..., n, n).
      upper: whether to return upper triangular matrices U with a = U.T.conj() @ U, instead of lower triangular matrices
        L with a = L @ L.T.conj().
      symmetrize_input: whether to replace `a` by the mean of `a` and its adjoint; if False, one triangle is ignored.

    Returns:
      An array of the shape of `a`; NaN for matrices that are not positive definite.

    Raises:
      ValueError: the matrices are not square.

    >>> import primax as px
    >>> px.numpy.linalg.cholesky(px.numpy.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    return _cholesky(a, bool(upper), bool(symmetrize_input))


def _cholesky(a: Any, upper: bool, symmetrize_input: bool) -> Array:
    a = square("cholesky", a)
    if symmetrize_input:
        a = symmetrize("cholesky", a)
    elif upper:
        a = adjoint(a)
    lower = cholesky_p.bind(a)
    return adjoint(lower) if upper else lower


@overload
def qr(a: Any, mode: Literal["reduced", "full", "complete", "raw"] = "reduced") -> QRResult: ...
@overload
def qr(a: Any, mode: Literal["r"]) -> Array: ...
@overload
def qr(a: Any, mode: str) -> Array | QRResult: ...
@one_program("mode")
def qr(a: ArrayLike, mode: str = "reduced") -> Array | QRResult:
    """The QR decompositions of matrices: a = Q R with orthonormal columns of Q and an upper triangular R.

    Args:
      a: matrices of shape (..., m, n); k is min(m, n).
      mode: "reduced" or "full" for Q of shape (..., m, k) and R of shape (..., k, n); "complete" for (..., m, m) and
        (..., m, n); "r" for R of shape (..., k, n) alone; "raw" for LAPACK's result: transposed reflectors of shape
        (..., n, m), and their factors of shape (..., k).

    Returns:
      A pair; for "r", an array.

    Raises:
      ValueError: the rank of `a` is below 2, or the mode is unknown.

    Examples:
      >>> import primax.numpy as pnp
      >>> q, r = pnp.linalg.qr(pnp.ones((4, 2)))
      >>> q.shape, r.shape, pnp.linalg.qr(pnp.ones((4, 2)), mode="complete").Q.shape
      ((4, 2), (2, 2), (4, 4))
    """
    a = matrices("qr", a)
    if among(mode, ("raw",)):
        reflections, taus = geqrf_p.bind(a)
        return QRResult(mt(reflections), taus)
    if not among(mode, ("reduced", "full", "complete", "r")):
        raise ValueError(f"qr: mode must be 'reduced', 'complete', 'r', 'raw' or 'full', got {mode!r}")
    q, r = qr_p.bind(a, pivoting=False, full_matrices=mode == "complete", use_magma=None)
    return r if mode == "r" else QRResult(q, r)


def _eig(a: Any, right: bool) -> list[Any]:
    return eig_p.bind(
        a,
        compute_left_eigenvectors=False,
        compute_right_eigenvectors=right,
        enable_eigvec_derivs=False,
        implementation=None,
    )


def eig(a: ArrayLike) -> EigResult:
    """The eigenvalues and right eigenvectors of square matrices.

    Args:
      a: matrices of shape (..., n, n).

    Returns:
      A pair of complex arrays: eigenvalues of shape (..., n), and eigenvectors as the columns of an array of shape
        (..., n, n). The pair has no derivative; see `eigvals`, and `lax.linalg.eig`.

    Raises:
      ValueError: the matrices are not square.

    Examples:
      >>> import primax.numpy as pnp
      >>> values, vectors = pnp.linalg.eig(pnp.array([[0.0, 1.0], [-1.0, 0.0]]))
      >>> values.dtype, sorted(values.imag.round(4).tolist())
      (dtype('complex64'), [-1.0, 1.0])
    """
    return EigResult(*_eig(square("eig", a), True))


@one_program("")
def eigvals(a: ArrayLike) -> Array:
    """The eigenvalues of square matrices.

    Args:
      a: matrices of shape (..., n, n).

    Returns:
      A complex array of shape (..., n).

    Raises:
      ValueError: the matrices are not square.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.sort(pnp.linalg.eigvals(pnp.diag(pnp.array([3.0, 1.0]))))
      Array([1.+0.j, 3.+0.j], dtype=complex64)
    """
    return _eig(square("eigvals", a), False)[0]


def _eigh(a: Any, UPLO: str | None, symmetrize_input: bool, function: str) -> list[Array]:
    if not among(UPLO, (None, "L", "U")):
        raise ValueError(f"{function}: UPLO must be 'L', 'U' or None, got {UPLO!r}")
    a = square(function, a)
    if symmetrize_input:
        a = symmetrize(function, a)
    return eigh_p.bind(a, lower=UPLO != "U", sort_eigenvalues=True, subset_by_index=None, algorithm=None)


@one_program("UPLO symmetrize_input")
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """The eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      a: matrices of shape (..., n, n).
      UPLO: the triangle to read: "L" or None for the lower one, "U" for the upper one.
      symmetrize_input: whether to replace `a` by the mean of `a` and its adjoint, which reads both triangles.

    Returns:
      A pair: real eigenvalues of shape (..., n), ascending, and normalized eigenvectors as the columns of an array of
        shape (..., n, n).

    Raises:
      ValueError: the matrices are not square, or `UPLO` is unknown.

    >>> import primax as px
    >>> px.numpy.linalg.eigh(px.numpy.array([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    Array([1., 3.], dtype=float32)
    """
    vectors, values = _eigh(a, UPLO, bool(symmetrize_input), "eigh")
    return EighResult(values, vectors)


@one_program("UPLO symmetrize_input")
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """The eigenvalues of Hermitian matrices, ascending.

    Args:
      a: matrices of shape (..., n, n).
      UPLO: the triangle to read: "L" or None for the lower one, "U" for the upper one.
      symmetrize_input: whether to replace `a` by the mean of `a` and its adjoint, which reads both triangles.

    Returns:
      A real array of shape (..., n).

    Raises:
      ValueError: the matrices are not square, or `UPLO` is unknown.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.eigvalsh(pnp.array([[2.0, 2.0], [0.0, 2.0]])).round(4)  # of the mean with its transpose
      Array([1., 3.], dtype=float32)
    """
    return _eigh(a, UPLO, bool(symmetrize_input), "eigvalsh")[1]


@overload
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult: ...
@overload
def svd(
    a: Any,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...
@overload
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult: ...
@one_program("full_matrices compute_uv hermitian subset_by_index")
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult:
    """The singular value decompositions of matrices: a = U diag(S) Vh.

    Args:
      a: matrices of shape (..., m, n).
      full_matrices: whether U and Vh are square; otherwise U has k = min(m, n) columns, and Vh has k rows.
      compute_uv: whether U and Vh are returned.
      hermitian: whether `a` is Hermitian; then `eigh` computes the result.
      subset_by_index: the range `(start, stop)` of singular values and vectors to return; all if None.

    Returns:
      A triple: U, the singular values in descending order, and Vh; or the singular values alone, of shape (..., k).

    Raises:
      ValueError: the rank of `a` is below 2, `hermitian` is true and the matrices are not square, or `subset_by_index`
        is out of range or combined with `full_matrices`.

    >>> import primax as px
    >>> px.numpy.linalg.svd(px.numpy.array([[0.0, 2.0], [3.0, 0.0]]), compute_uv=False)
    Array([3., 2.], dtype=float32)
    """
    if full_matrices and subset_by_index is not None:
        raise ValueError("svd: full_matrices must be False where subset_by_index is given, got True")
    subset = None if subset_by_index is None else integers(subset_by_index, "svd", "subset_by_index")
    if hermitian:
        return _svd_by_eigenvectors(square("svd", a), compute_uv, subset)
    a = matrices("svd", a)
    params = {"full_matrices": bool(full_matrices), "compute_uv": bool(compute_uv)}
    outs = svd_p.bind(a, subset_by_index=subset, algorithm=None, **params)
    if not compute_uv:
        return outs[0]
    s, u, vh = outs
    return SVDResult(u, s, vh)


def _svd_by_eigenvectors(a: Any, compute_uv: bool, subset: Any) -> Any:
    u, s, vh = hermitian_svd(symmetrize("svd", a))
    if subset is not None:
        u, s, vh = picked(u, subset, -1), picked(s, subset, -1), picked(vh, subset, -2)
    return SVDResult(u, s, vh) if compute_uv else s


@one_program("")
def svdvals(x: ArrayLike, /) -> Array:
    """The singular values of matrices, descending.

    Args:
      x: matrices of shape (..., m, n).

    Returns:
      A real array of shape (..., min(m, n)).

    Raises:
      ValueError: the rank of `x` is below 2.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.linalg.svdvals(pnp.diag(pnp.array([-3.0, 4.0])))
      Array([4., 3.], dtype=float32)
    """
    return svd(x, compute_uv=False)
