"""Special functions: error, gamma, beta, zeta and Bessel functions."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.rule_types import Table
from primax.plugins.special import bessel as _bessel
from primax.plugins.special import error as _error
from primax.plugins.special import gamma as _gamma
from primax.plugins.special import incomplete_beta as _incomplete_beta
from primax.plugins.special import incomplete_gamma as _incomplete_gamma
from primax.plugins.special.bessel import bessel_i0e, bessel_i0e_p, bessel_i1e, bessel_i1e_p
from primax.plugins.special.error import (
    erf,
    erf_inv,
    erf_inv_p,
    erf_inv_precise,
    erf_inv_precise_p,
    erf_p,
    erfc,
    erfc_p,
)
from primax.plugins.special.gamma import digamma, digamma_p, lgamma, lgamma_p, polygamma, polygamma_p, zeta, zeta_p
from primax.plugins.special.incomplete_beta import betainc, regularized_incomplete_beta_p
from primax.plugins.special.incomplete_gamma import (
    igamma,
    igamma_grad_a,
    igamma_grad_a_p,
    igamma_p,
    igammac,
    igammac_p,
    random_gamma_grad,
    random_gamma_grad_p,
)

__all__ = [
    "bessel_i0e",
    "bessel_i0e_p",
    "bessel_i1e",
    "bessel_i1e_p",
    "betainc",
    "digamma",
    "digamma_p",
    "erf",
    "erf_inv",
    "erf_inv_p",
    "erf_inv_precise",
    "erf_inv_precise_p",
    "erf_p",
    "erfc",
    "erfc_p",
    "igamma",
    "igamma_grad_a",
    "igamma_grad_a_p",
    "igamma_p",
    "igammac",
    "igammac_p",
    "lgamma",
    "lgamma_p",
    "polygamma",
    "polygamma_p",
    "random_gamma_grad",
    "random_gamma_grad_p",
    "regularized_incomplete_beta_p",
    "zeta",
    "zeta_p",
]

RULES: Table = _error.RULES | _gamma.RULES | _incomplete_gamma.RULES | _incomplete_beta.RULES | _bessel.RULES


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, **rules)
