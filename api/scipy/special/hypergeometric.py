"""Hypergeometric functions of real numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax import jvp, lax
from primax import numpy as pnp
from primax.extend.core import Array
from primax.extend.provisional.typing import ArrayLike
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.special import lgamma_p
from primax.scipy.special.evaluation import compiled, evaluated
from primax.scipy.special.gammas import gammasgn
from primax.scipy.special.operands import epsilon, tangent_of

__all__ = ["hyp1f1", "hyp2f1"]

_MOST_TERMS = 1000
_SHIFT = 40.0


def _is_pole(x: Any) -> Array:
    return (x <= 0) & (x == pnp.floor(x))


def _gamma_ratio(above: tuple[Any, ...], below: tuple[Any, ...]) -> tuple[Any, Any]:
    """Sign and logarithm of a quotient of products of gamma functions; the sign is 0 if a divisor has a pole."""
    sign: Any = 1.0
    logarithm: Any = 0.0
    for parameter in above:
        sign, logarithm = sign * gammasgn(parameter), logarithm + lgamma_p.bind(parameter)
    for parameter in below:
        pole = _is_pole(parameter)
        safe = pnp.where(pole, 1.0, parameter)
        sign = pnp.where(pole, 0.0, sign * gammasgn(safe))
        logarithm = logarithm - lgamma_p.bind(safe)
    return sign, logarithm


def _series(above: tuple[Any, ...], below: tuple[Any, ...], x: Any, most: int = _MOST_TERMS) -> Array:
    """The sum of x**k / k!, times rising factorials of `above`, divided by those of `below`."""
    total, shifts = _scaled_series(above, below, x, most)
    return total * pnp.exp(_SHIFT * shifts)


def _scaled_series(above: tuple[Any, ...], below: tuple[Any, ...], x: Any, most: int = _MOST_TERMS) -> Any:
    """The sum of `_series`, divided by a power of exp(_SHIFT) so that it stays in range, and the exponent."""
    least = epsilon(x) / 4

    def condition(state: Any) -> Array:
        k, term, total, _ = state
        return (k < most) & pnp.any(pnp.abs(term) * (1 + k) > least * pnp.abs(total))

    def step(state: Any) -> tuple[Any, Any, Any, Any]:
        k, term, total, shifts = state
        factor = x / (k + 1)
        for parameter in above:
            factor = factor * (parameter + k)
        for parameter in below:
            factor = factor / pnp.where(parameter + k == 0, 1.0, parameter + k)
        term = pnp.where(factor == 0, 0.0, term * factor)  # where an overflowed series ends, not 0 * inf
        total = total + term
        large = (pnp.abs(total) > 1e18) & (pnp.abs(total) < np.inf)
        scale = pnp.where(large, np.exp(-_SHIFT), 1.0).astype(x.dtype)
        return k + 1, term * scale, total * scale, shifts + large.astype(x.dtype)

    one = pnp.ones_like(x)
    _, _, total, shifts = lax.while_loop(condition, step, (pnp.zeros((), x.dtype), one, one, pnp.zeros_like(x)))
    return total, shifts


def _kummer_polynomial(a: Any, b: Any, x: Any) -> Array:
    """Kummer's function for a = 0, -1, -2, ... and positive b by NIST DLMF 13.3.1; its terms would cancel out."""

    def step(state: Any) -> tuple[Any, Any, Any]:
        k, before, total = state
        after = ((2 * k + b - x) * total - k * before) / (b + k)
        after = pnp.where(pnp.abs(total) < np.inf, after, total)
        has_terms = k < -a
        return k + 1, pnp.where(has_terms, total, before), pnp.where(has_terms, after, total)

    start = pnp.zeros((), x.dtype), pnp.zeros_like(x), pnp.ones_like(x)
    return lax.while_loop(lambda state: pnp.any(state[0] < -a), step, start)[2]


def _asymptotic(a: Any, b: Any, x: Any) -> tuple[Array, Array]:
    """Kummer's function for large positive x by NIST DLMF 13.7.1: the logarithm of a factor without e**x, and the rest.

    The parts stay apart because e**x may overflow where its product with other powers does not.
    """
    sign, logarithm = _gamma_ratio((b,), (a,))
    term = total = pnp.ones_like(x)
    for k in range(25):
        after = term * (b - a + k) * (1 - a + k) / ((k + 1) * x)
        term = pnp.where(pnp.abs(after) < pnp.abs(term), after, 0.0)
        total = total + term
    return logarithm + (a - b) * pnp.log(x), sign * total


