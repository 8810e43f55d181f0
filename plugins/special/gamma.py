"""The logarithm of the gamma function, its derivatives, and the zeta function.

Sources: DLMF 5.5.1 to 5.5.4 (recurrence and reflection), 5.11.1 and 5.11.2 (the series for large arguments), 25.11.5
(the formula of Euler and Maclaurin for the zeta function). The polynomials between were computed by interpolation at 64
Chebyshev points in 60 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

from primax.extend import core
from primax.extend.core import Array
from primax.extend.provisional.elementwise import FLOATING, like, row
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import add, mul, neg
from primax.plugins.special.formula import Num, formula, polynomial, select

digamma_p = core.Primitive("digamma")
lgamma_p = core.Primitive("lgamma")
polygamma_p = core.Primitive("polygamma")
zeta_p = core.Primitive("zeta")


def lgamma(x: ArrayLike) -> Array:
    """Elementwise logarithm of the absolute value of the gamma function, for real floating arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.lgamma(np.float32([1, 2, 0, -1]))
      Array([ 0.,  0., inf, inf], dtype=float32)
    """
    return lgamma_p.bind(x)


def digamma(x: ArrayLike) -> Array:
    """Elementwise derivative of `lgamma`, for real floating arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.digamma(np.float32([0, -1]))
      Array([-inf,  nan], dtype=float32)
    """
    return digamma_p.bind(x)


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise derivative of order m of `digamma`.

    Args:
      m: whole numbers in a floating dtype, not negative.
      x: numbers of the same dtype and shape.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.polygamma(np.float32(1), np.float32([0, 1])) > 1.6
      Array([ True,  True], dtype=bool)
    """
    return polygamma_p.bind(m, x)


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """Elementwise Hurwitz zeta function, the sum of (k + q)**-x over k = 0, 1, ..., for real arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> abs(lax.zeta(np.float32(2), np.float32(1)) - np.pi**2 / 6) < 1e-5
      Array(True, dtype=bool)
    """
    return zeta_p.bind(x, q)


# Chebyshev coefficients, in 2 u from -1 to 1, of (lgamma(1 + u) / u + 0.577...) / u.
_NEAR_ONE = (
    0.8610083657107616,
    -0.2231830454939926,
    0.04025349845006214,
    -0.00824659230565717,
    0.0018023963110091051,
    -0.0004093640627096901,
    9.536462448075788e-05,
    -2.262171841428701e-05,
    5.439996717363227e-06,
    -1.3223395778202692e-06,
    3.242497547539949e-07,
    -8.008804521017803e-08,
    1.9903165916555207e-08,
    -4.972391288969485e-09,
    1.2479464492992487e-09,
    -3.144630118969776e-10,
    7.952149287877109e-11,
    -2.0173090812871186e-11,
    5.132053767656677e-12,
    -1.3089398023063348e-12,
    3.3462147256166607e-13,
    -8.572421364772964e-14,
    2.2003424749042258e-14,
    -5.657770092633567e-15,
    1.4571621118462215e-15,
    -3.7585838095387355e-16,
    9.708374752510088e-17,
    -2.5109146511740864e-17,
    6.501926736435726e-18,
)
# In 2 x - 3 from -1 to 1: of digamma(x) / (x - z), where z is the sum of two numbers.
_PSI = (
    0.983570260441567,
    -0.2270640863346444,
    0.03336889902393011,
    -0.005320077271596548,
    0.0008788656937820505,
    -0.00014773492650606044,
    2.5060543468359146e-05,
    -4.2721034029993324e-06,
    7.302769272465923e-07,
    -1.2502886813559594e-07,
    2.1425009322359472e-08,
    -3.673295918565179e-09,
    6.299717236108931e-10,
    -1.080593028883266e-10,
    1.853735192053638e-11,
    -3.18023536582553e-12,
    5.456147570322795e-13,
    -9.360993131036438e-14,
    1.606064636295075e-14,
    -2.7555431377438815e-15,
    4.727736178601912e-16,
    -8.11148420346509e-17,
    1.391707769474154e-17,
    -2.3877901082188625e-18,
)
_ZERO_OF_DIGAMMA = (1.4616321449683622, 9.549995429965697e-17)
# In 8 r**2 - 1 from -1 to 1: of sin(pi r) / r.
_SINE = (
    2.552557924804532,
    -0.570523138362072,
    0.018236032013303604,
    -0.00027317502708393336,
    2.3699237153233804e-06,
    -1.3405583207654882e-08,
    5.334557198039319e-11,
    -1.574584424343719e-13,
    3.584589471849745e-16,
)
_EULER = 0.57721566490153286061
# Bernoulli's numbers B(2k), for k from 1 on.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def stirling(a: Any) -> Any:
    """lgamma(a) - (a - 1/2) log(a) + a - log(2 pi) / 2, for numbers or arrays of 10 and more."""
    b = 1 / (a * a)
    terms = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
    total = terms[-1]
    for term in terms[-2::-1]:
        total = total * b + term
    return total / a


