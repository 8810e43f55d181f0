"""Linear algebra under scipy.linalg's names."""

from __future__ import annotations

from primax.extend.lazy_names import explain_absent
from primax.scipy.linalg import equations, factorizations, functions, patterns
from primax.scipy.linalg.equations import *
from primax.scipy.linalg.factorizations import *
from primax.scipy.linalg.functions import *
from primax.scipy.linalg.patterns import *

__all__: list[str] = []
__dir__ = __all__.copy
explain_absent(__name__)

for _module in (equations, factorizations, functions, patterns):
    __all__ += _module.__all__
