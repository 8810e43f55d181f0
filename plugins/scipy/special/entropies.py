"""Logarithms that are multiplied, entropies, and what belongs to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend.core import get_aval
from primax.plugins.custom_derivatives import custom_jvp
from primax.plugins.exponential import logistic_p
from primax.plugins.nn.softmax import log_softmax as log_softmax_
from primax.plugins.nn.softmax import logsumexp
from primax.plugins.nn.softmax import softmax as softmax_
from primax.plugins.numpy.selection import where
from primax.plugins.numpy.ufuncs import expm1, log, log1p
from primax.plugins.scipy.special.operands import inexact, real

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


def expit(x: Any) -> Any:
    """The logistic function, 1 / (1 + exp(-x)).

    Args:
      x: arrays or numbers.
    """
    return logistic_p.bind(*inexact("expit", x), accuracy=None)


def logit(x: Any) -> Any:
    """The inverse of `expit`, log(x / (1 - x)).

    Args:
      x: arrays or numbers.
    """
    (x,) = inexact("logit", x)
    return log(x) - log1p(-x)


def xlogy(x: Any, y: Any) -> Any:
    """x log(y), which is 0 where x is.

    Args:
      x, y: arrays or numbers, of shapes that broadcast together.

    Raises:
      TypeError: shapes do not broadcast.

    >>> import primax as px
    >>> px.scipy.special.xlogy(0.0, 0.0)
    Array(0., dtype=float32)
    """
    return _xlogy(*inexact("xlogy", x, y))


def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), which is 0 where x is.

    Args:
      x, y: arrays or numbers, of shapes that broadcast together.

    Raises:
      TypeError: shapes do not broadcast.
    """
    return _xlog1py(*inexact("xlog1py", x, y))


def _masked(x: Any, product: Any) -> Any:
    return where(x == 0, 0.0, product).astype(get_aval(product).dtype)


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    return _masked(x, x * log(y))


@_xlogy.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (x, y), (tx, ty) = primals, tangents
    return _xlogy(x, y), tx * log(y) + ty * (x / y)


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    return _masked(x, x * log1p(y))


@_xlog1py.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (x, y), (tx, ty) = primals, tangents
    return _xlog1py(x, y), tx * log1p(y) + ty * (x / (1 + y))


def entr(x: Any) -> Any:
    """-x log(x), which is 0 at 0; minus infinity for negative numbers.

    Args:
      x: real arrays or numbers.
    """
    (x,) = real("entr", x)
    return where(x < 0, -np.inf, -_xlogy(x, x)).astype(get_aval(x).dtype)


def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q); 0 where p is 0 and q is not negative, infinity where one of them is negative.

    Args:
      p, q: real arrays or numbers, of shapes that broadcast together.
    """
    p, q = real("rel_entr", p, q)
    both = (p > 0) & (q > 0)
    inside = where(both, p, 1.0), where(both, q, 1.0)
    product = where(both, _xlogy(inside[0], inside[0]) - _xlogy(*inside), np.inf)
    return where((p == 0) & (q >= 0), 0.0, product).astype(get_aval(p + q).dtype)


def kl_div(p: Any, q: Any) -> Any:
    """p log(p / q) - p + q, which is never negative; infinity where p or q is negative.

    Args:
      p, q: real arrays or numbers, of shapes that broadcast together.
    """
    return rel_entr(p, q) - p + q


def boxcox(x: Any, lmbda: Any) -> Any:
    """The transformation of Box and Cox, (x**lmbda - 1) / lmbda, and log(x) for lmbda = 0.

    Args:
      x, lmbda: real arrays or numbers, of shapes that broadcast together.
    """
    x, lmbda = real("boxcox", x, lmbda)
    return _power(log(x), lmbda)


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """The transformation of Box and Cox of 1 + x.

    Args:
      x, lmbda: real arrays or numbers, of shapes that broadcast together.
    """
    x, lmbda = real("boxcox1p", x, lmbda)
    return _power(log1p(x), lmbda)


def _power(logarithm: Any, exponent: Any) -> Any:
    zero = exponent == 0
    divisor = where(zero, 1.0, exponent)
    return where(zero, logarithm, expm1(divisor * logarithm) / divisor)


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along axes, without overflow.

    Args:
      x: an array.
      axis: an axis, a sequence of axes, or None for all.
    """
    return softmax_(x, axis)


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """The logarithm of `softmax`.

    Args:
      x: an array.
      axis: an axis, a sequence of axes, or None for all.
    """
    return log_softmax_(x, axis)
