"""Arithmetic: sums, products, quotients, integer powers, signs and extrema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes, hookimpl
from primax.extend.core import Array, ShapedArray
from primax.extend.interpreters import ad, mlir
from primax.extend.interpreters.ad import linear_alone, linear_together
from primax.extend.provisional import complex_forms
from primax.extend.provisional.arguments import numpy_dtype
from primax.extend.provisional.elementwise import (
    ANY,
    COMPLEX,
    FLOAT32_64_OR_COMPLEX,
    FLOAT32_OR_64,
    INTEGER,
    NUMERIC,
    REAL,
    SIGNED,
    SUMMABLE,
    division_lowering,
    elementwise_abstract_eval,
    ir_full,
    like,
    row,
)
from primax.extend.provisional.lowering import cached_ir_type
from primax.extend.provisional.typing import ArrayLike, DTypeLike
from primax.extend.rule_types import Table
from primax.plugins.arithmetic.halves import mulhi_lowering
from primax.plugins.bitwise import bitwise_and
from primax.plugins.comparison import eq, ge, gt, gt_p, lt, lt_p
from primax.plugins.rounding import RoundingMethod, round_p
from primax.plugins.structural import convert_element_type, repeat, select, select_n_p, unbroadcast, zeros_like

__all__ = [
    "abs",
    "abs_p",
    "add",
    "add_any",
    "add_any_p",
    "add_p",
    "clamp",
    "clamp_p",
    "complex",
    "complex_p",
    "conj",
    "conj_p",
    "div",
    "div_p",
    "imag",
    "imag_p",
    "integer_pow",
    "integer_pow_p",
    "max",
    "max_p",
    "min",
    "min_p",
    "mul",
    "mul_p",
    "mulhi",
    "mulhi_p",
    "neg",
    "neg_p",
    "real",
    "real_p",
    "reciprocal",
    "rem",
    "rem_p",
    "sign",
    "sign_p",
    "square",
    "square_p",
    "sub",
    "sub_p",
]

abs_p = core.Primitive("abs")
add_any_p = core.Primitive("add_any")
add_p = core.Primitive("add")
clamp_p = core.Primitive("clamp")
complex_p = core.Primitive("complex")
conj_p = core.Primitive("conj")
div_p = core.Primitive("div")
imag_p = core.Primitive("imag")
integer_pow_p = core.Primitive("integer_pow")
max_p = core.Primitive("max")
min_p = core.Primitive("min")
mul_p = core.Primitive("mul")
mulhi_p = core.Primitive("mulhi")
neg_p = core.Primitive("neg")
real_p = core.Primitive("real")
rem_p = core.Primitive("rem")
sign_p = core.Primitive("sign")
square_p = core.Primitive("square")
sub_p = core.Primitive("sub")


def add(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x + y, for numbers of the same dtype.

    Args:
      x: an array.
      y: an array of the same dtype. One of the two may be of rank 0; otherwise their ranks are equal, and their shapes
        differ only in axes of length 1, which are repeated.

    Returns:
      An array of that dtype, with the common shape.

    Raises:
      TypeError: the dtypes differ or are not of numbers, or the shapes do not fit.

    >>> import primax as px
    >>> import numpy as np
    >>> px.lax.add(np.float32([1, 2]), np.float32(0.5))
    Array([1.5, 2.5], dtype=float32)
    >>> px.lax.add(np.float32([[1], [2]]), np.float32([[10, 20]])).tolist()
    [[11.0, 21.0], [12.0, 22.0]]
    """
    return add_p.bind(x, y)


def add_any(x: ArrayLike, y: ArrayLike) -> Array:
    """The sum of two tangents or cotangents of the same type.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> px.make_jaxpr(px.grad(lambda x: x * 2.0 + x * 3.0))(1.0).eqns[-1].primitive  # gradients are added by it
      add_any
      >>> lax.add_any(1.0, 2.0)
      Array(3., dtype=float32, weak_type=True)
    """
    return add_any_p.bind(x, y)


