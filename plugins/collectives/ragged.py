"""Irregular exchanges: chunks of rows of any lengths, and the broadcast of one element's value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from primax.extend import core, dtypes
from primax.extend.core import Array, ShapedArray, get_aval, tree
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.arguments import integer
from primax.extend.provisional.sharding import manual_scope
from primax.extend.provisional.typing import ArrayLike, AxisNames
from primax.extend.rule_types import Table
from primax.plugins.arithmetic import add, sub
from primax.plugins.bitwise import bitwise_and
from primax.plugins.collectives.exchange import all_gather, all_to_all
from primax.plugins.collectives.lowerings import lower_broadcast, lower_ragged_exchange, mesh_of
from primax.plugins.collectives.mapped import collective_batch, gathered, index_along, own_part, rows
from primax.plugins.collectives.names import Groups, canonical_groups, group_size, names_in_scope
from primax.plugins.collectives.reductions import psum
from primax.plugins.collectives.vma import split_names, varying_by_name
from primax.plugins.comparison import eq, ge, lt
from primax.plugins.indexing import GatherDimensionNumbers, gather
from primax.plugins.reductions import reduce_max, reduce_or
from primax.plugins.structural import (
    broadcast_in_dim,
    concatenate,
    convert_element_type,
    full_like,
    iota,
    reshape,
    select,
    squeeze,
    transpose,
    zeros_like,
)

pbroadcast_p = core.Primitive("pbroadcast")
ragged_all_to_all_p = core.Primitive("ragged_all_to_all")

_COUNTS = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")


_T = TypeVar("_T")


def pbroadcast(x: _T, axis_name: AxisNames, source: int) -> _T:
    """The value of one element along a mapped axis, for all elements.

    Args:
      x: arrays in any containers.
      axis_name: the name of the axis, or several names; the last axis varies fastest.
      source: the index of that element.

    Returns:
      The structure of `x`, and the shapes of its arrays.

    Raises:
      NameError: no axis of that name is being mapped over.
      ValueError: there is no such index.

    >>> import primax as px
    >>> px.vmap(lambda x: px.lax.pbroadcast(x, "i", 1), axis_name="i")(px.numpy.arange(3)).tolist()
    [1, 1, 1]
    """
    names = names_in_scope(axis_name, "pbroadcast")
    number = integer("pbroadcast", "source", source)
    size = group_size(names, None)
    if not 0 <= number < size:
        raise ValueError(f"pbroadcast: source must be an index in [0, {size}), got {number}")
    return tree.tree_map(lambda leaf: pbroadcast_p.bind(leaf, axis_name=names, source=number), x) if names else x


def ragged_all_to_all(
    operand: ArrayLike,
    output: ArrayLike,
    input_offsets: ArrayLike,
    send_sizes: ArrayLike,
    output_offsets: ArrayLike,
    recv_sizes: ArrayLike,
    *,
    axis_name: AxisNames,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> Array:
    """Each element along a mapped axis sends a chunk of its rows, of any length, to each other element.

    It sends `operand[input_offsets[i] : input_offsets[i] + send_sizes[i]]` to the element of index i, where they become
    the rows from `output_offsets[i]` on. Rows that receive nothing are those of `output`.

    Args:
      operand: the rows, along axis 0.
      output: rows of the same shape and dtype.
      input_offsets: the starts of the chunks, integers of shape (n,) for n indices along the axis.
      send_sizes: their numbers of rows.
      output_offsets: their starts at the destination.
      recv_sizes: the number of rows from each element, which is its entry of `send_sizes` for this index.
      axis_name: the name of the axis, or several names; the last axis varies fastest.
      axis_index_groups: groups of indices along the axis, each with its own exchange; of the same size, with each
        index in one.

    Returns:
      An array of the shape of `output`. If chunks overlap in a row, the row is that of one of them. The derivative is
      correct only if the chunks that an element sends do not overlap; otherwise a row that is sent repeatedly counts
      once.

    Raises:
      NameError: no axis of that name is being mapped over.
      TypeError: dtypes differ, or offsets and sizes are not integers.
      ValueError: shapes do not match.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> import numpy as np
      >>> operand, output = np.array([[1, 2, 2], [3, 4, 0]]), np.zeros((2, 4), np.int32)
      >>> starts, sizes = np.array([[0, 1], [0, 1]]), np.array([[1, 2], [1, 1]])
      >>> targets, received = np.array([[0, 0], [1, 2]]), np.array([[1, 1], [2, 1]])
      >>> f = px.vmap(lambda *args: lax.ragged_all_to_all(*args, axis_name="i"), axis_name="i")
      >>> f(operand, output, starts, sizes, targets, received)
      Array([[1, 3, 0, 0],
             [2, 2, 4, 0]], dtype=int32)
    """
    names = names_in_scope(axis_name, "ragged_all_to_all")
    groups = canonical_groups(axis_index_groups, names, "ragged_all_to_all")
    args = (operand, output, input_offsets, send_sizes, output_offsets, recv_sizes)
    params = {"axis_name": names, "axis_index_groups": groups, "axis_size": group_size(names, groups)}
    ragged_all_to_all_p.result_types(tuple(map(get_aval, args)), params)
    return ragged_all_to_all_p.bind(*args, **params)


def _abstract_eval(operand: Any, output: Any, *counts: Any, axis_size: int, **params: Any) -> ShapedArray:
    function = "ragged_all_to_all"
    if operand.dtype != output.dtype:
        raise TypeError(
            f"{function}: operand and output must be of the same dtype, got {operand.str_short()} and "
            f"{output.str_short()}"
        )
    if not operand.shape or operand.shape[1:] != output.shape[1:] or len(operand.shape) != len(output.shape):
        raise ValueError(
            f"{function}: operand and output must have rows of the same shape, got {operand.str_short()} and "
            f"{output.str_short()}"
        )
    for name, aval in zip(_COUNTS, counts, strict=True):
        if not dtypes.is_integer(aval.dtype):
            raise TypeError(f"{function}: {name} must be integers, got {aval.str_short()}")
        if aval.shape != (axis_size,):
            raise ValueError(
                f"{function}: {name} must be of shape ({axis_size},), one number for each index along the axis, got "
                f"{aval.str_short()}"
            )
    return output.update(vma=frozenset().union(output.vma, operand.vma, *(aval.vma for aval in counts)))


def _variance(*avals: Any, axis_name: Any, **params: Any) -> list[frozenset[Any]]:
    joined = frozenset(split_names(axis_name)[0]).union(*(aval.vma for aval in avals))
    return [joined] * len(avals)


def _jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    """The function is linear in the operand and the output jointly."""
    out = ragged_all_to_all_p.bind(*primals, **params)
    if all(type(t) is ad.Zero for t in tangents[:2]):
        return out, ad.Zero.from_primal_value(out)
    dense = map(ad.instantiate_zeros, tangents[:2])
    return out, ragged_all_to_all_p.bind(*dense, *primals[2:], **params)


def _transpose(ct: Any, operand: Any, output: Any, *counts: Any, **params: Any) -> list[Any]:
    """The cotangent of each row returns to its sender; received rows of the output have zero cotangents."""
    unknown = [type(x) is ad.UndefinedPrimal for x in (operand, output)]
    nothing = [None] * len(counts)
    if type(ct) is ad.Zero:
        return [*(ad.Zero(x.aval) if u else None for x, u in zip((operand, output), unknown, strict=True)), *nothing]
    starts, sends, targets, receives = counts
    names, groups = params["axis_name"], params["axis_index_groups"]

    def exchanged(x: Any) -> Array:
        return all_to_all(x, names, 0, 0, axis_index_groups=groups, tiled=True)

    arrived = exchanged(targets)
    back = kept = None
    if unknown[0]:
        aval = operand.aval
        zeros = broadcast_in_dim(aval.dtype.type(0), aval.shape, ())
        back = ragged_all_to_all_p.bind(ct, zeros, arrived, receives, exchanged(starts), sends, **params)
    if unknown[1]:
        shape = get_aval(ct).shape
        written = _inside(shape[0], arrived, receives)
        mask = broadcast_in_dim(reduce_or(written, (0,)), shape, (0,))
        kept = select(mask, zeros_like(ct), ct)
    return [back, kept, *nothing]


def _inside(length: int, starts: Any, sizes: Any) -> Any:
    """For each chunk and each row of an array whether the row is in the chunk; axes before the last are kept."""
    shape = (*get_aval(starts).shape, length)
    dtype = get_aval(starts).dtype
    spread = tuple(range(len(shape) - 1))
    place = iota(dtype, length)
    places = broadcast_in_dim(place, shape, (len(shape) - 1,))
    low = broadcast_in_dim(starts, shape, spread)
    high = broadcast_in_dim(add(starts, sizes), shape, spread)
    return bitwise_and(ge(places, low), lt(places, high))


def _received(stack: Any, outputs: Any, starts: Any, sizes: Any, targets: Any) -> Array:
    """The results of some elements, from the operands of all.

    Args:
      stack: the operands of all elements, along axis 0.
      outputs: the outputs of the receiving elements, along axis 0.
      starts: for each receiver and each sender the start of the chunk.
      sizes: for each receiver and each sender the length of the chunk.
      targets: for each receiver and each sender the destination of the chunk.
    """
    count, length, *rest = get_aval(stack).shape
    some, rows_out = get_aval(outputs).shape[:2]
    shape = (some, count, rows_out)
    # Offsets may have a narrow dtype that cannot number the rows of the whole stack.
    wide = np.dtype(np.int32)
    starts, sizes, targets = (convert_element_type(x, wide) for x in (starts, sizes, targets))
    inside = _inside(rows_out, targets, sizes)
    first = add(starts, broadcast_in_dim(np.arange(count, dtype=wide) * wide.type(length), (some, count), (1,)))
    shift = broadcast_in_dim(sub(first, targets), shape, (0, 1))
    source = add(shift, broadcast_in_dim(iota(wide, rows_out), shape, (2,)))
    chosen = reduce_max(select(inside, source, full_like(source, -1)), (1,))
    flat = reshape(stack, (count * length, *rest))
    numbers = GatherDimensionNumbers(tuple(range(2, 2 + len(rest))), (0,), (0,))
    places = reshape(chosen, (some, rows_out, 1))
    gathered = gather(flat, places, numbers, (1, *rest), mode="clip") if count * length else outputs
    written = broadcast_in_dim(ge(chosen, full_like(chosen, 0)), get_aval(outputs).shape, (0, 1))
    return select(written, gathered, outputs)


def _batch(axis: batching.AxisData, args: Any, dims: Any, **params: Any) -> tuple[Any, Any]:
    names, groups = params["axis_name"], params["axis_index_groups"]
    if axis.name not in names:
        return _batch_other_axis(axis, args, dims, params)
    stacks = [batching.to_dim(x, axis.size, dim, 0) for x, dim in zip(args, dims, strict=True)]
    others = tuple(name for name in names if name != axis.name)
    if others:
        stacks = [gathered(x, axis, names, others) for x in stacks]
    if groups is None:
        out = _across(*stacks)
    else:
        parts = [_across(*(rows(x, group) for x in stacks)) for group in groups]
        order = [i for group in groups for i in group]
        out = rows(concatenate(parts, 0), np.argsort(order).tolist())
    return (own_part(out, axis, names, others) if others else out), 0


def _across(stack: Any, outputs: Any, starts: Any, sizes: Any, targets: Any, received: Any) -> Array:
    """The results of all elements, along axis 0, from the operands of all."""
    return _received(stack, outputs, *(transpose(x, (1, 0)) for x in (starts, sizes, targets)))


def _batch_other_axis(axis: batching.AxisData, args: Any, dims: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    """Elements that are mapped along another axis: as further columns if they have the same chunks, or one by one."""
    if all(dim is None for dim in dims[2:]):
        operand, output = (batching.to_dim(x, axis.size, dim, 1) for x, dim in zip(args[:2], dims[:2], strict=True))
        return ragged_all_to_all_p.bind(operand, output, *args[2:], **params), 1
    stacks = [batching.to_dim(x, axis.size, dim, 0) for x, dim in zip(args, dims, strict=True)]
    outs = [
        ragged_all_to_all_p.bind(*(squeeze(rows(x, [i]), (0,)) for x in stacks), **params) for i in range(axis.size)
    ]
    whole = [broadcast_in_dim(x, (1, *get_aval(x).shape), tuple(range(1, get_aval(x).ndim + 1))) for x in outs]
    return concatenate(whole, 0), 0


def _dense(*args: Any, axis_name: Any, axis_index_groups: Groups, axis_size: int) -> Array:
    """Without such an exchange in XLA: all elements get all rows, and select theirs."""
    operand, output, *counts, _ = args
    stack = all_gather(operand, axis_name, axis_index_groups=axis_index_groups)
    mine = [all_to_all(x, axis_name, 0, 0, axis_index_groups=axis_index_groups, tiled=True) for x in counts]

    def alone(x: Any) -> Array:
        return reshape(x, (1, *get_aval(x).shape))

    return squeeze(_received(stack, alone(output), *map(alone, mine)), (0,))


def _by_operations(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The lowering of a collective by other collectives."""

    def lowering(ctx: mlir.LoweringRuleContext, *args: Any, **params: Any) -> list[Any]:
        with manual_scope(mesh_of(ctx, params["axis_name"]), params["axis_name"], False):
            return mlir.lower_fun(lambda *xs: fun(*xs, **params), multiple_results=False)(ctx, *args)

    return lowering


