"""Products that contract axes of two arrays."""

from __future__ import annotations

import functools
from operator import index
from typing import Any

import numpy as np

from primax.extend import core, dtypes, hookimpl
from primax.extend.core import Array, ShapedArray
from primax.extend.interpreters import ad, mlir
from primax.extend.interpreters.ad import linear_alone
from primax.extend.provisional.arguments import renumbered
from primax.extend.provisional.derivatives import unreduced_axes
from primax.extend.provisional.lowering import cached_ir_type
from primax.extend.provisional.narrow import in_whole_bytes
from primax.extend.provisional.precision import (
    ALGORITHMS,
    CPU_ALGORITHMS,
    DotAlgorithmPreset,
    Precision,
    PrecisionLike,
    algorithm_attribute,
    canonicalize_precision,
    precision_attribute,
)
from primax.extend.provisional.sharding import unreduced_params, with_out_sharding
from primax.extend.provisional.typing import ArrayLike, DotDimensionNumbers, DTypeLike, ShardingLike
from primax.extend.rule_types import Table
from primax.plugins.dot.first_product import prepare_products
from primax.plugins.structural import convert_element_type_p, transpose_p

__all__ = ["DotAlgorithmPreset", "Precision", "batch_matmul", "dot", "dot_general", "dot_general_p"]

dot_general_p = core.Primitive("dot_general")


def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The sum of products of two arrays over contracting dimensions, for each index of batch dimensions.

    Args:
      lhs: an array.
      rhs: an array.
      dimension_numbers: `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`, each a sequence of
        dimensions; dimensions at the same position of two sequences correspond and have the same size.
      precision: None, 'default', 'high', 'highest', a `Precision`, a pair of these, one for each operand, or
        a `DotAlgorithmPreset`. None stands for the option `default_matmul_precision`.
      preferred_element_type: the dtype to accumulate in and to return; by default that of the wider operand.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope, if types do not determine it.

    Returns:
      An array whose dimensions are the batch dimensions, the remaining ones of `lhs`, then the remaining ones of
      `rhs`.

    Raises:
      TypeError: dimensions are out of range, repeated, or differ in size; the dtypes have no common one.
      ValueError: `precision` is not valid.

    >>> import primax as px
    >>> px.lax.dot_general(px.numpy.array([[1., 2.]]), px.numpy.array([[3.], [4.]]), (((1,), (0,)), ((), ())))
    Array([[11.]], dtype=float32)
    """
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_user_dtype(
            preferred_element_type, "preferred_element_type", "dot_general"
        )
    params = {
        "dimension_numbers": _canonicalize(dimension_numbers),
        "precision": canonicalize_precision(precision),
        "preferred_element_type": preferred_element_type,
    }
    if out_sharding is not None:
        bind = functools.partial(dot_general, **params)
        return with_out_sharding("dot_general", bind, (lhs, rhs), out_sharding)
    return dot_general_p.bind(lhs, rhs, **params, **unreduced_params())


def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """The product of two vectors or matrices; with `dimension_numbers`, the same as `dot_general`.

    Args:
      lhs: an array of shape (m, k) or (k,).
      rhs: an array of shape (k, n) or (k,).
      dimension_numbers: see `dot_general`.
      precision: see `dot_general`.
      preferred_element_type: see `dot_general`.
      out_sharding: see `dot_general`.

    Raises:
      ValueError: the shapes differ from these, and there are no `dimension_numbers`.

    >>> import primax as px
    >>> px.lax.dot(px.numpy.array([1., 2.]), px.numpy.array([3., 4.]))
    Array(11., dtype=float32)
    """
    if dimension_numbers is None:
        x, y = _shape(lhs), _shape(rhs)
        if not (1 <= len(x) <= 2 and 1 <= len(y) <= 2 and x[-1] == y[0]):
            raise ValueError(
                "dot: lhs and rhs must be vectors or matrices whose inner sizes agree, or dimension_numbers "
                f"must be given, got shapes {x} and {y}"
            )
        dimension_numbers = _MATRIX_PRODUCTS[len(x)]
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding)


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """The matrix products of two stacks of matrices.

    Args:
      lhs: an array of shape (..., m, k).
      rhs: an array of shape (..., k, n), with the leading dimensions of `lhs`.
      precision: see `dot_general`.

    Returns:
      An array of shape (..., m, n).

    Raises:
      TypeError: the leading dimensions or the inner sizes differ.

    >>> import primax as px, numpy as np
    >>> px.lax.batch_matmul(np.ones((5, 2, 3)), np.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    x, y = _shape(lhs), _shape(rhs)
    if len(x) < 2 or len(x) != len(y):
        raise TypeError(f"batch_matmul: lhs and rhs must have the same rank, of 2 or more, got shapes {x} and {y}")
    batch = tuple(range(len(x) - 2))
    return dot_general(lhs, rhs, (((len(x) - 1,), (len(x) - 2,)), (batch, batch)), precision)


def _shape(x: Any) -> tuple[int, ...]:
    return core.get_aval(x).shape


_MATRIX_PRODUCTS = {1: (((0,), (0,)), ((), ())), 2: (((1,), (0,)), ((), ()))}
_canonical: dict[Any, Any] = {numbers: numbers for numbers in _MATRIX_PRODUCTS.values()}


def _canonicalize(
    numbers: Any,
) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]] | Array:
    """Dimension numbers as nested tuples of ints."""
    try:
        known = _canonical.get(numbers)
        if known is not None:
            return known
    except TypeError:
        pass
    try:
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
        canonical = (_ints(lhs_contract), _ints(rhs_contract)), (_ints(lhs_batch), _ints(rhs_batch))
    except core.ConcretizationTypeError:
        raise
    except (TypeError, ValueError):
        raise TypeError(
            "dot_general: dimension_numbers must be ((lhs_contracting, rhs_contracting), "
            f"(lhs_batch, rhs_batch)), four sequences of ints, got {numbers!r}"
        ) from None
    if len(_canonical) < 1024:
        _canonical[canonical] = canonical
    return canonical


