"""NumPy's aliases of functions."""

from __future__ import annotations

import numpy as np

from primax.numpy import constants, division, joining, reductions, rounding, shaping, ufuncs

__all__ = [
    "abs",
    "acos",
    "acosh",
    "amax",
    "amin",
    "around",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_right_shift",
    "bool",
    "cdouble",
    "complex_",
    "concat",
    "conj",
    "csingle",
    "degrees",
    "double",
    "dtype",
    "mod",
    "permute_dims",
    "pow",
    "radians",
    "single",
    "true_divide",
]

abs = ufuncs.absolute
acos = ufuncs.arccos
acosh = ufuncs.arccosh
amax = reductions.max
amin = reductions.min
around = rounding.round
asin = ufuncs.arcsin
asinh = ufuncs.arcsinh
atan = ufuncs.arctan
atan2 = ufuncs.arctan2
atanh = ufuncs.arctanh
bitwise_invert = ufuncs.invert
bitwise_left_shift = ufuncs.left_shift
bitwise_not = ufuncs.invert
bitwise_right_shift = ufuncs.right_shift
bool = constants.bool_
cdouble = constants.complex128
complex_ = constants.complex128
concat = joining.concatenate
conj = ufuncs.conjugate
csingle = constants.complex64
degrees = ufuncs.rad2deg
double = constants.float64
mod = division.remainder
permute_dims = shaping.transpose
pow = division.power
radians = ufuncs.deg2rad
single = constants.float32
true_divide = ufuncs.divide
dtype = np.dtype
