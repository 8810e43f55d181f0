"""The regularized incomplete gamma functions and their derivatives.

Sources: DLMF 8.7.1 (the series of the lower function), 8.9.2 (the continued
fraction of the upper function), evaluated by the method of Lentz as in Press et al., Numerical Recipes, 6.2,
8.12.3 to 8.12.10 (the uniform expansion for large a).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array
from primax.extend.provisional.elementwise import FLOATING, like, row
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import mul, neg, sub
from primax.plugins.comparison import eq
from primax.plugins.exponential import exp, log_p
from primax.plugins.special.error import erfc
from primax.plugins.special.formula import Num, formula, iterate, select
from primax.plugins.special.gamma import digamma, lgamma, lgamma_beside_one, stirling
from primax.plugins.structural import repeat, select_n

igamma_grad_a_p = core.Primitive("igamma_grad_a")
igamma_p = core.Primitive("igamma")
igammac_p = core.Primitive("igammac")
random_gamma_grad_p = core.Primitive("random_gamma_grad")

# For larger values, the uniform expansion is equally accurate; for smaller ones, this number of steps suffices.
_LARGE = 1e5
_LARGE_FOR_SLOPES = 1e6
_MOST_STEPS = 10_000


def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise regularized lower incomplete gamma function P(a, x).

    Args:
      a: real floating numbers, not negative.
      x: numbers of the same dtype and shape, not negative.

    >>> import primax as px
    >>> print(f"{px.lax.igamma(1.0, 0.5):.5f}")  # 1 - exp(-0.5)
    0.39347
    """
    return igamma_p.bind(a, x)


def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x).

    Args:
      a: real floating numbers, not negative.
      x: numbers of the same dtype and shape, not negative.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.igammac(np.float32(1), np.float32([0, np.inf]))
      Array([1., 0.], dtype=float32)
    """
    return igammac_p.bind(a, x)


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise derivative of `igamma` with respect to a.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.igamma_grad_a(np.float32(1), np.float32([0, 1]))[0], lax.igamma_grad_a(np.float32(2), np.float32(1)) < 0
      (Array(0., dtype=float32), Array(True, dtype=bool))
    """
    return igamma_grad_a_p.bind(a, x)


