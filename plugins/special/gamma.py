"""The gamma function: its logarithm, the derivatives of that, and the zeta function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from primax.extend import core
from primax.extend.core import Array
from primax.extend.provisional.elementwise import FLOATING, like, row
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import add, mul, neg

digamma_p = core.Primitive("digamma")
lgamma_p = core.Primitive("lgamma")
polygamma_p = core.Primitive("polygamma")
zeta_p = core.Primitive("zeta")


def lgamma(x: Any) -> Array:
    """Elementwise logarithm of the absolute value of the gamma function, for real floating arrays."""
    return lgamma_p.bind(x)


def digamma(x: Any) -> Array:
    """Elementwise derivative of `lgamma`, for real floating arrays."""
    return digamma_p.bind(x)


def polygamma(m: Any, x: Any) -> Array:
    """Elementwise derivative of order m of `digamma`.

    Args:
      m: whole numbers in a floating dtype, not negative.
      x: numbers of the same dtype and shape.
    """
    return polygamma_p.bind(m, x)


def zeta(x: Any, q: Any) -> Array:
    """Elementwise Hurwitz zeta function, the sum of (k + q)**-x over k = 0, 1, ..., for real arrays."""
    return zeta_p.bind(x, q)


def _no_derivative(function: str, argument: str) -> Callable[..., Any]:
    def refuse(t: Any, *primals: Any) -> NoReturn:
        raise NotImplementedError(f"{function}: its derivative with respect to {argument} is not implemented")

    return refuse


_TWO = (FLOATING, FLOATING)
_POSITIVE = ((0.6, 1.7, 2.6),)

RULES: Table = dict(
    (
        row(lgamma_p, FLOATING, "chlo.lgamma", lambda t, x: mul(t, digamma(x)), at=_POSITIVE, makes_nan=True),
        row(
            digamma_p,
            FLOATING,
            "chlo.digamma",
            lambda t, x: mul(t, polygamma(like(x, 1.0), x)),
            at=_POSITIVE,
            makes_nan=True,
        ),
        row(
            polygamma_p,
            _TWO,
            "chlo.polygamma",
            (
                _no_derivative("polygamma", "m"),
                lambda t, m, x: mul(t, polygamma(add(m, like(m, 1.0)), x)),
            ),
            samples="primax.plugins.samples.special:SAMPLES",
        ),
        row(
            zeta_p,
            _TWO,
            "chlo.zeta",
            (
                _no_derivative("zeta", "x"),
                lambda t, x, q: mul(t, mul(neg(x), zeta(add(x, like(x, 1.0)), q))),
            ),
            samples="primax.plugins.samples.special:SAMPLES",
        ),
    )
)
