"""The regularized incomplete beta function.

Source: DLMF 8.17.22 (the continued fraction) and 8.17.4 (the symmetry), evaluated by the method of Lentz
as in Press et al., Numerical Recipes, section 6.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from primax.extend import core
from primax.extend.core import Array
from primax.extend.provisional.elementwise import FLOATING, like, row
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import add, mul, neg, sub
from primax.plugins.exponential import exp, log, log1p
from primax.plugins.special.formula import Num, formula, iterate, select
from primax.plugins.special.gamma import lgamma, stirling
from primax.plugins.special.incomplete_gamma import excess, times_log

regularized_incomplete_beta_p = core.Primitive("regularized_incomplete_beta")

_MOST_STEPS = 10_000


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise regularized incomplete beta function.

    Args:
      a: real floating numbers, positive.
      b: numbers of the same dtype and shape, positive.
      x: numbers of the same dtype and shape, between 0 and 1.

    >>> import primax as px
    >>> print(f"{px.lax.betainc(1.0, 2.0, 0.5):.5f}")  # 1 - (1 - 0.5) ** 2
    0.75000
    """
    return regularized_incomplete_beta_p.bind(a, b, x)


def _log_gamma(x: Num) -> Num:
    return Num(lgamma(x.value))


def _power(a: Num, b: Num, x: Num) -> Num:
    """x**a (1 - x)**b / B(a, b)."""
    total = a + b
    off = x * b - (1 - x) * a
    exponent = -a * excess(x * total / a, off / a) - b * excess((1 - x) * total / b, -off / b)
    large = (exponent + stirling(total) - stirling(a) - stirling(b)).exp()
    large = large * (a / total * b / (2 * math.pi)).sqrt()
    most, least = select(a > b, a, b), select(a > b, b, a)
    by_difference = _log_gamma(total) - _log_gamma(most)
    by_stirling = (most - 0.5) * (least / most).log1p() + least * (total.log() - 1)
    by_stirling = by_stirling + stirling(total) - stirling(most)
    ratio = select(most >= 10, by_stirling, by_difference)
    small = (ratio - _log_gamma(least) + a * x.log() + b * (-x).log1p()).exp()
    return select((a >= 10) & (b >= 10), large, small)


def _fraction(a: Num, b: Num, x: Num, active: Num) -> Num:
    eps, tiny = x.eps, float(np.finfo(np.float32).tiny)

    def away_from_zero(y: Num) -> Num:
        return select(abs(y) < tiny, tiny, y)

    def step(m: Num, c: Num, d: Num, h: Num) -> tuple[Any, Any, Any, Any]:
        k = a + 2 * m
        even = m * (b - m) * x / ((k - 1) * k)
        d = 1 / away_from_zero(even * d + 1)
        c = away_from_zero(even / c + 1)
        h = h * d * c
        odd = -(a + m) * (a + b + m) * x / (k * (k + 1))
        d = 1 / away_from_zero(odd * d + 1)
        c = away_from_zero(odd / c + 1)
        change = d * c
        return abs(change - 1) > eps, c, d, h * change

    d = 1 / away_from_zero(1 - (a + b) * x / (a + 1))
    return iterate(step, active, [x.full(1), d, d], _MOST_STEPS)[2]


def _betainc(a: Num, b: Num, x: Num) -> Num:
    valid = (a > 0) & (b > 0) & (x > 0) & (x < 1) & (a < math.inf) & (b < math.inf)
    swap = x > (a + 1) / (a + b + 2)
    p, q, y = select(swap, b, a), select(swap, a, b), select(swap, 1 - x, x)
    part = _power(a, b, x) * _fraction(p, q, y, valid) / p
    out = select(swap, 1 - part, part)
    most = float(np.finfo(core.get_aval(x.value).dtype).max) ** 0.5  # larger values overflow in intermediate results
    far_a, far_b = select(a > most, math.inf, a), select(b > most, math.inf, b)
    return select(valid & (out == out), out, _limits(far_a, far_b, x))


def _limits(a: Num, b: Num, x: Num) -> Num:
    """The values where an argument is on the boundary of the domain, and NaN outside."""
    at_zero = (a == 0) | (b == math.inf)
    at_one = (b == 0) | (a == math.inf)
    one, zero = x.full(1), x.full(0)
    step = select(at_zero, select(x > 0, one, zero), select(x < 1, zero, one))
    inside = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1) & ~(at_zero & at_one)
    return select(inside, step, math.nan)


def _no_derivative(argument: str) -> Callable[..., Any]:
    def refuse(t: Any, *primals: Any) -> NoReturn:
        raise NotImplementedError(f"betainc: its derivative with respect to {argument} is not implemented")

    return refuse


def _density(a: Any, b: Any, x: Any) -> Array:
    """x**(a - 1) (1 - x)**(b - 1) / B(a, b)."""
    one = like(x, 1.0)
    power_a = times_log(sub(a, one), log(x))
    power_b = times_log(sub(b, one), log1p(neg(x)))
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    return exp(sub(add(power_a, power_b), log_beta))


RULES: Table = dict(
    (
        row(
            regularized_incomplete_beta_p,
            (FLOATING, FLOATING, FLOATING),
            formula(_betainc),
            (
                _no_derivative("a"),
                _no_derivative("b"),
                lambda t, a, b, x: mul(t, _density(a, b, x)),
            ),
            samples="primax.plugins.samples.special:SAMPLES",
            makes_nan=True,
        ),
    )
)