def _broadcast_abstract_eval(x: Any, **params: Any) -> ShapedArray:
    return x


def _broadcast_transpose(ct: Any, *, axis_name: Any, source: int) -> list[Any]:
    total = psum(ct, axis_name)
    own = eq(index_along(axis_name), np.int32(source))
    return [select(broadcast_in_dim(own, get_aval(ct).shape, ()), total, zeros_like(total))]


def _broadcast_across(stack: Any, *, source: int) -> tuple[Any, None]:
    return squeeze(rows(stack, [source]), (0,)), None


def _picked(x: Any, *, axis_name: Any, source: int) -> Any:
    """Without a broadcast in XLA: all elements get all values, and select that of the source."""
    return squeeze(rows(all_gather(x, axis_name), [source]), (0,))


def _named(*, axis_name: Any, **params: Any) -> Any:
    return axis_name


RULES: Table = {
    pbroadcast_p: {
        "abstract_eval": _broadcast_abstract_eval,
        "jvp": ad.linear_jvp(pbroadcast_p),
        "transpose": ad.linear_transpose(pbroadcast_p, _broadcast_transpose),
        "axis_batch": collective_batch(pbroadcast_p, _broadcast_across),
        "named_axes": _named,
        "lowering": {None: _by_operations(_picked), "gpu": lower_broadcast},
        "variance": varying_by_name,
    },
    ragged_all_to_all_p: {
        "abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "transpose": _transpose,
        "axis_batch": _batch,
        "named_axes": _named,
        "lowering": {None: _by_operations(_dense), "gpu": lower_ragged_exchange},
        "variance": _variance,
    },
}
