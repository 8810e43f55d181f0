"""Reductions of arrays along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primax.extend import core, dtypes, hookimpl
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import canonical_axes, canonical_axis, integers, is_value, renumbered
from primax.extend.provisional.computations import Interpreted, elementwise, read_operands, require_pure, stage
from primax.extend.provisional.dividing import common_axes, dropped_axes, refuse_divided
from primax.extend.provisional.elementwise import ORDERED
from primax.extend.provisional.lowering import cached_ir_type
from primax.extend.provisional.sharding import with_out_sharding
from primax.extend.provisional.typing import ArrayLike, DTypeLike, ShardingLike
from primax.extend.rule_types import Rules, Table
from primax.plugins.arithmetic import add, div, max, min, mul, mul_p
from primax.plugins.bitwise import bitwise_and, bitwise_or, bitwise_xor
from primax.plugins.comparison import eq, ne
from primax.plugins.reductions.monoids import ADD, AND, MAX, MIN, MUL, OR, XOR, Monoid
from primax.plugins.reductions.trees import Combine, fold_along, scan_along
from primax.plugins.resharding import divided_call
from primax.plugins.structural import (
    as_scalar,
    broadcast_in_dim_p,
    broadcasted_iota,
    convert_element_type_p,
    dtype_of,
    optimization_barrier_p,
    reduce_sum,
    reduce_sum_p,
    select_n_p,
)

__all__ = [
    "ADD",
    "Combine",
    "MAX",
    "MIN",
    "MUL",
    "Monoid",
    "argmax",
    "argmax_p",
    "argmin",
    "argmin_p",
    "fold_along",
    "reduce",
    "reduce_and",
    "reduce_and_p",
    "reduce_max",
    "reduce_max_p",
    "reduce_min",
    "reduce_min_p",
    "reduce_or",
    "reduce_or_p",
    "reduce_p",
    "reduce_prod",
    "reduce_prod_p",
    "reduce_sum",
    "reduce_sum_p",
    "reduce_xor",
    "reduce_xor_p",
    "scan_along",
]

argmax_p = core.Primitive("argmax")
argmin_p = core.Primitive("argmin")
reduce_and_p = core.Primitive("reduce_and")
reduce_max_p = core.Primitive("reduce_max")
reduce_min_p = core.Primitive("reduce_min")
reduce_or_p = core.Primitive("reduce_or")
reduce_p = core.Primitive("reduce", multiple_results=True)
reduce_prod_p = core.Primitive("reduce_prod")
reduce_xor_p = core.Primitive("reduce_xor")


def reduce_max(operand: ArrayLike, axes: Sequence[int], *, out_sharding: ShardingLike | None = None) -> Array:
    """The greatest elements along axes; NaN if any element is NaN, -inf or the least integer without elements.

    Args:
      operand: an array; complex numbers are ordered by real part, then imaginary part.
      axes: the axes to reduce, each at most once.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; by default as types
        determine.

    Returns:
      An array of the dtype of `operand` without these axes.

    Raises:
      ValueError: an axis is out of range or repeated.

    >>> import primax as px
    >>> px.lax.reduce_max(px.numpy.array([[1, 5], [3, 4]]), (1,))
    Array([5, 4], dtype=int32)
    """
    return _reduce(reduce_max_p, operand, axes, out_sharding)


def reduce_min(operand: ArrayLike, axes: Sequence[int], *, out_sharding: ShardingLike | None = None) -> Array:
    """The smallest elements along axes; see `reduce_max`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.reduce_min(np.array([[3, 1], [2, 5]]), (0, 1)), lax.reduce_min(np.float32([]), (0,))
      (Array(1, dtype=int32), Array(inf, dtype=float32))
    """
    return _reduce(reduce_min_p, operand, axes, out_sharding)


def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The products of numbers along axes; see `reduce_max`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.reduce_prod(np.array([[1, 2], [3, 4]]), (1,)), lax.reduce_prod(np.float32([]), (0,))
      (Array([ 2, 12], dtype=int32), Array(1., dtype=float32))
    """
    return _reduce(reduce_prod_p, operand, axes)


def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The bitwise 'and' of booleans or integers along axes; see `reduce_max`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.reduce_and(np.array([[True, False], [True, True]]), (0,)), lax.reduce_and(np.uint8([12, 10]), (0,))
      (Array([ True, False], dtype=bool), Array(8, dtype=uint8))
    """
    return _reduce(reduce_and_p, operand, axes)


def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The bitwise 'or' of booleans or integers along axes; see `reduce_max`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.reduce_or(np.uint8([[12, 3], [0, 0]]), (1,))
      Array([15,  0], dtype=uint8)
    """
    return _reduce(reduce_or_p, operand, axes)


