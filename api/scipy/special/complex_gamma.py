"""The principal branch of the logarithm of the gamma function."""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np

from primax import lax
from primax import numpy as pnp
from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.programs import one_program
from primax.plugins.special import lgamma_p
from primax.scipy.special.evaluation import compiled, polynomial
from primax.scipy.special.gammas import sine_and_growth
from primax.scipy.special.operands import inexact

__all__ = ["loggamma"]

_EULER = 0.57721566490153286061
# zeta(k) / k for k from 2 on.
_ZETAS = (
    0.8224670334241132,
    0.40068563438653143,
    0.27058080842778454,
    0.207385551028674,
    0.16955717699740822,
    0.14404989676884614,
    0.12550966952474304,
    0.11133426586956469,
    0.10009945751278179,
    0.09095401714582904,
    0.083353840546109,
    0.0769325164113522,
    0.07143294629536134,
    0.06666870588242046,
    0.06250095514121304,
    0.05882397865868458,
    0.055555767627403614,
    0.05263167937961666,
    0.05000004769810169,
    0.04761907033014223,
    0.04545455629320467,
    0.04347826605304026,
    0.04166666915034121,
    0.04000000119214014,
    0.03846153903467519,
    0.037037037312989324,
    0.03571428584733336,
    0.034482758684919304,
    0.03333333336437758,
    0.03225806453115041,
    0.03125000000727597,
    0.030303030306558048,
)
# Bernoulli's numbers B(2k) / (2k (2k - 1)), of Stirling's series.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
_SHIFTS = 8


def _near_one(w: Any) -> Array:
    """log(gamma(1 + w)) for small w; NIST DLMF 5.7.3."""
    return w * (-_EULER + w * polynomial([(-1) ** k * c for k, c in enumerate(_ZETAS)], w))


def _right(z: Any) -> Array:
    """For real parts from 0 on: Stirling's series, after steps to the right; by powers near 1 and 2."""
    large = pnp.abs(z) > 10
    start = pnp.where(large, z, z + _SHIFTS)
    inverse = 1 / start
    series = (start - 0.5) * pnp.log(start) - start + 0.5 * log(2 * pi)
    series = series + inverse * polynomial(_STIRLING, inverse * inverse)
    steps = pnp.where(large, 1.0, z)
    logarithms = sum(pnp.log(pnp.where(large, 1.0, steps + k)) for k in range(_SHIFTS))
    out = series - logarithms
    one, two = pnp.abs(z - 1) < 0.25, pnp.abs(z - 2) < 0.25
    u, v = pnp.where(one, z - 1, 0.0), pnp.where(two, z - 2, 0.0)
    return pnp.where(one, _near_one(u), pnp.where(two, _near_one(v) + pnp.log1p(v), out))


def _log_sine(x: Any, y: Any) -> Array:
    """The principal logarithm of sin(pi (x + i y))."""
    sine, growth = sine_and_growth(x, y)
    return growth + pnp.log(sine)


def _loggamma(z: Any) -> Array:
    x, y = pnp.real(z), pnp.imag(z)
    pole = (x <= 0) & (x == pnp.floor(x)) & (y == 0)
    left = (x < 0) & ~pole
    right = _right(pnp.where(pole, 3.0, pnp.where(left, 1 - z, z)))
    a, b = pnp.where(left, x, 0.25), pnp.where(left, y, 0.25)
    sheet = pnp.copysign(2 * pi, b) * pnp.floor(0.5 * a + 0.25)
    reflected = lax.complex(log(pi) + 0 * sheet, sheet) - _log_sine(a, b) - right
    return pnp.where(pole, complex(np.nan, np.nan), pnp.where(left, reflected, right))


def _real_loggamma(x: Any) -> Array:
    one, two = pnp.abs(x - 1) < 0.25, pnp.abs(x - 2) < 0.25
    u, v = pnp.where(one, x - 1, 0.0), pnp.where(two, x - 2, 0.0)
    value = lgamma_p.bind(pnp.where((x > 0) & ~one & ~two, x, 3.0))
    value = pnp.where(one, _near_one(u), pnp.where(two, _near_one(v) + pnp.log1p(v), value))
    return pnp.where(x > 0, value, pnp.where(x == 0, np.inf, pnp.where(x < 0, x, 1.0) * np.nan))


_real_program = compiled(_real_loggamma)
_complex_program = compiled(_loggamma)


@one_program("")
def loggamma(x: ArrayLike) -> Array:
    """The principal branch of the logarithm of the gamma function, which is continuous except at negative numbers.

    Args:
      x: arrays or numbers, which may be complex; for real numbers the result is real, and NaN below 0.

    Raises:
      TypeError: `x` is not an array.

    Source: D. E. G. Hare, "Computing the principal branch of log-Gamma" (1997).

    Examples:
      >>> import primax as px
      >>> px.scipy.special.loggamma(-0.5), px.scipy.special.loggamma(-0.5 + 0j).imag.round()
      (Array(nan, dtype=float32, weak_type=True), Array(-3., dtype=float32, weak_type=True))
    """
    (x,) = inexact("loggamma", x)
    return _complex_program(x) if dtypes.is_complex(get_aval(x).dtype) else _real_program(x)
