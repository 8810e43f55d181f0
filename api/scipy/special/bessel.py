"""Modified Bessel functions."""

from __future__ import annotations

from primax.extend.core import Array
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.formulas import bessel_i0, bessel_i1
from primax.numpy.programs import one_program
from primax.plugins.special import bessel_i0e_p, bessel_i1e_p
from primax.scipy.special.operands import bound, real

__all__ = ["i0", "i0e", "i1", "i1e"]

i0e = bound("i0e", bessel_i0e_p.bind, "x", "exp(-abs(x)) times the modified Bessel function of order 0.")
i1e = bound("i1e", bessel_i1e_p.bind, "x", "exp(-abs(x)) times the modified Bessel function of order 1.")


@one_program("")
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of order 0.

    Args:
      x: real arrays or numbers.
    """
    (x,) = real("i0", x)
    return bessel_i0(x)


@one_program("")
def i1(x: ArrayLike) -> Array:
    """The modified Bessel function of order 1.

    Args:
      x: real arrays or numbers.
    """
    (x,) = real("i1", x)
    return bessel_i1(x)
