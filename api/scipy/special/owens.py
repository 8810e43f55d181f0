"""Owen's T function."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np

from primax import numpy as pnp
from primax.extend.core import Array
from primax.extend.provisional.typing import ArrayLike
from primax.plugins.custom_derivatives import custom_jvp
from primax.scipy.special.errors import erf, erfc
from primax.scipy.special.evaluation import compiled, evaluated

__all__ = ["owens_t"]

_NODES, _WEIGHTS = (array.tolist() for array in np.polynomial.legendre.leggauss(32))


def _integral(h: Any, a: Any) -> Array:
    """For h >= 0 and 0 <= a <= 1: Gauss's formula, up to where the integrand vanishes."""
    end = pnp.minimum(a, 9.0 / pnp.maximum(h, 1e-3))
    total: Any = 0.0
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        x = end * (0.5 + 0.5 * node)
        total = total + weight * pnp.exp(-0.5 * h * h * x * x) / (1 + x * x)
    return total * end * pnp.exp(-0.5 * h * h) / (4 * pi)


@custom_jvp
def _owens_t(h: Any, a: Any) -> Array:
    height, size = pnp.abs(h), pnp.abs(a)
    outer = size > 1
    product = height * pnp.where(size == np.inf, pnp.where(height == 0, 0.0, np.inf), size)
    finite = pnp.where(height < np.inf, height, 0.0)
    inner_h = pnp.where(outer, pnp.where(product < np.inf, product, 0.0), finite)
    inner_a = pnp.where(outer, 1 / pnp.where(outer, size, 1.0), size)
    inner = pnp.where((outer & (product == np.inf)) | (height == np.inf), 0.0, _integral(inner_h, inner_a))
    # T(h, a) + T(h a, 1 / a) from the normal distribution: from its tails far from 0, from its middle near 0.
    p, q = erfc(height * sqrt(0.5)) / 2, erfc(product * sqrt(0.5)) / 2
    by_tails = (p + q) / 2 - p * q
    u, v = erf(height * sqrt(0.5)) / 2, erf(product * sqrt(0.5)) / 2
    both = pnp.where(height < 0.67, 0.25 - u * v, by_tails)
    value = pnp.where(outer, both - inner, inner)
    return pnp.where((h != h) | (a != a), np.nan, pnp.where(a < 0, -value, value))


def _owens_t_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (h, a), (dh, da) = primals, tangents
    by_h = -pnp.exp(-0.5 * h * h) * erf(a * h * sqrt(0.5)) / (2 * sqrt(2 * pi))
    by_a = pnp.exp(-0.5 * h * h * (1 + a * a)) / (2 * pi * (1 + a * a))
    return _owens_t(h, a), dh * by_h + da * by_a


_owens_t.defjvp(_owens_t_jvp)
_program = compiled(_owens_t)


def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T function: the probability that X > h and 0 < Y < a X, for independent standard normal X and Y.

    Args:
      h, a: real arrays or numbers, of shapes that broadcast together.

    Raises:
      TypeError: an argument is complex or not an array, or the shapes do not broadcast.

    Source: D. B. Owen, "Tables for computing bivariate normal probabilities" (1956), by Gauss's formula.

    >>> import primax as px
    >>> round(float(px.scipy.special.owens_t(0.0, 1.0)), 4)
    0.125
    """
    return evaluated("owens_t", _program, h, a)
