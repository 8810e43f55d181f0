"""Window functions for signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import backend
from primax.extend.api_util import integer
from primax.extend.core import dtypes
from primax.plugins.numpy.formulas import i0
from primax.plugins.numpy.ranges import counted
from primax.plugins.numpy.ufuncs import divide, multiply, sqrt

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def _count(function: str, M: Any) -> int:
    return int(M) if isinstance(M, float | np.floating) else integer(function, "M", M)


def _window(function: Callable[[int], Any], sentence: str) -> Callable[[int], Any]:
    def window(M: int) -> Any:
        return backend.put_value(
            np.asarray(function(_count(function.__name__, M))).astype(dtypes.default_float_dtype())
        )

    window.__name__ = window.__qualname__ = function.__name__
    window.__doc__ = f"{sentence}\n\n    Args:\n      M: the number of points.\n    "
    return window


bartlett = _window(np.bartlett, "The Bartlett window, a triangle.")
blackman = _window(np.blackman, "The Blackman window, a sum of three cosines.")
hamming = _window(np.hamming, "The Hamming window, a cosine on a pedestal.")
hanning = _window(np.hanning, "The Hann window, a raised cosine.")


def kaiser(M: int, beta: Any) -> Any:
    """The Kaiser window.

    Args:
      M: the number of points.
      beta: its shape, a number; the larger, the narrower.
    """
    count = _count("kaiser", M)
    dtype = dtypes.default_float_dtype()
    if count <= 1:
        return counted(count, 1, 1, dtype)
    middle = (count - 1) / 2
    ratio = backend.put_value(((np.arange(count) - middle) / middle).astype(dtype))
    return divide(i0(multiply(beta, sqrt(1 - ratio**2))), i0(beta))
