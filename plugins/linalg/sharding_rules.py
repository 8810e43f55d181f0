"""The sharding rules of linear algebra: matrices are whole, stacks of them may be divided."""

from __future__ import annotations

from typing import Any

from primax.extend.core import ShapedArray
from primax.plugins.linalg.determinants import det_p, slogdet_p
from primax.plugins.linalg.gauss import lu_p, lu_pivots_to_permutation_p
from primax.plugins.linalg.general import eig_p, hessenberg_p, schur_p
from primax.plugins.linalg.householder import geqp3_p, geqrf_p, householder_product_p, ormqr_p
from primax.plugins.linalg.orthogonal import qr_p
from primax.plugins.linalg.positive import cholesky_p
from primax.plugins.linalg.pseudoinverse import pinv_p
from primax.plugins.linalg.repeated import (
    from_spectrum_p,
    spectral_changes_p,
    spectral_quotients_p,
    spectral_turns_p,
)
from primax.plugins.linalg.singular import svd_p
from primax.plugins.linalg.solve import solve_p
from primax.plugins.linalg.spectra import is_tall_or_wide, singular_spectrum_p, spectrum_p
from primax.plugins.linalg.symmetric import eigh_p, tridiagonal_p
from primax.plugins.linalg.triangular import triangular_solve_p
from primax.plugins.linalg.tridiagonal import tridiagonal_solve_p
from primax.plugins.linalg.updates import cholesky_update_p, symmetric_product_p


def _qr(x: ShapedArray, *, pivoting: bool, **params: Any) -> str:
    return "... _ _ -> ... _ _, ... _ _" + (", ... _" if pivoting else "")


def _svd(x: ShapedArray, *, compute_uv: bool, **params: Any) -> str:
    return "... _ _ -> ... _" + (", ... _ _, ... _ _" if compute_uv else "")


def _eig(x: ShapedArray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **params: Any) -> str:
    return "... _ _ -> ... _" + ", ... _ _" * (compute_left_eigenvectors + compute_right_eigenvectors)


def _schur(x: ShapedArray, *, compute_schur_vectors: bool, **params: Any) -> str:
    return "... _ _ -> ... _ _" + ", ... _ _" * compute_schur_vectors


def _singular_spectrum(x: ShapedArray, **params: Any) -> str:
    return "... _ _ -> ... _" + ", ... _ _" * (4 + any(is_tall_or_wide(*x.shape[-2:])))


def _changes(w: ShapedArray, *parts: ShapedArray, **params: Any) -> str:
    return "... _" + ", ... _ _" * len(parts) + " -> ... _" + ", ... _ _" * (len(parts) // 2)


def _turns(w: ShapedArray, *parts: ShapedArray, **params: Any) -> str:
    return "... _" + ", ... _ _" * len(parts) + " -> ... _"


def _from_spectrum(w: ShapedArray, ct: ShapedArray, *parts: ShapedArray, turned: bool, **params: Any) -> str:
    count = len(parts) // (1 + turned)
    return "... _, ... _" + ", ... _ _" * len(parts) + " -> " + ", ".join(["... _ _"] * count)


def _solve(a: ShapedArray, factors: ShapedArray, *others: ShapedArray, transpose_a: bool) -> str:
    permutation = ", ... _" * (len(others) - 1)
    return f"... _ _, ... _ _{permutation}, ... _ _ -> ... _ _"


SHARDING = {
    cholesky_p: "... _ _ -> ... _ _",
    cholesky_update_p: "... _ _, ... _ -> ... _ _",
    det_p: "... _ _ -> ...",
    eig_p: _eig,
    eigh_p: "... _ _ -> ... _ _, ... _",
    from_spectrum_p: _from_spectrum,
    geqp3_p: "... _ _, ... _ -> ... _ _, ... _, ... _",
    geqrf_p: "... _ _ -> ... _ _, ... _",
    hessenberg_p: "... _ _ -> ... _ _, ... _",
    householder_product_p: "... _ _, ... _ -> ... _ _",
    lu_p: "... _ _ -> ... _ _, ... _, ... _",
    lu_pivots_to_permutation_p: "... _ -> ... _",
    ormqr_p: "... _ _, ... _, ... _ _ -> ... _ _",
    pinv_p: "... _ _, ... -> ... _ _",
    qr_p: _qr,
    schur_p: _schur,
    singular_spectrum_p: _singular_spectrum,
    slogdet_p: "... _ _ -> ..., ...",
    solve_p: _solve,
    spectral_changes_p: _changes,
    spectral_quotients_p: "... _, ... _ _, ... _ _ -> ... _ _",
    spectral_turns_p: _turns,
    spectrum_p: "... _ _ -> ... _ _, ... _, ... _ _, ... _ _",
    svd_p: _svd,
    symmetric_product_p: "... _ _, ... _ _ -> ... _ _",
    triangular_solve_p: "... _ _, ... _ _ -> ... _ _",
    tridiagonal_p: "... _ _ -> ... _ _, ... _, ... _, ... _",
    tridiagonal_solve_p: "... _, ... _, ... _, ... _ _ -> ... _ _",
}
