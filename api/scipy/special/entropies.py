"""Entropies and related functions."""

from __future__ import annotations

from functools import partial
from math import factorial
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval
from primax.extend.provisional.typing import ArrayLike, Axes
from primax.nn.exponentials import log_softmax as log_softmax_
from primax.nn.exponentials import logsumexp
from primax.nn.exponentials import softmax as softmax_
from primax.numpy.programs import one_program
from primax.numpy.selection import where
from primax.numpy.ufuncs import absolute, exp, expm1, log, log1p
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.exponential import logistic_p
from primax.scipy.special.evaluation import evaluated, polynomial
from primax.scipy.special.operands import inexact, real, tangent_of

__all__ = [
    "boxcox",
    "boxcox1p",
    "entr",
    "expit",
    "kl_div",
    "log_softmax",
    "logit",
    "logsumexp",
    "rel_entr",
    "softmax",
    "xlog1py",
    "xlogy",
]


@one_program("")
def expit(x: ArrayLike) -> Array:
    """The logistic function, 1 / (1 + exp(-x)).

    Args:
      x: arrays or numbers.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> px.scipy.special.expit(pnp.array([0, 100, -np.inf]))
      Array([0.5, 1. , 0. ], dtype=float32)
    """
    return logistic_p.bind(*inexact("expit", x), accuracy=None)


@one_program("")
def logit(x: ArrayLike) -> Array:
    """The inverse of `expit`, log(x / (1 - x)).

    Args:
      x: arrays or numbers.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.logit(pnp.array([0.5, 0.0, 1.0, 2.0]))
      Array([  0., -inf,  inf,  nan], dtype=float32)
    """
    return _logit(*inexact("logit", x))


@custom_jvp
def _logit(x: Any) -> Array:
    if dtypes.is_complex(get_aval(x).dtype):
        return log(x) - log1p(-x)
    # Near 1/2 the logarithms of x and 1 - x cancel, and x / (1 - x) differs from 1 by a number without error.
    near = (x > 0.25) & (x < 0.75)
    logarithm = log1p(where(near, (2.0 * x - 1.0) / (1.0 - x), -x))
    return where(near, logarithm, log(x) - logarithm)


@custom_jvp
def _logit_slope(x: Any) -> Array:
    return 1.0 / (x * (1.0 - x))


# 2x - 1 has no error near 1/2, and (1 - x) - x has.
_logit_slope.defjvps(lambda t, out, x: t * (out * (2.0 * x - 1.0) * out))
_logit.defjvps(lambda t, out, x: t * _logit_slope(x))


