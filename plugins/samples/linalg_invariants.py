"""The parts of decompositions that matrices determine, for the conformance kit, by NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Values = Sequence[Any]


def _adjoint(x: Any) -> Any:
    return x.swapaxes(-1, -2).conj()


def _pairs(columns: Any, rows: Any) -> Any:
    """The products of each column with the corresponding row, of shape (..., number, m, n)."""
    return np.einsum("...ik,...kj->...kij", columns, rows)


def _by_column(x: Any, order: Any) -> np.ndarray:
    return np.take_along_axis(x, order[..., None, :], -1)


def reflected(a: Any, taus: Any) -> np.ndarray:
    """The square orthogonal matrices of reflections below the diagonals of matrices."""
    m = a.shape[-2]
    q = np.broadcast_to(np.eye(m), (*a.shape[:-2], m, m))
    for i in range(taus.shape[-1]):
        v = np.where(np.arange(m) < i, 0, a[..., i])
        v[..., i] = 1
        q = q - taus[..., i, None, None] * (q @ v[..., None]) * v[..., None, :].conj()
    return q


def of_svd(results: Values, args: Values) -> list[Any]:
    """Singular values in their order, and pairs of orthonormal vectors up to a common phase."""
    s, *vectors = results
    if not vectors:
        return [s]
    u, vh = vectors
    count = s.shape[-1]
    return [s, _pairs(u[..., :count], vh[..., :count, :]), _adjoint(u) @ u, vh @ _adjoint(vh)]


def of_eigh(results: Values, args: Values) -> list[Any]:
    """Eigenvalues in their order, and normalized vectors up to phases: projections on them."""
    v, w = results
    return [w, _pairs(v, _adjoint(v))]


def of_eig(results: Values, args: Values) -> list[Any]:
    """Eigenvalues in any order, and vectors up to signs, since they are normalized to a real component."""
    w, *vectors = results
    order = np.argsort(w, -1)
    ordered = [_by_column(v, order) for v in vectors]
    return [np.take_along_axis(w, order, -1), *(_pairs(v, v.swapaxes(-1, -2)) for v in ordered)]


def of_schur(results: Values, args: Values) -> list[Any]:
    """Z T Z^H, and T with its eigenvalues in any order: triangular, or with blocks of two rows if real."""
    t, *vectors = results
    below = np.tril(t, -1 if np.iscomplexobj(t) else -2)
    determined = [below, np.sort(np.linalg.eigvals(t), -1), np.sum(np.abs(t) ** 2, (-1, -2))]
    for z in vectors:
        determined += [z @ t @ _adjoint(z), _adjoint(z) @ z]
    return determined


def of_qr(results: Values, args: Values) -> list[Any]:
    """Each column of Q with its row of R up to a phase, R triangular with a real diagonal, Q orthonormal; pivots."""
    q, r, *pivots = results
    diagonal = np.diagonal(r, axis1=-2, axis2=-1)
    return [_pairs(q, r), np.tril(r, -1), np.imag(diagonal), _adjoint(q) @ q, *pivots]


def of_reflections(results: Values, args: Values) -> list[Any]:
    """The same for the QR decomposition that the reflections represent."""
    a, taus = results
    return of_qr([reflected(a, taus), np.triu(a)], args)


def of_pivoted_reflections(results: Values, args: Values) -> list[Any]:
    """The same for the QR decomposition with pivots that the reflections represent."""
    a, pivots, taus = results
    return [*of_reflections([a, taus], args), pivots]


def of_hessenberg(results: Values, args: Values) -> list[Any]:
    """Q H Q^H, and H up to phases of its rows and columns: absolute values."""
    a, taus = results
    h = np.triu(a, -1)
    q = np.zeros_like(a)
    q[..., 0, 0] = 1
    q[..., 1:, 1:] = reflected(a[..., 1:, :-1], taus)
    return [q @ h @ _adjoint(q), np.abs(h), _adjoint(q) @ q]


def of_tridiagonal(results: Values, args: Values) -> list[Any]:
    """The diagonal of T, and the absolute values of the other."""
    _, diagonal, off_diagonal, _ = results
    return [diagonal, np.abs(off_diagonal)]
