"""Tables of elementwise primitives: a row with dtypes, an operation and a derivative defines all rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import ShapedArray
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import incompatible_shapes
from primax.extend.rule_types import Row

__all__ = [
    "ANY",
    "Accepts",
    "BOOL_OR_INT",
    "COMPLEX",
    "FLOAT32_64_OR_COMPLEX",
    "FLOAT32_OR_64",
    "FLOATING",
    "INEXACT",
    "INTEGER",
    "NUMERIC",
    "ORDERED",
    "REAL",
    "SIGNED",
    "SUMMABLE",
    "boolean",
    "division_lowering",
    "elementwise_abstract_eval",
    "ir_full",
    "like",
    "row",
]

Rule = Callable[..., Any]


class Accepts:
    """A set of dtypes with its name in messages."""

    __slots__ = ("_cache", "_extended", "_test", "name")

    def __init__(self, name: str, test: Callable[[Any], bool], extended: bool | Callable[[Any], bool] = False) -> None:
        self.name = name
        self._test = test
        self._extended = extended
        self._cache: dict[Any, bool] = {}

    def __contains__(self, dtype: Any) -> bool:
        member = self._cache.get(dtype)
        if member is None:
            test = self._test if isinstance(dtype, np.dtype) else self._extended
            member = self._cache[dtype] = test(dtype) if callable(test) else test
        return member

    def instead(self, dtype: Any) -> str:
        """The remedy for values of a dtype that is not in the set, for the end of a message."""
        if callable(self._extended) and dtypes.is_extended(dtype) and dtypes.tangent_dtype(dtype) != dtypes.float0:
            return f"; values of {dtype} can be added if it is its own tangent_dtype, and its element_dtype is inexact"
        return dtypes.instead_of_arithmetic(dtype)


ANY = Accepts("a boolean or a number", lambda d: d != dtypes.float0)
FLOATING = Accepts("floating", dtypes.is_floating)
COMPLEX = Accepts("complex", dtypes.is_complex)
INEXACT = Accepts("floating or complex", dtypes.is_inexact)
INTEGER = Accepts("integer", dtypes.is_integer)
BOOL_OR_INT = Accepts("boolean or integer", lambda d: dtypes.is_bool(d) or dtypes.is_integer(d))
NUMERIC = Accepts("a number", lambda d: dtypes.is_integer(d) or dtypes.is_inexact(d))
SUMMABLE = Accepts("a number", NUMERIC.__contains__, dtypes.has_sums)
SIGNED = Accepts("a signed number", lambda d: dtypes.is_signed_integer(d) or dtypes.is_inexact(d))
REAL = Accepts("a real number", lambda d: dtypes.is_integer(d) or dtypes.is_floating(d))
FLOAT32_OR_64 = Accepts("float32 or float64", lambda d: d in (np.float32, np.float64))
FLOAT32_64_OR_COMPLEX = Accepts("float32, float64 or complex", lambda d: d in FLOAT32_OR_64 or d in COMPLEX)
ORDERED = Accepts("real", lambda d: not dtypes.is_complex(d) and d != dtypes.float0)


def boolean(dtype: Any) -> np.dtype[np.bool_]:
    """The value of `out` in `row` for primitives with boolean results."""
    return np.dtype(np.bool_)


def elementwise_abstract_eval(
    name: str,
    accepts: Sequence[Accepts],
    out_dtype: Callable[[Any], Any] | None = None,
    same_dtype: bool = True,
    same_shape: bool = False,
) -> Rule:
    """The abstract evaluation rule of an elementwise primitive.

    Args:
      name: the name of the primitive, for messages.
      accepts: the dtypes of each argument.
      out_dtype: the dtype of the result from that of the first argument; the same if None.
      same_dtype: whether all arguments must have the same dtype.
      same_shape: whether arguments that are not of rank 0 must have the same shape; if not, axes of length 1 are
        repeated.
    """

    def abstract_eval(*avals: ShapedArray, **params: Any) -> ShapedArray:
        if len(avals) != len(accepts):
            raise TypeError(f"{name}: the number of its operands must be {len(accepts)}, got {len(avals)}")
        for i, (aval, accept) in enumerate(zip(avals, accepts, strict=True)):
            if aval.dtype not in accept:
                which = "its argument" if len(avals) == 1 else f"argument {i}"
                hint = accept.instead(aval.dtype)
                raise TypeError(f"{name}: {which} must be {accept.name}, got {aval.str_short()}{hint}")
        first, shape = avals[0], avals[0].shape
        for aval in avals[1:]:
            if same_dtype and aval.dtype != first.dtype:
                raise TypeError(
                    f"{name}: arguments must have the same dtype, got {first.str_short()} and {aval.str_short()}; "
                    "convert one of them, or use primax.numpy, which promotes"
                )
            if aval.shape != shape:
                if not shape:
                    shape = aval.shape
                elif aval.shape:
                    shape = _joint_shape(name, shape, aval.shape, same_shape)
        dtype = first.dtype if out_dtype is None else out_dtype(first.dtype)
        return ShapedArray(shape, dtype, all(aval.weak_type for aval in avals))

    abstract_eval.__name__ = f"abstract_eval({name})"
    return abstract_eval


def _joint_shape(name: str, x: tuple[int, ...], y: tuple[int, ...], same: bool) -> tuple[int, ...]:
    """The shape of a result, from two different shapes of arguments."""
    if same:
        raise TypeError(f"{name}: arguments must have the same shape, or rank 0, got shapes {x} and {y}")
    if len(x) == len(y) and all(m == n or m == 1 or n == 1 for m, n in zip(x, y, strict=True)):
        return tuple([n if m == 1 else m for m, n in zip(x, y, strict=True)])
    if len(x) == len(y):
        raise TypeError(f"{name} got {incompatible_shapes([x, y])}")
    raise TypeError(
        f"{name}: arrays must have the same number of dimensions, got {len(x)} and {len(y)} of shapes {x} and {y}; "
        f"numpy.{name} of primax broadcasts ranks"
    )


def row(
    primitive: core.Primitive,
    accepts: Accepts | Sequence[Accepts],
    lowering: str | Rule,
    jvp: Sequence[Rule | None] | Rule | None = None,
    *,
    out: Callable[[Any], Any] | None = None,
    uses_result: bool = False,
    same_dtype: bool = True,
    same_shape: bool = False,
    jvp_rule: Rule | None = None,
    at: Sequence[Sequence[float]] | None = None,
    samples: Callable[[], list[core.Sample]] | str | None = None,
    **rules: Any,
) -> tuple[core.Primitive, Row]:
    """The rules of one elementwise primitive.

    Args:
      primitive: the primitive of the row.
      accepts: the dtypes of its arguments: one set for a primitive of one argument, otherwise a sequence of sets.
      lowering: a StableHLO or CHLO operation, or a rule.
      jvp: for each argument `(tangent, *primals) -> term`, its term of the derivative, or None for no term; a single
        function for a primitive of one argument; None if the derivative is zero wherever it exists.
      out: the dtype of the result from that of the first argument.
      uses_result: whether the functions in `jvp` get the result after the tangent.
      same_dtype: whether all arguments must have the same dtype.
      same_shape: whether arguments that are not of rank 0 must have the same shape; if not, axes of length 1 are
        repeated.
      jvp_rule: the complete JVP rule, instead of `jvp`.
      at: for each argument real numbers for samples, in the domain and away from kinks.
      samples: a function that makes samples, or their location, instead of `elementwise_samples(accepts, at)`.
      rules: further rules, or replacements; `unsupported` maps kinds of rules that do not exist to reasons.
    """
    kinds = [accepts] if isinstance(accepts, Accepts) else list(accepts)
    if jvp_rule is not None:
        derivative = jvp_rule
    elif jvp is None:
        derivative = ad.zero_jvp(primitive)
    else:
        terms = [jvp] if callable(jvp) else list(jvp)
        derivative = (ad.standard_jvp2 if uses_result else ad.standard_jvp)(primitive, *terms)
    derived: dict[str, Any] = {
        "abstract_eval": elementwise_abstract_eval(primitive.name, kinds, out, same_dtype, same_shape),
        "jvp": derivative,
        "batch": batching.vectorized(primitive) if len(kinds) == 1 else batching.broadcasting(primitive),
        "lowering": mlir.nary(lowering) if isinstance(lowering, str) else lowering,
    }
    for kind in rules.get("unsupported", ()):
        del derived[kind]
    entries = {**derived, "samples": [samples or _usual_samples(kinds, at, same_shape)], **rules}
    return primitive, cast(Row, entries)


def _usual_samples(*described: Any) -> Callable[[], list[core.Sample]]:
    """A function that makes the samples of `elementwise_samples`, which is imported only then."""
    return lambda: import_module("primax.extend.provisional.sampling").elementwise_samples(*described)()


def like(x: Any, value: Any) -> Any:
    """A constant of rank 0 and of the dtype of `x`, weakly typed if `x` is."""
    aval = core.get_aval(x)
    if aval.weak_type:
        scalar = dtypes.scalar_type_of(aval.dtype)(value)
        if core.get_aval(scalar).dtype == aval.dtype:
            return scalar
    try:
        return aval.dtype.type(value)
    except TypeError:
        raise dtypes.no_arithmetic(aval.dtype) from None


def ir_full(value: Any, aval: Any) -> Any:
    """A constant of a type, as an IR value."""
    scalar = mlir.ir_constant(aval.dtype.type(value))
    return mlir.broadcast_scalar(scalar, aval) if aval.shape else scalar


def division_lowering(op_name: str) -> Any:
    """The lowering of a division whose integers may be divided by 0.

    The compiler folds constants, and the process ends if it divides an integer by 0 there. Therefore the rule replaces
    a divisor of 0 by 1, and the result by XLA's usual result: all bits set, or for remainders the dividend.
    """
    divide, select = mlir.nary(op_name), mlir.nary("stablehlo.select")
    equal = mlir.nary("stablehlo.compare", comparison_direction=lambda: mlir.hlo.ComparisonDirectionAttr.get("EQ"))

    def lowering(ctx: mlir.LoweringRuleContext, x: Any, y: Any) -> Any:
        dividend, divisor = ctx.avals_in
        dtype = divisor.dtype
        if not dtypes.is_integer(dtype):
            return divide(ctx, x, y)
        truth = ShapedArray(divisor.shape, np.dtype(bool))
        by_zero = equal(ctx.replace(avals_in=[divisor, divisor], avals_out=[truth]), y, ir_full(0, divisor))[0]
        choice = ctx.replace(avals_in=[truth, divisor, divisor], avals_out=[divisor])
        quotient = divide(ctx, x, select(choice, by_zero, ir_full(1, divisor), y)[0])[0]
        other, aval = (
            (x, dividend) if op_name == "stablehlo.remainder" else (ir_full(_all_bits(dtype), divisor), divisor)
        )
        return select(ctx.replace(avals_in=[truth, aval, ctx.avals_out[0]]), by_zero, other, quotient)

    lowering.__name__ = divide.__name__
    return lowering


def _all_bits(dtype: Any) -> int:
    """The integer of a dtype with all bits set."""
    return int(dtypes.iinfo(dtype).max) if dtypes.is_unsigned_integer(dtype) else -1
