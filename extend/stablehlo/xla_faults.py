"""Guards against wrong numbers of XLA for CPUs, in the releases of jaxlib that need them; see `FAULTS` in _jaxlib."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Sequence
from math import inf, prod
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params, subjaxprs
from primax.interpreters.runtime.lowering import Lower, LoweringRuleContext, ModuleContext, register_lowering_layer

# In these, XLA converts x / log(2) to an integer, which LLVM leaves undefined for a NaN that it knows while compiling.
_EXPONENTIALS = {"cosh", "exp", "exp2", "expm1", "logistic", "sinh"}
_WIDE = ("float64", "complex128")  # they are computed otherwise
# Operations that give NaN for infinities only if another operand is NaN, or that hold programs.
_SELECTING = {"clamp", "concatenate", "eq", "ge", "gt", "le", "lt", "max", "min", "ne", "pad", "select_n", "sort"}
_SHAPES = {"broadcast_in_dim", "convert_element_type", "copy", "expand_dims", "neg", "abs", "reshape", "rev", "slice"}
_FINITE = {*_SELECTING, *_SHAPES, "iota", "squeeze", "stop_gradient", "transpose"}
_ARITHMETIC = {"add", "cos", "integer_pow", "mul", "sin", "square", "sub", "tanh"}
_FINITE_OF_POSITIVE = {"div", "log", "rsqrt", "sqrt"}  # finite if the last operand is a positive number


def _state(x: Any) -> int | None:
    """3 for NaN, 2 for an infinity, 1 for a number whose square may overflow, 0 for others; None for other objects."""
    try:
        size = abs(x.item() if isinstance(x, np.generic | np.ndarray) else x)  # NumPy's least integer has no abs
        if size != size:
            return 3
        limit = 250 if getattr(x, "dtype", None) == "float16" else 1e18
        return 2 if size == inf else int(size > limit)
    except OverflowError:  # from a complex number
        return 1
    except (TypeError, ValueError):
        return None


def may_know_nan(jaxpr: Jaxpr, seen: set[Jaxpr] | None = None) -> bool:
    """Whether a compiler may find out that a value of a program, or of a program in it, is NaN for any arguments.

    It may if NaN is a literal, if infinite literals take part in arithmetic, or if something that is not certainly
    finite is computed of literals only.
    """
    seen = set() if seen is None else seen
    known: dict[Var, int] = {}
    for eqn in jaxpr.eqns:
        states = [_state(v.val) if type(v) is Literal else known.get(v) for v in eqn.invars]
        if 3 in states or _state(eqn.params.get("fill_value")) == 3 or _makes_nan(eqn, states):
            return True
        needed = states[1:] if eqn.primitive.name == "select_n" else states
        sizes = [state for state in needed if state is not None]
        if len(sizes) == len(needed):
            known.update(dict.fromkeys(eqn.outvars, max([0, *sizes])))
    inner = [held for held in subjaxprs(jaxpr) if held not in seen]
    seen.update(inner)
    return any(may_know_nan(held, seen) for held in inner)


def _makes_nan(eqn: JaxprEqn, states: Sequence[int | None]) -> bool:
    """Whether the results of an equation may be NaN because of the operands that are known."""
    name = eqn.primitive.name
    if name in _FINITE or next(jaxprs_in_params(eqn.params), None) is not None:
        return False
    if 2 in states:
        return True
    if None in states or not eqn.invars:
        return name == "gather" and states[0] is not None and eqn.params.get("fill_value") is None
    if name in _ARITHMETIC:
        return 1 in states
    last = eqn.invars[-1]
    return not (name in _FINITE_OF_POSITIVE and type(last) is Literal and last.aval.dtype.kind != "c" and last.val > 0)


_knowing: weakref.WeakKeyDictionary[ModuleContext, bool] = weakref.WeakKeyDictionary()


def _has_exponential_of_nan(module: ModuleContext, jaxpr: Jaxpr, types: Collection[Any]) -> bool:
    if module.platform != "cpu" or _EXPONENTIALS.isdisjoint([eqn.primitive.name for eqn in jaxpr.eqns]):
        return False
    if module not in _knowing:
        _knowing[module] = may_know_nan(module.root)
    return _knowing[module] or (jaxpr is not module.root and may_know_nan(jaxpr))


def _keep_nan(ctx: LoweringRuleContext, values: Sequence[Any], params: dict[str, Any], lower: Lower) -> list[Any]:
    """Select NaN where the operand of an exponential is NaN; this takes 6 to 10 % of the time of the exponential."""
    outs = lower(ctx, values, params)
    if ctx.primitive.name not in _EXPONENTIALS or ctx.avals_in[0].dtype in _WIDE:
        return outs
    hlo = _jaxlib.hlo
    different = hlo.ComparisonDirectionAttr.get("NE")
    (x,) = values
    nan, real = x, x
    if ctx.avals_in[0].dtype == "complex64":
        real, imag = hlo.real(x), hlo.imag(x)
        zero = hlo.compare(imag, hlo.subtract(imag, imag), hlo.ComparisonDirectionAttr.get("EQ"))
        nan = hlo.complex(real, hlo.select(zero, imag, real))
    return [hlo.select(hlo.compare(real, real, different), nan, outs[0])]


def _has_narrow_product(module: ModuleContext, jaxpr: Jaxpr, types: Collection[Any]) -> bool:
    return module.platform == "cpu" and any(map(_is_narrow_product, jaxpr.eqns))


def _is_narrow_product(eqn: JaxprEqn) -> bool:
    """Whether an equation multiplies float32 matrices of which one has 32,769 to 65,536 rows of at most 4 numbers."""
    if eqn.primitive.name != "dot_general":
        return False
    (contracting, _), (batch, _) = eqn.params["dimension_numbers"]
    left, right = (v.aval for v in eqn.invars)
    depth = [left.shape[i] for i in contracting]
    if left.dtype != "float32" or not all(isinstance(size, int) for size in (*left.shape, *right.shape)):
        return False
    inner = prod(depth)
    if not 0 < inner <= 4:
        return False
    blocks = max(1, prod(left.shape[i] for i in batch))
    return any(2**15 < prod(side.shape) // inner // blocks <= 2**16 for side in (left, right))


def _sum_apart(ctx: LoweringRuleContext, values: Sequence[Any], params: dict[str, Any], lower: Lower) -> list[Any]:
    """Let XLA compute sums apart from products in the whole program."""
    if ctx.primitive.name == "dot_general":
        ctx.module_context.options["xla_cpu_experimental_ynn_fusion_type"] = "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
    return lower(ctx, values, params)


if _jaxlib.has_fault("exp of NaN"):
    register_lowering_layer(_has_exponential_of_nan, _keep_nan, order=60)
if _jaxlib.has_fault("sum of products"):
    register_lowering_layer(_has_narrow_product, _sum_apart, order=61)
