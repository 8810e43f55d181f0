"""Modified Bessel functions."""

from __future__ import annotations

from primax.extend.core import Array
from primax.extend.provisional.typing import ArrayLike
from primax.numpy.formulas import bessel_i0, bessel_i1
from primax.numpy.programs import one_program
from primax.plugins.special import bessel_i0e_p, bessel_i1e_p
from primax.scipy.special.operands import bound, real

__all__ = ["i0", "i0e", "i1", "i1e"]

i0e = bound(
    "i0e",
    bessel_i0e_p.bind,
    "x",
    "exp(-abs(x)) times the modified Bessel function of order 0.",
    ">>> special.i0e(1000.0) > 0, special.i0(1000.0)\n"
    "(Array(True, dtype=bool, weak_type=True), Array(inf, dtype=float32, weak_type=True))",
)
i1e = bound(
    "i1e",
    bessel_i1e_p.bind,
    "x",
    "exp(-abs(x)) times the modified Bessel function of order 1.",
    ">>> special.i1e(pnp.array([0.0, -2.0])) == -special.i1e(pnp.array([0.0, 2.0]))\nArray([ True,  True], dtype=bool)",
)


@one_program("")
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of order 0.

    Args:
      x: real arrays or numbers.

    Examples:
      >>> import primax as px
      >>> px.grad(px.scipy.special.i0)(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    (x,) = real("i0", x)
    return bessel_i0(x)


@one_program("")
def i1(x: ArrayLike) -> Array:
    """The modified Bessel function of order 1.

    Args:
      x: real arrays or numbers.

    Examples:
      >>> import primax as px
      >>> px.scipy.special.i1(0.0), px.grad(px.scipy.special.i1)(0.0).round(1)
      (Array(0., dtype=float32, weak_type=True), Array(0.5, dtype=float32, weak_type=True))
    """
    (x,) = real("i1", x)
    return bessel_i1(x)