def _ints(dims: Any) -> tuple[int, ...]:
    return tuple(map(index, dims))


def _kept(ndim: int, contract: Any, batch: Any) -> list[int]:
    """The dimensions that are neither contracted nor batched."""
    return [d for d in range(ndim) if d not in contract and d not in batch]


def _dot_general_abstract_eval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    unreduced_axes: Any = (),
) -> ShapedArray:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    _check_dimensions("lhs", lhs, lhs_contract, lhs_batch)
    _check_dimensions("rhs", rhs, rhs_contract, rhs_batch)
    for kind, x, y in (("contracting", lhs_contract, rhs_contract), ("batch", lhs_batch, rhs_batch)):
        sizes = [lhs.shape[d] for d in x], [rhs.shape[d] for d in y]
        if sizes[0] != sizes[1]:
            raise TypeError(
                f"dot_general: {kind} dimensions must have equal sizes, got {tuple(sizes[0])} for dimensions "
                f"{x} of lhs {lhs.str_short()} and {tuple(sizes[1])} for dimensions {y} of rhs "
                f"{rhs.str_short()}"
            )
    shape = (
        *(lhs.shape[d] for d in lhs_batch),
        *(lhs.shape[d] for d in _kept(lhs.ndim, lhs_contract, lhs_batch)),
        *(rhs.shape[d] for d in _kept(rhs.ndim, rhs_contract, rhs_batch)),
    )
    dtype = _result_dtype(lhs.dtype, rhs.dtype)
    if preferred_element_type is not None and preferred_element_type != dtype:
        _check_preferred(preferred_element_type, dtype, precision)
        dtype = preferred_element_type
    return ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)


def _check_dimensions(side: str, aval: ShapedArray, contract: Any, batch: Any) -> None:
    dims = (*contract, *batch)
    got = f"got contracting {contract} and batch {batch} for {aval.str_short()}"
    if any(not 0 <= d < aval.ndim for d in dims):
        raise TypeError(f"dot_general: dimensions of {side} must be between 0 and its rank {aval.ndim}, {got}")
    if len(set(dims)) != len(dims):
        raise TypeError(f"dot_general: dimensions of {side} must be distinct, {got}")