def sub(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x - y, for numbers of the same dtype and of shapes as in `add`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.sub(np.uint8(1), np.uint8(2)), lax.sub(5, np.array([1, 2]))
      (Array(255, dtype=uint8), Array([4, 3], dtype=int32))
    """
    return sub_p.bind(x, y)


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """Elementwise x * y, for numbers of the same dtype and of shapes as in `add`; computed in `out_dtype` if given.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.mul(np.uint8([16, 3]), np.uint8(17))  # wraps
      Array([16, 51], dtype=uint8)
      >>> lax.mul(np.float32(1), np.int32(2))
      Traceback (most recent call last):
          ...
      TypeError: mul: arguments must have the same dtype, got f32[] and i32[]; convert one of them, or use
      primax.numpy, which promotes
    """
    if out_dtype is not None:
        dtype = numpy_dtype("mul", "out_dtype", out_dtype)
        x, y = convert_element_type(x, dtype), convert_element_type(y, dtype)
    return mul_p.bind(x, y)


def div(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x / y, for numbers of the same dtype and of shapes as in `add`; integers are rounded towards zero.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.div(np.array([7, -7]), 2), lax.div(7.0, 2.0)  # of integers towards zero
      (Array([ 3, -3], dtype=int32), Array(3.5, dtype=float32, weak_type=True))
    """
    return div_p.bind(x, y)


def rem(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise remainder of x / y rounded towards zero; it has the sign of x.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.rem(np.array([7, -7]), 3), lax.rem(-7.5, 2.0)  # the sign is that of x
      (Array([ 1, -1], dtype=int32), Array(-1.5, dtype=float32, weak_type=True))
    """
    return rem_p.bind(x, y)


def max(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise maximum; NaN if either is, and complex numbers are ordered by real, then imaginary part.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.max(np.float32([1, np.nan]), np.float32(2))
      Array([ 2., nan], dtype=float32)
    """
    return max_p.bind(x, y)


def min(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise minimum; NaN if either is, and complex numbers are ordered by real, then imaginary part.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.min(np.array([1, 5]), 3), lax.min(True, False)
      (Array([1, 3], dtype=int32), Array(False, dtype=bool))
    """
    return min_p.bind(x, y)


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """Elementwise `min(max(x, lower), upper)`; the bounds are the first and the last argument.

    Args:
      min: the lower bound; of the dtype of `x`, and of its shape or of rank 0.
      x: an array of any dtype.
      max: the upper bound; of the dtype of `x`, and of its shape or of rank 0. It has precedence over the lower one.

    Raises:
      TypeError: a dtype or a shape differs.

    >>> import primax as px
    >>> import numpy as np
    >>> px.lax.clamp(np.float32(0), np.float32([-1, 0.5, 2]), np.float32(1))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    shape = core.get_aval(x).shape
    if not shape:
        for name, bound in (("min", min), ("max", max)):
            bound_shape = core.get_aval(bound).shape
            if bound_shape:
                raise TypeError(f"clamp: {name} must have the shape of x, {shape}, or rank 0, got {bound_shape}")
    return clamp_p.bind(min, x, max)


def mulhi(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise upper half of the bits of x * y, for integers of the same dtype and of shapes as in `add`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.mulhi(np.uint32(2**31), np.uint32(4))
      Array(2, dtype=uint32)
    """
    return mulhi_p.bind(x, y)


def reciprocal(x: ArrayLike) -> Array:
    """Elementwise 1 / x, for floating or complex arrays.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.reciprocal(np.float32([2, -0.0]))
      Array([ 0.5, -inf], dtype=float32)
    """
    return integer_pow_p.bind(x, y=-1)


def neg(x: ArrayLike) -> Array:
    """Elementwise -x, for numbers.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.neg(np.uint8(1)), lax.neg(np.float32(0))
      (Array(255, dtype=uint8), Array(-0., dtype=float32))
    """
    return neg_p.bind(x)


def sign(x: ArrayLike) -> Array:
    """Elementwise sign: -1, 0 (with its sign) or 1; x / abs(x) for complex x; NaN for NaN.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.sign(np.float32([-2, -0.0, np.nan]))
      Array([-1., -0., nan], dtype=float32)
    """
    return sign_p.bind(x)


def abs(x: ArrayLike) -> Array:
    """Elementwise absolute value of signed numbers; real for complex x.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.abs(np.complex64(3 - 4j)), lax.abs(np.int8(-128))
      (Array(5., dtype=float32), Array(-128, dtype=int8))
    """
    return abs_p.bind(x)


def square(x: ArrayLike) -> Array:
    """Elementwise x * x, for numbers.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.square(np.int8(12))  # wraps
      Array(-112, dtype=int8)
    """
    return square_p.bind(x)


def real(x: ArrayLike) -> Array:
    """Elementwise real part of complex numbers.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.real(np.complex64(1 + 2j))
      Array(1., dtype=float32)
      >>> lax.real(1.0)
      Traceback (most recent call last):
          ...
      TypeError: real: its argument must be complex, got f32[]
    """
    return real_p.bind(x)


def imag(x: ArrayLike) -> Array:
    """Elementwise imaginary part of complex numbers.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> import numpy as np
      >>> px.grad(lambda z: lax.imag(z * z), holomorphic=False)(np.complex64(3 + 0j))
      Array(0.-6.j, dtype=complex64)
    """
    return imag_p.bind(x)


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise x + i y, for real arrays of the same floating dtype and the same shape.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.complex(np.float32(1), np.float32([2, 3]))
      Array([1.+2.j, 1.+3.j], dtype=complex64)
    """
    return complex_p.bind(x, y)


def conj(x: ArrayLike) -> Array:
    """Elementwise complex conjugate; real numbers become complex.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.conj(np.complex64(1 + 2j)), lax.conj(np.float32(1))
      (Array(1.-2.j, dtype=complex64), Array(1.+0.j, dtype=complex64))
    """
    return conj_p.bind(x)


def integer_pow(x: ArrayLike, y: int) -> Array:
    """Elementwise x ** y for a static integer y.

    Args:
      x: numbers.
      y: the exponent; not negative if `x` has integers.

    Raises:
      TypeError: `x` has integers and `y` is negative, or `y` is not an integer.
      OverflowError: `y` has more than 64 bits.

    >>> import primax as px
    >>> import numpy as np
    >>> px.lax.integer_pow(np.float32([2, 3]), -2)
    Array([0.25      , 0.11111111], dtype=float32)
    """
    if type(y) is not int:
        if not isinstance(y, int | float | np.number) or y != y // 1:
            raise TypeError(f"integer_pow: y must be a whole number, got {y!r}")
        y = int(y)
    return integer_pow_p.bind(x, y=y)


def _spread(t: Any, out: Any) -> Any:
    """The tangent of an operand, with the shape of the result."""
    return repeat(t, core.get_aval(out).shape)


def _sum_jvp(primitive: core.Primitive) -> Callable[..., Any]:
    def jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
        x, y = primals
        tx, ty = tangents
        out = primitive.bind(x, y)
        if type(tx) is ad.Zero:
            return out, ad.Zero.from_primal_value(out) if type(ty) is ad.Zero else _spread(ty, out)
        return out, _spread(tx, out) if type(ty) is ad.Zero else primitive.bind(tx, ty)

    jvp.__name__ = f"sum_jvp({primitive})"
    return linear_together(jvp)


def _add_transpose(ct: Any, x: Any, y: Any) -> tuple[Any, Any]:
    if type(ct) is ad.Zero:
        return None, None
    return (
        unbroadcast(x.aval, ct) if type(x) is ad.UndefinedPrimal else None,
        unbroadcast(y.aval, ct) if type(y) is ad.UndefinedPrimal else None,
    )


@linear_together
def _sub_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, y = primals
    tx, ty = tangents
    out = sub(x, y)
    if type(tx) is ad.Zero:
        return out, ad.Zero.from_primal_value(out) if type(ty) is ad.Zero else _spread(neg(ty), out)
    return out, _spread(tx, out) if type(ty) is ad.Zero else sub(tx, ty)


def _sub_transpose(ct: Any, x: Any, y: Any) -> tuple[Any, Any]:
    if type(ct) is ad.Zero:
        return None, None
    return (
        unbroadcast(x.aval, ct) if type(x) is ad.UndefinedPrimal else None,
        neg(unbroadcast(y.aval, ct)) if type(y) is ad.UndefinedPrimal else None,
    )


def _div_transpose(ct: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return (None if type(ct) is ad.Zero else unbroadcast(x.aval, div(ct, y))), None


@linear_alone
def _mul_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, y = primals
    tx, ty = tangents
    out = mul_p.bind(x, y)
    if type(tx) is ad.Zero:
        return out, ad.Zero.from_primal_value(out) if type(ty) is ad.Zero else mul_p.bind(x, ty)
    term = mul_p.bind(tx, y)
    return out, term if type(ty) is ad.Zero else add_any_p.bind(term, mul_p.bind(x, ty))


def _mul_transpose(ct: Any, x: Any, y: Any) -> tuple[Any, Any]:
    if type(ct) is ad.Zero:
        return None, None
    if type(x) is ad.UndefinedPrimal:
        return unbroadcast(x.aval, mul_p.bind(ct, y)), None
    return None, unbroadcast(y.aval, mul_p.bind(x, ct))


def _rem_by_y(t: Any, out: Any, x: Any, y: Any) -> Array:
    """-t times the quotient rounded towards zero."""
    zero = repeat(like(out, 0.0), core.get_aval(out).shape)
    rest = select_n_p.bind(eq(out, out), zero, out)  # NaN where x is infinite or y is 0
    quotient = div(sub(x, rest), y)
    return mul(t, neg(round_p.bind(quotient, rounding_method=RoundingMethod.AWAY_FROM_ZERO)))


def _extremum_jvp(primitive: core.Primitive) -> Callable[..., Any]:
    def jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
        x, y = primals
        tx, ty = tangents
        out = primitive.bind(x, y)
        if type(tx) is ad.Zero and type(ty) is ad.Zero:
            return out, ad.Zero.from_primal_value(out)
        # If both operands are the extremum, each contributes half.
        dtype = core.get_aval(out).dtype
        is_x = convert_element_type(eq(x, out), dtype)
        is_y = convert_element_type(eq(y, out), dtype)
        one = like(out, 1.0)
        by_x = tx if type(tx) is ad.Zero else mul(tx, div(is_x, add(is_y, one)))
        by_y = ty if type(ty) is ad.Zero else mul(ty, div(is_y, add(is_x, one)))
        return out, ad.add_tangents(by_x, by_y)

    jvp.__name__ = f"extremum_jvp({primitive})"
    return jvp


def _where(mask: Any, t: Any) -> Array:
    return select_n_p.bind(mask, zeros_like(t), t)


def _clamp_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    lower, x, upper = primals
    out = clamp_p.bind(lower, x, upper)
    below, inside, above = tangents
    total: Any = None
    if type(inside) is not ad.Zero:
        mask = bitwise_and(gt(x, lower), lt(x, upper))
        total = _where(mask, _spread(inside, out))
    if type(below) is not ad.Zero:
        mask = bitwise_and(lt(x, lower), lt(lower, upper))
        term = _where(mask, _spread(below, out))
        total = term if total is None else ad.add_tangents(total, term)
    if type(above) is not ad.Zero:
        term = _where(lt(upper, x), _spread(above, out))
        total = term if total is None else ad.add_tangents(total, term)
    return out, ad.Zero.from_primal_value(out) if total is None else total


def _abs_jvp(t: Any, out: Any, x: Any) -> Array:
    dtype = core.get_aval(x).dtype
    if dtypes.is_complex(dtype):
        return real_p.bind(mul(t, conj(sign(x))))  # 0 at 0
    return select_n_p.bind(ge(x, like(x, 0.0)), neg(t), t)


def _sign_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    out = sign(x)
    dtype = core.get_aval(x).dtype
    if type(t) is ad.Zero or not dtypes.is_complex(dtype):
        return out, ad.Zero.from_primal_value(out)
    # On the circle, only the tangential part of the tangent contributes.
    modulus = abs(x)
    is_zero = convert_element_type(eq(modulus, like(modulus, 0.0)), core.get_aval(modulus).dtype)
    turned = div(imag(mul(t, conj(out))), add(modulus, is_zero))
    return out, mul(complex(like(turned, 0.0), turned), out)


def _integer_pow_jvp(primals: Any, tangents: Any, *, y: int) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    out = integer_pow_p.bind(x, y=y)
    if type(t) is ad.Zero or y == 0:
        return out, ad.Zero.from_primal_value(out)
    if y == 1:
        return out, t
    power = x if y == 2 else integer_pow_p.bind(x, y=y - 1)
    return out, mul(t, mul(power, like(x, float(y))))


@linear_together
def _complex_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, y = primals
    tx, ty = tangents
    out = complex(x, y)
    if type(tx) is ad.Zero and type(ty) is ad.Zero:
        return out, ad.Zero.from_primal_value(out)
    return out, _spread(
        complex(like(x, 0.0) if type(tx) is ad.Zero else tx, like(y, 0.0) if type(ty) is ad.Zero else ty), out
    )


def _complex_transpose(ct: Any, x: Any, y: Any) -> tuple[Any, Any]:
    if type(ct) is ad.Zero:
        return None, None
    return (
        unbroadcast(x.aval, real_p.bind(ct)) if type(x) is ad.UndefinedPrimal else None,
        unbroadcast(y.aval, neg(imag(ct))) if type(y) is ad.UndefinedPrimal else None,
    )


def _integer_pow_abstract_eval(x: Any, *, y: int) -> ShapedArray:
    if y.bit_length() > 64:  # the program has several operations for each bit
        raise OverflowError(f"integer_pow: y must fit 64 bits, got an integer of {y.bit_length()} bits")
    if y < 0 and dtypes.is_integer(x.dtype):
        raise TypeError(
            f"integer_pow: y must not be negative for integers, got {y} for {x.str_short()}: "
            "Integers cannot be raised to negative powers"
        )
    return _numeric_abstract_eval(x)


_numeric_abstract_eval = elementwise_abstract_eval("integer_pow", (NUMERIC,))


def _integer_pow_lowering(ctx: mlir.LoweringRuleContext, x: Any, *, y: int) -> Any:
    result = cached_ir_type(ctx.module_context.shared, ctx.avals_out[0])
    aval = ctx.avals_out[0]

    def binary(name: str, a: Any, b: Any) -> mlir.ir.Value:
        return mlir.ir.Operation.create(name, [result], [a, b]).result

    exponent = y if y >= 0 else -y
    power = None
    while exponent:
        if exponent & 1:
            power = x if power is None else binary("stablehlo.multiply", power, x)
        exponent >>= 1
        if exponent:
            x = binary("stablehlo.multiply", x, x)
    if y > 0:
        return power
    one = ir_full(1, aval)
    return one if y == 0 else binary("stablehlo.divide", one, power)


def _square_lowering(ctx: mlir.LoweringRuleContext, x: Any) -> Sequence[mlir.ir.Value]:
    if dtypes.is_complex(ctx.avals_in[0].dtype):
        return mlir.ir.Operation.create("chlo.square", [x.type], [x]).results
    return mlir.ir.Operation.create("stablehlo.multiply", [x.type], [x, x]).results


def _sign_lowering(ctx: mlir.LoweringRuleContext, x: Any) -> Sequence[mlir.ir.Value]:
    aval = ctx.avals_in[0]
    if dtypes.is_unsigned_integer(aval.dtype):
        return mlir.ir.Operation.create("stablehlo.minimum", [x.type], [x, ir_full(1, aval)]).results
    return mlir.ir.Operation.create("stablehlo.sign", [x.type], [x]).results


_abs_lowering = complex_forms.modulus(mlir.nary("stablehlo.abs"))


def _extremum_lowering(name: str, wins: core.Primitive) -> Callable[..., Any]:
    by_operation = mlir.nary(f"stablehlo.{name}")

    def lexicographic(x: Any, y: Any) -> Array:
        """The greater or smaller complex number, by real part, then imaginary part."""
        same_real = eq(real(x), real(y))
        shape = core.get_aval(same_real).shape
        is_x = select(same_real, wins.bind(imag(x), imag(y)), wins.bind(real(x), real(y)))
        return select(is_x, repeat(x, shape), repeat(y, shape))

    by_parts = mlir.lower_fun(lexicographic, multiple_results=False)

    def lowering(ctx: mlir.LoweringRuleContext, x: Any, y: Any) -> Sequence[mlir.ir.Value]:
        return (by_parts if dtypes.is_complex(ctx.avals_in[0].dtype) else by_operation)(ctx, x, y)

    lowering.__name__ = f"lower_to({name})"
    return lowering


def _bounded(lower: Any, x: Any, upper: Any) -> Array:
    return min(upper, max(lower, x))


_clamp_by_extrema = mlir.lower_fun(_bounded, multiple_results=False)
_clamp_of_reals = mlir.nary("stablehlo.clamp")


def _clamp_lowering(ctx: mlir.LoweringRuleContext, *xs: Any) -> Sequence[mlir.ir.Value]:
    """Compilers implement clamp for real numbers; for booleans and complex numbers only if they can fold it away."""
    dtype = ctx.avals_in[1].dtype
    has_clamp = dtypes.is_integer(dtype) or dtypes.is_floating(dtype)
    return (_clamp_of_reals if has_clamp else _clamp_by_extrema)(ctx, *xs)


def _conj_transpose(ct: Any, x: Any) -> list[Any]:
    return [(conj_p if dtypes.is_complex(x.aval.dtype) else real_p).bind(ct)]


def _conj_lowering(ctx: mlir.LoweringRuleContext, x: Any) -> mlir.ir.Value:
    hlo = mlir.hlo
    if dtypes.is_complex(ctx.avals_in[0].dtype):
        return hlo.complex(hlo.real(x), hlo.negate(hlo.imag(x)))
    return hlo.complex(x, ir_full(0, ctx.avals_in[0]))


def _real_dtype(dtype: Any) -> np.dtype[Any]:
    return dtypes.to_floating_dtype(dtype) if dtypes.is_complex(dtype) else dtype


def _complex_dtype(dtype: Any) -> np.dtype[Any]:
    return dtypes.to_complex_dtype(dtype)


def _linear(primitive: core.Primitive, accepts: Any, lowering: Any, transpose: Any, **rules: Any) -> Any:
    """A row for a primitive of one argument that is linear; `transpose` is `(cotangent) -> cotangent`."""
    return row(
        primitive,
        accepts,
        lowering,
        jvp_rule=ad.linear_jvp(primitive),
        transpose=ad.linear_transpose(primitive, lambda ct: [transpose(ct)]),
        **rules,
    )


NN = (NUMERIC, NUMERIC)
SS = (SUMMABLE, SUMMABLE)
RULES: Table = dict(
    (
        row(add_p, SS, "stablehlo.add", jvp_rule=_sum_jvp(add_p), transpose=_add_transpose, makes_nan=True),
        row(add_any_p, SS, "stablehlo.add", same_shape=True, jvp_rule=_sum_jvp(add_any_p), transpose=_add_transpose),
        row(sub_p, SS, "stablehlo.subtract", jvp_rule=_sub_jvp, transpose=_sub_transpose, makes_nan=True),
        row(mul_p, NN, "stablehlo.multiply", jvp_rule=_mul_jvp, transpose=_mul_transpose, makes_nan=True),
        row(
            div_p,
            NN,
            complex_forms.division(division_lowering("stablehlo.divide")),
            (
                lambda t, out, x, y: div(t, y),
                # Negated between the two: XLA joins (x / y) / y to x / (y * y), which overflows.
                lambda t, out, x, y: mul(t, div(neg(out), y)),
            ),
            uses_result=True,
            transpose=_div_transpose,
            makes_nan=True,
        ),
        row(
            rem_p,
            (REAL, REAL),
            division_lowering("stablehlo.remainder"),
            (lambda t, out, x, y: repeat(t, core.get_aval(out).shape), _rem_by_y),
            uses_result=True,
            makes_nan=True,
        ),
        row(max_p, (ANY, ANY), _extremum_lowering("maximum", gt_p), jvp_rule=_extremum_jvp(max_p)),
        row(min_p, (ANY, ANY), _extremum_lowering("minimum", lt_p), jvp_rule=_extremum_jvp(min_p)),
        row(
            clamp_p,
            (ANY, ANY, ANY),
            _clamp_lowering,
            same_shape=True,
            jvp_rule=_clamp_jvp,
            at=((-0.5, -0.7, 0.6), (0.3, -1.2, 2.6), (1.1, 0.9, 1.3)),
        ),
        row(mulhi_p, (INTEGER, INTEGER), mulhi_lowering(add, sub, mul)),
        row(square_p, NUMERIC, _square_lowering, lambda t, x: mul(t, mul(x, like(x, 2.0))), makes_nan=True),
        row(
            integer_pow_p,
            NUMERIC,
            _integer_pow_lowering,
            jvp_rule=_integer_pow_jvp,
            abstract_eval=_integer_pow_abstract_eval,
            samples="primax.plugins.samples.arithmetic:SAMPLES",
            makes_nan=True,
        ),
        row(sign_p, NUMERIC, complex_forms.for_complex(_sign_lowering, complex_forms.direction), jvp_rule=_sign_jvp),
        row(abs_p, SIGNED, _abs_lowering, _abs_jvp, uses_result=True, out=_real_dtype),
        _linear(neg_p, SUMMABLE, "stablehlo.negate", lambda ct: neg(ct)),
        _linear(real_p, COMPLEX, "stablehlo.real", lambda ct: complex(ct, like(ct, 0.0)), out=_real_dtype),
        _linear(imag_p, COMPLEX, "stablehlo.imag", lambda ct: complex(like(ct, 0.0), neg(ct)), out=_real_dtype),
        row(
            conj_p,
            FLOAT32_64_OR_COMPLEX,
            _conj_lowering,
            jvp_rule=ad.linear_jvp(conj_p),
            transpose=ad.linear_transpose2(conj_p, _conj_transpose),
            out=_complex_dtype,
        ),
        row(
            complex_p,
            (FLOAT32_OR_64, FLOAT32_OR_64),
            "stablehlo.complex",
            jvp_rule=_complex_jvp,
            transpose=_complex_transpose,
            out=_complex_dtype,
        ),
    )
)
_DIV_JVP: Any = RULES[div_p]["jvp"]
linear_alone(_DIV_JVP, 0)


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, **rules)
