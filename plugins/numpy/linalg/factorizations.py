"""Factorizations of matrices under NumPy's names."""

from __future__ import annotations

from typing import Any

from primax.plugins.linalg import positive
from primax.plugins.linalg.matrices import adjoint
from primax.plugins.numpy.linalg.operands import square

__all__ = ["cholesky"]


def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """The Cholesky decompositions of Hermitian positive definite matrices.

    Args:
      a: matrices of shape (..., n, n).
      upper: whether to return upper triangular matrices U with a = U.T.conj() @ U; else lower triangular ones L with
        a = L @ L.T.conj().
      symmetrize_input: whether to take the mean of `a` and its adjoint first. If not, only one triangle is read.

    Returns:
      An array of the shape of `a`; NaN where a matrix is not positive definite.

    Raises:
      ValueError: the matrices are not square.

    >>> import primax as px
    >>> px.numpy.linalg.cholesky(px.numpy.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    a = square("cholesky", a)
    if symmetrize_input:
        a = positive.symmetrize("cholesky", a)
    elif upper:
        a = adjoint(a)
    lower = positive.cholesky_p.bind(a)
    return adjoint(lower) if upper else lower
