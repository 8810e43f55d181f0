"""Arrays in other shapes: broadcasts, sums over axes, reshapes, permutations and removal of axes, tiling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import (
    canonical_axes,
    canonical_shape,
    incompatible_shapes,
    inserted,
    integer,
    integers,
    is_value,
    listed,
    shape_or_size,
)
from primax.extend.provisional.derivatives import unreduced_axes
from primax.extend.provisional.elementwise import SUMMABLE
from primax.extend.provisional.lowering import cached_ir_type
from primax.extend.provisional.sharding import unreduced_params, with_out_sharding
from primax.extend.provisional.typing import ArrayLike, Shape, ShapeLike, ShardingLike
from primax.extend.rule_types import Rules, Table

broadcast_in_dim_p = core.Primitive("broadcast_in_dim")
reshape_p = core.Primitive("reshape")
transpose_p = core.Primitive("transpose")
squeeze_p = core.Primitive("squeeze")
reduce_sum_p = core.Primitive("reduce_sum")
tile_p = core.Primitive("tile")


def broadcast_in_dim(
    operand: ArrayLike,
    shape: Shape,
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Broadcasts an array along new axes, and along its axes of length 1.

    Args:
      operand: an array.
      shape: the shape of the result.
      broadcast_dimensions: for each axis of `operand` the corresponding axis of the result. If they do not increase,
        `operand` is transposed first, because those of the primitive increase.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; by default as types
        determine.

    Returns:
      An array of the given shape and the dtype of `operand`.

    Raises:
      TypeError: the number of dimensions is not the rank of `operand`, they are not different axes of `shape`, or an
        axis has neither length 1 nor that of the corresponding axis.

    >>> import primax as px
    >>> px.lax.broadcast_in_dim(px.numpy.array([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int32)
    """
    if out_sharding is not None:
        return with_out_sharding(
            "broadcast_in_dim",
            lambda operand: broadcast_in_dim(operand, shape, broadcast_dimensions),
            (operand,),
            out_sharding,
        )
    shape = canonical_shape(shape, "broadcast_in_dim")
    dims = integers(broadcast_dimensions, "broadcast_in_dim", "broadcast_dimensions")
    if is_value(operand) and operand.aval.shape == shape and dims == tuple(range(len(shape))):
        return operand
    increasing = tuple(sorted(dims))
    if increasing != dims and len(set(dims)) == len(dims) == len(get_aval(operand).shape):
        if increasing[0] < 0 or increasing[-1] >= len(shape):
            raise TypeError(
                f"broadcast_in_dim: broadcast_dimensions must be different axes among the {len(shape)} of shape "
                f"{shape}, got {dims}"
            )
        operand = transpose(operand, tuple([dims.index(dim) for dim in increasing]))
        dims = increasing
    return broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=dims)


def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: ShardingLike | None = None) -> Array:
    """Repeats an array along new leading axes of the given sizes.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.broadcast(np.array([1, 2]), (2, 1)).shape
      (2, 1, 2)
    """
    if out_sharding is not None:
        return with_out_sharding("broadcast", lambda operand: broadcast(operand, sizes), (operand,), out_sharding)
    sizes = canonical_shape(sizes, "broadcast", "sizes")
    if not sizes and is_value(operand):
        return operand
    shape = get_aval(operand).shape
    dims = tuple(range(len(sizes), len(sizes) + len(shape)))
    return broadcast_in_dim_p.bind(operand, shape=sizes + shape, broadcast_dimensions=dims)


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """An array with new leading axes of length 1, up to a given rank.

    Raises:
      ValueError: the array has more axes.

    >>> import primax as px
    >>> px.lax.broadcast_to_rank(px.numpy.ones(3), 2).shape
    (1, 3)
    """
    shape, rank = get_aval(x).shape, integer("broadcast_to_rank", "rank", rank)
    if rank < len(shape):
        raise ValueError(f"broadcast_to_rank: rank must be at least {len(shape)}, the rank of x, got {rank}")
    try:
        return broadcast(x, (1,) * (rank - len(shape)))
    except (MemoryError, OverflowError):
        raise ValueError(
            f"broadcast_to_rank: rank must be a number of axes that fits into memory, got {rank}"
        ) from None


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """An array broadcast to the shape of another.

    Args:
      arr: an array whose axes, counted from the last, have length 1 or that of `like_arr`.
      like_arr: an array.

    Raises:
      ValueError: an axis has another length, or there are too many.

    >>> import primax as px
    >>> px.lax.broadcast_like(px.numpy.ones(3), px.numpy.ones((2, 3))).shape
    (2, 3)
    """
    own, shape = get_aval(arr).shape, get_aval(like_arr).shape
    if own == shape and is_value(arr):
        return arr
    first = len(shape) - len(own)
    if first < 0 or any(size not in (1, target) for size, target in zip(own, shape[first:], strict=True)):
        raise ValueError(f"broadcast_like: arr must be broadcastable to the shape of like_arr, {shape}, got {own}")
    return broadcast_in_dim_p.bind(arr, shape=shape, broadcast_dimensions=tuple(range(first, len(shape))))


