"""NumPy's aliases of functions."""

from __future__ import annotations

from numpy import dtype as dtype

from primax.numpy.constants import bool_ as bool
from primax.numpy.constants import complex64 as csingle
from primax.numpy.constants import complex128 as cdouble
from primax.numpy.constants import complex128 as complex_
from primax.numpy.constants import float32 as single
from primax.numpy.constants import float64 as double
from primax.numpy.division import power as pow
from primax.numpy.division import remainder as mod
from primax.numpy.joining import concatenate as concat
from primax.numpy.reductions import max as amax
from primax.numpy.reductions import min as amin
from primax.numpy.rounding import round as around
from primax.numpy.shaping import transpose as permute_dims
from primax.numpy.ufuncs import absolute as abs
from primax.numpy.ufuncs import arccos as acos
from primax.numpy.ufuncs import arccosh as acosh
from primax.numpy.ufuncs import arcsin as asin
from primax.numpy.ufuncs import arcsinh as asinh
from primax.numpy.ufuncs import arctan as atan
from primax.numpy.ufuncs import arctan2 as atan2
from primax.numpy.ufuncs import arctanh as atanh
from primax.numpy.ufuncs import conjugate as conj
from primax.numpy.ufuncs import deg2rad as radians
from primax.numpy.ufuncs import divide as true_divide
from primax.numpy.ufuncs import invert as bitwise_invert
from primax.numpy.ufuncs import invert as bitwise_not
from primax.numpy.ufuncs import left_shift as bitwise_left_shift
from primax.numpy.ufuncs import rad2deg as degrees
from primax.numpy.ufuncs import right_shift as bitwise_right_shift

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
