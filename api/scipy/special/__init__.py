"""Special functions under scipy.special's names."""

from __future__ import annotations

from importlib import import_module

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

for _module in """
    bessel betas complex_gamma entropies errors faddeeva gammas harmonics hypergeometric integrals owens zetas
""".split():
    __all__ += import_module(f"primax.scipy.special.{_module}").__all__