def _width(dtype: Any) -> tuple[Any, Any, Any, Any, Any]:
    """The sort key by which the wider of two dtypes is chosen, as in XLA."""
    if not isinstance(dtype, np.dtype):
        hint = dtypes.instead_of_arithmetic(dtype)
        raise TypeError(f"dot_general: operands must be numbers or booleans, got dtype {dtype}{hint}")
    if dtypes.is_inexact(dtype):
        limits = dtypes.finfo(dtype)
        return dtypes.is_complex(dtype), limits.maxexp, limits.nmant, limits.bits, True
    bits = 1 if dtypes.is_bool(dtype) else dtypes.itemsize_bits(dtype)
    return False, -1, -1, bits, not dtypes.is_unsigned_integer(dtype)


def _result_dtype(lhs: Any, rhs: Any) -> np.dtype[Any]:
    if lhs == rhs:
        _width(lhs)
        return lhs
    widths = _width(lhs), _width(rhs)
    if widths[0] == widths[1]:
        raise TypeError(f"dot_general: one of the dtypes of lhs and rhs must be wider, got {lhs} and {rhs}")
    return lhs if widths[0] > widths[1] else rhs


def _check_preferred(preferred: Any, dtype: Any, precision: Any) -> None:
    if dtypes.is_complex(dtype) and not dtypes.is_complex(preferred):
        raise TypeError(
            f"dot_general: preferred_element_type must be complex for a product of {dtype}, got {preferred}"
        )
    if (
        not dtypes.is_floating(dtype)
        and not isinstance(precision, DotAlgorithmPreset)
        and dtypes.itemsize_bits(preferred) < dtypes.itemsize_bits(dtype)
    ):
        raise TypeError(
            f"dot_general: preferred_element_type must not be narrower than the result, got {preferred} for {dtype}"
        )


_product_rule = ad.bilinear_jvp(dot_general_p)


@linear_alone
def _dot_general_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    preferred = params["preferred_element_type"]
    if preferred is None or dtypes.is_inexact(preferred):
        return _product_rule(primals, tangents, **params)
    out = dot_general_p.bind(*primals, **params)
    return out, ad.Zero.from_primal_value(out)


def _dot_general_transpose(
    ct: Any,
    x: Any,
    y: Any,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    unreduced_axes: Any = (),
) -> tuple[Any, Any]:
    of_rhs = type(y) is ad.UndefinedPrimal
    if of_rhs == (type(x) is ad.UndefinedPrimal):
        raise TypeError("dot_general is linear in each of its arguments, but not in both at once")
    unknown, other = (y, x) if of_rhs else (x, y)
    if type(ct) is ad.Zero:
        bar: Any = ad.Zero(unknown.aval)
    else:
        options = (dimension_numbers, precision, preferred_element_type)
        bar = _pull_back(ct, unknown.aval, other, of_rhs, *options)
    return (None, bar) if of_rhs else (bar, None)


def _pull_back(
    ct: Any, aval: ShapedArray, other: Any, of_rhs: bool, numbers: Any, precision: Any, preferred: Any
) -> Array:
    """The cotangent of the operand of type `aval`: the result's cotangent times the other operand.

    Of the two orders of factors, the one without a transposition is used, if there is one.
    """
    contract, other_contract = numbers[0][of_rhs], numbers[0][not of_rhs]
    batch, other_batch = numbers[1][of_rhs], numbers[1][not of_rhs]
    other_aval = core.get_aval(other)
    kept = _kept(aval.ndim, contract, batch)
    other_kept = _kept(other_aval.ndim, other_contract, other_batch)
    count, rank = len(batch), core.get_aval(ct).ndim
    ct_batch = tuple(range(count))
    mine = rank - len(kept) if of_rhs else count
    summed = tuple(d for d in range(count, rank) if not mine <= d < mine + len(kept))
    matched = [own for _, own in sorted(zip(other_contract, contract, strict=True))]
    if precision.__class__ is tuple and of_rhs:
        precision = precision[::-1]

    ct_first = [*batch, *kept, *matched]
    other_first = [*batch, *matched, *kept]
    if ct_first != sorted(ct_first) and other_first == sorted(other_first):
        operands, order = (other, ct), other_first
        dims: Any = (tuple(other_kept), summed), (other_batch, ct_batch)
        if precision.__class__ is tuple:
            precision = precision[::-1]
    else:
        operands, order = (ct, other), ct_first
        dims = (summed, tuple(other_kept)), (ct_batch, other_batch)
    natural = _result_dtype(core.get_aval(ct).dtype, other_aval.dtype)
    bar = dot_general_p.bind(
        *operands,
        dimension_numbers=dims,
        precision=precision,
        preferred_element_type=preferred if preferred == natural else None,
        **unreduced_axes(aval),
    )
    if order != sorted(order):
        bar = transpose_p.bind(bar, permutation=tuple(sorted(range(len(order)), key=order.__getitem__)))
    if natural == aval.dtype:
        return bar
    return convert_element_type_p.bind(bar, new_dtype=aval.dtype, weak_type=False)


