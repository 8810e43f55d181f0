"""Evaluation of polynomials without promotion of dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend.core import Array, get_aval
from primax.extend.provisional.arguments import sequence
from primax.extend.provisional.elementwise import like
from primax.extend.provisional.typing import ArrayLike
from primax.plugins.arithmetic import add_p, mul_p
from primax.plugins.structural import full_like

__all__ = ["polynomial"]


def polynomial(x: ArrayLike, coeffs: Sequence[Any], *, unroll: int | None = None) -> Array:
    """The values of a polynomial, by Horner's rule.

    Args:
      x: a floating or complex array.
      coeffs: the coefficients, the constant first: numbers, or arrays of the dtype of `x` that are scalars or have its
        shape. Without coefficients the polynomial is 0.
      unroll: ignored; the loop is always unrolled.

    Raises:
      TypeError: a coefficient has another dtype.

    >>> import primax as px
    >>> float(px.lax.polynomial(2.0, [1.0, 0.0, 3.0]))
    13.0
    """
    numbers = sequence("polynomial", "coeffs", coeffs)
    if not numbers:
        return full_like(x, 0)
    *rest, first = [like(x, c) if isinstance(c, int | float | complex) else c for c in numbers]
    out = first if get_aval(first).shape else full_like(x, first)
    for c in reversed(rest):
        out = add_p.bind(mul_p.bind(out, x), c)
    return out
