"""Kepler's equation E - e sin E = M, solved for the eccentric anomaly E by a primitive with all its rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import primax.numpy as pnp
from primax.extend import core, hookimpl
from primax.extend.interpreters import ad, batching, mlir
from primax_kepler.expression import Expression

__all__ = ["kepler", "kepler_p", "primax_register"]

kepler_p = core.Primitive("kepler")


def kepler(M: Any, e: Any) -> Any:
    """The eccentric anomaly E of an elliptic orbit: the solution of E - e sin E = M.

    The error is below two units in the last place for any M and any e, near-parabolic orbits included.
    E is in the same half turn as M, so it counts the same revolutions.

    Args:
      M: the mean anomaly in radians; real.
      e: the eccentricity, from 0 to 1; real. The result is NaN for others.

    Returns:
      E. The shapes of M and e broadcast to its shape, and their dtypes promote to its floating dtype.

    Raises:
      TypeError: an argument is not real, or the shapes do not broadcast.

    >>> round(float(kepler(1.0, 0.5)), 4)
    1.4987
    """
    dtype = pnp.result_type(M, e, float)
    if not core.dtypes.is_floating(dtype):
        found = f"{pnp.result_type(M)} and {pnp.result_type(e)}"
        raise TypeError(f"kepler: M and e must be real, got dtypes {found}")
    M, e = (x if pnp.result_type(x) == dtype else pnp.asarray(x, dtype) for x in (M, e))
    if pnp.ndim(M) and pnp.ndim(e) and pnp.shape(M) != pnp.shape(e):
        M, e = pnp.broadcast_arrays(M, e)
    return kepler_p.bind(M, e)


def _kepler_abstract_eval(M: core.ShapedArray, e: core.ShapedArray) -> core.ShapedArray:
    if not core.dtypes.is_floating(M.dtype) or M.dtype != e.dtype:
        raise TypeError(
            f"kepler_p: M and e must have one floating dtype, got {M.str_short()} and {e.str_short()}; "
            "primax_kepler.kepler promotes"
        )
    if M.shape != e.shape and M.shape and e.shape:
        raise TypeError(
            f"kepler_p: M and e must have the same shape, or rank 0, got shapes {M.shape} and {e.shape}; "
            "primax_kepler.kepler broadcasts"
        )
    return core.ShapedArray(M.shape or e.shape, M.dtype, M.weak_type and e.weak_type)


def _kepler_jvp(primals: Any, tangents: Any) -> Any:
    """From the equation itself: dE (1 - e cos E) = dM + sin E de."""
    (M, e), (dM, de) = primals, tangents
    E = kepler_p.bind(M, e)
    if type(dM) is ad.Zero and type(de) is ad.Zero:
        return E, ad.Zero.from_primal_value(E)
    # 1 - e cos E as a sum of two positive terms: near a parabolic periapsis the difference loses all digits.
    slope = (1 - e) + 2 * e * pnp.square(pnp.sin(E / 2))
    if type(de) is ad.Zero:
        return E, dM / slope
    dE = pnp.sin(E) * de
    return E, (dE if type(dM) is ad.Zero else dM + dE) / slope


def _kepler_lowering(ctx: mlir.LoweringRuleContext, M: Any, e: Any) -> Any:
    """Solve in the dtype of the result, or in float32 for 16-bit dtypes; then return to the revolution of M."""
    (aval,) = ctx.avals_out
    double = aval.dtype == np.float64
    working = np.float64 if double else np.float32
    M, e = (_operand(x, a, aval).astype(working) for x, a in zip((M, e), ctx.avals_in, strict=True))
    wrapped = M.except_where(abs(M), "GT", math.pi, M.wrapped())
    E = _solve(abs(wrapped), e, terms=13 if double else 8)
    E = E.except_where(wrapped, "LT", 0.0, -E) + (M - wrapped)
    E = E.except_where(e, "LT", 0.0, math.nan).except_where(e, "GT", 1.0, math.nan)
    return [E.astype(aval.dtype).value]


def _operand(value: Any, own: core.ShapedArray, wanted: core.ShapedArray) -> Expression:
    if own.shape != wanted.shape:
        value = mlir.broadcast_scalar(value, wanted)
    return Expression(value, wanted)


def _solve(M: Expression, e: Expression, terms: int) -> Expression:
    """E for M between 0 and pi: Markley's starter, right to 0.04 %, and two steps of Halley's method.

    F. L. Markley, "Kepler equation solver", Celestial Mechanics and Dynamical Astronomy 63 (1995), 101-111.
    Numbers in comments are those of his equations. A step of Halley's cubes the relative error.

    The formulas use 1 - e, E - sin E and 1 - cos E, as sums of positive terms. The original equation would subtract
    nearly equal numbers.
    """
    tiny = float(np.finfo(M.aval.dtype).tiny)  # avoids 0/0 at the parabolic periapsis, e = 1 and M = 0
    near = 1 - e
    alpha = (3 * math.pi**2 + 1.6 * math.pi * (math.pi - M) / (1 + e)) / (math.pi**2 - 6)  # 20
    d = 3 * near + alpha * e  # 5
    r = (3 * alpha * d * (d - near) + M * M) * M  # 10
    q = 2 * alpha * d * near - M * M  # 9
    root = (r + (q * q * q + r * r).sqrt().at_least(r)).cbrt()  # r where r * r underflows
    w = (root * root).at_least(tiny)  # 14
    E = (2 * r / (w + q + q * q / w) + M) / d  # 15
    for _ in range(2):
        square = E * E
        sine_gap = E * square * _alternating(square, 3, terms)
        cosine_gap = square * _alternating(square, 2, terms)
        residual = near * E + e * sine_gap - M
        slope = (near + e * cosine_gap).at_least(tiny)
        curvature = e * (E - sine_gap)
        E = E - residual / (slope - residual * curvature / (2 * slope))
    return E


def _alternating(x: Expression, first: int, terms: int) -> Expression:
    """1/first! - x/(first+2)! + x^2/(first+4)! - ...

    With x = E^2 and `first` 3 and 2 this is (E - sin E)/E^3 and (1 - cos E)/E^2.
    """
    coefficients = [(-1) ** k / math.factorial(first + 2 * k) for k in range(terms)]
    total = x.full(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def _solved_slowly(M: Any, e: Any) -> Any:
    """The solution by bisection, without a starting value or a derivative."""
    M, e = np.broadcast_arrays(np.asarray(M, np.float64), np.asarray(e, np.float64))
    low, high = M - 1, M + 1
    for _ in range(60):
        middle = (low + high) / 2
        above = middle - e * np.sin(middle) > M
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return (low + high) / 2


@hookimpl
def primax_register(registry: Any) -> None:
    """Register the primitive. primax calls this when a program first needs a rule."""
    registry.define(
        kepler_p,
        abstract_eval=_kepler_abstract_eval,
        jvp=_kepler_jvp,
        batch=batching.broadcasting(kepler_p),
        lowering=_kepler_lowering,
    )
    M, e = np.array([[0.3, -2.5, 7.1], [1.9, -0.4, 3.0]]), np.array([[0.1, 0.9, 0.5], [0.7, 0.3, 0.2]])
    registry.samples(
        kepler_p,
        core.Sample([M, e], name="elementwise", reference=_solved_slowly),
        core.Sample([M[0], np.array(0.6)], name="one eccentricity", reference=_solved_slowly),
        core.Sample([np.array(-1.2), e[1]], name="one anomaly", reference=_solved_slowly),
    )