def _dot_general_batch(args: Any, dims: Any, *, dimension_numbers: Any, **params: Any) -> tuple[Any, Any]:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    lhs, rhs = args
    lhs_dim, rhs_dim = dims
    if lhs_dim is not None:
        lhs_contract, lhs_batch = renumbered(lhs_contract, lhs_dim), renumbered(lhs_batch, lhs_dim)
    if rhs_dim is not None:
        rhs_contract, rhs_batch = renumbered(rhs_contract, rhs_dim), renumbered(rhs_batch, rhs_dim)
    if rhs_dim is None:
        kept = _kept(core.get_aval(lhs).ndim, lhs_contract, lhs_batch)
        out_dim = len(lhs_batch) + kept.index(lhs_dim)
    elif lhs_dim is None:
        kept = _kept(core.get_aval(rhs).ndim, rhs_contract, rhs_batch)
        if len(kept) == 1:
            return _dot_general_of_vectors(lhs, rhs, (lhs_contract, rhs_contract), (lhs_batch, rhs_batch), params)
        before = core.get_aval(lhs).ndim - len(lhs_contract)
        out_dim = before + kept.index(rhs_dim)
    else:
        lhs_batch, rhs_batch, out_dim = (lhs_dim, *lhs_batch), (rhs_dim, *rhs_batch), 0
    numbers = (lhs_contract, rhs_contract), (lhs_batch, rhs_batch)
    return dot_general_p.bind(lhs, rhs, dimension_numbers=numbers, **params), out_dim


def _dot_general_of_vectors(lhs: Any, rhs: Any, contract: Any, batch: Any, params: Any) -> tuple[Any, Any]:
    """Many vectors times one matrix, in the order that puts the mapped axis first, as other rules need it.

    With the mapped axis last, every product with another mapped array would transpose the result.
    """
    precision = params["precision"]
    swapped = precision[::-1] if precision.__class__ is tuple else precision
    numbers = contract[::-1], batch[::-1]
    return dot_general_p.bind(rhs, lhs, **{**params, "dimension_numbers": numbers, "precision": swapped}), len(batch[0])


def _dot_general_lowering(
    ctx: mlir.LoweringRuleContext,
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    unreduced_axes: Any = (),
) -> list[Any]:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    hlo = mlir.hlo
    lhs_aval, rhs_aval = ctx.avals_in
    out_aval = computed = ctx.avals_out[0]
    attributes = {
        "dot_dimension_numbers": hlo.DotDimensionNumbers.get(
            list(lhs_batch), list(rhs_batch), list(lhs_contract), list(rhs_contract)
        ),
        "precision_config": precision_attribute(precision),
    }
    algorithm = ALGORITHMS.get(precision) if precision.__class__ is DotAlgorithmPreset else None
    if algorithm is not None:
        lhs_dtype, rhs_dtype = _operand_dtypes(ctx, precision, algorithm)
        attributes["algorithm"] = algorithm_attribute(algorithm, lhs_dtype, rhs_dtype)
        if algorithm.results and out_aval.dtype not in algorithm.results:
            computed = out_aval.update(dtype=algorithm.results[0])
    elif lhs_aval.dtype == rhs_aval.dtype or (_is_float8(lhs_aval.dtype) and _is_float8(rhs_aval.dtype)):
        lhs_dtype, rhs_dtype = lhs_aval.dtype, rhs_aval.dtype  # XLA accepts two kinds of 8 bits directly
    else:
        lhs_dtype = rhs_dtype = max(out_aval.dtype, _result_dtype(lhs_aval.dtype, rhs_aval.dtype), key=_width)
    operands = [_convert(ctx, lhs, lhs_aval, lhs_dtype), _convert(ctx, rhs, rhs_aval, rhs_dtype)]
    if computed.dtype == np.float32 and ctx.module_context.platform == "cpu":
        ctx.module_context.before_compile.add(prepare_products)
    result = cached_ir_type(ctx.module_context.shared, computed)
    product = mlir.ir.Operation.create("stablehlo.dot_general", [result], operands, attributes).result
    return [_convert(ctx, product, computed, out_aval.dtype)]


