"""Primitive operations under jax.lax's names.

They do not promote dtypes, and broadcast only scalars and axes of length 1. The names in the `__all__` of each family
are public, except those that only other families use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from primax.extend.dtypes import dtype as dtype
from primax.extend.lazy_names import lazy_names
from primax.extend.provisional.accuracy import AccuracyMode as AccuracyMode
from primax.extend.provisional.accuracy import Tolerance as Tolerance
from primax.extend.provisional.precision import DotAlgorithm as DotAlgorithm
from primax.extend.provisional.precision import PrecisionLike as PrecisionLike
from primax.extend.provisional.typing import DotDimensionNumbers as DotDimensionNumbers
from primax.lax.polynomials import *
from primax.lax.ragged import *
from primax.lax.scaled import *
from primax.numpy.conversion import stage as stage
from primax.plugins.arithmetic import *
from primax.plugins.bitwise import *
from primax.plugins.collectives import *
from primax.plugins.comparison import *
from primax.plugins.composite import composite as composite
from primax.plugins.composite import composite_p as composite_p
from primax.plugins.control_flow import *
from primax.plugins.convolution import *
from primax.plugins.convolution.dimension_numbers import (
    ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
)
from primax.plugins.cumulative import *
from primax.plugins.custom_derivatives import custom_linear_solve as custom_linear_solve
from primax.plugins.custom_derivatives import custom_root as custom_root
from primax.plugins.devices import device_put_p as device_put_p
from primax.plugins.devices import sharding_constraint_p as sharding_constraint_p
from primax.plugins.devices import with_sharding_constraint as with_sharding_constraint
from primax.plugins.dot import *
from primax.plugins.exponential import *
from primax.plugins.fft import *
from primax.plugins.indexing import *
from primax.plugins.random import RandomAlgorithm as RandomAlgorithm
from primax.plugins.random import rng_bit_generator as rng_bit_generator
from primax.plugins.random import rng_bit_generator_p as rng_bit_generator_p
from primax.plugins.reductions import *
from primax.plugins.rounding import *
from primax.plugins.sorting import *
from primax.plugins.special import *
from primax.plugins.structural import *
from primax.plugins.tokens import *
from primax.plugins.trigonometry import *
from primax.plugins.windows import *

# Names that only other families use.
_INNER = frozenset(
    """ADD AND Combine MAX MIN MUL Monoid OR XOR as_scalar convert dtype_of flatten_operands fold_along
    erf_inv_precise erf_inv_precise_p in_float32 logistic_slope_p platform_index_p pscatter_p put_along
    pvary_along recast repeat run_compiled scan_along shared_slots take_along unbroadcast warn_if_real with_slots
    zeros_of""".split()
)

if TYPE_CHECKING:
    from primax.lax import linalg as linalg
else:  # type checkers see what is imported with `*` or with `as`
    __all__ = [
        "AccuracyMode",
        "ConvGeneralDilatedDimensionNumbers",
        "DotAlgorithm",
        "DotDimensionNumbers",
        "PrecisionLike",
        "RandomAlgorithm",
        "Tolerance",
        "composite",
        "composite_p",
        "custom_linear_solve",
        "custom_root",
        "device_put_p",
        "dtype",
        "rng_bit_generator",
        "rng_bit_generator_p",
        "sharding_constraint_p",
        "stage",
        "with_sharding_constraint",
    ]

    for _module in """
        plugins.arithmetic plugins.bitwise plugins.collectives plugins.comparison plugins.control_flow
        plugins.convolution plugins.cumulative plugins.dot plugins.exponential plugins.fft plugins.indexing
        lax.polynomials lax.ragged plugins.reductions plugins.rounding lax.scaled plugins.sorting plugins.special
        plugins.structural plugins.tokens plugins.trigonometry plugins.windows
    """.split():
        _names = import_module(f"primax.{_module}").__all__
        __all__ += [_name for _name in _names if _name not in _INNER and _name not in __all__]

    __getattr__, __dir__ = lazy_names(__name__, __all__, ("linalg",))
