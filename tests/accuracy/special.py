"""Special functions."""

from __future__ import annotations

import math

import numpy as np
from mpmath import mp, mpf

from accuracy.elementary import by_format
from accuracy.functions import Function, Limit

_ZERO = "a zero, beside which terms cancel out"


def _of(name: str, exact, *landmarks: float, **options) -> Function:
    options.setdefault("reference", "scipy.special." + name)
    return Function("scipy.special." + name, exact, (landmarks,), special=True, **options)


def _several(name: str, exact, *landmarks: tuple[float, ...], **options) -> Function:
    options.setdefault("reference", "scipy.special." + name)
    return Function("scipy.special." + name, exact, landmarks, special=True, **options)


def _beside(interval, centers, order=(0, 1, 2), width=0.05, reason=_ZERO):
    """A limit beside zeros of the function, or of its derivative of that order."""
    return Limit(
        interval, reason, lambda x: np.min(np.abs(np.subtract.outer(x, centers)), axis=-1) < width, orders=order
    )


_BELOW_ZERO = Limit("x < -0.4", "between poles there are zeros, which only higher precision finds", lambda x: x < -0.4)


_AGREE = Limit(
    "abs(x) <= 8, derivatives",
    "i0e and i1e agree in the first digits, and their difference has a series above 8 only",
    lambda x: np.abs(x) <= 8,
    orders=(1, 2),
    at_most=5000,
)


_DENSITY = Limit(
    "a > 16, derivative by x",
    "its exponent (a - 1) log(x) - x - gammaln(a) is a difference of large terms",
    lambda a, x: a > 16,
    orders=(1,),
    at_most=5000,
)


def _tiny(orders):
    return Limit(
        "a or b < 1e-18, derivatives" if 1 in orders else "a or b < 1e-18, second derivatives",
        "squares leave the range, and infinity times a zero tangent is NaN",
        lambda a, b: np.minimum(a, b) < 1e-18,
        orders=orders,
    )


_BEYOND = Limit(
    "a or b > 1e300, derivatives",
    "the digamma functions of b and of a + b are the same number",
    lambda a, b: np.maximum(a, b) > 1e300,
    orders=(1, 2),
)
_ROUNDED_EXPONENT = "an exponential of a rounded exponent of this size has its error so many times"
_EXPONENT = Limit(
    "a and b > 50, or a or b > 1e100",
    _ROUNDED_EXPONENT,
    lambda a, b: (np.minimum(a, b) > 50) | (np.maximum(a, b) > 1e100),
    at_most=2000,
)
_BESIDE_ONE = Limit(
    "a and b within 0.1 of 1, values",
    _ZERO,
    lambda a, b: np.maximum(np.abs(a - 1), np.abs(b - 1)) < 0.1,
    orders=(0,),
)
_BELL = Limit(
    "abs(x) near 9.4, and 26.6 in float64, second derivative",
    "it is a multiple of the first derivative, which is below the smallest normal number",
    lambda x: (np.abs(np.abs(x) - 9.4) < 0.15) | (np.abs(np.abs(x) - 26.6) < 0.2),
    orders=(2,),
)

_POWER = Limit(
    "abs(y), abs(log(x)) or abs(y log(x)) > 100",
    "a power of a rounded exponent of this size has the error of its logarithm so many times",
    lambda x, y: np.maximum(np.abs(y), 1) * np.maximum(np.abs(np.log(np.abs(x) + 1e-300)), 1) > 100,
    at_most=1000,
)
_LOGARITHMS = Limit(
    "abs(log(y)) > 8",
    "the logarithms of x and y are rounded before they are subtracted",
    lambda x, y: np.abs(np.log(y)) > 8,
    orders=(0, 1),
    at_most=2048,
)


def _gammaln(x):
    return mp.loggamma(x).real if x > 0 else mp.log(abs(mp.gamma(x)))


def _ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _log_ndtr(x):
    return mp.log(_ndtr(x)) if x < 0 else mp.log(1 - mp.erfc(x / mp.sqrt(2)) / 2)


def _inverse(function, guess):
    def solve(p):
        return mp.findroot(lambda x: function(x) - p, guess(p))

    return solve


