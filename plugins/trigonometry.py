"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes, hookimpl
from primax.extend.core import Array
from primax.extend.interpreters import ad, mlir
from primax.extend.provisional import complex_forms
from primax.extend.provisional.accuracy import AccuracyMode, Tolerance, accurate, require_accuracy
from primax.extend.provisional.elementwise import INEXACT, like, row
from primax.extend.provisional.typing import ArrayLike
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import (
    abs_p,
    add,
    clamp_p,
    complex_p,
    div,
    imag,
    max_p,
    min_p,
    mul,
    neg,
    real_p,
    square,
    sub,
)
from primax.plugins.bitwise import bitwise_and, bitwise_not
from primax.plugins.comparison import eq, lt
from primax.plugins.exponential import exp, in_float32, log1p, logistic, logistic_slope_p, one_minus_square, rsqrt, sqrt
from primax.plugins.rounding import is_finite
from primax.plugins.structural import bitcast_convert_type, convert_element_type, select_n_p

__all__ = [
    "acos",
    "acos_p",
    "acosh",
    "acosh_p",
    "asin",
    "asin_p",
    "asinh",
    "asinh_p",
    "atan",
    "atan2",
    "atan2_p",
    "atan_p",
    "atanh",
    "atanh_p",
    "cos",
    "cos_p",
    "cosh",
    "cosh_p",
    "sin",
    "sin_p",
    "sinh",
    "sinh_p",
    "tan",
    "tan_p",
    "tanh",
    "tanh_p",
]

Accuracy = AccuracyMode | Tolerance | None

acos_p = core.Primitive("acos")
acosh_p = core.Primitive("acosh")
asin_p = core.Primitive("asin")
asinh_p = core.Primitive("asinh")
atan2_p = core.Primitive("atan2")
atan_p = core.Primitive("atan")
atanh_p = core.Primitive("atanh")
cos_p = core.Primitive("cos")
cosh_p = core.Primitive("cosh")
rsqrt_one_plus_square_p = core.Primitive("rsqrt_one_plus_square")
sech_squared_p = core.Primitive("sech_squared")
sin_p = core.Primitive("sin")
sinh_p = core.Primitive("sinh")
tan_p = core.Primitive("tan")
tanh_p = core.Primitive("tanh")


