"""Window functions for signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array
from primax.extend.provisional.arguments import integer, naming, rename
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.examples import EXAMPLES, examples
from primax.numpy.formulas import i0
from primax.numpy.promotion import promote
from primax.numpy.ranges import counted
from primax.numpy.ufuncs import divide, multiply, sqrt
from primax.plugins.resharding import from_host

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def _count(function: str, M: Any) -> int:
    if not isinstance(M, float | np.floating | Array):
        return integer(function, "M", M)
    with naming(function):
        return int(M)


def _window(function: Callable[[int], Any], sentence: str) -> Callable[[int], Any]:
    def window(M: int) -> Array:
        count = _count(function.__name__, M)
        with naming(function.__name__):
            host = np.asarray(function(count))
        return from_host(host.astype(dtypes.default_float_dtype()))

    rename(window, function.__name__)
    window.__doc__ = f"{sentence}\n\n    Args:\n      M: the number of points.\n"
    window.__doc__ += examples(EXAMPLES[function.__name__])
    return window


bartlett = _window(np.bartlett, "The Bartlett window, a triangle.")
blackman = _window(np.blackman, "The Blackman window, a sum of a constant and two cosines.")
hamming = _window(np.hamming, "The Hamming window, a constant plus a cosine.")
hanning = _window(np.hanning, "The Hann window, a raised cosine.")


def kaiser(M: int, beta: ArrayLike) -> Array:
    """The Kaiser window.

    Args:
      M: the number of points.
      beta: the shape, a number; a larger one gives a narrower window.

    Examples:
      >>> import primax.numpy as pnp
      >>> pnp.kaiser(5, 0.0)
      Array([1., 1., 1., 1., 1.], dtype=float32)
    """
    count = _count("kaiser", M)
    dtype = dtypes.default_float_dtype()
    if count <= 1:
        return counted(count, 1, 1, dtype)
    with naming("kaiser"):
        middle, places = (count - 1) / 2, np.arange(count)
    ratio = from_host(((places - middle) / middle).astype(dtype))
    beta, ratio = promote("kaiser", beta, ratio)
    return divide(i0(multiply(beta, sqrt(1 - ratio**2))), i0(beta))
