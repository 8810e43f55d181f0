"""Special functions under scipy.special's names."""

from __future__ import annotations

from primax.scipy.special import (
    bessel,
    betas,
    complex_gamma,
    entropies,
    errors,
    faddeeva,
    gammas,
    harmonics,
    hypergeometric,
    integrals,
    owens,
    zetas,
)
from primax.scipy.special.bessel import *
from primax.scipy.special.betas import *
from primax.scipy.special.complex_gamma import *
from primax.scipy.special.entropies import *
from primax.scipy.special.errors import *
from primax.scipy.special.faddeeva import *
from primax.scipy.special.gammas import *
from primax.scipy.special.harmonics import *
from primax.scipy.special.hypergeometric import *
from primax.scipy.special.integrals import *
from primax.scipy.special.owens import *
from primax.scipy.special.zetas import *

__all__: list[str] = []
__dir__ = __all__.copy

for _module in (
    bessel,
    betas,
    complex_gamma,
    entropies,
    errors,
    faddeeva,
    gammas,
    harmonics,
    hypergeometric,
    integrals,
    owens,
    zetas,
):
    __all__ += _module.__all__