def _erfinv(p):
    if abs(p) >= 1:
        raise ValueError("a pole")
    return mp.erfinv(p)


def _ndtri(p):
    if not 0 < p < 1:
        raise ValueError("outside")
    if p > mpf("0.01"):
        return mp.sqrt(2) * mp.erfinv(2 * p - 1)
    # Newton's method on the logarithm, from the leading term of the tail.
    goal, x = mp.log(p), -mp.sqrt(-2 * mp.log(p))
    for _ in range(200):
        tail = _ndtr(x)
        change = (mp.log(tail) - goal) * tail / (mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi))
        x -= change
        if abs(change) < abs(x) * mpf(2) ** (16 - mp.prec):
            return x
    raise ValueError("does not converge")


def _spence(x):
    if x < 0:
        raise ValueError("outside")
    return mp.polylog(2, 1 - x).real if x <= 2 else -(mp.log(x) ** 2) / 2 - mp.polylog(2, 1 - 1 / x).real


def _entr(x):
    return -x * mp.log(x) if x > 0 else mpf(0)


def _xlogy(x, y):
    return x * mp.log(y) if x != 0 else mpf(0)


def _erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def _dawsn(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def _factorial(x):
    return mp.gamma(x + 1) if x >= 0 else mpf(0)


def _bessel(order: int, scaled: bool):
    def function(x):
        value = mp.besseli(order, x)
        return value * mp.exp(-abs(x)) if scaled else value

    return function


def _lower(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def _upper(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def _betaln(a, b):
    return (mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)).real


def _positive(*values: float) -> bool:
    return all(v > 0 for v in values)


def _moderate(*values: float) -> bool:
    return all(1e-30 < v < 1e4 for v in values)


FUNCTIONS = (
    _of(
        "gammaln",
        _gammaln,
        0.0,
        1.0,
        2.0,
        -1.0,
        -2.0,
        -2.457024738220800,
        -2.747682646727412,
        -3.0,
        8.0,
        12.0,
        limits=(_BELOW_ZERO,),
    ),
    _of("gamma", mp.gamma, 0.0, 1.0, -1.0, -2.0, 9.2, 35.04, 171.62, -0.5, 1.4616321449683622),
    _of(
        "digamma",
        mp.digamma,
        0.0,
        1.4616321449683622,
        -1.0,
        -2.0,
        -0.504083008264455,
        8.0,
        10.0,
        limits=(
            _BELOW_ZERO,
            *by_format(
                "1 / x**2 within 2 binades of the smallest number, second derivative",
                lambda form, x: x > 0.5 * form.tiny**-0.5,
                2,
            ),
        ),
    ),
    _of(
        "factorial",
        _factorial,
        0.0,
        1.0,
        8.3,
        34.0,
        170.62,
        domain=lambda x: x >= 0,
        limits=(_beside("x near 0.46163, first derivative", (0.46163214496836,), (1,), 0.01),),
    ),
    _of("erf", mp.erf, 0.0, 1.0, 4.0, 5.9, -1.0, singular=((),), limits=(_BELL,)),
    _of("erfc", mp.erfc, 0.0, 1.0, 2.0, 9.3, 10.0, 26.5, -4.0, singular=((),), limits=(_BELL,)),
    _of("erfcx", _erfcx, 0.0, 1.0, 10.0, 25.0, -3.3, -9.3, -26.6, singular=((),)),
    _of(
        "erfinv",
        _erfinv,
        0.0,
        1.0,
        -1.0,
        limits=(
            Limit(
                "abs(x) > 0.9999, derivatives",
                "the derivative exp(erfinv(x)**2) multiplies the error of XLA's value",
                lambda x: np.abs(x) > 0.9999,
                ("float32", "bfloat16", "float16"),
                orders=(1, 2),
                at_most=2000,
            ),
            Limit(
                "abs(x) below twice the smallest normal number, second derivative",
                "the order of products in reverse mode lets one become 0",
                lambda x: np.abs(x) < 2.0**-125,
                orders=(2,),
            ),
        ),
    ),
    _of("erfcinv", lambda p: -_ndtri(p / 2) / mp.sqrt(2), 0.0, 1.0, 2.0),
    _of(
        "dawsn",
        _dawsn,
        0.0,
        0.9241388730045918,
        singular=((),),
        limits=(
            _beside(
                "abs(x) near 0.924 and 1.502, for derivatives",
                (0.9241388730045918, -0.9241388730045918, 1.5019752682677, -1.5019752682677),
                (1, 2),
                0.06,
            ),
        ),
    ),
    _of("ndtr", _ndtr, 0.0, -1.0, -5.4, -13.0, -14.2, -37.5, -38.5, 5.9, singular=((),)),
    _of("ndtri", _ndtri, 0.0, 0.5, 1.0, 0.1353352832366127, 0.8646647167633873),
    _of("log_ndtr", _log_ndtr, 0.0, 5.0, 8.0, -5.0, -10.0, -20.0, -38.0, singular=((),)),
    _of("i0", _bessel(0, False), 0.0, 8.0, 90.0, 92.0, 713.0, singular=((),)),
    _of(
        "i0e",
        _bessel(0, True),
        0.0,
        8.0,
        limits=(_AGREE,),
    ),
    _of(
        "i1",
        _bessel(1, False),
        0.0,
        8.0,
        90.0,
        92.0,
        713.0,
        singular=((),),
        limits=by_format(
            "exp(abs(x)) beyond the largest number, second derivative",
            lambda form, x: abs(x) > math.log(form.largest),
            2,
        ),
    ),
    _of(
        "i1e",
        _bessel(1, True),
        0.0,
        8.0,
        limits=(
            _AGREE,
            Limit(
                "abs(x) > 1e200, derivatives",
                "they are below the smallest normal number",
                lambda x: np.abs(x) > 1e200,
                orders=(1, 2),
            ),
        ),
    ),
    _of(
        "expi",
        mp.ei,
        0.0,
        0.37250741078136663,
        1.0,
        6.0,
        50.0,
        88.0,
        709.0,
        -1.0,
        limits=(_beside("x near 0.373", (0.37250741078136663,), (0,)),),
        without=("jax",),
    ),
    _of("exp1", mp.e1, 0.0, 1.0, 4.0, 83.0, 700.0, domain=lambda x: x > 0),
    _of(
        "spence",
        _spence,
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        limits=(Limit("x = inf", "NaN, as in SciPy", np.isinf, orders=(0,)),),
    ),
    _of("entr", _entr, 0.0, 1.0, 0.36787944117144233, singular=((0.0,),), domain=lambda x: x >= 0),
    _several("xlogy", _xlogy, (), (0.0, 1.0), domain=lambda x, y: y > 0),
    _several("xlog1py", lambda x, y: x * mp.log1p(y), (), (0.0, -1.0), domain=lambda x, y: y > -1),
    _several(
        "rel_entr",
        lambda x, y: x * (mp.log(x) - mp.log(y)),
        (0.0,),
        (0.0,),
        domain=_positive,
        limits=(
            _LOGARITHMS,
            Limit(
                "y near e x, derivative by x", _ZERO, lambda x, y: np.abs(1 + np.log(x) - np.log(y)) < 0.1, orders=(1,)
            ),
        ),
    ),
    _several(
        "kl_div",
        lambda x, y: x * (mp.log(x) - mp.log(y)) - x + y,
        (0.0,),
        (0.0,),
        domain=_positive,
        limits=(_LOGARITHMS,),
    ),
    _several(
        "boxcox",
        lambda x, y: mp.expm1(y * mp.log(x)) / y if y else mp.log(x),
        (0.0, 1.0),
        (0.0,),
        domain=lambda x, y: x > 0,
        limits=(_POWER,),
    ),
    _several(
        "boxcox1p",
        lambda x, y: mp.expm1(y * mp.log1p(x)) / y if y else mp.log1p(x),
        (-1.0, 0.0),
        (0.0,),
        domain=lambda x, y: x > -1,
        limits=(_POWER,),
    ),
    _several("betaln", _betaln, (0.0, 1.0), (0.0, 1.0), domain=_positive, limits=(_tiny((2,)), _BESIDE_ONE, _BEYOND)),
    _several(
        "beta",
        lambda a, b: mp.exp(_betaln(a, b)),
        (0.0,),
        (0.0,),
        domain=_positive,
        limits=(
            _tiny((1, 2)),
            _EXPONENT,
            Limit(
                "a or b < 1, second derivatives",
                "they are differences of products of digamma functions, which agree in the first digits",
                lambda a, b: np.minimum(a, b) < 1,
                orders=(2,),
            ),
        ),
    ),
    _several("gammainc", _lower, (0.0, 1.0), (0.0, 1.0), domain=_moderate, orders=1, limits=(_DENSITY,)),
    _several("gammaincc", _upper, (0.0, 1.0), (0.0, 1.0), domain=_moderate, orders=1, limits=(_DENSITY,)),
    _several(
        "zeta",
        lambda x, q: mp.zeta(x, q),
        (1.0,),
        (0.0, 1.0),
        domain=lambda x, q: 1 < x < 1e4 and q > 0,
        limits=(
            Limit(
                "x log(q) > 80, second derivatives",
                "they are sums of powers of q below the smallest normal number, times squares of logarithms",
                lambda x, q: x * np.log(q) > 80,
                ("float32", "bfloat16"),
                orders=(2,),
            ),
            Limit(
                "x < 1.01, second derivatives",
                "the function of x alone has a pole at 1, and the mixed derivative is a small difference of such terms",
                lambda x, q: x < 1.01,
                orders=(2,),
            ),
        ),
    ),
    _several(
        "poch",
        lambda z, m: mp.gamma(z + m) / mp.gamma(z),
        (0.0,),
        (0.0,),
        domain=_positive,
        limits=(
            Limit(
                "z < 0.1, or m near 1, second derivatives",
                "the square of a difference of digamma functions and a difference of their derivatives cancel out",
                lambda z, m: (z < 0.1) | (np.abs(m - 1) < 0.1),
                orders=(2,),
            ),
            Limit("z + m > 100", _ROUNDED_EXPONENT, lambda z, m: z + m > 100, at_most=2000),
            Limit(
                "z + m > 30, second derivatives",
                "near the largest numbers a product leaves the range before its last factor brings it back",
                lambda z, m: z + m > 30,
                orders=(2,),
            ),
        ),
    ),
    # It has no derivatives by a and b.
    _several(
        "betainc",
        lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
        (0.0, 1.0),
        (0.0, 1.0),
        (0.0, 0.5, 1.0),
        domain=lambda a, b, x: _moderate(a, b, x) and x < 1,
        orders=0,
    ),
    _of(
        "betainc",
        lambda x: mp.betainc(2.5, 3.5, 0, x, regularized=True),
        0.0,
        0.4,
        1.0,
        before=(2.5, 3.5),
        domain=lambda x: 0 < x < 1,
        limits=(
            Limit(
                "x near the least numbers, second derivative",
                "it is a multiple of the first derivative, which is below the normal numbers",
                lambda x: x < 1e-24,
                orders=(2,),
            ),
            Limit("x < 1e-20", _ROUNDED_EXPONENT, lambda x: x < 1e-20, orders=(0, 1), at_most=2000),
        ),
    ),
    # Reverse mode of its second derivatives is not supported.
    _several(
        "hyp1f1",
        mp.hyp1f1,
        (0.0,),
        (0.0,),
        (0.0,),
        domain=lambda a, b, x: all(abs(v) < 100 for v in (a, b, x)) and b > 0,
        orders=1,
        limits=(
            Limit(
                "a < 1e-6, or x < 0 and b - a < 1e-6",
                "terms of both signs cancel, and the series for a = 0 has one term",
                lambda a, b, x: (a < 1e-6) | ((x < 0) & (b - a < 1e-6)),
            ),
            Limit(
                "other x < 0, derivatives",
                "the derivatives of a power of e and of a series cancel",
                lambda a, b, x: x < 0,
                orders=(1,),
                at_most=20_000,
            ),
        ),
    ),
    _of("polygamma", lambda x: mp.polygamma(1, x), 0.0, 1.0, -1.0, before=(1,), domain=lambda x: x > 0),
    _of("polygamma", lambda x: mp.polygamma(3, x), 0.0, 1.0, -1.0, before=(3,), domain=lambda x: x > 0),
    _of("expn", lambda x: mp.expint(2, x), 0.0, 1.0, before=(2,), domain=lambda x: x > 0),
)
