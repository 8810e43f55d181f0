"""Exponentially scaled modified Bessel functions of the first kind."""

from __future__ import annotations

from typing import Any

from primax.extend import core, dtypes
from primax.extend.core import Array
from primax.extend.provisional.elementwise import FLOATING, like, row
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import abs_p, add, div, mul, sign, sub
from primax.plugins.comparison import lt
from primax.plugins.special.formula import Num, formula, select
from primax.plugins.structural import broadcast_in_dim, select_n_p

bessel_i0e_p = core.Primitive("bessel_i0e")
bessel_i1e_p = core.Primitive("bessel_i1e")


def bessel_i0e(x: Any) -> Array:
    """Elementwise exp(-abs(x)) times the modified Bessel function of order 0, for real floating arrays."""
    return bessel_i0e_p.bind(x)


def bessel_i1e(x: Any) -> Array:
    """Elementwise exp(-abs(x)) times the modified Bessel function of order 1, for real floating arrays."""
    return bessel_i1e_p.bind(x)


# Coefficients of Chebyshev polynomials in y, from -1 to 1: of exp(-x) I0(x) at x = 4 (y + 1), and of
# sqrt(x) exp(-x) I0(x) at x = 16 / (y + 1). The intervals are those of Cephes; the coefficients were
# computed by interpolation at 80 and 60 Chebyshev points in 60 digits.
_BELOW_8 = (
    0.33839763720473803,
    -0.3046826723431984,
    0.17162090152220877,
    -0.09490109704804764,
    0.04930528423967071,
    -0.02373741480589947,
    0.010546460394594998,
    -0.004324309995050576,
    0.0016394756169413357,
    -0.0005763755745385824,
    0.00018850288509584165,
    -5.754195010082104e-05,
    1.6448448070728896e-05,
    -4.4167383584587505e-06,
    1.1173875391201037e-06,
    -2.670793853940612e-07,
    6.046995022541919e-08,
    -1.300025009986248e-08,
    2.6598237246823866e-09,
    -5.189795601635263e-10,
    9.675809035373237e-11,
    -1.726826291441556e-11,
    2.95505266312964e-12,
    -4.856446783111929e-13,
    7.676185498604936e-14,
    -1.1685332877993451e-14,
    1.715391285555133e-15,
    -2.431279846547955e-16,
    3.3307945188222384e-17,
    -4.4153416464793395e-18,
    5.669178006921496e-19,
    -7.057100692457294e-20,
)
_ABOVE_8 = (
    0.4022452055070544,
    0.0033691164782556943,
    6.889758346916825e-05,
    2.8913705208347567e-06,
    2.0489185894690638e-07,
    2.266668990498178e-08,
    3.3962320257083865e-09,
    4.94060238822497e-10,
    1.1889147107846439e-11,
    -3.1499165279632416e-11,
    -1.3215811840447713e-11,
    -1.7941785315068062e-12,
    7.180124451383666e-13,
    3.8527783827421426e-13,
    1.54008621752141e-14,
    -4.150569347287222e-14,
    -9.554846698828307e-15,
    3.8116806693526224e-15,
    1.7725601330565263e-15,
    -3.425485619677219e-16,
    -2.8276239805165836e-16,
    3.461222867697461e-17,
    4.46562142029676e-17,
    -4.830504485944182e-18,
    -7.233180487874754e-18,
    9.921475412173699e-19,
    1.193650890845982e-18,
)


def _chebyshev(y: Num, coefficients: tuple[float, ...]) -> Num:
    """The sum of Chebyshev polynomials, by Clenshaw's recurrence, to the precision of `y`."""
    eps = y.eps * abs(coefficients[0]) / 16
    kept = [c for c in coefficients if abs(c) > eps]
    twice = y + y
    before, last = y.full(0), y.full(kept[-1])
    for c in kept[-2:0:-1]:
        before, last = last, twice * last - before + c
    return y * last - before + kept[0]


def _bessel_i0e(x: Num) -> Num:
    x = abs(x)
    small = _chebyshev(x * 0.25 - 1, _BELOW_8)
    large = _chebyshev(16 / x - 1, _ABOVE_8) / x.sqrt()
    return select(x <= 8, small, large)


def _bessel_i1e_jvp(t: Any, out: Any, x: Any) -> Array:
    # i0e(x) - i1e(x) (sign(x) + 1 / x); at x = 0 the quotient i1e(x) / x is 1/2, and near 0 i1e(x) underflows.
    shape, dtype = core.get_aval(x).shape, core.get_aval(x).dtype
    near_zero = lt(abs_p.bind(x), like(x, float(dtypes.finfo(dtype).eps)))
    one, half = (broadcast_in_dim(like(x, number), shape, ()) for number in (1.0, 0.5))
    divisor = select_n_p.bind(near_zero, x, one)
    quotient = select_n_p.bind(near_zero, div(out, divisor), half)
    value = sub(bessel_i0e(x), add(quotient, mul(sign(x), out)))
    return mul(t, value)


_SMALL_AND_LARGE = ((-10.0, 0.4, 9.0),)

RULES: Table = dict(
    (
        row(
            bessel_i0e_p,
            FLOATING,
            formula(_bessel_i0e),
            lambda t, out, x: mul(t, sub(bessel_i1e(x), mul(sign(x), out))),
            uses_result=True,
            at=_SMALL_AND_LARGE,
            makes_nan=True,
        ),
        row(
            bessel_i1e_p,
            FLOATING,
            "chlo.bessel_i1e",
            _bessel_i1e_jvp,
            uses_result=True,
            at=_SMALL_AND_LARGE,
            makes_nan=True,
        ),
    )
)
