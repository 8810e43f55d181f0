"""NumPy's functions and names for primax arrays: the names in the `__all__` of each module."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as _numpy

from primax.extend.lazy_names import missing_name
from primax.numpy.aliases import *
from primax.numpy.constants import *
from primax.numpy.contractions import *
from primax.numpy.conversion import *
from primax.numpy.counting import *
from primax.numpy.covariance import *
from primax.numpy.creation import *
from primax.numpy.division import *
from primax.numpy.divisors import *
from primax.numpy.editing import *
from primax.numpy.filters import *
from primax.numpy.formulas import *
from primax.numpy.grids import *
from primax.numpy.indexing import *
from primax.numpy.interpolation import *
from primax.numpy.joining import *
from primax.numpy.kinds import *
from primax.numpy.limits import *
from primax.numpy.linear import *
from primax.numpy.mapping import *
from primax.numpy.namespace import ARRAY_API_VERSION as __array_api_version__
from primax.numpy.namespace import array_namespace_info as __array_namespace_info__
from primax.numpy.nan_reductions import *
from primax.numpy.padding import *
from primax.numpy.polynomials import *
from primax.numpy.predicates import *
from primax.numpy.quantiles import *
from primax.numpy.ranges import *
from primax.numpy.rearranging import *
from primax.numpy.reductions import *
from primax.numpy.rounding import *
from primax.numpy.scans import *
from primax.numpy.searching import *
from primax.numpy.selection import *
from primax.numpy.sets import *
from primax.numpy.shaping import *
from primax.numpy.sorting import *
from primax.numpy.statistics import *
from primax.numpy.taking import *
from primax.numpy.text import *
from primax.numpy.triangles import *
from primax.numpy.ufuncs import *
from primax.numpy.universal import *
from primax.numpy.windows import *

if TYPE_CHECKING:
    from primax.numpy import fft as fft
    from primax.numpy import linalg as linalg
    from primax.numpy.fitting import poly, polydiv, polyfit, roots

_SUBMODULES = frozenset(("fft", "linalg"))

# Functions that use linear algebra; their module is imported at their first use.
_FUNCTIONS = dict.fromkeys(("poly", "polydiv", "polyfit", "roots"), "primax.numpy.fitting")

__all__ = ["__array_api_version__", "__array_namespace_info__", "poly", "polydiv", "polyfit", "roots"]

# The modules above, in this order.
for _module in """
    aliases constants contractions conversion counting covariance creation division divisors editing filters formulas
    grids indexing interpolation joining kinds limits linear mapping nan_reductions padding polynomials predicates
    quantiles ranges rearranging reductions rounding scans searching selection sets shaping sorting statistics taking
    text triangles ufuncs universal windows
""".split():
    __all__ += import_module(f"primax.numpy.{_module}").__all__


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a submodule at its first use; for other functions of NumPy, raise an error that refers to NumPy."""
        if name in _SUBMODULES:
            return import_module(f"primax.numpy.{name}")
        if name in _FUNCTIONS:
            function = globals()[name] = getattr(import_module(_FUNCTIONS[name]), name)
            return function
        is_of_numpy = not name.startswith("_") and callable(getattr(_numpy, name, None))
        text = f"primax.numpy has no {name}; numpy.{name} takes arrays of primax outside of programs"
        raise missing_name("primax.numpy", name, text if is_of_numpy else "")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES})
