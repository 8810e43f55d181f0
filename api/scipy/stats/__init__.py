"""Distributions and statistics under scipy.stats's names."""

from __future__ import annotations

from primax.scipy.stats import continuous, discrete, further, kde, multivariate, ranks
from primax.scipy.stats.continuous import *
from primax.scipy.stats.discrete import *
from primax.scipy.stats.further import *
from primax.scipy.stats.kde import *
from primax.scipy.stats.multivariate import *
from primax.scipy.stats.ranks import *

__all__: list[str] = []
__dir__ = __all__.copy

for _module in (continuous, discrete, further, kde, multivariate, ranks):
    __all__ += _module.__all__
