"""Conversion of the arguments of functions for networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array
from primax.numpy.conversion import asarray
from primax.numpy.promotion import aval_of, convert, promote
from primax.numpy.ufuncs import to_inexact


def number(function: str, x: Any) -> Array:
    """Convert to an array of numbers; booleans become weakly typed integers, as if a Python number were added."""
    aval = aval_of(function, x)
    if aval.dtype == np.bool_:
        x = convert(x, aval, dtypes.python_scalar_dtypes[int], weak=True)
    elif not dtypes.is_numeric(aval.dtype):
        hint = dtypes.instead_of_arithmetic(aval.dtype)
        raise TypeError(f"{function}: its argument must be an array of numbers, got {aval.str_short()}{hint}")
    return asarray(x)


def inexact_number(function: str, x: Any) -> Array:
    """Convert to an array of floating or complex numbers; booleans become weakly typed floats."""
    return inexact(function, number(function, x))


def inexact(function: str, x: Any) -> Array:
    """Convert to an array of floating or complex numbers; integers become floats."""
    return asarray(promote(function, x, to=to_inexact)[0])


def weakly_inexact(function: str, x: Any) -> Array:
    """Convert to an array of floating or complex numbers; integers become weakly typed floats."""
    aval = aval_of(function, x)
    if dtypes.is_inexact(aval.dtype):
        return asarray(x)
    return asarray(convert(x, aval, dtypes.default_float_dtype(), weak=True))