def _operand_dtypes(ctx: mlir.LoweringRuleContext, preset: Any, algorithm: Any) -> tuple[Any, Any]:
    """The dtypes that an algorithm requires for its operands."""
    lhs, rhs = (aval.dtype for aval in ctx.avals_in)
    platform = ctx.module_context.platform
    if platform == "cpu" and preset not in CPU_ALGORITHMS:
        known = ", ".join(sorted(one.name for one in CPU_ALGORITHMS))
        raise ValueError(f"dot_general: precision must be one of {known} on platform 'cpu', got {preset.name}")
    if not algorithm.operands:
        if not (_is_float8(lhs) and _is_float8(rhs)):
            raise ValueError(f"dot_general: operands must be float8 for {preset.name}, got {lhs} and {rhs}")
        return lhs, rhs
    if lhs == rhs and lhs in algorithm.operands:
        return lhs, rhs
    return algorithm.operands[-1], algorithm.operands[-1]


def _is_float8(dtype: Any) -> bool:
    return bool(dtype.name.startswith("float8"))


def _convert(ctx: mlir.LoweringRuleContext, x: Any, aval: ShapedArray, dtype: Any) -> mlir.ir.Value:
    if aval.dtype == dtype:
        return x
    result = cached_ir_type(ctx.module_context.shared, aval.update(dtype=dtype))
    return mlir.ir.Operation.create("stablehlo.convert", [result], [x]).result


def _dot_general_print(params: Any) -> dict[str, Any]:
    """Only parameters that differ from their defaults, with dimensions as lists."""
    contract, batch = params["dimension_numbers"]
    shown = {"dimension_numbers": (tuple(map(list, contract)), tuple(map(list, batch)))}
    rest = ("precision", "preferred_element_type")
    axes = {"unreduced_axes": params["unreduced_axes"]} if params.get("unreduced_axes") else {}
    return shown | {name: params[name] for name in rest if params[name] is not None} | axes


def _dot_general_sharding_rule(lhs: ShapedArray, rhs: ShapedArray, *, dimension_numbers: Any, **params: Any) -> str:
    """`b i k:sum, b k j -> b i j`."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    left = [f"i{d}" for d in range(lhs.ndim)]
    right = [f"j{d}" for d in range(rhs.ndim)]
    for i, j in zip(lhs_contract, rhs_contract, strict=True):
        left[i] = right[j] = f"k{i}:sum"
    for i, j in zip(lhs_batch, rhs_batch, strict=True):
        left[i] = right[j] = f"b{i}"
    kept = [
        *(left[d] for d in lhs_batch),
        *(left[d] for d in _kept(lhs.ndim, lhs_contract, lhs_batch)),
        *(right[d] for d in _kept(rhs.ndim, rhs_contract, rhs_batch)),
    ]
    return f"{' '.join(left)}, {' '.join(right)} -> {' '.join(kept)}"


RULES: Table = {
    dot_general_p: {
        "abstract_eval": _dot_general_abstract_eval,
        "jvp": _dot_general_jvp,
        "transpose": _dot_general_transpose,
        "batch": _dot_general_batch,
        "sharding": _dot_general_sharding_rule,
        "lowering": in_whole_bytes(_dot_general_lowering),
        "print": _dot_general_print,
        "makes_nan": True,
    },
}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.dot:SAMPLES"], **rules)
