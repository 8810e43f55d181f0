"""Samples of functions with custom derivative rules that agree with finite differences."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.interpreters import ad
from primax.extend.provisional.sampling import bound_by, numbers
from primax.plugins.arithmetic import add, mul, neg
from primax.plugins.custom_derivatives.custom_jvp import custom_jvp
from primax.plugins.custom_derivatives.custom_vjp import custom_vjp
from primax.plugins.custom_derivatives.jvp_rules import custom_jvp_call_p
from primax.plugins.custom_derivatives.linear import linear_call, linear_call_p
from primax.plugins.custom_derivatives.vjp_rules import custom_lin_p, custom_vjp_call_p
from primax.plugins.trigonometry import cos, sin

_NO_FORWARD = dict.fromkeys(
    ("jvp", "linearity", "active_arguments", "second_derivatives", "vmap_of_jvp", "jvp_of_vmap"),
    "a backward rule says nothing about derivatives in forward mode",
)
_NO_VALUE = {
    **_NO_FORWARD,
    **dict.fromkeys(
        ("effects", "lowering", "determinism", "transpose", "linear_arguments", "own_dtype", "batch", "batch_sizes"),
        "it stands for a derivative in forward mode, which nobody knows, and has no value",
    ),
    **dict.fromkeys(("abstract_eval", "dtypes", "shapes", "bad_input"), "the types of its results are parameters"),
}


def _jvp_samples() -> list[core.Sample]:
    x, y, n = numbers((3,), np.float64), numbers((3,), np.float64, 4), numbers((2,), np.int32)

    @custom_jvp
    def wave(x: Any, y: Any, n: Any) -> tuple[Any, Any, Any]:
        return mul(sin(x), y), add(n, n), add(x, y)

    @wave.defjvp
    def wave_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
        (x, y, _), (dx, dy, dn) = primals, tangents
        return wave(*primals), (add(mul(mul(cos(x), dx), y), mul(sin(x), dy)), dn, add(dx, dy))

    factor = numbers((3,), np.float64, 7)

    @custom_jvp
    def product(x: Any, y: Any) -> Any:
        return mul(factor, mul(x, y))

    def product_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
        (x, y), (dx, dy) = primals, tangents
        terms = [mul(factor, mul(t, other)) for t, other in ((dx, y), (dy, x)) if not isinstance(t, ad.Zero)]
        return product(x, y), functools.reduce(ad.add_tangents, terms)

    product.defjvp(product_jvp, symbolic_zeros=True)
    return [
        bound_by(custom_jvp_call_p, wave, x, y, n, name="several results"),
        bound_by(custom_jvp_call_p, product, x, y, constant=[0], name="symbolic zeros and a constant"),
    ]


def _vjp_samples() -> list[core.Sample]:
    x, y = numbers((3,), np.float64), numbers((3,), np.float64, 4)

    @custom_vjp
    def wave(x: Any, y: Any) -> tuple[Any, Any]:
        return mul(sin(x), y), neg(y)

    def forward(x: Any, y: Any) -> tuple[Any, Any]:
        return wave(x, y), (sin(x), cos(x), y)

    def backward(residuals: Any, cts: Any) -> tuple[Any, Any]:
        (sin_x, cos_x, y), (ct, ct_y) = residuals, cts
        return mul(ct, mul(cos_x, y)), add(mul(ct, sin_x), neg(ct_y))

    wave.defvjp(forward, backward)
    return [bound_by(custom_vjp_call_p, wave, x, y, skip=_NO_FORWARD, name="two results")]


def _lin_samples() -> list[core.Sample]:
    """The derivative of the function above, which has only a transpose."""
    (called,) = _vjp_samples()

    def tangents(*args: Any) -> list[Any]:
        return ad.jvp_flat(lambda *xs: custom_vjp_call_p.bind(*xs, **called.params), args[:2], args[2:])[1]

    args = *called.args, *map(np.flip, called.args)
    return [bound_by(custom_lin_p, tangents, *args, constant=range(3), skip=_NO_VALUE, name="two tangents")]


def _linear_samples() -> list[core.Sample]:
    r, x, y = (numbers((3,), np.float64, start) for start in (0, 2, 5))

    def fun(r: Any, xy: Any) -> tuple[Any, Any]:
        return add(mul(r, xy[0]), xy[1]), mul(r, xy[1])

    def transpose(r: Any, cts: Any) -> tuple[Any, Any]:
        return mul(r, cts[0]), add(cts[0], mul(r, cts[1]))

    def call(r: Any, x: Any, y: Any) -> Any:
        return linear_call(fun, transpose, r, (x, y))

    return [bound_by(linear_call_p, call, r, x, y, constant=[0], name="two linear arguments")]


SAMPLES = {
    custom_jvp_call_p: _jvp_samples,
    custom_vjp_call_p: _vjp_samples,
    custom_lin_p: _lin_samples,
    linear_call_p: _linear_samples,
}