def _whole(x: Num) -> Num:
    return x == x.floor()


def _sine(r: Num) -> Num:
    """sin(pi r) for r from -1/2 to 1/2."""
    return r * polynomial(8 * r * r - 1, _SINE)


def lgamma_beside_one(u: Num) -> Num:
    """lgamma(1 + u) for u from -1/2 to 1/2."""
    return u * (u * polynomial(u + u, _NEAR_ONE) - _EULER)


def _lgamma(x: Num) -> Num:
    """Above 8.5 by Stirling's series, from -1/2 to 1/2 by powers, between by steps to there, else by reflection.

    The sum of logarithms is the logarithm of a product, so that one logarithm serves both intervals. For x below -1/2,
    lgamma(x) = log(pi / abs(x sin(pi x))) - lgamma(abs(x)).
    """
    size = abs(x)
    large, small = size > 8.5, size < 0.5
    u = select(large, 0.5, size) - 1
    product = x.full(1)
    for _ in range(7):
        above = u > 0.5
        product = product * select(above, u, 1)
        u = u - select(above, x.full(1), 0)
    u = select(small, x, u)
    logarithm = select(large | small, size, product).log()
    powers = lgamma_beside_one(u) + select(small, -logarithm, logarithm)
    y = select(large, size, 9)
    series = y * (logarithm - 1) - 0.5 * logarithm + (0.5 * math.log(2 * math.pi) + stirling(y))
    out = select(large, select(size == math.inf, math.inf, series), powers)
    below = (x < 0) & ~small
    r = x - x.nearest()
    reflected = (math.pi / abs(size * _sine(select(below, r, 0.5)))).log() - out
    whole = (x <= 0) & _whole(x)
    return select(whole, math.inf, select(below, reflected, out))


def _psi(x: Num) -> Num:
    """The digamma function from 1 on."""
    nearest = x.rounded(_ZERO_OF_DIGAMMA[0])
    rest = _ZERO_OF_DIGAMMA[0] - nearest + _ZERO_OF_DIGAMMA[1]
    slope = polynomial(x + x - 3, _PSI)
    near = (x - nearest) * slope - rest * slope
    large = x >= 10
    y = select(large, x, x + 8)
    b = 1 / (y * y)
    total = b.full(-_BERNOULLI[7] / 16)
    for k in range(7, 0, -1):
        total = total * b - _BERNOULLI[k - 1] / (2 * k)
    far = y.log() + (total * b - 0.5 / y)
    start = select(large, 1, x)
    above, below = start.full(1), start
    for k in range(1, 8):
        above = above * (start + k) + below
        below = below * (start + k)
    return select(x <= 2, near, select(large, far, far - above / below))


def _digamma(x: Num) -> Num:
    """Below 1 by recurrence, and for negative x by digamma(x) = digamma(1 - x) - pi / tan(pi x)."""
    size = abs(x)
    steps = size < 1
    raised = _psi(select(steps, size + 1, size))
    positive = raised - select(steps, 1 / size, 0)
    r = x - x.nearest()
    cotangent = math.pi * _sine(0.5 - abs(r)) / _sine(select(r == 0, 0.5, r))
    negative = raised + select(steps, 0, 1 / size) - cotangent
    out = select(x < 0, negative, select(x == math.inf, math.inf, positive))
    return select((x < 0) & _whole(x), math.nan, out)


def gamma_function(x: Num) -> Num:
    """The gamma function from 1 on: Stirling's series, below 10 after ten steps to the right."""
    steps = x < 10
    u = select(steps, x + 10, x)
    lost = select(steps, (u - x) - 10, 0)  # the rounding error of u
    half = u.power(u * 0.5 - 0.25)
    value = half * (-u).exp() * half * (math.sqrt(2 * math.pi) * (stirling(u) - lost * u.log()).exp())
    start = select(steps, x, 1)
    product = start
    for k in range(1, 10):
        product = product * (start + k)
    return select(x > 200, math.inf, select(steps, value / product, value))