def _poles_of(b: Any, *tops: Any) -> Array:
    """Whether the series has a pole of `b` before a parameter of `tops` ends it."""
    ended = False
    for a in tops:
        ended = ended | (_is_pole(a) & (a >= b))
    return _is_pole(b) & ~ended


def _hyp1f1_of(a: Any, b: Any, x: Any) -> Array:
    negative = x < 0
    top, size = pnp.where(negative, b - a, a), pnp.abs(x)
    limit = 100.0 if x.dtype == np.float64 else 50.0
    ends = _is_pole(top)
    # The terms of the asymptotic series must shrink from the start; beyond 500 the other series takes too many.
    shrinks = pnp.abs((b - top) * (1 - top)) < 0.5 * size
    far = (size > limit) & (shrinks | (size > 500)) & ~ends & (size < np.inf)
    near, shifts = _scaled_series((top,), (b,), pnp.where(far | ~(size < np.inf), 0.0, size))
    power, rest = _asymptotic(
        pnp.where(far, top, 1.0), pnp.where(far & ~_is_pole(b), b, 1.0), pnp.where(far, size, limit)
    )
    outside = rest * pnp.exp(power + pnp.where(negative, 0.0, size))  # for negative x, times e**x
    # By halves: the power may be too small where the product is not.
    power = pnp.exp(0.5 * (_SHIFT * shifts + pnp.where(negative & ~far, x, 0.0)))
    out = pnp.where(far, outside, near * power * power)
    recurs = _is_pole(a) & (a > -100 * _MOST_TERMS) & (b > 0)
    finite = pnp.where(_is_pole(a) & (size < np.inf), x, 0.0)
    by_terms = _series((a,), (b,), pnp.where(recurs, 0.0, finite))
    by_order = _kummer_polynomial(pnp.where(recurs, a, 0.0), pnp.where(recurs, b, 1.0), finite)
    out = pnp.where(_is_pole(a), pnp.where(recurs, by_order, by_terms), out)
    out = pnp.where(_poles_of(b, a), np.inf, out)
    out = pnp.where((a == b) & ~_is_pole(b), pnp.exp(x), pnp.where(a == 0, 1.0, out))
    return pnp.where((a != a) | (b != b) | (x != x), np.nan, out)


@custom_jvp
def _hyp1f1(a: Any, b: Any, x: Any) -> Array:
    return _hyp1f1_of(a, b, x)


def _by_series(function: Any, primals: tuple[Any, ...], which: int) -> Callable[..., Any]:
    """The derivative with respect to one parameter, by the series that define the function."""

    def of_one(value: Any) -> Array:
        return function(*primals[:which], value, *primals[which + 1 :])

    return lambda: jvp(of_one, (primals[which],), (pnp.ones_like(primals[which]),))[1]


def _hyp1f1_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    a, b, x = primals

    def smooth(a: Any, b: Any, x: Any) -> Array:
        negative = x < 0
        out = _series((pnp.where(negative, b - a, a),), (b,), pnp.abs(x))
        return out * pnp.exp(pnp.where(negative, x, 0.0))

    return _hyp1f1(a, b, x), tangent_of(
        tangents,
        _by_series(smooth, primals, 0),
        _by_series(smooth, primals, 1),
        lambda: a / b * _hyp1f1(a + 1, b + 1, x),
    )


_hyp1f1.defjvp(_hyp1f1_jvp, symbolic_zeros=True)
_hyp1f1_program = compiled(_hyp1f1)


