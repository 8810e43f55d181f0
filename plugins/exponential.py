"""Exponentials, logarithms, powers and roots."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes, hookimpl
from primax.extend.core import Array, ShapedArray
from primax.extend.interpreters import mlir
from primax.extend.provisional import complex_forms
from primax.extend.provisional.accuracy import AccuracyMode, Tolerance, accurate, require_accuracy
from primax.extend.provisional.elementwise import (
    FLOATING,
    INEXACT,
    INTEGER,
    NUMERIC,
    elementwise_abstract_eval,
    ir_full,
    like,
    row,
)
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import add, clamp_p, complex_p, div, imag_p, max_p, min_p, mul, real_p, sub
from primax.plugins.bitwise import bitwise_and, shift_left, shift_right_arithmetic
from primax.plugins.comparison import eq, ne
from primax.plugins.rounding import RoundingMethod, round_p
from primax.plugins.structural import bitcast_convert_type, convert_element_type, select_n_p, zeros_like

__all__ = [
    "cbrt",
    "cbrt_p",
    "exp",
    "exp2",
    "exp2_p",
    "exp_p",
    "expm1",
    "expm1_p",
    "in_float32",
    "log",
    "log1p",
    "log1p_p",
    "log2",
    "log2_p",
    "log_p",
    "logistic",
    "logistic_p",
    "logistic_slope_p",
    "one_minus_square",
    "one_minus_square_p",
    "pow",
    "pow_p",
    "rsqrt",
    "rsqrt_p",
    "sqrt",
    "sqrt_p",
]

Accuracy = AccuracyMode | Tolerance | None

cbrt_p = core.Primitive("cbrt")
exp2_p = core.Primitive("exp2")
exp_p = core.Primitive("exp")
expm1_p = core.Primitive("expm1")
log1p_p = core.Primitive("log1p")
log2_p = core.Primitive("log2")
one_minus_square_p = core.Primitive("one_minus_square")
log_p = core.Primitive("log")
logistic_p = core.Primitive("logistic")
logistic_slope_p = core.Primitive("logistic_slope")  # the derivative; its rules are with those of tanh
pow_p = core.Primitive("pow")
rsqrt_p = core.Primitive("rsqrt")
sqrt_p = core.Primitive("sqrt")


def exp(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise e**x, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.exp(np.float32([0, -np.inf, 100]))
      Array([ 1.,  0., inf], dtype=float32)
    """
    if accuracy is None:
        return exp_p.bind(x)
    return exp_p.bind(x, accuracy=require_accuracy("exp", accuracy))


