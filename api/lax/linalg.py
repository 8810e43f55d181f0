"""Factorizations of matrices and systems of equations under jax.lax.linalg's names."""

from __future__ import annotations

from primax.plugins.linalg import (
    cholesky,
    cholesky_p,
    householder_product,
    householder_product_p,
    lu,
    lu_p,
    lu_pivots_to_permutation,
    lu_pivots_to_permutation_p,
    ormqr,
    ormqr_p,
    qr,
    qr_p,
    triangular_solve,
    triangular_solve_p,
)

__all__ = [
    "cholesky",
    "cholesky_p",
    "householder_product",
    "householder_product_p",
    "lu",
    "lu_p",
    "lu_pivots_to_permutation",
    "lu_pivots_to_permutation_p",
    "ormqr",
    "ormqr_p",
    "qr",
    "qr_p",
    "triangular_solve",
    "triangular_solve_p",
]