def _hurwitz(s: Num, q: Num, root: Num) -> Num:
    """root**2 times the sum of (k + q)**-s over k = 0, 1, ..., for s > 1 and q >= 0.

    Powers are squares of powers, each times `root`: neither overflows where the product does not.
    """
    terms, corrections = (8, 10) if q.eps < 1e-10 else (5, 5)
    half = -0.5 * s
    total = q.full(0)
    for k in range(terms):
        part = root * (q + k).power(half)
        total = total + part * part
    far = (q > 64) & (q > 4 * s)  # there the first terms may underflow, and the rest needs no steps
    total, u = select(far, 0, total), select(far, q, q + terms)
    part = root * u.power(half + 0.5)
    inverse = 1 / u
    square = inverse * inverse
    product = s * square
    bracket = 1 / (s - 1) + 0.5 * inverse
    for j in range(1, corrections + 1):
        bracket = bracket + product * (_BERNOULLI[j - 1] / math.factorial(2 * j))
        product = product * ((s + (2 * j - 1)) * inverse) * ((s + 2 * j) * inverse)
    tail = part * part
    return total + select(tail == 0, 0, tail * bracket)


def _zeta_of(s: Num, q: Num, root: Num) -> Num:
    """`_hurwitz` of all q, and NaN for negative q where s is not whole.

    The sum for negative q is that over all whole numbers k without that over negative k.
    """
    negative = q < 0
    r = q - q.nearest()
    near, away = abs(r), 1 - abs(r)
    first = _hurwitz(s, select(negative, near, q), root)
    odd = s != 2 * (0.5 * s).nearest()
    second = _hurwitz(s, away, root)
    third = _hurwitz(s, 1 - select(negative, q, 0), root)
    plus = select(r < 0, second, first)
    minus = select(r < 0, first, second) - third
    below = select(odd, plus - minus, plus + minus)
    below = select(_whole(q), math.inf, select(_whole(s), below, math.nan))
    return select(negative, below, first)


def _zeta(s: Num, q: Num) -> Num:
    out = _zeta_of(select(s > 1, s, 2), q, q.full(1))
    out = select(s > 1, out, select(s == 1, s.full(math.inf), math.nan))
    return select((s == s) & (q == q), out, math.nan)


def _polygamma(m: Num, x: Num) -> Num:
    """(-1)**(m + 1) gamma(m + 1) zeta(m + 1, x)."""
    s = select(m > 0, m, 1) + 1
    root = gamma_function(s).sqrt()
    root = select(root < math.inf, root, (0.5 * _lgamma(s)).exp())
    size = _zeta_of(s, x, root)
    odd = m != 2 * (0.5 * m).nearest()
    out = select(odd, size, -size)
    return select(m == 0, _digamma(x), select((m > 0) & _whole(m), out, math.nan))


def _no_derivative(function: str, argument: str) -> Callable[..., Any]:
    def refuse(t: Any, *primals: Any) -> NoReturn:
        raise NotImplementedError(f"{function}: its derivative with respect to {argument} is not implemented")

    return refuse


_TWO = (FLOATING, FLOATING)
_POSITIVE = ((0.6, 1.7, 2.6),)

RULES: Table = dict(
    (
        row(lgamma_p, FLOATING, formula(_lgamma), lambda t, x: mul(t, digamma(x)), at=_POSITIVE, makes_nan=True),
        row(
            digamma_p,
            FLOATING,
            formula(_digamma),
            lambda t, x: mul(t, polygamma(like(x, 1.0), x)),
            at=_POSITIVE,
            makes_nan=True,
        ),
        row(
            polygamma_p,
            _TWO,
            formula(_polygamma),
            (_no_derivative("polygamma", "m"), lambda t, m, x: mul(t, polygamma(add(m, like(m, 1.0)), x))),
            samples="primax.plugins.samples.special:SAMPLES",
        ),
        row(
            zeta_p,
            _TWO,
            formula(_zeta),
            (_no_derivative("zeta", "x"), lambda t, x, q: mul(t, mul(neg(x), zeta(add(x, like(x, 1.0)), q)))),
            samples="primax.plugins.samples.special:SAMPLES",
        ),
    )
)
