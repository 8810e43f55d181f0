"""Exponentially scaled modified Bessel functions of the first kind."""

from __future__ import annotations

from typing import Any

from primax.extend import core, dtypes
from primax.extend.core import Array
from primax.extend.provisional.elementwise import FLOATING, like, row
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import abs_p, add, div, mul, neg, sign, sub
from primax.plugins.comparison import gt, lt
from primax.plugins.exponential import exp, sqrt
from primax.plugins.special.formula import Num, chebyshev, formula, select
from primax.plugins.structural import broadcast_in_dim, select_n_p

bessel_i0e_p = core.Primitive("bessel_i0e")
bessel_i1e_p = core.Primitive("bessel_i1e")


def bessel_i0e(x: ArrayLike) -> Array:
    """Elementwise exp(-abs(x)) times the modified Bessel function of order 0, for real floating arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.bessel_i0e(np.float32(-2)) == lax.bessel_i0e(np.float32(2))
      Array(True, dtype=bool)
    """
    return bessel_i0e_p.bind(x)


def bessel_i1e(x: ArrayLike) -> Array:
    """Elementwise exp(-abs(x)) times the modified Bessel function of order 1, for real floating arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.bessel_i1e(np.float32(-2)) == -lax.bessel_i1e(np.float32(2)), lax.bessel_i1e(np.float32(0))
      (Array(True, dtype=bool), Array(0., dtype=float32))
    """
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
# In the same y, of sqrt(x)**3 exp(-x) (I0(x) - I1(x)).
_DIFFERENCE_ABOVE_8 = (
    0.2046391449198604,
    0.005348526093538557,
    0.00019150500095126415,
    1.2032615976256658e-05,
    1.1956976470208373e-06,
    1.716841771873406e-07,
    2.8338106568544693e-08,
    3.051206849093951e-09,
    -7.434135453836242e-10,
    -5.767283909234434e-10,
    -1.5193610828268228e-10,
    5.668790622840184e-12,
    1.804470061607724e-11,
    4.253572073419977e-12,
    -1.1555903826473055e-12,
    -7.770703288312627e-13,
    1.4368043830095462e-14,
    1.0913028331644427e-13,
    1.1406069274284166e-14,
    -1.5049144790858717e-14,
    -2.8555810704808024e-15,
    2.2314974017002143e-15,
    5.272258797814568e-16,
    -3.688525888515701e-16,
    -8.53559919668251e-17,
    6.754931522628081e-17,
    1.1811455208665337e-17,
    -1.3225212330303549e-17,
    -1.0505875291963377e-18,
    2.637200706410813e-18,
    -1.153582402196744e-19,
    -5.070077303995214e-19,
)


def _bessel_i0e(x: Num) -> Num:
    x = abs(x)
    small = chebyshev(x * 0.25 - 1, _BELOW_8)
    large = chebyshev(16 / x - 1, _ABOVE_8) / x.sqrt()
    return select(x <= 8, small, large)


def _difference(x: Any, i0e: Any, i1e: Any) -> Array:
    """i0e(x) - i1e(x) for x >= 0, from the two near zero; farther out they agree in most digits."""
    shape = core.get_aval(x).shape
    eight = broadcast_in_dim(like(x, 8.0), shape, ())
    far = gt(x, eight)
    v = select_n_p.bind(far, eight, x)
    y = sub(div(broadcast_in_dim(like(x, 16.0), shape, ()), v), like(x, 1.0))
    eps = float(dtypes.finfo(core.get_aval(x).dtype).eps)
    kept = [c for c in _DIFFERENCE_ABOVE_8 if abs(c) > eps * _DIFFERENCE_ABOVE_8[0] / 16]
    after, now = like(x, 0.0), like(x, kept[-1])
    for c in kept[-2:0:-1]:
        after, now = now, add(sub(mul(mul(y, like(x, 2.0)), now), after), like(x, c))
    series = add(sub(mul(y, now), after), like(x, kept[0]))
    return select_n_p.bind(far, sub(i0e, i1e), div(div(series, v), sqrt(v)))


def _bessel_i0e_jvp(t: Any, out: Any, x: Any) -> Array:
    size = abs_p.bind(x)
    return mul(t, mul(neg(sign(x)), _difference(size, out, bessel_i1e(size))))


def _bessel_i1e_jvp(t: Any, out: Any, x: Any) -> Array:
    # i0e(x) - i1e(x) (sign(x) + 1 / x); near 0 the quotient i1e(x) / x is a series, whose derivatives are right too.
    shape = core.get_aval(x).shape
    size = abs_p.bind(x)
    one = broadcast_in_dim(like(x, 1.0), shape, ())
    near_zero = lt(size, one)
    u = select_n_p.bind(near_zero, one, size)
    square, series = mul(u, u), one
    for n in range(9, 0, -1):
        series = add(one, mul(mul(square, like(x, 1 / (4 * n * (n + 1)))), series))
    quotient = select_n_p.bind(
        near_zero, div(out, select_n_p.bind(near_zero, x, one)), mul(mul(exp(neg(u)), like(x, 0.5)), series)
    )
    return mul(t, sub(_difference(size, bessel_i0e(size), mul(sign(x), out)), quotient))


_SMALL_AND_LARGE = ((-10.0, 0.4, 9.0),)

RULES: Table = dict(
    (
        row(
            bessel_i0e_p,
            FLOATING,
            formula(_bessel_i0e),
            _bessel_i0e_jvp,
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
