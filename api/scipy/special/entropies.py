"""Entropies and related functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend.core import Array
from primax.nn.exponentials import log_softmax as log_softmax_
from primax.nn.exponentials import logsumexp
from primax.nn.exponentials import softmax as softmax_
from primax.numpy.programs import one_program
from primax.numpy.selection import where
from primax.numpy.ufuncs import absolute, expm1, log, log1p
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.exponential import logistic_p
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
def expit(x: Any) -> Array:
    """The logistic function, 1 / (1 + exp(-x)).

    Args:
      x: arrays or numbers.
    """
    return logistic_p.bind(*inexact("expit", x), accuracy=None)


@one_program("")
def logit(x: Any) -> Array:
    """The inverse of `expit`, log(x / (1 - x)).

    Args:
      x: arrays or numbers.
    """
    (x,) = inexact("logit", x)
    return log(x) - log1p(-x)


@one_program("")
def xlogy(x: Any, y: Any) -> Array:
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
def xlog1py(x: Any, y: Any) -> Array:
    """x log(1 + y), which is 0 for x = 0.

    Args:
      x, y: arrays or numbers, of shapes that broadcast together.

    Raises:
      TypeError: the shapes do not broadcast.
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


def _quotient(x: Any, y: Any) -> Array:
    """x / y, and 0 for 0 / 0."""
    return x / where((x == 0) & (y == 0), 1, y)


@one_program("")
def entr(x: Any) -> Array:
    """-x log(x), which is 0 for x = 0, and minus infinity for negative x.

    Args:
      x: real arrays or numbers.
    """
    return _entr(*real("entr", x))


@custom_jvp
def _entr(x: Any) -> Array:
    return where(x < 0, -np.inf, _xlogy(-x, x))


_entr.defjvps(lambda t, _, x: t * (-1 - log(x)))


@one_program("")
def rel_entr(p: Any, q: Any) -> Array:
    """p log(p / q), which is 0 for p = 0 and q >= 0, and infinity if p or q is negative.

    Args:
      p, q: real arrays or numbers, of shapes that broadcast together.
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
    slopes = (lambda: where(positive, _log_quotient(x, y) + 1, 0), lambda: where(positive, -(x / y), 0))
    return _rel_entr(p, q), tangent_of(tangents, *slopes)


_rel_entr.defjvp(_rel_entr_jvp, symbolic_zeros=True)


def _both_positive(p: Any, q: Any) -> tuple[Any, Any, Any]:
    """Whether both are positive, and the two with 1 where they are not."""
    positive = (p > 0) & (q > 0)
    return positive, where(positive, p, 1.0), where(positive, q, 1.0)


def _log_quotient(x: Any, y: Any) -> Array:
    """log(x / y) of positive numbers: near x = y by log1p of their relative difference, and without overflow."""
    near = (x < 2 * y) & (y < 2 * x)
    close = log1p(where(near, x - y, 0.0) / where(near, y, 1.0))
    return where(near, close, log(where(near, 1.0, x)) - log(where(near, 1.0, y)))


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
    slopes = (lambda: _log_quotient(x, y)), (lambda: where(x == y, 0.0, (y - x) / where(x == y, 1.0, y)))
    return deviance(x, y), tangent_of(tangents, *slopes)


deviance.defjvp(_deviance_jvp, symbolic_zeros=True)


@one_program("")
def kl_div(p: Any, q: Any) -> Array:
    """p log(p / q) - p + q, which is never negative; infinity where p or q is negative.

    Args:
      p, q: real arrays or numbers, of shapes that broadcast together.
    """
    p, q = real("kl_div", p, q)
    entropy = _rel_entr(p, q)
    infinite = (entropy == np.inf) & ((p <= 0) | (q <= 0))
    usual = (p > 0) & (q > 0) & (p < np.inf) & (q < np.inf)
    both = deviance(where(usual, p, 1.0), where(usual, q, 1.0))
    p, q = (where(infinite & (absolute(x) == np.inf), 0.0, x) for x in (p, q))
    return where(usual, both, entropy - p + q)


@one_program("")
def boxcox(x: Any, lmbda: Any) -> Array:
    """The Box-Cox transformation: (x**lmbda - 1) / lmbda, and log(x) for lmbda = 0.

    Args:
      x, lmbda: real arrays or numbers, of shapes that broadcast together.
    """
    x, lmbda = real("boxcox", x, lmbda)
    return _power(log(x), lmbda)


@one_program("")
def boxcox1p(x: Any, lmbda: Any) -> Array:
    """The Box-Cox transformation of 1 + x.

    Args:
      x, lmbda: real arrays or numbers, of shapes that broadcast together.
    """
    x, lmbda = real("boxcox1p", x, lmbda)
    return _power(log1p(x), lmbda)


def _power(logarithm: Any, exponent: Any) -> Array:
    """(exp(exponent * logarithm) - 1) / exponent; by its series near exponent = 0 and where the product is near 0."""
    product = exponent * logarithm
    series = (absolute(product) < 1e-3) | (exponent == 0)
    finite = where(series & (absolute(logarithm) < np.inf), logarithm, 0.0)
    small = exponent * finite
    rest = finite * small / 2 * (1 + small / 3 * (1 + small / 4 * (1 + small / 5)))
    quotient = expm1(where(series, 0.0, product)) / where(series, 1.0, exponent)
    return where(series, logarithm + rest, quotient)


def softmax(x: Any, /, *, axis: Any = None) -> Array:
    """exp(x) / sum(exp(x)) along axes, without overflow.

    Args:
      x: an array.
      axis: an axis, a sequence of axes, or None for all.
    """
    return softmax_(x, axis)


def log_softmax(x: Any, /, *, axis: Any = None) -> Array:
    """The logarithm of `softmax`.

    Args:
      x: an array.
      axis: an axis, a sequence of axes, or None for all.
    """
    return log_softmax_(x, axis)
