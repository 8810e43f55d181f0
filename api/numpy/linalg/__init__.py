"""Linear algebra under numpy.linalg's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from primax.numpy.linalg import determinants, equations, factorizations, norms, products
from primax.numpy.linalg.determinants import *
from primax.numpy.linalg.equations import *
from primax.numpy.linalg.factorizations import *
from primax.numpy.linalg.norms import *
from primax.numpy.linalg.products import *

if not TYPE_CHECKING:  # they take all names to be exported
    __all__: list[str] = []
    __dir__ = __all__.copy

    for _module in (determinants, equations, factorizations, norms, products):
        __all__ += _module.__all__