def exp2(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise 2**x, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.exp2(np.float32([3, -1])).round(4)
      Array([8. , 0.5], dtype=float32)
    """
    if accuracy is None:
        return exp2_p.bind(x)
    return exp2_p.bind(x, accuracy=require_accuracy("exp2", accuracy))


def expm1(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise e**x - 1, accurate near 0, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> x = np.float32(1e-10)
      >>> lax.expm1(x) == x, lax.exp(x) - 1
      (Array(True, dtype=bool), Array(0., dtype=float32))
    """
    if accuracy is None:
        return expm1_p.bind(x)
    return expm1_p.bind(x, accuracy=require_accuracy("expm1", accuracy))


def log(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise natural logarithm, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.log(np.float32([1, 0, -1]))
      Array([  0., -inf,  nan], dtype=float32)
    """
    if accuracy is None:
        return log_p.bind(x)
    return log_p.bind(x, accuracy=require_accuracy("log", accuracy))


def log2(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise logarithm to base 2, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.log2(np.float32([8, 1, 0])).round(4)
      Array([  3.,   0., -inf], dtype=float32)
    """
    if accuracy is None:
        return log2_p.bind(x)
    return log2_p.bind(x, accuracy=require_accuracy("log2", accuracy))


def one_minus_square(x: ArrayLike) -> Array:
    """Elementwise 1 - x**2, accurate near 1 and -1, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> x = np.float32(1) - np.finfo(np.float32).epsneg
      >>> lax.one_minus_square(x) > 0, lax.one_minus_square(np.float32([0, 1, 2]))
      (Array(True, dtype=bool), Array([ 1.,  0., -3.], dtype=float32))
    """
    return one_minus_square_p.bind(x)


def log1p(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise log(1 + x), accurate near 0, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> x = np.float32(1e-10)
      >>> lax.log1p(x) == x, lax.log(1 + x)
      (Array(True, dtype=bool), Array(0., dtype=float32))
    """
    if accuracy is None:
        return log1p_p.bind(x)
    return log1p_p.bind(x, accuracy=require_accuracy("log1p", accuracy))


def logistic(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise 1 / (1 + e**-x), for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.logistic(np.float32([0, 100, -np.inf]))
      Array([0.5, 1. , 0. ], dtype=float32)
    """
    if accuracy is None:
        return logistic_p.bind(x)
    return logistic_p.bind(x, accuracy=require_accuracy("logistic", accuracy))


def sqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise square root, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.sqrt(np.float32([4, -0.0, -1]))
      Array([ 2., -0., nan], dtype=float32)
    """
    if accuracy is None:
        return sqrt_p.bind(x)
    return sqrt_p.bind(x, accuracy=require_accuracy("sqrt", accuracy))


def rsqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise 1 / sqrt(x), for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.rsqrt(np.float32([4, 0, np.inf]))
      Array([0.5, inf, 0. ], dtype=float32)
    """
    if accuracy is None:
        return rsqrt_p.bind(x)
    return rsqrt_p.bind(x, accuracy=require_accuracy("rsqrt", accuracy))


def cbrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise cube root, for real floating arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.cbrt(np.float32([-8, 27])).round(4)
      Array([-2.,  3.], dtype=float32)
    """
    if accuracy is None:
        return cbrt_p.bind(x)
    return cbrt_p.bind(x, accuracy=require_accuracy("cbrt", accuracy))


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x**y.

    Args:
      x: floating or complex numbers.
      y: numbers of the dtype of `x`, or integers; shapes are as in `add`.

    >>> import primax as px
    >>> import numpy as np
    >>> px.lax.pow(np.float32([2, 9]), np.float32([3, 0.5]))
    Array([8., 3.], dtype=float32)
    """
    return pow_p.bind(x, y)


def in_float32(compute: Callable[..., Any]) -> Callable[..., Any]:
    """The lowering of a function of one array, whose narrower floating dtypes are converted to float32 and back."""

    def widened(x: Any, **params: Any) -> Array:
        dtype = core.get_aval(x).dtype
        if dtype.itemsize >= 4:
            return compute(x, **params)
        return convert_element_type(compute(convert_element_type(x, np.float32), **params), dtype)

    widened.__name__ = compute.__name__
    return mlir.lower_fun(widened, multiple_results=False)


def _exp2_of_real(x: Any, **params: Any) -> Array:
    """exp((x - n) log(2)) times 2**n, for the integer n next to x: the error of x log(2) would grow with x."""
    dtype = core.get_aval(x).dtype
    limits = np.finfo(dtype)
    bias, digits = int(limits.maxexp) - 1, int(limits.nmant)
    integer = np.dtype(f"int{limits.bits}")
    x = clamp_p.bind(like(x, -bias - digits - 3), x, like(x, bias + 3))
    whole = round_p.bind(x, rounding_method=RoundingMethod.TO_NEAREST_EVEN)
    exponent = convert_element_type(whole, integer)
    half = shift_right_arithmetic(exponent, integer.type(1))

    def power_of_two(n: Any) -> Array:
        return bitcast_convert_type(shift_left(add(n, integer.type(bias)), integer.type(digits)), dtype)

    # By two factors, neither of which leaves the range.
    scaled = mul(exp_p.bind(mul(sub(x, whole), like(x, math.log(2))), **params), power_of_two(half))
    return mul(scaled, power_of_two(sub(exponent, half)))


_exp2_by_parts = in_float32(_exp2_of_real)


def _complex_exp2(z: Any, **params: Any) -> Array:
    """2**x times a point of the unit circle, by two factors; neither leaves the range before the result does."""
    x, y = real_p.bind(z), imag_p.bind(z)
    unit = exp_p.bind(complex_p.bind(like(x, 0.0), mul(y, like(y, math.log(2)))), **params)
    most = like(x, int(np.finfo(core.get_aval(x).dtype).maxexp) - 2)
    one, other = (
        _exp2_of_real(min_p.bind(x, most), **params),
        _exp2_of_real(max_p.bind(sub(x, most), like(x, 0.0)), **params),
    )
    across = mul(mul(imag_p.bind(unit), one), other)
    return complex_p.bind(mul(mul(real_p.bind(unit), one), other), select_n_p.bind(eq(y, like(y, 0.0)), across, y))


_complex_exp2_by_parts = mlir.lower_fun(_complex_exp2, multiple_results=False)


def _exp2_lowering(ctx: mlir.LoweringRuleContext, x: Any, **params: Any) -> Sequence[mlir.ir.Value]:
    by_parts = _complex_exp2_by_parts if dtypes.is_complex(ctx.avals_in[0].dtype) else _exp2_by_parts
    return by_parts(ctx, x, **params)


_log = accurate("stablehlo.log")


def _log2_lowering(ctx: mlir.LoweringRuleContext, x: Any, **params: Any) -> list[Any]:
    (out,) = _log(ctx, x, **params)
    return [mlir.hlo.divide(out, ir_full(math.log(2), ctx.avals_in[0]))]


_log1p = complex_forms.on_its_side(accurate("stablehlo.log_plus_one"), complex_forms.log1p)


def _log1p_lowering(ctx: mlir.LoweringRuleContext, x: Any, **params: Any) -> Sequence[mlir.ir.Value]:
    """XLA's function of double precision loses five bits about -0.4.

    There the rule computes log(y) + e / y, where y is 1 + x, rounded, and e is the rounding error. If the caller gives
    an accuracy, it uses XLA's function.
    """
    outs = _log1p(ctx, x, **params)
    aval = ctx.avals_in[0]
    if aval.dtype != np.float64 or params.get("accuracy") is not None:
        return outs
    number = complex_forms.Real(x, aval)
    above = number + 1.0
    close = above.of("log") + (number - (above - 1.0)) / above
    middle = mlir.hlo.and_(number > -0.6, number < -0.2)
    return [close.where(middle, complex_forms.Real(outs[0], aval)).value]


def _one_minus_square_lowering(ctx: mlir.LoweringRuleContext, x: Any) -> list[Any]:
    hlo, one = mlir.hlo, ir_full(1.0, ctx.avals_in[0])
    return [hlo.multiply(hlo.subtract(one, x), hlo.add(one, x))]


_power = mlir.nary("stablehlo.power")
_same_dtype_abstract_eval = elementwise_abstract_eval("pow", (INEXACT, INEXACT))
_integer_abstract_eval = elementwise_abstract_eval("pow", (INEXACT, INTEGER), same_dtype=False)


def _pow_abstract_eval(x: Any, y: Any) -> ShapedArray:
    return (_integer_abstract_eval if dtypes.is_integer(y.dtype) else _same_dtype_abstract_eval)(x, y)


def _pow_lowering(ctx: mlir.LoweringRuleContext, x: Any, y: Any) -> Sequence[mlir.ir.Value]:
    x_aval, y_aval = ctx.avals_in
    if y_aval.dtype != x_aval.dtype:
        y_aval = y_aval.update(dtype=x_aval.dtype)
        y = mlir.hlo.convert(mlir.aval_to_ir_type(y_aval), y)
        ctx = ctx.replace(avals_in=[x_aval, y_aval])
    return _power(ctx, x, y)


def _pow_jvp_base(t: Any, out: Any, x: Any, y: Any) -> Array:
    aval = core.get_aval(y)
    y_dtype = aval.dtype
    if not dtypes.is_integer(y_dtype):
        if isinstance(y, float | np.number):
            # A known exponent: where it is 0, the result does not depend on x.
            return mul(t, mul(y, pow(x, sub(y, like(y, 1.0))))) if y else zeros_like(t)
        # y * x ** (y - 1). At x = y = 0 take 1 for x, so that it is 0; elsewhere its derivative by y must stay.
        neither = bitwise_and(eq(x, like(x, 0.0)), eq(y, like(y, 0.0)))
        base = add(x, convert_element_type(neither, core.get_aval(x).dtype))
        return mul(t, mul(y, pow(base, sub(y, like(y, 1.0)))))
    # y * x ** (y - 1), with 0 for the exponent if y is 0, so that the derivative is 0 at x = 0. The difference must
    # not wrap around, as for the least int8.
    if y_dtype.itemsize < 4:
        y, y_dtype = convert_element_type(y, np.int32), np.dtype(np.int32)
    above = max_p.bind(y, like(y, dtypes.iinfo(y_dtype).min + 1)) if dtypes.is_signed_integer(y_dtype) else y
    lower = sub(above, convert_element_type(ne(y, like(y, 0)), y_dtype))
    return mul(t, mul(convert_element_type(y, core.get_aval(x).dtype), pow(x, lower)))


def _pow_jvp_exponent(t: Any, out: Any, x: Any, y: Any) -> Array:
    # log(x) is replaced by 0 at x = 0, where the result does not depend on a positive exponent.
    is_zero = convert_element_type(eq(x, like(x, 0.0)), core.get_aval(x).dtype)
    return mul(t, mul(log(add(x, is_zero)), out))


_POSITIVE = ((0.3, 1.7, 2.6),)

RULES: Table = dict(
    (
        row(
            exp_p,
            INEXACT,
            accurate("stablehlo.exponential"),
            lambda t, out, x, **_: mul(t, out),
            uses_result=True,
            makes_nan=True,
        ),
        row(
            exp2_p,
            INEXACT,
            _exp2_lowering,
            lambda t, out, x, **_: mul(t, mul(out, like(x, math.log(2)))),
            uses_result=True,
            makes_nan=True,
        ),
        row(
            expm1_p,
            INEXACT,
            complex_forms.for_complex(accurate("stablehlo.exponential_minus_one"), complex_forms.expm1),
            lambda t, x, **params: mul(t, exp(x, **params)),
            makes_nan=True,
        ),
        row(log_p, INEXACT, accurate("stablehlo.log"), lambda t, x, **_: div(t, x), at=_POSITIVE, makes_nan=True),
        row(
            log2_p,
            INEXACT,
            _log2_lowering,
            lambda t, x, **_: mul(t, div(like(x, 1 / math.log(2)), x)),
            at=_POSITIVE,
            makes_nan=True,
        ),
        row(
            one_minus_square_p,
            INEXACT,
            _one_minus_square_lowering,
            lambda t, x: mul(t, mul(x, like(x, -2.0))),
            makes_nan=True,
        ),
        row(
            log1p_p,
            INEXACT,
            _log1p_lowering,
            lambda t, x, **_: div(t, add(x, like(x, 1.0))),
            at=_POSITIVE,
            makes_nan=True,
        ),
        row(
            logistic_p,
            INEXACT,
            complex_forms.on_its_side(accurate("stablehlo.logistic"), complex_forms.logistic),
            lambda t, x, **_: mul(t, logistic_slope_p.bind(x)),
            makes_nan=True,
        ),
        row(
            sqrt_p,
            INEXACT,
            complex_forms.on_its_side(accurate("stablehlo.sqrt"), complex_forms.like_the_imaginary_part),
            lambda t, out, x, **_: mul(t, div(like(x, 0.5), out)),
            uses_result=True,
            at=_POSITIVE,
            makes_nan=True,
        ),
        row(
            rsqrt_p,
            INEXACT,
            complex_forms.on_its_side(accurate("stablehlo.rsqrt"), complex_forms.unlike_the_imaginary_part),
            lambda t, out, x, **_: mul(t, div(mul(out, like(x, -0.5)), x)),
            uses_result=True,
            at=_POSITIVE,
            makes_nan=True,
        ),
        row(
            cbrt_p,
            FLOATING,
            accurate("stablehlo.cbrt"),
            lambda t, out, x, **_: mul(t, div(div(like(x, 1 / 3), out), out)),  # at 0 the second derivative is infinite
            uses_result=True,
            makes_nan=True,
        ),
        row(
            pow_p,
            (INEXACT, NUMERIC),
            _pow_lowering,
            (_pow_jvp_base, _pow_jvp_exponent),
            uses_result=True,
            abstract_eval=_pow_abstract_eval,
            samples="primax.plugins.samples.exponential:SAMPLES",
            makes_nan=True,
        ),
    )
)


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, **rules)