def sin(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise sine of radians, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> px.grad(lax.sin)(0.0)
      Array(1., dtype=float32, weak_type=True)
      >>> lax.sin(1)
      Traceback (most recent call last):
          ...
      TypeError: sin: its argument must be floating or complex, got i32[]
    """
    if accuracy is None:
        return sin_p.bind(x)
    return sin_p.bind(x, accuracy=require_accuracy("sin", accuracy))


def cos(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise cosine of radians, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.cos(np.float32([0, np.inf]))
      Array([ 1., nan], dtype=float32)
    """
    if accuracy is None:
        return cos_p.bind(x)
    return cos_p.bind(x, accuracy=require_accuracy("cos", accuracy))


def tan(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise tangent of radians, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.tan(np.float32([-0.0, 0]))
      Array([-0.,  0.], dtype=float32)
    """
    if accuracy is None:
        return tan_p.bind(x)
    return tan_p.bind(x, accuracy=require_accuracy("tan", accuracy))


def asin(x: ArrayLike) -> Array:
    """Elementwise inverse sine in radians, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.asin(np.float32([-0.0, 2]))
      Array([-0., nan], dtype=float32)
    """
    return asin_p.bind(x)


def acos(x: ArrayLike) -> Array:
    """Elementwise inverse cosine in radians, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.acos(np.float32([1, 2]))
      Array([ 0., nan], dtype=float32)
      >>> lax.acos(1)
      Traceback (most recent call last):
          ...
      TypeError: acos: its argument must be floating or complex, got i32[]
    """
    return acos_p.bind(x)


def atan(x: ArrayLike) -> Array:
    """Elementwise inverse tangent in radians, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> px.grad(lax.atan)(0.0)
      Array(1., dtype=float32, weak_type=True)
    """
    return atan_p.bind(x)


def atan2(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise angle in radians of the point whose ordinate is x and whose abscissa is y.

    Args:
      x: floating or complex numbers.
      y: numbers of the dtype of `x`; shapes are as in `add`.

    >>> import primax as px
    >>> import numpy as np
    >>> px.lax.atan2(np.float32([0, 1]), np.float32([-1, 0]))
    Array([3.1415927, 1.5707964], dtype=float32)
    """
    return atan2_p.bind(x, y)


def sinh(x: ArrayLike) -> Array:
    """Elementwise hyperbolic sine, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.sinh(np.float32([-0.0, 100]))
      Array([-0., inf], dtype=float32)
    """
    return sinh_p.bind(x)


def cosh(x: ArrayLike) -> Array:
    """Elementwise hyperbolic cosine, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.cosh(np.float32([0, -100]))
      Array([ 1., inf], dtype=float32)
    """
    return cosh_p.bind(x)


def tanh(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise hyperbolic tangent, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.tanh(np.float32([0, 20, -np.inf]))
      Array([ 0.,  1., -1.], dtype=float32)
    """
    if accuracy is None:
        return tanh_p.bind(x)
    return tanh_p.bind(x, accuracy=require_accuracy("tanh", accuracy))


def asinh(x: ArrayLike) -> Array:
    """Elementwise inverse hyperbolic sine, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.asinh(np.float32([-0.0, np.inf]))
      Array([-0., inf], dtype=float32)
    """
    return asinh_p.bind(x)


def acosh(x: ArrayLike) -> Array:
    """Elementwise inverse hyperbolic cosine, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.acosh(np.float32([1, 0.5]))
      Array([ 0., nan], dtype=float32)
    """
    return acosh_p.bind(x)


def atanh(x: ArrayLike) -> Array:
    """Elementwise inverse hyperbolic tangent, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.atanh(np.float32([0, 1, 2]))
      Array([ 0., inf, nan], dtype=float32)
    """
    return atanh_p.bind(x)


def _one_plus_square(x: Any) -> Array:
    return add(square(x), like(x, 1.0))


def _turned(x: Any) -> Array:
    """i x for complex x, by parts, so that an infinite part does not make the other one NaN."""
    return complex_p.bind(neg(imag(x)), real_p.bind(x))


def _shifted(x: Any, by: float) -> Array:
    """x + a real number, which leaves an imaginary part of -0 as it is: it decides the side of a branch cut."""
    if dtypes.is_complex(core.get_aval(x).dtype):
        real = real_p.bind(x)
        return complex_p.bind(add(real, like(real, by)), imag(x))
    return add(x, like(x, by))


def _asin_derivative(x: Any) -> Array:
    """1 / sqrt(1 - x**2), without overflow of the square of a complex number."""
    if dtypes.is_complex(core.get_aval(x).dtype):
        return rsqrt_one_plus_square_p.bind(_turned(x))
    return rsqrt(one_minus_square(x))


def _acosh_derivative(x: Any) -> Array:
    """The derivative of i acos(x) above the real axis, of -i acos(x) below; for real x a product, accurate near 1."""
    if not dtypes.is_complex(core.get_aval(x).dtype):
        return mul(rsqrt(_shifted(x, -1.0)), rsqrt(_shifted(x, 1.0)))
    turned = _turned(_asin_derivative(x))
    y = imag(x)
    bits = bitcast_convert_type(y, np.dtype(f"int{core.get_aval(y).dtype.itemsize * 8}"))
    below = lt(bits, like(bits, 0))
    return select_n_p.bind(below, neg(turned), turned)


def _tan_jvp(t: Any, out: Any, x: Any, **_: Any) -> Array:
    if dtypes.is_complex(core.get_aval(x).dtype):  # far from the real axis, tan(x)**2 is near -1
        return mul(t, sech_squared_p.bind(_turned(x)))
    return mul(t, _one_plus_square(out))


def _atanh_jvp(t: Any, x: Any) -> Array:
    if dtypes.is_complex(core.get_aval(x).dtype):
        return mul(t, square(_asin_derivative(x)))
    return div(t, one_minus_square(x))


def _atan2_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, y = primals
    tx, ty = tangents
    out = atan2(x, y)
    if type(tx) is ad.Zero and type(ty) is ad.Zero:
        return out, ad.Zero.from_primal_value(out)
    dtype = core.get_aval(out).dtype
    if dtypes.is_complex(dtype):
        norm = add(square(x), square(y))
        along_x = tx if type(tx) is ad.Zero else mul(tx, div(y, norm))
        along_y = ty if type(ty) is ad.Zero else mul(ty, div(neg(x), norm))
        return out, ad.add_tangents(along_x, along_y)
    # The angle is the imaginary part of log(y + ix), whose derivative is a quotient: no square of x or y overflows.
    wide = dtype if dtype.itemsize >= 4 else np.dtype(np.float32)

    def joined(abscissa: Any, ordinate: Any) -> Array:
        return complex_p.bind(_as(abscissa, wide), _as(ordinate, wide))

    zero = like(out, 0.0)
    t = joined(zero if type(ty) is ad.Zero else ty, zero if type(tx) is ad.Zero else tx)
    return out, _as(imag(div(t, joined(y, x))), dtype)


def _hyperbolic(y: Any) -> tuple[Any, Any]:
    """sinh(y) and cosh(y) from exp(abs(y) / 2), which does not overflow before they do; near 0 sinh from its series."""
    one, half = like(y, 1.0), like(y, 0.5)
    size = abs_p.bind(y)
    root = exp(mul(size, half))
    large, small = mul(mul(root, half), root), div(half, square(root))
    sinh = sub(large, small)
    series, squared = one, square(y)
    for n in range(6 if core.get_aval(y).dtype.itemsize == 4 else 9, 0, -1):
        series = add(mul(mul(squared, like(y, 1 / (2 * n * (2 * n + 1)))), series), one)
    away = select_n_p.bind(lt(y, like(y, 0.0)), sinh, neg(sinh))
    return select_n_p.bind(lt(size, one), away, mul(y, series)), add(large, small)


def _real_sinh(x: Any) -> Array:
    return _hyperbolic(x)[0]


def _real_cosh(x: Any) -> Array:
    return _hyperbolic(x)[1]


def _real_asin(x: Any) -> Array:
    """asin(x) from both legs of the triangle; neither is rounded to 0."""
    return atan2(x, sqrt(one_minus_square(x)))


def _real_atanh(x: Any) -> Array:
    return mul(sub(log1p(x), log1p(neg(x))), like(x, 0.5))


def _as(x: Any, dtype: Any) -> Any:
    return x if core.get_aval(x).dtype == dtype else convert_element_type(x, dtype)


def _complex_sin(z: Any) -> Array:
    x, y = real_p.bind(z), imag(z)
    sinh, cosh = _hyperbolic(y)
    # On the imaginary axis, cosh may be infinite and the product is still 0.
    along = select_n_p.bind(eq(x, like(x, 0.0)), mul(sin(x), cosh), x)
    return complex_p.bind(along, mul(cos(x), sinh))


def _complex_cos(z: Any) -> Array:
    x, y = real_p.bind(z), imag(z)
    sinh, cosh = _hyperbolic(y)
    across = neg(mul(sin(x), sinh))
    undefined = bitwise_and(eq(x, like(x, 0.0)), bitwise_not(is_finite(sinh)))
    zero = select_n_p.bind(lt(y, like(y, 0.0)), neg(x), x)
    across = select_n_p.bind(undefined, across, zero)
    return complex_p.bind(mul(cos(x), cosh), across)


def _complex_sinh(z: Any) -> Array:
    """-i sin(iz)."""
    return neg(_turned(_complex_sin(_turned(z))))


def _complex_cosh(z: Any) -> Array:
    """cos(iz)."""
    return _complex_cos(_turned(z))


def _sech_squared(x: Any) -> Array:
    """1 / cosh(x)**2, which does not overflow, and has all digits where tanh(x) rounds to 1."""
    if dtypes.is_complex(core.get_aval(x).dtype):
        return square(div(like(x, 1.0), _complex_cosh(x)))
    power = exp(neg(abs_p.bind(x)))
    return square(div(mul(power, like(x, 2.0)), add(square(power), like(x, 1.0))))


def _logistic_slope(x: Any) -> Array:
    """logistic(x) logistic(-x), as logistic(x)**2 exp(-x): XLA has computed both factors for the logistic function."""
    if dtypes.is_complex(core.get_aval(x).dtype):
        return mul(_sech_squared(mul(x, like(x, 0.5))), like(x, 0.25))
    value = logistic(x)
    power = min_p.bind(exp(neg(x)), like(x, dtypes.finfo(core.get_aval(x).dtype).max))  # infinity times 0 would be NaN
    return mul(value, mul(power, value))


def _rsqrt_one_plus_square(x: Any) -> Array:
    """1 / sqrt(1 + x**2) without overflow; with the branch cuts of asinh for complex numbers."""
    one = like(x, 1.0)
    if dtypes.is_complex(core.get_aval(x).dtype):
        turned = _turned(x)
        return mul(rsqrt(_shifted(turned, 1.0)), rsqrt(_shifted(neg(turned), 1.0)))
    size = abs_p.bind(x)
    larger = max_p.bind(size, one)
    return div(rsqrt(_one_plus_square(div(min_p.bind(size, one), larger))), larger)


def _rsqrt_one_plus_square_jvp(t: Any, out: Any, x: Any) -> Array:
    dtype = core.get_aval(x).dtype
    if not dtypes.is_complex(dtype):
        most = float(dtypes.finfo(dtype).max)  # infinity times 0 would be NaN
        x = clamp_p.bind(like(x, -most), x, like(x, most))
    return mul(t, mul(neg(mul(x, out)), square(out)))


def _by_parts(operation: str, parts: Any) -> Callable[..., Any]:
    """A lowering to one operation for real numbers, and to operations on the parts of complex ones."""
    real, by_parts = accurate(operation), mlir.lower_fun(parts, multiple_results=False)

    def lowering(ctx: mlir.LoweringRuleContext, x: Any, **params: Any) -> Sequence[mlir.ir.Value]:
        return by_parts(ctx, x) if dtypes.is_complex(ctx.avals_in[0].dtype) else real(ctx, x, **params)

    lowering.__name__ = f"lower_to({operation})"
    return lowering


def _formula(compute: Callable[[Any], Any], by_parts: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A lowering to several operations, for which narrow floating numbers are widened.

    `by_parts` is the lowering of complex numbers; that of the same formula if None.
    """
    real = in_float32(compute)
    by_parts = by_parts or mlir.lower_fun(compute, multiple_results=False)

    def lowering(ctx: mlir.LoweringRuleContext, x: Any) -> Sequence[mlir.ir.Value]:
        return (by_parts if dtypes.is_complex(ctx.avals_in[0].dtype) else real)(ctx, x)

    lowering.__name__ = f"lower_to({compute.__name__.strip('_')})"
    return lowering


_atan = complex_forms.on_its_side(mlir.nary("chlo.atan"), complex_forms.atan)


def _atan_lowering(ctx: mlir.LoweringRuleContext, x: Any) -> Sequence[mlir.ir.Value]:
    """Near 0, x (1 - x**2 / 3): of float32, jaxlib 0.12 returns -2**-10 for itself in arrays of few numbers."""
    outs = _atan(ctx, x)
    aval = ctx.avals_in[0]
    if aval.dtype != np.float32:
        return outs
    number = complex_forms.Real(x, aval)
    series = number * (1.0 - number * number * (1 / 3))
    return [series.where(abs(number) < 2.0**-8, complex_forms.Real(outs[0], aval)).value]


_UNIT = ((0.3, -0.6, 0.8),)

RULES: Table = dict(
    (
        row(
            sin_p,
            INEXACT,
            _by_parts("stablehlo.sine", _complex_sin),
            lambda t, x, **params: mul(t, cos(x, **params)),
            makes_nan=True,
        ),
        row(
            cos_p,
            INEXACT,
            _by_parts("stablehlo.cosine", _complex_cos),
            lambda t, x, **params: mul(t, neg(sin(x, **params))),
            makes_nan=True,
        ),
        row(
            tan_p,
            INEXACT,
            complex_forms.for_complex(accurate("stablehlo.tan"), complex_forms.tan),
            _tan_jvp,
            uses_result=True,
            makes_nan=True,
        ),
        row(
            asin_p,
            INEXACT,
            _formula(_real_asin, complex_forms.on_its_side(mlir.nary("chlo.asin"), complex_forms.like_the_argument)),
            lambda t, x: mul(t, _asin_derivative(x)),
            at=_UNIT,
            makes_nan=True,
        ),
        row(
            acos_p,
            INEXACT,
            complex_forms.on_its_side(mlir.nary("chlo.acos"), complex_forms.unlike_the_imaginary_part),
            lambda t, x: mul(t, neg(_asin_derivative(x))),
            at=_UNIT,
            makes_nan=True,
        ),
        row(
            atan_p,
            INEXACT,
            _atan_lowering,
            lambda t, x: mul(t, square(rsqrt_one_plus_square_p.bind(x))),
            makes_nan=True,
        ),
        row(atan2_p, (INEXACT, INEXACT), "stablehlo.atan2", jvp_rule=_atan2_jvp, makes_nan=True),
        row(
            sinh_p,
            INEXACT,
            _formula(_real_sinh, mlir.lower_fun(_complex_sinh, multiple_results=False)),
            lambda t, x: mul(t, cosh_p.bind(x)),
            makes_nan=True,
        ),
        row(
            cosh_p,
            INEXACT,
            _formula(_real_cosh, mlir.lower_fun(_complex_cosh, multiple_results=False)),
            lambda t, x: mul(t, sinh_p.bind(x)),
            makes_nan=True,
        ),
        row(
            tanh_p,
            INEXACT,
            complex_forms.for_complex(accurate("stablehlo.tanh"), complex_forms.tanh),
            lambda t, x, **_: mul(t, sech_squared_p.bind(x)),
            makes_nan=True,
        ),
        row(
            sech_squared_p,
            INEXACT,
            _formula(_sech_squared),
            lambda t, out, x: mul(t, mul(mul(out, tanh(x)), like(x, -2.0))),
            uses_result=True,
            makes_nan=True,
        ),
        row(
            logistic_slope_p,
            INEXACT,
            _formula(_logistic_slope),
            lambda t, out, x: mul(t, mul(out, neg(tanh(mul(x, like(x, 0.5)))))),
            uses_result=True,
            makes_nan=True,
        ),
        row(
            asinh_p,
            INEXACT,
            complex_forms.on_its_side(mlir.nary("chlo.asinh"), complex_forms.like_the_argument),
            lambda t, x: mul(t, rsqrt_one_plus_square_p.bind(x)),
            makes_nan=True,
        ),
        row(
            rsqrt_one_plus_square_p,
            INEXACT,
            _formula(_rsqrt_one_plus_square),
            _rsqrt_one_plus_square_jvp,
            uses_result=True,
            makes_nan=True,
        ),
        row(
            acosh_p,
            INEXACT,
            complex_forms.on_its_side(mlir.nary("chlo.acosh"), complex_forms.like_the_imaginary_part),
            lambda t, x: mul(t, _acosh_derivative(x)),
            at=((1.3, 1.7, 2.6),),
            makes_nan=True,
        ),
        row(
            atanh_p,
            INEXACT,
            _formula(_real_atanh, complex_forms.on_its_side(mlir.nary("chlo.atanh"), complex_forms.atanh)),
            _atanh_jvp,
            at=_UNIT,
            makes_nan=True,
        ),
    )
)


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, **rules)
