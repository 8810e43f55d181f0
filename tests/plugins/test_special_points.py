"""Derivatives of elementwise primitives at zeros, ends of domains, ties and infinities are the limits of those near."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import primax as px
from primax.extend.core import primitives, rule_tables

INF = np.inf
POINTS = np.array([-INF, -2, -1, -0.0, 0.0, 1, 2, INF])
# All others of these families are here; tests of the family have these.
FAMILIES = {"arithmetic", "exponential", "trigonometry", "special", "rounding"}
ELSEWHERE = {
    "mulhi",
    "regularized_incomplete_beta",
    "random_gamma_grad",
    "zeta",
    "polygamma",
    "round",
    "clamp",
    "reduce_precision",
}
# Where these are NaN, as in jax, a formula has infinity over infinity, or XLA's zeta function is NaN.
AS_IN_JAX = {"atan2", "digamma", "div", "igamma", "igammac", "pow"}
STEPS = (1e-5, 1e-6)
ZERO = 5e-3


def _takes_reals(name: str, count: int) -> bool:
    primitive = primitives[name]
    real = np.float64(0.5)
    try:
        out = px.eval_shape(primitive.bind, *[real] * count)
    except (TypeError, ValueError):  # of another number of operands, or of other dtypes
        return False
    return not primitive.multiple_results and out.dtype == real.dtype


def _elementwise(count: int) -> list[str]:
    differentiable = rule_tables["jvp"].functions
    names = [name for name in primitives if primitives[name].plugin in FAMILIES and name not in ELSEWHERE]
    return [name for name in names if primitives[name] in differentiable and _takes_reals(name, count)]


def _slopes(name: str, xs: tuple[Any, ...]) -> list[Any]:
    """The derivative with respect to each argument that has one."""

    def slope(i: int) -> Any:
        def of_one(x: Any) -> Any:
            return primitives[name].bind(*[x if i == j else y for j, y in enumerate(xs)])

        return px.jvp(of_one, (xs[i],), (np.ones(xs[i].shape),))[1]

    return [slope(i) for i in range(len(xs)) if (name, i) not in {("igamma", 0), ("igammac", 0)}]


def _near(x: Any, step: float) -> Any:
    """A point that is as near as the size of the step says, on one side of x; infinity is neared from one side."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(x), np.sign(x) / step**2, x + step)


def _around(xs: list[Any]) -> tuple[Any, ...]:
    """Points near those given, in a first axis: on each side, and in each argument nearer than in the other."""
    signs = np.stack(np.meshgrid(*[[-1, 1]] * len(xs)), -1).reshape(-1, len(xs))
    powers = [(1.0,)] if len(xs) == 1 else [(1.0, 1.0), (1.0, 1.5), (1.5, 1.0)]
    near = [
        [_near(x, sign * step**power) for x, sign, power in zip(xs, side, each, strict=True)]
        for step in STEPS
        for side in signs
        for each in powers
    ]
    return tuple(np.stack(column) for column in zip(*near, strict=True))


def _wrong(at: Any, near: Any) -> Any:
    """Where derivatives near a point have one finite limit, and that at the point is another."""
    last = near[-1]
    with np.errstate(invalid="ignore"):
        tolerance = ZERO * np.maximum(1, np.abs(last))
        has_limit = np.isfinite(near).all(0) & (np.abs(near - last) <= tolerance).all(0) & (np.abs(last) < 1e3)
        return has_limit & ~(np.abs(at - last) <= 2 * tolerance)


def _differing(names: list[str], xs: list[Any]) -> Iterator[str]:
    around = _around(xs)
    run = px.jit(lambda at, near: {name: (_slopes(name, at), _slopes(name, near)) for name in names})
    for name, (at, near) in run(tuple(xs), around).items():
        for i, (a, b) in enumerate(zip(map(np.asarray, at), map(np.asarray, near), strict=True)):
            wrong = _wrong(a, b)
            if name in AS_IN_JAX:
                wrong &= ~(np.isinf(np.stack(xs)).any(0) & (np.isnan(a) | np.isinf(a)))
            for n in np.flatnonzero(wrong):
                yield f"derivative {i} of {name} at {[float(x[n]) for x in xs]} is {a[n]}, and near it {b[-1][n]}"


def test_derivatives_of_functions_of_one_number_are_limits():
    with px.enable_x64(True):
        names = _elementwise(1)
        assert {"abs", "tan", "lgamma", "erf_inv", "bessel_i1e", "floor", "cbrt", "sign"} <= set(names)
        assert list(_differing(names, [POINTS])) == []


def test_derivatives_of_functions_of_two_numbers_are_limits():
    with px.enable_x64(True):
        names = _elementwise(2)
        assert {"add", "atan2", "div", "igamma", "max", "min", "mul", "pow", "rem", "sub"} <= set(names)
        assert list(_differing(names, [x.ravel() for x in np.meshgrid(POINTS, POINTS)])) == []


def test_a_derivative_that_is_no_limit_is_told():
    near = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, -1.0, np.inf]])
    assert _wrong(np.array([1.0, np.nan, 5.0, 5.0]), near).tolist() == [False, True, False, False]
    assert _wrong(np.array([2.0]), np.ones((2, 1))).tolist() == [True]
