"""What functions of networks do to their arguments first."""

from __future__ import annotations

from typing import Any

from primax.extend.core import dtypes
from primax.plugins.numpy.creation import asarray
from primax.plugins.numpy.promotion import aval_of, convert, promote
from primax.plugins.numpy.ufuncs import to_inexact, to_number

__all__ = ["inexact", "number", "weakly_inexact"]


def number(function: str, x: Any) -> Any:
    """An array of numbers; booleans are converted to integers."""
    return asarray(promote(function, x, to=to_number)[0])


def inexact(function: str, x: Any) -> Any:
    """An array of floating or complex numbers; integers are converted to floating ones."""
    return asarray(promote(function, x, to=to_inexact)[0])


def weakly_inexact(function: str, x: Any) -> Any:
    """An array of floating or complex numbers; integers are converted to floating ones of weak type."""
    aval = aval_of(function, x)
    if dtypes.is_inexact(aval.dtype):
        return asarray(x)
    return asarray(convert(x, aval, dtypes.default_float_dtype(), weak=True))
