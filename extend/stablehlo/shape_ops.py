"""Operations whose attributes are sizes, for modules of programs.

StableHLO has two forms of such operations: one has the sizes as attributes, the other as operands. The functions here
build the first form. If a size is dynamic, the plugin of its class builds the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.core import _jaxlib
from primax.core.avals import ShapedArray
from primax.core.dimensions import dynamic_kind
from primax.interpreters.runtime.ir_types import aval_to_ir_type, cached_ir_type, ir_constant

__all__ = [
    "broadcast_in_dim",
    "dynamic_slice",
    "iota",
    "pad",
    "padded",
    "reshape",
    "size_value",
    "sizes_value",
    "slice_op",
]

_INT64 = np.dtype(np.int64)


def size_value(size: Any, dtype: Any = _INT64) -> Any:
    """A size as an IR value: a scalar of an integer dtype.

    Raises:
      UnsupportedError: it does not follow from the types of the module's arguments.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.interpreters import mlir
      >>> ir = mlir.ir
      >>> with mlir.make_ir_context(), ir.Location.unknown(), ir.InsertionPoint(ir.Module.create().body):
      ...     print(mlir.size_value(3).type, mlir.size_value(3, np.dtype("int32")).type)
      tensor<i64> tensor<i32>
    """
    kind = dynamic_kind((size,))
    return ir_constant(np.asarray(size, dtype)) if kind is None else kind.lowering.size_value(size, dtype)


def sizes_value(sizes: Sequence[Any]) -> Any:
    """Sizes as an IR value: a vector of type int64."""
    kind = dynamic_kind(sizes)
    return ir_constant(np.array(sizes, _INT64)) if kind is None else kind.lowering.sizes_value(sizes)


# The operations. `ctx` is the context of a lowering rule, which caches types, or None.


def _array(values: Sequence[int]) -> Any:
    return _jaxlib.ir.DenseI64ArrayAttr.get(list(values))


def _operation(
    name: str, ctx: Any, aval_out: Any, operands: Sequence[Any], attributes: dict[str, Any] | None = None
) -> Any:
    """The value of an operation, made without the classes of operations, whose import takes long."""
    kind = aval_to_ir_type(aval_out) if ctx is None else cached_ir_type(ctx.module_context.shared, aval_out)
    return _jaxlib.ir.Operation.create(f"stablehlo.{name}", [kind], operands, attributes).results[0]


def broadcast_in_dim(ctx: Any, op: Any, aval_out: Any, *, broadcast_dimensions: Sequence[int]) -> Any:
    """`op` broadcast to a type; `broadcast_dimensions` are the axes of the result that are axes of `op`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.extend import define_primitive
      >>> from primax.extend.interpreters import mlir
      >>> columns_p = define_primitive(
      ...     "columns",
      ...     abstract_eval=lambda x: x.update(shape=(x.shape[0], 3)),
      ...     lowering=lambda ctx, x: [mlir.broadcast_in_dim(ctx, x, ctx.avals_out[0], broadcast_dimensions=[0])],
      ... )
      >>> px.jit(columns_p.bind)(pnp.array([1, 2]))
      Array([[1, 1, 1],
             [2, 2, 2]], dtype=int32)
    """
    if (kind := dynamic_kind(aval_out.shape)) is not None:
        return kind.lowering.broadcast_in_dim(ctx, op, aval_out, broadcast_dimensions=broadcast_dimensions)
    attributes = {"broadcast_dimensions": _array(broadcast_dimensions)}
    return _operation("broadcast_in_dim", ctx, aval_out, [op], attributes)


def reshape(ctx: Any, op: Any, aval_out: Any) -> Any:
    """`op` in the shape of a type.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.extend import define_primitive
      >>> from primax.extend.interpreters import mlir
      >>> flat_p = define_primitive(
      ...     "flat",
      ...     abstract_eval=lambda x: x.update(shape=(x.size,)),
      ...     lowering=lambda ctx, x: [mlir.reshape(ctx, x, ctx.avals_out[0])],
      ... )
      >>> px.jit(flat_p.bind)(pnp.eye(2))
      Array([1., 0., 0., 1.], dtype=float32)
    """
    if (kind := dynamic_kind(aval_out.shape)) is not None:
        return kind.lowering.reshape(ctx, op, aval_out)
    return _operation("reshape", ctx, aval_out, [op])


def iota(ctx: Any, aval_out: Any, *, dimension: int) -> Any:
    """The positions along an axis.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> from primax.extend import define_primitive
      >>> from primax.extend.interpreters import mlir
      >>> columns_p = define_primitive(
      ...     "column_numbers",
      ...     abstract_eval=lambda x: x,
      ...     lowering=lambda ctx, x: [mlir.iota(ctx, ctx.avals_out[0], dimension=1)],
      ... )
      >>> px.jit(columns_p.bind)(pnp.zeros((2, 3), np.int32))
      Array([[0, 1, 2],
             [0, 1, 2]], dtype=int32)
    """
    if (kind := dynamic_kind(aval_out.shape)) is not None:
        return kind.lowering.iota(ctx, aval_out, dimension=dimension)
    number = _jaxlib.ir.IntegerAttr.get(_jaxlib.ir.IntegerType.get_signless(64), dimension)
    return _operation("iota", ctx, aval_out, [], {"iota_dimension": number})


def slice_op(
    ctx: Any,
    x: Any,
    aval_out: Any,
    *,
    start_indices: Sequence[Any],
    limit_indices: Sequence[Any],
    strides: Sequence[int] | None = None,
) -> Any:
    """The part of `x` from `start_indices` to `limit_indices`, of a type.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.extend import define_primitive
      >>> from primax.extend.interpreters import mlir
      >>> first_p = define_primitive(
      ...     "every_second",
      ...     abstract_eval=lambda x: x.update(shape=(2,)),
      ...     lowering=lambda ctx, x: [
      ...         mlir.slice_op(ctx, x, ctx.avals_out[0], start_indices=[0], limit_indices=[4], strides=[2])
      ...     ],
      ... )
      >>> px.jit(first_p.bind)(pnp.arange(4))
      Array([0, 2], dtype=int32)
    """
    bounds = {
        "start_indices": start_indices,
        "limit_indices": limit_indices,
        "strides": [1] * len(start_indices) if strides is None else strides,
    }
    if (kind := dynamic_kind((*start_indices, *limit_indices))) is not None:
        return kind.lowering.slice_op(ctx, x, aval_out, **bounds)
    return _operation("slice", ctx, aval_out, [x], {name: _array(values) for name, values in bounds.items()})


def dynamic_slice(ctx: Any, aval_out: Any, x: Any, *, start_indices: Sequence[Any]) -> Any:
    """The part of `x` with a given type that begins at computed positions; it is moved to be inside of `x`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.extend import define_primitive
      >>> from primax.extend.interpreters import mlir
      >>> two_p = define_primitive(
      ...     "two_from",
      ...     abstract_eval=lambda x, start: x.update(shape=(2,)),
      ...     lowering=lambda ctx, x, start: [mlir.dynamic_slice(ctx, ctx.avals_out[0], x, start_indices=[start])],
      ... )
      >>> px.jit(two_p.bind)(pnp.arange(4), 9)  # moved inside
      Array([2, 3], dtype=int32)
    """
    if (kind := dynamic_kind(aval_out.shape)) is not None:
        return kind.lowering.dynamic_slice(ctx, aval_out, x, start_indices=start_indices)
    return _operation("dynamic_slice", ctx, aval_out, [x, *start_indices], {"slice_sizes": _array(aval_out.shape)})


def pad(
    ctx: Any,
    aval_out: Any,
    x: Any,
    padding_value: Any,
    padding_low: Sequence[Any],
    padding_high: Sequence[Any],
    padding_interior: Sequence[Any],
) -> Any:
    """`x` with a value before, after and between its elements, of a type.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> import numpy as np
      >>> from primax.extend import define_primitive
      >>> from primax.extend.interpreters import mlir
      >>> apart_p = define_primitive(
      ...     "apart",
      ...     abstract_eval=lambda x, value: x.update(shape=(2 * x.shape[0] - 1,)),
      ...     lowering=lambda ctx, x, value: [mlir.pad(ctx, ctx.avals_out[0], x, value, [0], [0], [1])],
      ... )
      >>> px.jit(apart_p.bind)(pnp.arange(3), np.int32(-1))
      Array([ 0, -1,  1, -1,  2], dtype=int32)
    """
    columns = (padding_low, padding_high, padding_interior)
    if (kind := dynamic_kind([size for column in columns for size in column])) is not None:
        return kind.lowering.pad(ctx, aval_out, x, padding_value, *columns)
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    attributes = {name: _array(column) for name, column in zip(names, columns, strict=True)}
    return _operation("pad", ctx, aval_out, [x, padding_value], attributes)


def padded(ctx: Any, x: Any, padding_value: Any, aval: Any, config: Sequence[tuple[Any, Any, Any]]) -> Any:
    """`pad`, from the type of `x`, which has elements, and the padding of each axis."""
    pairs = zip(aval.shape, config, strict=True)
    shape = [low + size + (size - 1) * inner + high for size, (low, high, inner) in pairs]
    columns = list(zip(*config, strict=True))
    return pad(ctx, ShapedArray(shape, aval.dtype), x, padding_value, *columns)