def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """The bitwise 'exclusive or' of booleans or integers along axes; see `reduce_max`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.reduce_xor(np.array([5, 7, 5]), (0,))
      Array(7, dtype=int32)
    """
    return _reduce(reduce_xor_p, operand, axes)


def _reduce(primitive: core.Primitive, operand: Any, axes: Sequence[int], out_sharding: Any = None) -> Array:
    axes = integers(axes, primitive.name, "axes")
    if out_sharding is not None:
        return with_out_sharding(primitive.name, lambda x: primitive.bind(x, axes=axes), (operand,), out_sharding)
    if not axes and is_value(operand) and operand.aval.dtype in _MONOIDS[primitive].accepts:
        return operand
    return primitive.bind(operand, axes=axes)


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The positions of the greatest elements along an axis: of the first NaN, or else of the first greatest element.

    Args:
      operand: an array of real numbers or booleans.
      axis: an axis, of length 1 or more.
      index_dtype: the integer dtype of the result.

    Returns:
      An array without that axis.

    Raises:
      TypeError: `operand` is complex, or `index_dtype` is not an integer dtype.
      ValueError: `axis` is out of range, has length 0, or is too long for `index_dtype`.

    >>> import primax as px
    >>> px.lax.argmax(px.numpy.array([[1, 5], [3, 4]]), 1, "int32")
    Array([1, 1], dtype=int32)
    """
    return _arg(argmax_p, operand, axis, index_dtype)


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """The positions of the smallest elements along an axis: of the first NaN, or else of the first smallest element.

    Args, results and errors are those of `argmax`.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.argmin(np.float32([[3, 1], [np.nan, 0]]), 1, np.int32)
      Array([1, 0], dtype=int32)
    """
    return _arg(argmin_p, operand, axis, index_dtype)


def _arg(primitive: core.Primitive, operand: Any, axis: int, index_dtype: Any) -> Array:
    name = primitive.name
    axis = canonical_axis(axis, len(get_aval(operand).shape), name)
    return primitive.bind(operand, axes=(axis,), index_dtype=dtype_of(index_dtype, name, "index_dtype"))


def reduce(
    operands: object,
    init_values: object,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: ShardingLike | None = None,
) -> Any:
    """Reduces arrays along axes by a function of two elements.

    Args:
      operands: an array, or a tree of arrays of the same shape, reduced together.
      init_values: for each array a scalar, the identity of `computation`. A known scalar may have another dtype if that
        of the array holds its value; an infinity stands for the limit of integers in `lax.max` and `lax.min`.
      computation: `(x, y) -> z` on scalars, or on trees of scalars like `operands`. It must be associative.
        It returns a scalar for each array, in any structure.
      dimensions: the axes.
      out_sharding: the shardings of the results along explicit axes of the mesh in scope; by default as types
        determine.

    Returns:
      The arrays without these axes, in the structure that `computation` returns.

    Raises:
      TypeError: the trees, shapes or dtypes do not match, or `computation` closes over traced values.
      ValueError: an axis is out of range or repeated.

    >>> import primax as px
    >>> px.lax.reduce(px.numpy.array([1., 2., 3.]), 0., lambda x, y: x + y, (0,))
    Array(6., dtype=float32)
    """
    if out_sharding is not None:
        return divided_call(reduce, (operands, init_values, computation, dimensions), {}, out_sharding)
    leaves, inits, tree = read_operands("reduce", operands, init_values, computation is max or computation is min)
    axes = canonical_axes(dimensions, len(get_aval(leaves[0]).shape), "reduce", "dimensions")
    if len(leaves) == 1:
        special = _special(computation, inits[0], get_aval(leaves[0]).dtype)
        if special is not None:
            return core.tree.tree_unflatten(tree, [special.bind(leaves[0], axes=axes)])
    jaxpr, tree = stage("reduce", computation, leaves, inits, tree)
    outs = reduce_p.bind(*leaves, *inits, computation=jaxpr, dimensions=axes)
    return core.tree.tree_unflatten(tree, outs)


def _special(computation: Any, init: Any, dtype: Any) -> core.Primitive | None:
    """The primitive for a computation that is a function of primax and starts with its identity."""
    if isinstance(init, core.Tracer) or computation.__hash__ is None:
        return None
    primitive = _BY_FUNCTION.get(computation)
    if primitive is None or dtype not in _MONOIDS[primitive].accepts:
        return None
    return primitive if np.asarray(init) == _MONOIDS[primitive].start(dtype) else None


_MONOIDS: dict[core.Primitive, Monoid] = {
    reduce_sum_p: ADD,
    reduce_prod_p: MUL,
    reduce_max_p: MAX,
    reduce_min_p: MIN,
    reduce_and_p: AND,
    reduce_or_p: OR,
    reduce_xor_p: XOR,
}
_BY_FUNCTION: dict[Any, core.Primitive] = {
    add: reduce_sum_p,
    mul: reduce_prod_p,
    max: reduce_max_p,
    min: reduce_min_p,
    bitwise_and: reduce_and_p,
    bitwise_or: reduce_or_p,
    bitwise_xor: reduce_xor_p,
}


def _check_axes(name: str, aval: ShapedArray, axes: tuple[int, ...]) -> None:
    rank = len(aval.shape)
    if any(not 0 <= axis < rank for axis in axes):
        raise ValueError(f"{name}: axes must be between 0 and the rank {rank}, got {axes} for {aval.str_short()}")
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: axes must be distinct, got {axes} for {aval.str_short()}")


def _without(shape: Any, axes: Any) -> list[int]:
    return [size for i, size in enumerate(shape) if i not in axes]


def _abstract_eval(primitive: core.Primitive, monoid: Monoid) -> Callable[..., ShapedArray]:
    name, accepts = primitive.name, monoid.accepts
    of_bits = primitive in (reduce_and_p, reduce_or_p, reduce_xor_p)

    def abstract_eval(operand: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        if operand.dtype not in accepts:
            hint = accepts.instead(operand.dtype)
            raise TypeError(f"{name}: operand must be {accepts.name}, got {operand.str_short()}{hint}")
        _check_axes(name, operand, axes)
        return ShapedArray(_without(operand.shape, axes), operand.dtype, operand.weak_type and not of_bits)

    abstract_eval.__name__ = f"abstract_eval({name})"
    return abstract_eval


def _extremum_jvp(primitive: core.Primitive) -> Callable[..., Any]:
    """The tangent of a greatest or smallest element: the mean of the tangents of those equal to it, 0 of none."""

    def jvp(t: Any, out: Any, operand: Any, *, axes: tuple[int, ...]) -> Array:
        shape = get_aval(operand).shape
        if 0 in shape:
            return reduce_sum_p.bind(t, axes=axes)
        kept = tuple([i for i in range(len(shape)) if i not in axes])
        spread = broadcast_in_dim_p.bind(out, shape=shape, broadcast_dimensions=kept)
        equal = eq(operand, spread)
        share = convert_element_type_p.bind(equal, new_dtype=get_aval(t).dtype, weak_type=False)
        count = reduce_sum_p.bind(share, axes=axes)
        return div(reduce_sum_p.bind(mul(t, share), axes=axes), count)

    return ad.standard_jvp2(primitive, jvp)


def _prod_jvp(primals: Any, tangents: Any, *, axes: tuple[int, ...]) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    _check_axes("reduce_prod", get_aval(x), axes)
    if type(t) is ad.Zero or 0 in get_aval(x).shape:
        out = reduce_prod_p.bind(x, axes=axes)
        return out, ad.Zero.from_primal_value(out)
    # Division by the factors fails for zeros; a tree of products does not.
    one = MUL.start(get_aval(x).dtype)
    (out,), (tangent,) = ad.jvp_flat(lambda x: fold_along(_mul, [x], axes, [one]), primals, tangents)
    return out, tangent


def _mul(xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
    return [mul_p.bind(*xs, *ys)]


def _lowering(primitive: core.Primitive, monoid: Monoid) -> Callable[..., Any]:
    def lowering(ctx: mlir.LoweringRuleContext, x: Any, *, axes: tuple[int, ...]) -> Sequence[mlir.ir.Value]:
        dtype = ctx.avals_out[0].dtype
        return reduce_region(ctx, [x], [monoid.ir_start(dtype)], monoid.program(dtype), axes)

    lowering.__name__ = f"lower({primitive})"
    return lowering


def reduce_region(
    ctx: mlir.LoweringRuleContext, xs: Any, inits: Any, computation: core.ClosedJaxpr, axes: tuple[int, ...]
) -> Sequence[mlir.ir.Value]:
    """A `stablehlo.reduce` whose region is a program on scalars."""
    ir = mlir.ir
    create = ir.Operation.create  # faster than the classes of operations, whose import takes long
    shared = ctx.module_context.shared
    outs = [cached_ir_type(shared, aval) for aval in ctx.avals_out]
    dimensions = {"dimensions": ir.DenseI64ArrayAttr.get(axes)}
    operation = create("stablehlo.reduce", outs, [*xs, *inits], dimensions, regions=1)
    block = operation.regions[0].blocks.append(*[init.type for init in (*inits, *inits)])
    with ir.InsertionPoint(block):
        create("stablehlo.return", [], mlir.inline_jaxpr(ctx, computation, list(block.arguments)))
    return operation.results


def _arg_abstract_eval(name: str) -> Callable[..., ShapedArray]:
    def abstract_eval(operand: ShapedArray, *, axes: tuple[int, ...], index_dtype: Any) -> ShapedArray:
        if operand.dtype not in ORDERED:
            hint = ORDERED.instead(operand.dtype)
            raise TypeError(f"{name}: operand must be real, got {operand.str_short()}{hint}")
        if not dtypes.is_integer(index_dtype):
            raise TypeError(f"{name}: index_dtype must be an integer dtype, got {index_dtype}")
        _check_axes(name, operand, axes)
        (axis,) = axes
        size = operand.shape[axis]
        if size == 0:
            raise ValueError(f"{name}: axis must have length 1 or more, got axis {axis} of {operand.str_short()}")
        if type(size) is int and size - 1 > dtypes.iinfo(index_dtype).max:
            raise ValueError(
                f"{name}: index_dtype must hold positions up to {size - 1}, "
                f"got {index_dtype} for axis {axis} of {operand.str_short()}"
            )
        return ShapedArray(_without(operand.shape, axes), index_dtype)

    abstract_eval.__name__ = f"abstract_eval({name})"
    return abstract_eval


def _arg_lowering(extremum: core.Primitive) -> Callable[..., Any]:
    """Two vectorized passes take less time than one pass with values and positions.

    The barrier makes XLA compute the operand once for both. Otherwise XLA may compute it again in each pass, with other
    rounding, and the second pass may not find the extremum of the first.
    """

    def position(x: Any, *, axes: tuple[int, ...], index_dtype: Any) -> Array:
        shape, dtype = x.aval.shape, x.aval.dtype
        if dtypes.is_inexact(dtype):
            (x,) = optimization_barrier_p.bind(x)
        kept = tuple([i for i in range(len(shape)) if i not in axes])
        best = extremum.bind(x, axes=axes)
        hit = eq(x, broadcast_in_dim_p.bind(best, shape=shape, broadcast_dimensions=kept))
        if dtypes.is_floating(dtype):
            hit = bitwise_or(hit, ne(x, x))
        places = broadcasted_iota(index_dtype, shape, axes[0])
        last: Any = as_scalar(shape[axes[0]] - 1, index_dtype)
        nowhere = broadcast_in_dim_p.bind(last, shape=shape, broadcast_dimensions=())
        places = select_n_p.bind(hit, nowhere, places)
        return reduce_min_p.bind(places, axes=axes)

    return mlir.lower_fun(position, multiple_results=False)


def _reduce_abstract_eval(
    *avals: ShapedArray, computation: core.ClosedJaxpr, dimensions: tuple[int, ...]
) -> list[ShapedArray]:
    operands = avals[: len(avals) // 2]
    _check_axes("reduce", operands[0], dimensions)
    require_pure("reduce", computation)
    return [
        ShapedArray(_without(aval.shape, dimensions), aval.dtype, out.weak_type)
        for aval, out in zip(operands, computation.out_avals, strict=True)
    ]


def _folded(values: Any, *, computation: core.ClosedJaxpr, dimensions: tuple[int, ...]) -> list[Array] | list[Any]:
    """A reduction as a tree of elementwise operations, which have all rules."""
    count = len(values) // 2
    operands, inits = values[:count], values[count:]
    combine = elementwise(computation)
    shape = _without(get_aval(operands[0]).shape, dimensions)
    starts = [broadcast_in_dim_p.bind(x, shape=tuple(shape), broadcast_dimensions=()) for x in inits]
    if any(get_aval(operands[0]).shape[axis] == 0 for axis in dimensions):
        return starts
    return combine(starts, fold_along(combine, list(operands), dimensions))


def _reduce_jvp(
    primals: Any, tangents: Any, *, computation: core.ClosedJaxpr, dimensions: tuple[int, ...]
) -> tuple[Any, Any]:
    if all(type(t) is ad.Zero for t in tangents):
        outs = reduce_p.bind(*primals, computation=computation, dimensions=dimensions)
        return outs, [ad.Zero.from_primal_value(out) for out in outs]
    return ad.jvp_flat(lambda *xs: _folded(xs, computation=computation, dimensions=dimensions), primals, tangents)


def _reduce_batch(
    axis: batching.AxisData, args: Any, dims: Any, *, computation: core.ClosedJaxpr, dimensions: tuple[int, ...]
) -> tuple[Any, Any]:
    count = len(args) // 2
    if any(dim is not None for dim in dims[count:]):
        return batching.batch_flat(
            lambda *xs: _folded(xs, computation=computation, dimensions=dimensions), axis, args, dims
        )
    if all(dim is None for dim in dims):
        outs = reduce_p.bind(*args, computation=computation, dimensions=dimensions)
        return outs, [None] * count
    where = next(dim for dim in dims if dim is not None)
    operands = [batching.to_dim(x, axis.size, dim, where) for x, dim in zip(args[:count], dims, strict=False)]
    shifted = renumbered(dimensions, where)
    outs = reduce_p.bind(*operands, *args[count:], computation=computation, dimensions=shifted)
    return outs, [where - sum(d < where for d in shifted)] * count


def _reduce_lowering(
    ctx: mlir.LoweringRuleContext, *args: Any, computation: core.ClosedJaxpr, dimensions: tuple[int, ...]
) -> Sequence[mlir.ir.Value]:
    if any(dtypes.is_extended(aval.dtype) for aval in ctx.avals_in):
        fold = lambda *xs: _folded(xs, computation=computation, dimensions=dimensions)  # noqa: E731
        return mlir.lower_fun(fold)(ctx, *args)
    count = len(args) // 2
    return reduce_region(ctx, args[:count], args[count:], computation, dimensions)


def _reduce_sharding_rule(*avals: ShapedArray, computation: core.ClosedJaxpr, dimensions: tuple[int, ...]) -> list[Any]:
    count = len(avals) // 2
    refuse_divided("initial values", avals[count:])
    axes = common_axes(avals[:count])
    return [tuple([names for i, names in enumerate(axes) if i not in dimensions])] * count


_MARKS = {reduce_max_p: "max", reduce_min_p: "min"}
_JVPS = {reduce_max_p: _extremum_jvp(reduce_max_p), reduce_min_p: _extremum_jvp(reduce_min_p), reduce_prod_p: _prod_jvp}


def _rules(primitive: core.Primitive, monoid: Monoid) -> Rules:
    makes_nan: Rules = {"makes_nan": True} if primitive is reduce_prod_p else {}
    return {
        "abstract_eval": _abstract_eval(primitive, monoid),
        "jvp": _JVPS.get(primitive) or ad.zero_jvp(primitive),
        "batch": batching.reducer(primitive),
        "lowering": _lowering(primitive, monoid),
        "sharding": dropped_axes("axes", _MARKS.get(primitive, "")),
        **makes_nan,
    }


def _arg_rules(primitive: core.Primitive, extremum: core.Primitive) -> Rules:
    return {
        "abstract_eval": _arg_abstract_eval(primitive.name),
        "jvp": ad.zero_jvp(primitive),
        "batch": batching.reducer(primitive),
        "lowering": _arg_lowering(extremum),
        "sharding": dropped_axes("axes"),
    }


RULES: Table = {
    **{primitive: _rules(primitive, monoid) for primitive, monoid in _MONOIDS.items() if primitive is not reduce_sum_p},
    argmax_p: _arg_rules(argmax_p, reduce_max_p),
    argmin_p: _arg_rules(argmin_p, reduce_min_p),
    reduce_p: {
        "abstract_eval": _reduce_abstract_eval,
        "jvp": _reduce_jvp,
        "axis_batch": _reduce_batch,
        "lowering": _reduce_lowering,
        "sharding": _reduce_sharding_rule,
        "interpret": Interpreted(_folded),
        "makes_nan": True,
    },
}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.reductions:SAMPLES"], **rules)
