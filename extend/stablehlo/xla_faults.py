"""Guards against wrong numbers of XLA for CPUs, in the releases of jaxlib that need them; see `FAULTS` in _jaxlib."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from math import inf, prod
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core.avals import ShapedArray
from primax.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var, cached, jaxprs_in_params
from primax.interpreters.runtime.ir_types import ir_constant
from primax.interpreters.runtime.lowering import Lower, LoweringRuleContext, ModuleContext, register_lowering_layer

# In these, XLA converts x / log(2) to an integer, which LLVM leaves undefined for a NaN that it knows while compiling.
_EXPONENTIALS = {"cosh", "exp", "exp2", "expm1", "logistic", "logistic_slope", "sech_squared", "sinh"}
_WIDE = ("float64", "complex128")  # they are computed otherwise
# Operations that give NaN for infinities only if another operand is NaN, or that hold programs.
_SELECTING = {"clamp", "concatenate", "eq", "ge", "gt", "le", "lt", "max", "min", "ne", "pad", "select_n", "sort"}
_SHAPES = {"broadcast_in_dim", "convert_element_type", "copy", "expand_dims", "neg", "abs", "reshape", "rev", "slice"}
_FINITE = {*_SELECTING, *_SHAPES, "iota", "squeeze", "stop_gradient", "transpose"}
_ARITHMETIC = {"add", "cos", "integer_pow", "mul", "sin", "square", "sub", "tanh"}
_FINITE_OF_POSITIVE = {"div", "log", "rsqrt", "sqrt"}  # finite if the last operand is a positive number
_LEAVES = {*_SHAPES, *_ARITHMETIC, *_FINITE_OF_POSITIVE, "dot_general", "exp", "max", "min", "select_n", "transpose"}


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


def may_know_nan(jaxpr: Jaxpr) -> bool:
    """Whether a compiler may find out that a value of a program, or of a program in it, is NaN for any arguments.

    It may if NaN is a literal, if infinite literals take part in arithmetic, or if something that is not certainly
    finite is computed of literals only.
    """
    return cached(jaxpr, "may know NaN", lambda: _may_know_nan(jaxpr))  # type: ignore[no-any-return]


def _may_know_nan(jaxpr: Jaxpr) -> bool:
    known: dict[Var, int] = {}
    for eqn in jaxpr.eqns:
        for v in eqn.invars:
            if type(v) is Literal or v in known:
                break
        else:
            if eqn.invars and "fill_value" not in eqn.params:  # nothing is known: most equations, at little cost
                continue
        states = [_state(v.val) if type(v) is Literal else known.get(v) for v in eqn.invars]
        if 3 in states or _state(eqn.params.get("fill_value")) == 3 or _makes_nan(eqn, states):
            return True
        needed = states[1:] if eqn.primitive.name == "select_n" else states
        sizes = [state for state in needed if state is not None]
        if len(sizes) == len(needed):
            known.update(dict.fromkeys(eqn.outvars, max([0, *sizes])))
    return any(map(may_know_nan, _held(jaxpr)))


def _held(jaxpr: Jaxpr) -> set[Jaxpr]:
    """The programs in the equations of a program."""
    return {held for eqn in jaxpr.eqns if eqn.primitive.name not in _LEAVES for held in jaxprs_in_params(eqn.params)}


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


def _has_exponential_of_nan(module: ModuleContext, jaxpr: Jaxpr, types: Collection[Any]) -> bool:
    return module.platform == "cpu" and (may_know_nan(module.root) or may_know_nan(jaxpr))


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
    return module.platform == "cpu" and any(map(_is_narrow_product, _named(jaxpr, ("dot_general",))))


def _named(jaxpr: Jaxpr, names: Collection[str]) -> list[JaxprEqn]:
    return [eqn for eqn in jaxpr.eqns if eqn.primitive.name in names]


def _is_narrow_product(eqn: JaxprEqn) -> bool:
    """Whether a product of float32 matrices has an operand of 32,769 to 65,536 rows of at most 4 numbers."""
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


def _sum_separately(ctx: LoweringRuleContext, values: Sequence[Any], params: dict[str, Any], lower: Lower) -> list[Any]:
    """Let XLA compute sums separately from products in the whole program."""
    if ctx.primitive.name == "dot_general":
        ctx.module_context.options["xla_cpu_experimental_ynn_fusion_type"] = "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
    return lower(ctx, values, params)


_EXTREMA = {"reduce_max", "reduce_min"}
_FLOATS = ("bfloat16", "float16", "float32", "float64")
_SHIFTING = {"broadcast_in_dim", "eq", "expand_dims", "max", "reshape", "select_n", "stop_gradient"}


def _has_extremum(module: ModuleContext, jaxpr: Jaxpr, types: Collection[Any]) -> bool:
    if module.platform != "cpu" or module.spmd is not None or module.dynamic:
        return False
    extrema = [eqn for eqn in _named(jaxpr, _EXTREMA) if _is_large(eqn.invars[0].aval)]
    return any(not _only_shifts(jaxpr, eqn) for eqn in extrema)


def _is_large(aval: Any) -> bool:
    """Whether XLA leaves the reduction of such an array to its library: it does so from 4,096 numbers on."""
    return aval.dtype in _FLOATS and prod(aval.shape) >= 4096


def _only_shifts(jaxpr: Jaxpr, extremum: JaxprEqn) -> bool:
    """Whether an extremum is only subtracted before an exponential, as in softmax, where NaN of the operand remains."""
    derived = set(extremum.outvars)
    stopped = False
    for eqn in jaxpr.eqns:
        if derived.isdisjoint([v for v in eqn.invars if type(v) is Var]):
            continue
        name = eqn.primitive.name
        if name == "stop_gradient":
            stopped = True
        elif not stopped and name not in _SHIFTING:
            return False
        elif name in _SHIFTING:
            derived.update(eqn.outvars)
    return stopped and any(eqn.primitive.name == "exp" for eqn in jaxpr.eqns)


def _with_nan(ctx: LoweringRuleContext, values: Sequence[Any], params: dict[str, Any], lower: Lower) -> list[Any]:
    """Let an extremum be NaN where an operand is NaN.

    If no sum is NaN, there is no NaN; otherwise, the operands are compared, since infinities give such sums, too.
    """
    outs = lower(ctx, values, params)
    if ctx.primitive.name not in _EXTREMA or not _is_large(ctx.avals_in[0]):
        return outs
    hlo, ir = _jaxlib.hlo, _jaxlib.ir
    (x,), (out,), (aval,) = values, outs, ctx.avals_out
    different = hlo.ComparisonDirectionAttr.get("NE")
    zero = ir_constant(aval.dtype.type(0), ShapedArray((), aval.dtype))
    no = ir_constant(np.False_, ShapedArray((), np.dtype(bool)))
    total = _reduced(hlo.add, x, zero, params["axes"], out.type)
    is_nan = any_nan = hlo.compare(total, total, different)
    if aval.shape:
        any_nan = _reduced(hlo.or_, is_nan, no, range(len(aval.shape)), no.type)
    choice = hlo.IfOp([out.type], any_nan)
    with ir.InsertionPoint(choice.true_branch.blocks.append()):
        holds_nan = _reduced(hlo.or_, hlo.compare(x, x, different), no, params["axes"], is_nan.type)
        hlo.return_([hlo.select(holds_nan, total, out)])
    with ir.InsertionPoint(choice.false_branch.blocks.append()):
        hlo.return_([out])
    return list(choice.results)


def _reduced(combine: Callable[..., Any], x: Any, start: Any, axes: Iterable[int], kind: Any) -> Any:
    """A reduction of an IR value along axes."""
    ir = _jaxlib.ir
    dimensions = {"dimensions": ir.DenseI64ArrayAttr.get(list(axes))}
    operation = ir.Operation.create("stablehlo.reduce", [kind], [x, start], dimensions, regions=1)
    block = operation.regions[0].blocks.append(start.type, start.type)
    with ir.InsertionPoint(block):
        _jaxlib.hlo.return_([combine(*block.arguments)])
    return operation.result


_BOUNDS = {"max", "min"}


def _has_bounds_of_terms(module: ModuleContext, jaxpr: Jaxpr, types: Collection[Any]) -> bool:
    if module.platform != "cpu" or module.dynamic or not any(map(_is_bound, _named(jaxpr, _BOUNDS))):
        return False
    return _reduces(module.root) or _reduces(jaxpr)


def _is_bound(eqn: JaxprEqn) -> bool:
    """Whether a maximum or minimum of two arrays has many elements, and no infinite operand."""
    if not _is_large(eqn.outvars[0].aval):
        return False
    return not any(type(v) is Literal and _state(v.val) == 2 for v in eqn.invars)


def _reduces(jaxpr: Jaxpr) -> bool:
    """Whether a program, or a program in it, has reductions of large arrays."""
    return cached(jaxpr, "reduces", lambda: _reduces_large(jaxpr))  # type: ignore[no-any-return]


def _reduces_large(jaxpr: Jaxpr) -> bool:
    reductions = [eqn for eqn in jaxpr.eqns if eqn.primitive.name.startswith("reduce_")]
    return any(_is_large(eqn.invars[0].aval) for eqn in reductions) or any(map(_reduces, _held(jaxpr)))


def _by_comparison(ctx: LoweringRuleContext, values: Sequence[Any], params: dict[str, Any], lower: Lower) -> list[Any]:
    """Compute the maximum or minimum of two numbers by a comparison, which XLA's library does not fuse with a sum."""
    outs = lower(ctx, values, params)
    name = ctx.primitive.name
    if name not in _BOUNDS or not _is_large(ctx.avals_out[0]):
        return outs
    if getattr(outs[0].owner, "name", None) not in ("stablehlo.maximum", "stablehlo.minimum"):  # a plugin's rule
        return outs
    hlo = _jaxlib.hlo
    x, y = outs[0].owner.operands  # broadcast to the same shape
    order = hlo.ComparisonDirectionAttr.get("GT" if name == "max" else "LT")
    different = hlo.ComparisonDirectionAttr.get("NE")
    outs[0].owner.erase()
    is_first = hlo.or_(hlo.compare(x, y, order), hlo.compare(x, x, different))
    return [hlo.select(is_first, x, y)]


if _jaxlib.has_fault("exp of NaN"):
    register_lowering_layer(_has_exponential_of_nan, _keep_nan, order=60, primitives=_EXPONENTIALS)
if _jaxlib.has_fault("sum of products"):
    register_lowering_layer(_has_narrow_product, _sum_separately, order=61, primitives=("dot_general",))
if _jaxlib.has_fault("extrema of NaN"):
    register_lowering_layer(_has_extremum, _with_nan, order=62, primitives=_EXTREMA)
if _jaxlib.has_fault("bounds of terms"):
    register_lowering_layer(_has_bounds_of_terms, _by_comparison, order=63, primitives=_BOUNDS)
