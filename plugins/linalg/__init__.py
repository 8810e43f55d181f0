"""Linear algebra: factorizations of matrices, and systems of equations, by LAPACK on CPUs."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.rule_types import Table
from primax.plugins.linalg import determinants as _determinants
from primax.plugins.linalg import gauss as _gauss
from primax.plugins.linalg import general as _general
from primax.plugins.linalg import householder as _householder
from primax.plugins.linalg import orthogonal as _orthogonal
from primax.plugins.linalg import positive as _positive
from primax.plugins.linalg import pseudoinverse as _pseudoinverse
from primax.plugins.linalg import repeated as _repeated
from primax.plugins.linalg import singular as _singular
from primax.plugins.linalg import solve as _solve
from primax.plugins.linalg import spectra as _spectra
from primax.plugins.linalg import symmetric as _symmetric
from primax.plugins.linalg import triangular as _triangular
from primax.plugins.linalg import tridiagonal as _tridiagonal
from primax.plugins.linalg import updates as _updates
from primax.plugins.linalg.gauss import lu, lu_p, lu_pivots_to_permutation, lu_pivots_to_permutation_p
from primax.plugins.linalg.general import EigImplementation, eig, eig_p, hessenberg, hessenberg_p, schur, schur_p
from primax.plugins.linalg.householder import householder_product, householder_product_p, ormqr, ormqr_p
from primax.plugins.linalg.orthogonal import qr, qr_p
from primax.plugins.linalg.positive import cholesky, cholesky_p
from primax.plugins.linalg.sharding_rules import SHARDING
from primax.plugins.linalg.singular import SvdAlgorithm, svd, svd_p
from primax.plugins.linalg.symmetric import EighImplementation, eigh, eigh_p, tridiagonal, tridiagonal_p
from primax.plugins.linalg.triangular import triangular_solve, triangular_solve_p
from primax.plugins.linalg.tridiagonal import tridiagonal_solve, tridiagonal_solve_p
from primax.plugins.linalg.updates import cholesky_update, cholesky_update_p, symmetric_product, symmetric_product_p

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_p",
    "cholesky_update",
    "cholesky_update_p",
    "eig",
    "eig_p",
    "eigh",
    "eigh_p",
    "hessenberg",
    "hessenberg_p",
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
    "schur",
    "schur_p",
    "svd",
    "svd_p",
    "symmetric_product",
    "symmetric_product_p",
    "triangular_solve",
    "triangular_solve_p",
    "tridiagonal",
    "tridiagonal_p",
    "tridiagonal_solve",
    "tridiagonal_solve_p",
]

RULES: Table = (
    _positive.RULES
    | _triangular.RULES
    | _gauss.RULES
    | _solve.RULES
    | _determinants.RULES
    | _householder.RULES
    | _orthogonal.RULES
    | _symmetric.RULES
    | _singular.RULES
    | _general.RULES
    | _tridiagonal.RULES
    | _updates.RULES
    | _pseudoinverse.RULES
    | _repeated.RULES
    | _spectra.RULES
)
RULES |= {primitive: {**RULES[primitive], "jvp": jvp} for primitive, jvp in _spectra.JVPS.items()}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(
            primitive, sharding=SHARDING.get(primitive), samples=["primax.plugins.samples.linalg:SAMPLES"], **rules
        )
