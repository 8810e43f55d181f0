"""The error function, its complement and its inverse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import Array
from primax.extend.interpreters import mlir
from primax.extend.provisional.elementwise import FLOATING, like, row
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import abs_p, add, div, max_p, min_p, mul, neg, square, sub
from primax.plugins.comparison import lt
from primax.plugins.exponential import exp
from primax.plugins.rounding import reduce_precision
from primax.plugins.special.formula import Num, chebyshev, formula, select
from primax.plugins.structural import broadcast_in_dim, select_n_p, stop_gradient

erf_inv_p = core.Primitive("erf_inv")
erf_inv_precise_p = core.Primitive("erf_inv_precise")
erf_p = core.Primitive("erf")
erfc_p = core.Primitive("erfc")


def erf(x: ArrayLike) -> Array:
    """Elementwise error function, for real floating arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.erf(np.float32([0, np.inf, -np.inf]))
      Array([ 0.,  1., -1.], dtype=float32)
    """
    return erf_p.bind(x)


def erfc(x: ArrayLike) -> Array:
    """Elementwise 1 - erf(x), accurate for small results, for real floating arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.erfc(np.float32([0, np.inf])), lax.erfc(np.float32(5)) > 0, 1 - lax.erf(np.float32(5))
      (Array([1., 0.], dtype=float32), Array(True, dtype=bool), Array(0., dtype=float32))
    """
    return erfc_p.bind(x)


def erf_inv(x: ArrayLike) -> Array:
    """Elementwise inverse of the error function, for real floating arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.erf_inv(np.float32([0, 1, 2]))
      Array([ 0., inf, nan], dtype=float32)
    """
    return erf_inv_p.bind(x)


def erf_inv_precise(x: Any) -> Array:
    """`erf_inv`, of float64 with all digits. Random numbers keep those of XLA, and so of JAX."""
    return (erf_inv_precise_p if core.get_aval(x).dtype == np.float64 else erf_inv_p).bind(x)


# (1 + 2 x) erfcx(x) for x >= 0, of (x - 4) / (x + 4).
ERFCX = (
    1.1774832005374487,
    -0.007260796620301901,
    -0.081265123236185,
    0.06009212804122225,
    -0.02875393558027666,
    0.01059566336347286,
    -0.003136927294554264,
    0.0007456494372536184,
    -0.0001369696503010054,
    1.7183861600300937e-05,
    -7.158364623450346e-07,
    -2.4261399442449534e-07,
    5.5765709395703566e-08,
    -2.1057869513809494e-09,
    -1.1717889351884957e-09,
    1.9098355172456688e-10,
    1.408871764208813e-11,
    -6.901108320480815e-12,
    9.167958364111294e-14,
    2.1454508286554553e-13,
    -1.4716575027010623e-14,
    -6.668675118770408e-15,
    7.504598509880083e-16,
    2.22009300666632e-16,
    -3.1704898956330886e-17,
)


def _double_erfc(x: Num) -> Num:
    """From 1/2 on exp(-x**2) times erfcx; the argument of the exponential function is split, as in `_bell`."""
    size = select(x < 0.5, 0.5, select(x > 30, 30, x))
    head = size.reduced(11, 25)
    rest = (head - size) * (head + size)
    power = (-head * head).exp() * (1 + rest * (1 + rest / 2 * (1 + rest / 3)))
    tail = power * chebyshev(1 - 8 / (size + 4), ERFCX) / (1 + 2 * size)
    return select(x >= 0.5, tail, 1 - Num(erf_p.bind(x.value)))


_narrow_erfc = mlir.nary("chlo.erfc")
_wide_erfc = formula(_double_erfc)


def _erfc_lowering(ctx: mlir.LoweringRuleContext, x: Any) -> Sequence[Any]:
    return (_wide_erfc if ctx.avals_in[0].dtype == np.float64 else _narrow_erfc)(ctx, x)


def _double_erf_inv(x: Num) -> Num:
    """A step of Newton's method, by erfc in the tails: XLA's function of double precision has ten digits there."""
    near = Num(erf_inv_p.bind(x.value))
    size, root = abs(x), abs(near)
    excess = select(size < 0.5, Num(erf_p.bind(root.value)) - size, (1 - size) - Num(erfc_p.bind(root.value)))
    better = root - excess * (root * root).exp() / _SLOPE
    return select((size > 0) & (size < 1), select(x < 0, -better, better), near)


def _bell(x: Any, scale: float) -> Array:
    """scale * exp(-x**2); in float64 by a number of fewer digits, whose square is exact, and a series in the rest."""
    if core.get_aval(x).dtype != np.float64:
        x = max_p.bind(min_p.bind(x, like(x, 16.0)), like(x, -16.0))  # a square that overflows has no derivative
        return mul(exp(neg(square(x))), like(x, scale))
    size = min_p.bind(abs_p.bind(x), like(x, 40.0))
    one = broadcast_in_dim(like(x, 1.0), core.get_aval(x).shape, ())
    head = stop_gradient(select_n_p.bind(lt(size, one), reduce_precision(size, 11, 25), size))
    rest = mul(sub(head, size), add(head, size))
    total = like(x, 1.0)
    for k in (3.0, 2.0, 1.0):
        total = add(mul(total, div(rest, like(x, k))), like(x, 1.0))
    return mul(mul(exp(neg(square(head))), total), like(x, scale))


_SLOPE = 2 / math.sqrt(math.pi)


def _erf_inv_jvp(t: Any, out: Any, x: Any) -> Array:
    return mul(t, mul(exp(square(out)), like(x, 1 / _SLOPE)))


RULES: Table = dict(
    (
        row(erf_p, FLOATING, "chlo.erf", lambda t, x: mul(t, _bell(x, _SLOPE)), makes_nan=True),
        row(erfc_p, FLOATING, _erfc_lowering, lambda t, x: mul(t, _bell(x, -_SLOPE)), makes_nan=True),
        row(
            erf_inv_p,
            FLOATING,
            "chlo.erf_inv",
            _erf_inv_jvp,
            uses_result=True,
            at=((0.3, -0.6, 0.8),),
            makes_nan=True,
        ),
        row(
            erf_inv_precise_p,
            FLOATING,
            formula(_double_erf_inv),
            _erf_inv_jvp,
            uses_result=True,
            at=((0.3, -0.6, 0.8),),
            makes_nan=True,
        ),
    )
)