@one_program("")
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(y), which is 0 for x = 0.

    Args:
      x, y: arrays or numbers, of shapes that broadcast together.

    Raises:
      TypeError: the shapes do not broadcast.

    >>> import primax as px
    >>> px.scipy.special.xlogy(0.0, 0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return _xlogy(*inexact("xlogy", x, y))


@one_program("")
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(1 + y), which is 0 for x = 0.

    Args:
      x, y: arrays or numbers, of shapes that broadcast together.

    Raises:
      TypeError: the shapes do not broadcast.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.xlog1py(pnp.array([0.0, 2.0]), pnp.array([-1.0, 0.0]))
      Array([0., 0.], dtype=float32)
    """
    return _xlog1py(*inexact("xlog1py", x, y))


@custom_jvp
def _xlogy(x: Any, y: Any) -> Array:
    return where((x == 0) & (y == y), 0.0, x * log(y))


def _xlogy_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, y = primals
    return _xlogy(x, y), tangent_of(tangents, lambda: log(y), lambda: _quotient(x, y))


_xlogy.defjvp(_xlogy_jvp, symbolic_zeros=True)


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Array:
    return where((x == 0) & (y == y), 0.0, x * log1p(y))


def _xlog1py_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, y = primals
    return _xlog1py(x, y), tangent_of(tangents, lambda: log1p(y), lambda: _quotient(x, 1 + y))


_xlog1py.defjvp(_xlog1py_jvp, symbolic_zeros=True)


@custom_jvp
def _quotient(x: Any, y: Any) -> Array:
    """x / y, and 0 for 0 / 0; its derivative has no square of y, which could leave the range.

    XLA would replace two divisions by one division by the square.
    """
    return x / where((x == 0) & (y == 0), 1, y)


def _quotient_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, y = primals
    out = _quotient(x, y)
    divisor = where((x == 0) & (y == 0), 1, y)
    return out, tangent_of(tangents, lambda: 1 / divisor, lambda: -out * (1 / divisor))


_quotient.defjvp(_quotient_jvp, symbolic_zeros=True)


@one_program("")
def entr(x: ArrayLike) -> Array:
    """-x log(x), which is 0 for x = 0, and minus infinity for negative x.

    Args:
      x: real arrays or numbers.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.entr(pnp.array([0.0, -1.0])), px.grad(px.scipy.special.entr)(1.0)
      (Array([  0., -inf], dtype=float32), Array(-1., dtype=float32, weak_type=True))
    """
    return _entr(*real("entr", x))


@custom_jvp
def _entr(x: Any) -> Array:
    return where(x < 0, -np.inf, _xlogy(-x, x))


# 1 / e, as the sum of its float64 value and the remainder.
_ONE_OVER_E = (0.36787944117144233, -1.2428753672788363e-17)


@custom_jvp
def _entr_slope(x: Any) -> Array:
    """-log(e x), near its zero by the distance from there."""
    zero = float(get_aval(x).dtype.type(_ONE_OVER_E[0]))
    rest = _ONE_OVER_E[0] - zero + _ONE_OVER_E[1]
    near = absolute(x - zero) < 0.1
    distance = np.e * (where(near, x, zero) - zero) - np.e * rest
    return where(near, -log1p(distance), -1 - log(where(near, 1.0, x)))


_entr_slope.defjvps(lambda t, _, x: -t / x)
_entr.defjvps(lambda t, _, x: t * _entr_slope(x))


@one_program("")
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """p log(p / q), which is 0 for p = 0 and q >= 0, and infinity if p or q is negative.

    Args:
      p, q: real arrays or numbers, of shapes that broadcast together.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.rel_entr(pnp.array([0.0, 1.0, -1.0]), pnp.array([2.0, 1.0, 1.0]))
      Array([ 0.,  0., inf], dtype=float32)
    """
    return _rel_entr(*real("rel_entr", p, q))


@custom_jvp
def _rel_entr(p: Any, q: Any) -> Array:
    positive, x, y = _both_positive(p, q)
    outside = where((p == 0) & (q >= 0), 0.0, np.inf)
    return where(positive, x * _log_quotient(x, y), where((p != p) | (q != q), np.nan, outside))


def _rel_entr_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    p, q = primals
    positive, x, y = _both_positive(p, q)
    slopes = (lambda: where(positive, _log_quotient(x, y) + 1, 0), lambda: where(positive, -_quotient(x, y), 0))
    return _rel_entr(p, q), tangent_of(tangents, *slopes)


_rel_entr.defjvp(_rel_entr_jvp, symbolic_zeros=True)


def _both_positive(p: Any, q: Any) -> tuple[Any, Any, Any]:
    """Whether both are positive, and both numbers, with 1 where they are not."""
    positive = (p > 0) & (q > 0)
    return positive, where(positive, p, 1.0), where(positive, q, 1.0)


@custom_jvp
def _log_quotient(x: Any, y: Any) -> Array:
    """log(x / y) of positive numbers: near x = y by log1p of their relative difference, and without overflow."""
    near = (x < 2 * y) & (y < 2 * x)
    close = log1p(where(near, x - y, 0.0) / where(near, y, 1.0))
    return where(near, close, log(where(near, 1.0, x)) - log(where(near, 1.0, y)))


_log_quotient.defjvp(
    lambda primals, tangents: (
        _log_quotient(*primals),
        tangent_of(tangents, lambda: 1 / primals[0], lambda: -1 / primals[1]),
    ),
    symbolic_zeros=True,
)


@custom_jvp
def deviance(x: Any, y: Any) -> Array:
    """x log(x / y) - x + y for nonnegative numbers; near x = y by powers of r = (x - y) / (x + y).

    Source: C. Loader, "Fast and accurate computation of binomial probabilities" (2000).
    """
    near = (absolute(x - y) < 0.125 * (x + y)) & (x + y < np.inf)
    u, v = where(near, x, 1.0), where(near, y, 1.0)
    r = (u - v) / (u + v)
    square = r * r
    total: Any = 0.0
    for k in range(10, 0, -1):
        total = (total + 1 / (2 * k + 1)) * square
    # x log(x / y) = 2 x artanh(r), and 2 x r - x + y = r (x - y).
    series = r * (u - v) + 2 * u * r * total
    a, b = where(near | (x == 0), 1.0, x), where(near | (x == 0), 2.0, y)
    plain = a * (log(a) - log(b)) - a + b
    return where(near, series, where(x == 0, y, plain))


def _deviance_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, y = primals
    return deviance(x, y), tangent_of(tangents, lambda: _log_quotient(x, y), lambda: _relative_difference(x, y))


deviance.defjvp(_deviance_jvp, symbolic_zeros=True)


@custom_jvp
def _relative_difference(x: Any, y: Any) -> Array:
    """1 - x / y, and 0 for x = y = 0."""
    return _quotient(y - x, where((x == 0) & (y == 0), 1.0, y))


def _relative_difference_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, y = primals
    divisor = where((x == 0) & (y == 0), 1.0, y)
    slopes = (lambda: -1 / divisor), (lambda: _quotient(x, divisor) * (1 / divisor))
    return _relative_difference(x, y), tangent_of(tangents, *slopes)


_relative_difference.defjvp(_relative_difference_jvp, symbolic_zeros=True)


@one_program("")
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """p log(p / q) - p + q, which is never negative; infinity where p or q is negative.

    Args:
      p, q: real arrays or numbers, of shapes that broadcast together.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.kl_div(pnp.array([0.0, 1.0, 1.0]), pnp.array([2.0, 1.0, 0.0]))
      Array([ 2.,  0., inf], dtype=float32)
    """
    p, q = real("kl_div", p, q)
    usual = (p > 0) & (q > 0) & (p < np.inf) & (q < np.inf)
    entropy = _rel_entr(where(usual, 1.0, p), where(usual, 1.0, q))
    infinite = (entropy == np.inf) & ((p <= 0) | (q <= 0))
    both = deviance(where(usual, p, 1.0), where(usual, q, 1.0))
    p, q = (where(infinite & (absolute(x) == np.inf), 0.0, x) for x in (p, q))
    return where(usual, both, entropy - p + q)


@one_program("")
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """The Box-Cox transformation: (x**lmbda - 1) / lmbda, and log(x) for lmbda = 0.

    Args:
      x, lmbda: real arrays or numbers, of shapes that broadcast together.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.boxcox(pnp.array([1.0, 3.0]), 1.0).round(), px.scipy.special.boxcox(1.0, 0.0)
      (Array([0., 2.], dtype=float32), Array(0., dtype=float32))
    """
    return evaluated("boxcox", partial(_power, log, 0), x, lmbda)


@one_program("")
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """The Box-Cox transformation of 1 + x.

    Args:
      x, lmbda: real arrays or numbers, of shapes that broadcast together.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> x = pnp.float32(1e-10)
      >>> px.scipy.special.boxcox1p(x, 2.0) == x  # accurate near 0
      Array(True, dtype=bool)
    """
    return evaluated("boxcox1p", partial(_power, log1p, 0), x, lmbda)


@partial(custom_jvp, nondiff_argnums=(0, 1))
def _power(logarithm: Any, n: int, x: Any, exponent: Any) -> Array:
    """The derivative of order n of (exp(exponent * u) - 1) / exponent by the exponent, for u = logarithm(x).

    It is u**(n + 1) times the integral of s**n exp(exponent * u * s) over s from 0 to 1: a series where
    p = exponent * u is small; elsewhere by integration by parts, without exp(p), if that could overflow.
    """
    u = logarithm(x)
    p = exponent * u
    series = (absolute(p) < 1) | (exponent == 0)
    small = where(series & (absolute(u) < np.inf), p, 0.0)
    terms = 18 if get_aval(u).dtype == np.float64 else 11
    near = u ** (n + 1) * polynomial([1 / (factorial(k) * (n + k + 1)) for k in range(terms)], small)
    divisor, p = where(series, 1.0, exponent), where(series, 1.0, p)
    positive = p > 0
    rest = expm1(-absolute(p))
    far = where(positive, -rest, rest)
    top = where(positive, 1.0, exp(where(positive, 0.0, p)))
    for k in range(1, n + 1):
        far = where(top == 0, 0.0, where(top == 0, 1.0, u) ** k * top) - k * (far / divisor)
    root = exp(where(positive, 0.5 * p, 0.0))
    return where(series, near, root * far / divisor * root)


def _power_jvp(logarithm: Any, n: int, primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, exponent = primals

    def by_x() -> Any:
        slope = _power_slope(logarithm, x, exponent)
        return logarithm(x) ** n * slope if n else slope

    slopes = by_x, (lambda: _power(logarithm, n + 1, x, exponent))
    return _power(logarithm, n, x, exponent), tangent_of(tangents, *slopes)


_power.defjvp(_power_jvp, symbolic_zeros=True)


@partial(custom_jvp, nondiff_argnums=(0,))
def _power_slope(logarithm: Any, x: Any, exponent: Any) -> Array:
    """exp(logarithm(x) * (exponent - 1))."""
    return exp(logarithm(x) * (exponent - 1))


def _power_slope_jvp(logarithm: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, exponent = primals
    u = logarithm(x)
    out = _power_slope(logarithm, x, exponent)

    def by_x() -> Any:
        root = exp(0.5 * u * (exponent - 2))
        return root * (exponent - 1) * root

    return out, tangent_of(tangents, by_x, lambda: u * out)


_power_slope.defjvp(_power_slope_jvp, symbolic_zeros=True)


def softmax(x: ArrayLike, /, *, axis: Axes | None = None) -> Array:
    """exp(x) / sum(exp(x)) along axes, without overflow.

    Args:
      x: an array.
      axis: an axis, a sequence of axes, or None for all.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.softmax(pnp.array([[0.0, 0.0], [1000.0, 0.0]]), axis=1)
      Array([[0.5, 0.5],
             [1. , 0. ]], dtype=float32)
    """
    return softmax_(x, axis)


def log_softmax(x: ArrayLike, /, *, axis: Axes | None = None) -> Array:
    """The logarithm of `softmax`.

    Args:
      x: an array.
      axis: an axis, a sequence of axes, or None for all.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> px.scipy.special.log_softmax(pnp.array([0.0, 1000.0]))
      Array([-1000.,     0.], dtype=float32)
    """
    return log_softmax_(x, axis)