def broadcast_shapes(*shapes: ShapeLike) -> tuple[int, ...]:
    """Returns the common shape to which arrays of the given shapes broadcast.

    Raises:
      TypeError: an element of a shape is not a non-negative integer.
      ValueError: two lengths of one axis differ, and neither is 1.

    >>> import primax as px
    >>> px.lax.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    read = [canonical_shape(listed(shape), "broadcast_shapes", "shapes") for shape in shapes]
    rank = max(map(len, read), default=0)
    result = [1] * rank
    for shape in read:
        for axis, size in enumerate(shape, rank - len(shape)):
            if size != 1 and size != result[axis]:
                if result[axis] != 1:
                    raise ValueError(f"broadcast_shapes got {incompatible_shapes(read)}")
                result[axis] = size
    return tuple(result)


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Inserts axes of length 1.

    Args:
      array: an array.
      dimensions: the positions of the new axes in the result; negative ones count from its end.

    Raises:
      ValueError: an axis is out of range or repeated.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.expand_dims(np.ones((2, 3)), (0, -1)).shape
      (1, 2, 3, 1)
    """
    return insert_axes(array, dimensions, "dimensions")


def insert_axes(array: Any, dimensions: Sequence[int], argument: str) -> Array:
    """`expand_dims`, with the name of its second argument for errors."""
    shape = get_aval(array).shape
    listed = integers(dimensions, "expand_dims", argument)
    rank = len(shape) + len(listed)
    if any(not -rank <= axis < rank for axis in listed):
        raise AxisError(
            f"expand_dims: {argument} must be in [{-rank}, {rank}) for a result of rank {rank}, got {tuple(listed)} "
            f"for an array of rank {len(shape)}"
        )
    if len({axis % rank for axis in listed}) < len(listed):
        raise ValueError(f"expand_dims: {argument} must be distinct axes of the result, got {tuple(listed)}")
    new = [axis % rank for axis in listed]
    if not new and is_value(array):
        return array
    inserted = set(new)
    kept = tuple([axis for axis in range(rank) if axis not in inserted])
    sizes = [1] * rank
    for axis, size in zip(kept, shape, strict=True):
        sizes[axis] = size
    return broadcast_in_dim_p.bind(array, shape=tuple(sizes), broadcast_dimensions=kept)