def random_gamma_grad(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise derivative of a sample x of the gamma distribution with respect to its parameter a.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.random_gamma_grad(np.float32(1), np.float32(2)) > 0  # a larger parameter gives larger samples
      Array(True, dtype=bool)
    """
    return random_gamma_grad_p.bind(a, x)


def excess(ratio: Num, mu: Num) -> Num:
    """ratio - 1 - log(ratio), accurate near 1, for mu = ratio - 1."""
    r = mu / (mu + 2)
    square = r * r
    total = mu.full(1 / 21)
    for k in range(19, 1, -2):
        total = total * square + 1 / k
    near = mu * r - 2 * r * square * total
    return select(abs(mu) < 0.25, near, mu - ratio.log())


def _power(a: Num, x: Num) -> Num:
    """x**a exp(-x) / gamma(a + 1)."""
    large = (-a * excess(x / a, (x - a) / a) - stirling(a)).exp() / (a * (2 * math.pi)).sqrt()
    small = (a * x.log() - x - Num(lgamma((a + 1).value))).exp()
    return select(a >= 10, large, small)


def _series(a: Num, x: Num, active: Num) -> Num:
    """The sum over n of x**n / ((a + 1) ... (a + n))."""
    eps = x.eps

    def step(n: Num, term: Num, total: Num) -> tuple[Any, Any, Any]:
        term = term * x / (a + n)
        total = total + term
        return term > total * eps, term, total

    return iterate(step, active, [x.full(1), x.full(1)], _MOST_STEPS)[1]


def _series_with_slope(a: Num, x: Num, active: Num) -> tuple[Num, Num]:
    """`_series` and its derivative with respect to a."""
    eps = x.eps

    def step(n: Num, term: Num, slope: Num, total: Num, total_slope: Num) -> tuple[Any, Any, Any, Any, Any]:
        ratio = x / (a + n)
        slope = slope * ratio - term * ratio / (a + n)
        term = term * ratio
        total, total_slope = total + term, total_slope + slope
        more = (term > total * eps) | (abs(slope) > abs(total_slope) * eps)
        return more, term, slope, total, total_slope

    one, zero = x.full(1), x.full(0)
    return tuple(iterate(step, active, [one, zero, one, zero], _MOST_STEPS)[2:])  # type: ignore[return-value]


def _fraction(a: Num, x: Num, active: Num) -> Num:
    """The continued fraction 1 / (x + 1 - a - (1 - a) / (x + 3 - a - ...))."""
    eps, tiny = x.eps, float(np.finfo(np.float32).tiny)
    b = x + 1 - a

    def step(n: Num, b: Num, c: Num, d: Num, h: Num) -> tuple[Any, Any, Any, Any, Any]:
        factor = n * (a - n)
        b = b + 2
        d = _away_from_zero(factor * d + b, tiny)
        c = _away_from_zero(b + factor / c, tiny)
        d = 1 / d
        change = d * c
        return abs(change - 1) > eps, b, c, d, h * change

    return iterate(step, active, [b, x.full(1 / tiny), 1 / b, 1 / b], _MOST_STEPS)[3]


def _fraction_with_slope(a: Num, x: Num, active: Num) -> tuple[Num, Num]:
    """`_fraction` and its derivative with respect to a."""
    eps, tiny = x.eps, float(np.finfo(np.float32).tiny)
    b = x + 1 - a

    def step(
        n: Num, b: Num, c: Num, d: Num, h: Num, c_slope: Num, d_slope: Num, h_slope: Num
    ) -> tuple[Any, Any, Any, Any, Any, Any, Any, Any]:
        factor = n * (a - n)
        b = b + 2
        d_slope = n * d + factor * d_slope - 1
        d = 1 / _away_from_zero(factor * d + b, tiny)
        d_slope = -d_slope * d * d
        c_slope = (n - factor / c * c_slope) / c - 1
        c = _away_from_zero(b + factor / c, tiny)
        change = d * c
        change_slope = d_slope * c + d * c_slope
        h_slope = h_slope * change + h * change_slope
        more = (abs(change - 1) > eps) | (abs(h * change_slope) > abs(h_slope) * eps)
        return more, b, c, d, h * change, c_slope, d_slope, h_slope

    d = 1 / b
    start = [b, x.full(1 / tiny), d, d, x.full(0), d * d, d * d]
    outs = iterate(step, active, start, _MOST_STEPS)
    return outs[3], outs[6]


def _away_from_zero(x: Num, tiny: float) -> Num:
    return select(abs(x) < tiny, tiny, x)


def _uniform(a: Num, x: Num) -> tuple[Num, Num]:
    """P and Q for large a, to second order."""
    half = excess(x / a, (x - a) / a)
    eta = _signed_root(a, x, half)
    near = select(half < 1, eta, 1)
    c0 = near * (near * (near * (near * (1 / 2835) + 1 / 864) - 2 / 135) + 1 / 12) - 1 / 3
    c1 = near * (-1 / 288) - 1 / 540
    rest = (-a * half).exp() / (a * (2 * math.pi)).sqrt() * (c0 + c1 / a)
    deviation = eta * (a * 0.5).sqrt()
    return 0.5 * _erfc(-deviation) - rest, 0.5 * _erfc(deviation) + rest


def _signed_root(a: Num, x: Num, half: Num) -> Num:
    root = (half + half).sqrt()
    return select(x < a, -root, root)


def _erfc(x: Num) -> Num:
    return Num(erfc(x.value))


def _uniform_sample_slope(a: Num, x: Num) -> Num:
    """The derivative of a sample x with respect to large a, which leaves P, as computed by `_uniform`, constant."""
    ratio = x / a
    mu = (x - a) / a
    eta = _signed_root(a, x, excess(ratio, mu))
    slope = select(mu == 0, 1, eta / mu)
    return select(ratio > 0, ratio - 0.5 * ratio * slope * (eta - 1 / 3 / a), 0)


def _by_fraction(a: Num, x: Num) -> Num:
    return (x > 1) & (x > a)


def _valid(a: Num, x: Num) -> Num:
    return (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)


def _tail(a: Num, x: Num) -> tuple[Num, Num, Num]:
    """Q or P, whichever has no cancellation; whether it is Q; and whether it is valid."""
    upper, valid, large = _by_fraction(a, x), _valid(a, x), a > _LARGE
    lower_sum = _series(a, x, valid & ~upper & ~large)
    upper_sum = _fraction(a, x, valid & upper & ~large)
    lower_limit, upper_limit = _uniform(a, x)
    tail = _power(a, x) * select(upper, a * upper_sum, lower_sum)
    return select(large, select(upper, upper_limit, lower_limit), tail), upper, valid


def _limits(a: Num, x: Num, at_zero: float, at_infinity: float) -> Num:
    """The values where `a` or `x` is 0 or infinite, and NaN outside the domain."""
    nowhere = x.full(math.nan)
    out = select((a > 0) & (x == 0), at_zero, nowhere)
    out = select((a == math.inf) & (x >= 0), at_zero, out)
    return select(((a >= 0) & (x == math.inf)) | ((a == 0) & (x > 0)), at_infinity, out)


def _igamma(a: Num, x: Num) -> Num:
    tail, upper, valid = _tail(a, x)
    return select(valid, select(upper, 1 - tail, tail), _limits(a, x, 0, 1))


def _upper_of_small(a: Num, x: Num) -> Num:
    """Q for a and x up to 1, where P may be close to 1; NIST DLMF 8.7.1 without its first term."""
    total = x.full(0)
    for n in range(22, 0, -1):
        total = (1 / (a + n) - total) * x / n
    near = a < 0.5
    of_one_plus_a = select(near, lgamma_beside_one(select(near, a, 0)), Num(lgamma((a + 1).value)))
    exponent = a * x.log() - of_one_plus_a
    return exponent.exp() * a * total - exponent.expm1()


def _igammac(a: Num, x: Num) -> Num:
    tail, upper, valid = _tail(a, x)
    small = (a < 1) & (x <= 1)
    near_one = select(small, _upper_of_small(select(small, a, 0.5), select(small, x, 0.5)), 1 - tail)
    return select(valid, select(upper, tail, near_one), _limits(a, x, 1, 0))


def _slope_of_tail(a: Num, x: Num) -> tuple[Num, Num]:
    """The derivative of P with respect to a, divided by x**a exp(-x) / gamma(a + 1); and whether it is valid.

    It is valid at a = 0 too, where the derivative from above is that of 1 - a E1(x).
    """
    valid = _valid(a, x) | ((a == 0) & (x > 0) & (x < math.inf))
    upper, large = _by_fraction(a, x), a > _LARGE_FOR_SLOPES
    total, total_slope = _series_with_slope(a, x, valid & ~upper & ~large)
    fraction, fraction_slope = _fraction_with_slope(a, x, valid & upper & ~large)
    log = x.log() - Num(digamma((a + 1).value))
    below = total_slope + total * log
    above = a * (fraction_slope + fraction * log) + fraction
    return select(large, -_uniform_sample_slope(a, x) * a / x, select(upper, -above, below)), valid


def _igamma_grad_a(a: Num, x: Num) -> Num:
    slope, valid = _slope_of_tail(a, x)
    return select(valid, slope * _power(a, x), _limits(a, x, 0, 0))


def _random_gamma_grad(a: Num, x: Num) -> Num:
    slope, valid = _slope_of_tail(a, x)
    return select(valid, -slope * x / abs(a), _limits(a, x, 0, math.inf))


def times_log(exponent: Any, logarithm: Any) -> Array:
    """The product, and 0 for an exponent of 0, even if the logarithm is infinite."""
    product = mul(exponent, logarithm)
    exponent = repeat(exponent, core.get_aval(product).shape)  # an exponent of rank 0 fits any shape
    return select_n(eq(exponent, like(exponent, 0.0)), product, exponent)


def _density(a: Any, x: Any) -> Array:
    """exp((a - 1) log(x) - x - lgamma(a)), the derivative of P with respect to x."""
    power = times_log(sub(a, like(a, 1.0)), log_p.bind(x))
    return exp(sub(sub(power, x), lgamma(a)))


_NO_SECOND = {"jvp": "its derivatives are not known in closed form"}
_TWO = (FLOATING, FLOATING)


RULES: Table = dict(
    (
        row(
            igamma_p,
            _TWO,
            formula(_igamma),
            (lambda t, a, x: mul(t, igamma_grad_a(a, x)), lambda t, a, x: mul(t, _density(a, x))),
            samples="primax.plugins.samples.special:SAMPLES",
            makes_nan=True,
        ),
        row(
            igammac_p,
            _TWO,
            formula(_igammac),
            (lambda t, a, x: mul(t, neg(igamma_grad_a(a, x))), lambda t, a, x: mul(t, neg(_density(a, x)))),
            samples="primax.plugins.samples.special:SAMPLES",
            makes_nan=True,
        ),
        row(
            igamma_grad_a_p,
            _TWO,
            formula(_igamma_grad_a),
            unsupported=_NO_SECOND,
            samples="primax.plugins.samples.special:SAMPLES",
            makes_nan=True,
        ),
        row(
            random_gamma_grad_p,
            _TWO,
            formula(_random_gamma_grad),
            unsupported=_NO_SECOND,
            samples="primax.plugins.samples.special:SAMPLES",
        ),
    )
)