def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Kummer's confluent hypergeometric function.

    Args:
      a, b: real parameters. If b is 0 or a negative integer, the result is infinite, unless a ends the series first.
      x: real arrays or numbers.

    Raises:
      TypeError: an argument is complex or not an array, or the shapes do not broadcast.

    Source: NIST DLMF 13.2.2, 13.2.39 for negative and 13.7.1 for large x, 13.3.1 for polynomials.

    >>> import primax as px
    >>> round(float(px.scipy.special.hyp1f1(1.0, 2.0, 1.0)), 4)
    1.7183
    """
    return evaluated("hyp1f1", _hyp1f1_program, a, b, x)


def _near_one(a: Any, b: Any, c: Any, x: Any) -> Array:
    """NIST DLMF 15.8.4: by 1 - x, where c - a - b is not an integer."""
    s = c - a - b
    first_sign, first = _gamma_ratio((c, s), (c - a, c - b))
    second_sign, second = _gamma_ratio((c, -s), (a, b))
    left = first_sign * pnp.exp(first) * _series((a, b), (1 - s,), 1 - x)
    right = second_sign * pnp.exp(second + s * pnp.log1p(-x)) * _series((c - a, c - b), (1 + s,), 1 - x)
    return left + right


def _hyp2f1_of(a: Any, b: Any, c: Any, x: Any) -> Array:
    ends = _is_pole(a) | _is_pole(b)
    s = c - a - b
    whole = pnp.abs(s - pnp.round(s)) < 0.1  # where two large numbers would cancel out
    pole = _poles_of(c, a, b)
    usable = (x == x) & ~pole
    # A polynomial, or Gauss's series; for negative x by Pfaff's transformation.
    by_polynomial = _series((a, b), (c,), pnp.where(ends & usable, x, 0.0))
    by_euler = ~ends & usable & (_is_pole(c - a) | _is_pole(c - b)) & ((x < 0) | ((x > 1) & (s == pnp.round(s))))
    other_polynomial = _series((c - a, c - b), (c,), pnp.where(by_euler, x, 0.0))
    other_polynomial = other_polynomial * pnp.power(pnp.where(by_euler, 1 - x, 1.0), pnp.where(by_euler, s, 1.0))
    negative = x < 0
    moved = pnp.where(negative, x / (x - 1), x)
    a, b = pnp.maximum(a, b), pnp.minimum(a, b)
    other = pnp.where(negative, c - b, b)
    inside = usable & ~ends & (moved < 1) & (moved >= 0)
    close = inside & (moved > 0.9) & ~negative & ~whole
    plain = _series((a, other), (c,), pnp.where(inside & ~close, moved, 0.0), 100 * _MOST_TERMS)
    plain = plain * pnp.where(negative & inside, pnp.exp(-a * pnp.log1p(-pnp.where(negative, x, 0.0))), 1.0)
    fixed = [pnp.where(close, operand, default) for operand, default in ((a, 0.25), (b, 0.5), (c, 1.5), (x, 0.9))]
    out = pnp.where(close, _near_one(*fixed), plain)
    at_one = (x == 1) & (s > 0) & usable
    sign, logarithm = _gamma_ratio(
        (pnp.where(at_one, c, 3.0), pnp.where(at_one, s, 1.0)),
        (pnp.where(at_one, c - a, 1.0), pnp.where(at_one, c - b, 1.0)),
    )
    out = pnp.where(at_one, sign * pnp.exp(logarithm), pnp.where(x >= 1, np.inf, out))
    out = pnp.where(ends, by_polynomial, pnp.where(by_euler, other_polynomial, out))
    out = pnp.where((a == 0) | (b == 0) | (x == 0), 1.0, pnp.where(pole, np.inf, out))
    return pnp.where((a != a) | (b != b) | (c != c) | (x != x), np.nan, out)


@custom_jvp
def _hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Array:
    return _hyp2f1_of(a, b, c, x)


def _hyp2f1_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    a, b, c, x = primals

    def smooth(a: Any, b: Any, c: Any, x: Any) -> Array:
        negative = x < 0
        moved = pnp.where(negative, x / (x - 1), x)
        out = _series((a, pnp.where(negative, c - b, b)), (c,), pnp.where(moved < 1, moved, 0.0), 100 * _MOST_TERMS)
        return out * pnp.exp(-a * pnp.log1p(-pnp.where(negative, x, 0.0)))

    slopes = [_by_series(smooth, primals, i) for i in range(3)]
    return _hyp2f1(a, b, c, x), tangent_of(tangents, *slopes, lambda: a * b / c * _hyp2f1(a + 1, b + 1, c + 1, x))


_hyp2f1.defjvp(_hyp2f1_jvp, symbolic_zeros=True)
_hyp2f1_program = compiled(_hyp2f1)


def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss's hypergeometric function.

    Args:
      a, b, c: real parameters. If c is 0 or a negative integer, the result is infinite, unless a or b ends the series
        first.
      x: real arrays or numbers, at most 1; above 1 the result is infinite, unless the function is a polynomial.

    Raises:
      TypeError: an argument is complex or not an array, or the shapes do not broadcast.

    Source: NIST DLMF 15.2.1, 15.8.1 for negative x and for polynomials above 1, 15.8.4 near 1 and 15.4.20 at 1.

    >>> import primax as px
    >>> round(float(px.scipy.special.hyp2f1(1.0, 1.0, 2.0, 0.5)), 4)
    1.3863
    """
    return evaluated("hyp2f1", _hyp2f1_program, a, b, c, x)