def reshape(
    operand: ArrayLike,
    new_sizes: ShapeLike,
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Returns an array with the same elements, in order, and another shape.

    Args:
      operand: an array.
      new_sizes: the shape of the result; an int for one axis.
      dimensions: the order in which the axes of `operand` are read; by default from the first to the last.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; by default as types
        determine.

    Raises:
      TypeError: the shapes have different numbers of elements.
      ValueError: `dimensions` is not a permutation of the axes.

    >>> import primax as px
    >>> px.lax.reshape(px.numpy.array([1, 2, 3, 4]), (2, 2))
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if out_sharding is not None:
        return with_out_sharding("reshape", lambda x: reshape(x, new_sizes, dimensions), (operand,), out_sharding)
    shape = shape_or_size(new_sizes, "reshape", "new_sizes")
    if dimensions is not None:
        rank = len(get_aval(operand).shape)
        order = canonical_axes(dimensions, rank, "reshape", "dimensions")
        if len(order) != rank:
            raise ValueError(f"reshape: dimensions must be a permutation of {rank} axes, got {tuple(dimensions)}")
        operand = transpose(operand, order)
    if is_value(operand) and operand.aval.shape == shape:
        return operand
    return reshape_p.bind(operand, new_sizes=shape, dimensions=None)


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Merges the axes from `start_dimension` up to, not including, `stop_dimension` (or the end) into one.

    Raises:
      ValueError: an axis is out of range, or `stop_dimension` precedes `start_dimension`.

    Examples:
      >>> from primax import lax
      >>> import primax.numpy as pnp
      >>> x = pnp.ones((2, 3, 4, 5))
      >>> lax.collapse(x, 1, 3).shape, lax.collapse(x, -2).shape
      ((2, 12, 5), (2, 3, 20))
    """
    shape = get_aval(operand).shape
    rank = len(shape)
    start_dimension = integer("collapse", "start_dimension", start_dimension)
    if stop_dimension is not None:
        stop_dimension = integer("collapse", "stop_dimension", stop_dimension)
    low, high, _ = slice(start_dimension, stop_dimension).indices(rank)
    if stop_dimension is not None and not -rank <= stop_dimension <= rank:
        raise ValueError(
            f"collapse: stop_dimension must be in [{-rank}, {rank}], got {stop_dimension} for an array of rank {rank}"
        )
    if not -rank <= start_dimension <= rank:
        raise AxisError(
            f"collapse: start_dimension must be in [{-rank}, {rank}], got {start_dimension} for an array of rank {rank}"
        )
    if high < low:
        raise ValueError(
            f"collapse: stop_dimension must not come before start_dimension, got {stop_dimension} and {start_dimension}"
        )
    return reshape(operand, (*shape[:low], math.prod(shape[low:high]), *shape[high:]))


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """Permutes the axes of an array.

    Args:
      operand: an array.
      permutation: for each axis of the result the corresponding axis of `operand`.

    Raises:
      TypeError: `permutation` is not a permutation of the axes.

    >>> import primax as px
    >>> px.lax.transpose(px.numpy.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    order = integers(permutation, "transpose", "permutation")
    if is_value(operand) and order == tuple(range(len(operand.aval.shape))):
        return operand
    return transpose_p.bind(operand, permutation=order)


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Drops axes of length 1.

    Args:
      array: an array.
      dimensions: the axes; negative ones count from the end.

    Raises:
      ValueError: an axis is out of range, repeated, or not of length 1.

    Examples:
      >>> from primax import lax
      >>> import numpy as np
      >>> lax.squeeze(np.ones((1, 3, 1)), (0,)).shape
      (3, 1)
    """
    axes = canonical_axes(dimensions, len(get_aval(array).shape), "squeeze", "dimensions")
    if not axes and is_value(array):
        return array
    return squeeze_p.bind(array, dimensions=axes)


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """An array repeated as a whole along each axis.

    Args:
      operand: an array.
      reps: for each axis the number of repetitions.

    Raises:
      TypeError: the length of `reps` is not the rank of `operand`, or an entry is negative.

    >>> import primax as px
    >>> px.lax.tile(px.numpy.array([1, 2]), (2,))
    Array([1, 2, 1, 2], dtype=int32)
    """
    reps = canonical_shape(reps, "tile", "reps")
    if is_value(operand) and len(reps) == len(operand.aval.shape) and all(n == 1 for n in reps):
        return operand
    return tile_p.bind(operand, reps=reps)


def reduce_sum(operand: ArrayLike, axes: Sequence[int], *, out_sharding: ShardingLike | None = None) -> Array:
    """Sums an array over axes.

    Args:
      operand: an array of numbers.
      axes: the axes of the sum, each at most once.
      out_sharding: the sharding of the result along explicit axes of the mesh in scope; by default as types
        determine.

    Returns:
      An array of the dtype of `operand` without these axes.

    Raises:
      TypeError: `operand` is boolean.
      ValueError: an axis is out of range or repeated.

    >>> import primax as px
    >>> px.lax.reduce_sum(px.numpy.array([[1, 2], [3, 4]]), (1,))
    Array([3, 7], dtype=int32)
    """
    axes = integers(axes, "reduce_sum", "axes")
    if out_sharding is not None:
        return with_out_sharding("reduce_sum", lambda x: reduce_sum(x, axes), (operand,), out_sharding)
    if not axes and is_value(operand) and dtypes.is_numeric(operand.dtype):
        return operand
    return reduce_sum_p.bind(operand, axes=axes, **unreduced_params())


def repeat(x: Any, shape: tuple[int, ...]) -> Any:
    """An operand of an elementwise primitive, broadcast to the shape of its result.

    Args:
      x: a value of that shape, of rank 0, or of that rank with axes of length 1.
      shape: the shape of the result.
    """
    before = get_aval(x).shape
    if before == shape:
        return x
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=tuple(range(len(before))))


def unbroadcast(aval: Any, ct: Any) -> Any:
    """A cotangent, summed to the shape of an operand that was broadcast.

    Args:
      aval: the type of the operand; of rank 0, or with broadcast axes of length 1 or missing leading axes.
      ct: the cotangent of the broadcast operand, possibly a symbolic zero.
    """
    if type(ct) is ad.Zero:
        return ad.Zero(aval.to_tangent_aval())
    own = get_aval(ct)
    if own is aval:
        return ct
    shape, ct_shape = aval.shape, own.shape
    if shape == ct_shape:
        return ct
    if not shape:
        return reduce_sum_p.bind(ct, axes=tuple(range(len(ct_shape))), **unreduced_axes(aval))
    missing = len(ct_shape) - len(shape)
    axes = [i for i, size in enumerate(ct_shape) if i < missing or (shape[i - missing] == 1 and size != 1)]
    total = reduce_sum_p.bind(ct, axes=tuple(axes), **unreduced_axes(aval))
    return reshape(total, shape)


def _broadcast_in_dim_abstract_eval(
    operand: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> ShapedArray:
    dims = broadcast_dimensions
    if len(dims) != len(operand.shape):
        raise TypeError(
            f"broadcast_in_dim: broadcast_dimensions must have one entry per axis of operand, "
            f"got {len(dims)} in {dims} for {operand.str_short()}"
        )
    for before, after in zip((-1, *dims), dims, strict=False):
        if not before < after < len(shape):
            raise TypeError(
                f"broadcast_in_dim: broadcast_dimensions must increase within the {len(shape)} axes of "
                f"shape {shape}, got {dims} for {operand.str_short()}"
            )
    for axis, (size, dim) in enumerate(zip(operand.shape, dims, strict=True)):
        if size != 1 and size != shape[dim]:
            raise TypeError(
                f"broadcast_in_dim: axes of operand must have length 1 or that of the axis they become, "
                f"got {size} in axis {axis} of {operand.str_short()} "
                f"and {shape[dim]} in axis {dim} of shape {shape}"
            )
    return ShapedArray(shape, operand.dtype, operand.weak_type, vma=operand.vma)


def _broadcast_in_dim_transpose(ct: Any, operand: Any, *, shape: Any, broadcast_dimensions: Any) -> list[Any]:
    kept = operand.aval.shape
    stretched = [dim for size, dim in zip(kept, broadcast_dimensions, strict=True) if size == 1 and shape[dim] != 1]
    axes = tuple([i for i in range(len(shape)) if i in stretched or i not in broadcast_dimensions])
    total = reduce_sum_p.bind(ct, axes=axes, **unreduced_axes(operand.aval)) if axes else ct
    return [reshape(total, kept) if stretched else total]


def _broadcast_in_dim_batch(args: Any, dims: Any, *, shape: Any, broadcast_dimensions: Any) -> tuple[Any, Any]:
    (x,), (dim,) = args, dims
    size = get_aval(x).shape[dim]
    # The batch axis stays after the same axis of the operand, so no axis moves. A leading one stays the first, since
    # sums over later axes are faster.
    place = broadcast_dimensions[dim - 1] + 1 if dim else 0
    moved = [d if d < place else d + 1 for d in broadcast_dimensions]
    new_dims = (*moved[:dim], place, *moved[dim:])
    new_shape = (*shape[:place], size, *shape[place:])
    return broadcast_in_dim_p.bind(x, shape=new_shape, broadcast_dimensions=new_dims), place


def _broadcast_in_dim_lowering(ctx: Any, x: Any, *, shape: Any, broadcast_dimensions: Any) -> Sequence[mlir.ir.Value]:
    return [mlir.broadcast_in_dim(ctx, x, ctx.avals_out[0], broadcast_dimensions=broadcast_dimensions)]


def _operation(ctx: Any, name: str, x: Any, **attributes: Sequence[int]) -> Sequence[mlir.ir.Value]:
    """One operation whose attributes are lists of integers."""
    array = mlir.ir.DenseI64ArrayAttr.get
    arrays = {key: array(value) for key, value in attributes.items()}
    result = cached_ir_type(ctx.module_context.shared, ctx.avals_out[0])
    return mlir.ir.Operation.create(name, [result], [x], arrays).results


def _reshape_abstract_eval(operand: ShapedArray, *, new_sizes: tuple[int, ...], dimensions: None) -> ShapedArray:
    if dimensions is not None:
        raise TypeError(f"reshape: dimensions of the primitive must be None, got {dimensions}; transpose first")
    if math.prod(new_sizes) != operand.size:
        raise TypeError(
            f"reshape: new_sizes must have as many elements as operand, "
            f"got {math.prod(new_sizes)} in {new_sizes} and {operand.size} in {operand.str_short()}"
        )
    return ShapedArray(new_sizes, operand.dtype, operand.weak_type, vma=operand.vma)


def _reshape_transpose(ct: Any, operand: Any, **params: Any) -> list[Any]:
    return [reshape_p.bind(ct, new_sizes=operand.aval.shape, dimensions=None)]


def _reshape_batch(args: Any, dims: Any, *, new_sizes: Any, dimensions: None) -> tuple[Any, Any]:
    x = batching.moveaxis(args[0], dims[0], 0)
    return reshape_p.bind(x, new_sizes=(get_aval(x).shape[0], *new_sizes), dimensions=None), 0


def _reshape_lowering(ctx: Any, x: Any, **params: Any) -> Sequence[mlir.ir.Value]:
    return [mlir.reshape(ctx, x, ctx.avals_out[0])]


def _transpose_abstract_eval(operand: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    shape = operand.shape
    if sorted(permutation) != list(range(len(shape))):
        raise TypeError(
            f"transpose: permutation must be one of the {len(shape)} axes of operand, "
            f"got {permutation} for {operand.str_short()}"
        )
    return ShapedArray([shape[i] for i in permutation], operand.dtype, operand.weak_type, vma=operand.vma)


def _transpose_transpose(ct: Any, operand: Any, *, permutation: Any) -> list[Any]:
    return [transpose_p.bind(ct, permutation=tuple([int(i) for i in np.argsort(permutation)]))]


def _transpose_batch(args: Any, dims: Any, *, permutation: Any) -> tuple[Any, Any]:
    (x,), (dim,) = args, dims
    return transpose_p.bind(x, permutation=(dim, *[i if i < dim else i + 1 for i in permutation])), 0


def _transpose_lowering(ctx: Any, x: Any, *, permutation: Any) -> Sequence[mlir.ir.Value]:
    return _operation(ctx, "stablehlo.transpose", x, permutation=permutation)


def _squeeze_abstract_eval(array: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    shape = array.shape
    canonical_axes(dimensions, len(shape), "squeeze", "dimensions")
    for axis in dimensions:
        if shape[axis] != 1:
            raise ValueError(
                f"squeeze: dimensions must be axes of length 1, got axis {axis} of length {shape[axis]} "
                f"for {array.str_short()}"
            )
    kept = [size for i, size in enumerate(shape) if i not in dimensions]
    return ShapedArray(kept, array.dtype, array.weak_type, vma=array.vma)


def _squeeze_transpose(ct: Any, array: Any, *, dimensions: Any) -> list[Any]:
    return [reshape_p.bind(ct, new_sizes=array.aval.shape, dimensions=None)]


def _squeeze_batch(args: Any, dims: Any, *, dimensions: Any) -> tuple[Any, Any]:
    (x,), (dim,) = args, dims
    shifted = tuple([i if i < dim else i + 1 for i in dimensions])
    return squeeze_p.bind(x, dimensions=shifted), dim - sum([i < dim for i in shifted])


def _squeeze_lowering(ctx: Any, x: Any, *, dimensions: Any) -> Sequence[mlir.ir.Value]:
    return [mlir.reshape(ctx, x, ctx.avals_out[0])]


def _reduce_sum_abstract_eval(operand: ShapedArray, *, axes: tuple[int, ...], unreduced_axes: Any = ()) -> ShapedArray:
    shape = operand.shape
    if operand.dtype not in SUMMABLE:
        remedy = SUMMABLE.instead(operand.dtype) or "; convert it first"
        raise TypeError(f"reduce_sum: operand must be an array of numbers, got {operand.str_short()}{remedy}")
    canonical_axes(axes, len(shape), "reduce_sum")
    if axes and min(axes) < 0:
        raise ValueError(f"reduce_sum: axes must not be negative, got {axes} for {operand.str_short()}")
    return ShapedArray([n for i, n in enumerate(shape) if i not in axes], operand.dtype, operand.weak_type)


def _reduce_sum_transpose(ct: Any, operand: Any, *, axes: Any, unreduced_axes: Any = ()) -> list[Any]:
    shape = operand.aval.shape
    kept = tuple([i for i in range(len(shape)) if i not in axes])
    return [broadcast_in_dim_p.bind(ct, shape=shape, broadcast_dimensions=kept)]


def _reduce_sum_lowering(ctx: Any, x: Any, *, axes: Any, unreduced_axes: Any = ()) -> Sequence[mlir.ir.Value]:
    ir = mlir.ir
    create = ir.Operation.create  # faster than the classes of operations, whose import takes long
    aval = ctx.avals_out[0]
    shared = ctx.module_context.shared
    scalar = cached_ir_type(shared, ShapedArray((), aval.dtype))
    zero = mlir.ir_constant(np.zeros((), aval.dtype))
    dimensions = {"dimensions": ir.DenseI64ArrayAttr.get(axes)}
    reduce = create("stablehlo.reduce", [cached_ir_type(shared, aval)], [x, zero], dimensions, regions=1)
    block = reduce.regions[0].blocks.append(scalar, scalar)
    with ir.InsertionPoint(block):
        create("stablehlo.return", [], create("stablehlo.add", [scalar], list(block.arguments)).results)
    return reduce.results


def _tile_abstract_eval(operand: ShapedArray, *, reps: tuple[int, ...]) -> ShapedArray:
    shape = operand.shape
    if len(reps) != len(shape):
        raise TypeError(
            f"tile: reps must have one entry per axis of operand, got {len(reps)} in {reps} for {operand.str_short()}"
        )
    return ShapedArray([n * size for n, size in zip(reps, shape, strict=True)], operand.dtype, operand.weak_type)


def _interleaved(shape: Sequence[int], reps: Sequence[int]) -> tuple[int, ...]:
    return tuple([size for pair in zip(reps, shape, strict=True) for size in pair])


def _tile_transpose(ct: Any, operand: Any, *, reps: Any) -> list[Any]:
    shape = operand.aval.shape
    apart = reshape_p.bind(ct, new_sizes=_interleaved(shape, reps), dimensions=None)
    return [reduce_sum_p.bind(apart, axes=tuple(range(0, 2 * len(shape), 2)))]


def _tile_batch(args: Any, dims: Any, *, reps: Any) -> tuple[Any, Any]:
    (x,), (dim,) = args, dims
    return tile_p.bind(x, reps=inserted(reps, dim, 1)), dim


def _tile_lowering(ctx: Any, x: Any, *, reps: Any) -> list[Any]:
    (aval,) = ctx.avals_in
    apart = ShapedArray(_interleaved(aval.shape, reps), aval.dtype)
    repeated = mlir.broadcast_in_dim(ctx, x, apart, broadcast_dimensions=range(1, 2 * len(reps), 2))
    return [mlir.reshape(ctx, repeated, ctx.avals_out[0])]


def _linear(primitive: core.Primitive, transpose_rule: Any) -> Rules:
    return {"jvp": ad.linear_jvp(primitive), "transpose": ad.linear_transpose2(primitive, transpose_rule)}


RULES: Table = {
    broadcast_in_dim_p: {
        "abstract_eval": _broadcast_in_dim_abstract_eval,
        **_linear(broadcast_in_dim_p, _broadcast_in_dim_transpose),
        "batch": _broadcast_in_dim_batch,
        "lowering": _broadcast_in_dim_lowering,
    },
    reshape_p: {
        "abstract_eval": _reshape_abstract_eval,
        **_linear(reshape_p, _reshape_transpose),
        "batch": _reshape_batch,
        "lowering": _reshape_lowering,
        "key_use": lambda uses, eqn, walk: walk.same(),
    },
    transpose_p: {
        "abstract_eval": _transpose_abstract_eval,
        **_linear(transpose_p, _transpose_transpose),
        "batch": _transpose_batch,
        "lowering": _transpose_lowering,
    },
    squeeze_p: {
        "abstract_eval": _squeeze_abstract_eval,
        **_linear(squeeze_p, _squeeze_transpose),
        "batch": _squeeze_batch,
        "lowering": _squeeze_lowering,
        "key_use": lambda uses, eqn, walk: walk.same(),
    },
    reduce_sum_p: {
        "abstract_eval": _reduce_sum_abstract_eval,
        **_linear(reduce_sum_p, _reduce_sum_transpose),
        "batch": batching.reducer(reduce_sum_p),
        "lowering": _reduce_sum_lowering,
        "makes_nan": True,
    },
    tile_p: {
        "abstract_eval": _tile_abstract_eval,
        "jvp": ad.linear_jvp(tile_p),
        "transpose": ad.linear_transpose2(tile_p, _tile_transpose),
        "batch": _tile_batch,
        "lowering": _tile_lowering,
    },
}
