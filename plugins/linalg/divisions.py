"""The sharding rules of linear algebra: matrices are whole, stacks of them may be divided."""

from __future__ import annotations

from typing import Any

from primax.extend.core import ShapedArray
from primax.plugins.linalg.determinants import det_p, slogdet_p
from primax.plugins.linalg.gauss import lu_p, lu_pivots_to_permutation_p
from primax.plugins.linalg.householder import geqrf_p, householder_product_p
from primax.plugins.linalg.orthogonal import qr_p
from primax.plugins.linalg.positive import cholesky_p
from primax.plugins.linalg.singular import svd_p
from primax.plugins.linalg.symmetric import eigh_p
from primax.plugins.linalg.triangular import triangular_solve_p
from primax.plugins.linalg.tridiagonal import tridiagonal_solve_p

__all__ = ["DIVISIONS"]


def _qr(x: ShapedArray, *, pivoting: bool, **params: Any) -> str:
    return "... _ _ -> ... _ _, ... _ _" + (", ... _" if pivoting else "")


def _svd(x: ShapedArray, *, compute_uv: bool, **params: Any) -> str:
    return "... _ _ -> ... _" + (", ... _ _, ... _ _" if compute_uv else "")


DIVISIONS = {
    cholesky_p: "... _ _ -> ... _ _",
    det_p: "... _ _ -> ...",
    eigh_p: "... _ _ -> ... _ _, ... _",
    geqrf_p: "... _ _ -> ... _ _, ... _",
    householder_product_p: "... _ _, ... _ -> ... _ _",
    lu_p: "... _ _ -> ... _ _, ... _, ... _",
    lu_pivots_to_permutation_p: "... _ -> ... _",
    qr_p: _qr,
    slogdet_p: "... _ _ -> ..., ...",
    svd_p: _svd,
    triangular_solve_p: "... _ _, ... _ _ -> ... _ _",
    tridiagonal_solve_p: "... _, ... _, ... _, ... _ _ -> ... _ _",
}
