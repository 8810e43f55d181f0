"""Batching: rules for mapping over an axis, and factories for the rules that recur."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from primax.core.avals import get_aval
from primax.core.diagnostics import rule_error
from primax.core.rules import axis_batch_rules as fancy_primitive_batchers
from primax.core.rules import batch_rules as primitive_batchers
from primax.core.rules import sharding_rules
from primax.core.trusted_modules import is_proven
from primax.extend import examples
from primax.extend.lazy_names import explain_absent
from primax.extend.provisional.sharding_rule import implied_by_elementwise
from primax.interpreters import batching
from primax.interpreters.batching import (
    AxisData,
    BatchTrace,
    BatchTracer,
    batch_flat,
    batch_jaxpr,
    moveaxis,
    not_mapped,
    stacked,
    to_dim,
)

__all__ = [
    "AxisData",
    "BatchTrace",
    "BatchTracer",
    "axis_primitive_batchers",
    "batch_flat",
    "batch_jaxpr",
    "bdim_at_front",
    "broadcast",
    "broadcasting",
    "defbroadcasting",
    "defreducer",
    "defvectorized",
    "fancy_primitive_batchers",
    "moveaxis",
    "not_mapped",
    "primitive_batchers",
    "reducer",
    "stacked",
    "to_dim",
    "vectorized",
]
__dir__ = __all__.copy
examples.attach()
explain_absent(__name__)

Rule = Callable[..., Any]


class _AxisBatchers:
    """Takes axis-aware rules of an older form, `(axis_size, axis_name, None, args, dims, **params) -> (out, dim)`."""

    def __setitem__(self, primitive: Any, rule: Rule) -> None:
        def batch(axis: AxisData, args: Any, dims: Any, /, **params: Any) -> Any:
            return rule(axis.size, axis.name, None, args, dims, **params)

        batch.func = rule  # type: ignore[attr-defined]
        fancy_primitive_batchers[primitive] = batch


axis_primitive_batchers = _AxisBatchers()


def broadcast(x: Any, size: int, axis: int, mesh_axis: None = None) -> Any:
    """`size` copies of `x` along a new axis.

    Args:
      x: a value.
      size: the number of copies.
      axis: the position of the new axis.
      mesh_axis: jax's mesh axis; unused.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.interpreters import batching
      >>> batching.broadcast(np.array([1, 2]), 3, 1)
      Array([[1, 1, 1],
             [2, 2, 2]], dtype=int32)
    """
    return batching.broadcast(x, size, axis)


def bdim_at_front(x: Any, dim: int | None, size: int, mesh_axis: None = None) -> Any:
    """A value with its batch axis in front; it is broadcast if it has no batch axis. See `broadcast`.

    Examples:
      >>> import primax.numpy as pnp
      >>> from primax.extend.interpreters import batching
      >>> batching.bdim_at_front(pnp.ones((2, 3)), 1, 3).shape, batching.bdim_at_front(pnp.ones(2), None, 3).shape
      ((3, 2), (3, 2))
    """
    return batching.bdim_at_front(x, dim, size)


def vectorized(primitive: Any) -> Rule:
    """The batch rule of an elementwise primitive of one argument: the primitive itself.

    For a primitive that acts on some axes as a whole, give `define_primitive` a `signature` instead.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.core.primitives import neg_p
      >>> from primax.extend.interpreters import batching
      >>> out, dim = batching.vectorized(neg_p)((np.ones((2, 3)),), (1,))
      >>> out.shape, dim
      ((2, 3), 1)
    """

    def batch(args: Any, dims: Any, /, **params: Any) -> Any:
        return primitive.bind(*args, **params), dims[0]

    return _of_elementwise(primitive, batch, "vectorized")


def broadcasting(primitive: Any) -> Rule:
    """The batch rule of an elementwise primitive of several arguments of the same shape, or scalars.

    If the primitive repeats axes of length 1, mapped operands may have such axes, too. For a primitive that acts on
    some axes as a whole, such as a product of matrices, give `define_primitive` a `signature` instead.

    Examples:
      >>> import numpy as np
      >>> from primax.extend.core.primitives import add_p
      >>> from primax.extend.interpreters import batching
      >>> out, dim = batching.broadcasting(add_p)((np.ones((2, 3)), np.ones(2)), (1, None))
      >>> out.shape, dim
      ((2, 3), 1)
    """

    def batch(args: Any, dims: Any, /, **params: Any) -> Any:
        if len(args) == 2:
            x, y = args
            dx, dy = dims
            if dx == dy:
                shapes = get_aval(x).shape, get_aval(y).shape
                if len(shapes[0]) == len(shapes[1]):
                    return primitive.bind(x, y, **params), dx
            elif dy is None and not get_aval(y).shape:
                return primitive.bind(x, y, **params), dx
            elif dx is None and not get_aval(x).shape:
                return primitive.bind(x, y, **params), dy
        return _broadcast_together(primitive, args, dims, params)

    return _of_elementwise(primitive, batch, "broadcasting")


def _of_elementwise(primitive: Any, batch: Rule, factory: str) -> Rule:
    """A rule that a factory makes for an elementwise primitive; primitives of others are checked to be elementwise."""

    def checked(args: Any, dims: Any, /, **params: Any) -> Any:
        shapes = [_element_shape(x, d) for x, d in zip(args, dims, strict=True)]
        rank = max(map(len, shapes))
        try:
            if any(len(shape) not in (0, rank) for shape in shapes):
                raise rule_error(primitive_batchers, primitive, f"{remark}, got operands of shapes {shapes}")
            out, dim = batch(args, dims, **params)
        except Exception as error:
            if remark not in str(error) and remark not in getattr(error, "__notes__", ()):
                error.add_note(remark)
            raise
        joint = [next((size for size in sizes if size != 1), 1) for sizes in zip(*filter(None, shapes), strict=True)]
        for x in out if primitive.multiple_results else [out]:
            shape = _element_shape(x, dim)
            if list(shape[:rank]) != joint:
                text = f"{remark}, got a result of shape {shape} for operands of shapes {shapes}"
                raise rule_error(primitive_batchers, primitive, text)
        return out, dim

    remark = (
        f"is batching.{factory}, which is for elementwise primitives; declare the axes on which {primitive} acts as a "
        "whole, as in define_primitive(..., signature='(m,n),(n)->(m)'), or use derive.loop"
    )
    rule = batch if is_proven(getattr(primitive, "module", "")) else checked  # others than primitives are refused later
    rule.__name__ = f"{factory}({primitive})"
    rule.implies_sharding = implied_by_elementwise  # type: ignore[attr-defined]
    rule.remark = remark  # type: ignore[attr-defined]
    return rule


def _element_shape(x: Any, dim: int | None) -> tuple[Any, ...]:
    shape = get_aval(x).shape
    return tuple(shape if dim is None else [size for axis, size in enumerate(shape) if axis != dim])


def _broadcast_together(primitive: Any, args: Any, dims: Any, params: Any) -> Any:
    """Align every operand with the one of highest rank; unbatched operands of its rank are repeated."""
    avals = [get_aval(x) for x in args]
    ranks = [len(a.shape) - (d is not None) for a, d in zip(avals, dims, strict=True)]
    rank = max(ranks)
    dim, size = next(
        (d, a.shape[d])
        for a, d, r in sorted(zip(avals, dims, ranks, strict=True), key=lambda item: -item[2])
        if d is not None
    )
    dim = min(dim, rank)
    aligned = []
    for x, d, r in zip(args, dims, ranks, strict=True):
        if d is None:
            aligned.append(broadcast(x, size, dim) if r else x)
        elif r == rank:
            aligned.append(moveaxis(x, d, dim))
        else:
            y = x
            for axis in range(rank):
                length = _length(avals, dims, ranks, rank, axis)
                y = broadcast(y, length, axis if axis < dim else axis + 1)
            aligned.append(y)
    return primitive.bind(*aligned, **params), dim


def _length(avals: Any, dims: Any, ranks: Any, rank: int, axis: int) -> int:
    """The length of an axis of the result: that of the operands of its rank, except broadcast ones."""
    length = 1
    for aval, d, r in zip(avals, dims, ranks, strict=True):
        if r == rank and length == 1:
            length = aval.shape[axis if d is None or axis < d else axis + 1]
    return length


def reducer(primitive: Any) -> Rule:
    """The batch rule of a primitive of one argument that removes the axes in its parameter `axes`.

    Examples:
      >>> import primax.numpy as pnp
      >>> from primax.extend.core.primitives import reduce_sum_p
      >>> from primax.extend.interpreters import batching
      >>> out, dim = batching.reducer(reduce_sum_p)((pnp.ones((2, 3, 4)),), (1,), axes=(0,))
      >>> out.shape, dim
      ((3, 4), 0)
    """

    def batch(args: Any, dims: Any, /, *, axes: Any, **params: Any) -> Any:
        (x,), (dim,) = args, dims
        shifted = tuple(axis + (axis >= dim) for axis in axes)
        out_dim = dim - sum(axis < dim for axis in shifted)
        return primitive.bind(x, axes=shifted, **params), out_dim

    batch.__name__ = f"reducer({primitive})"
    return batch


def defvectorized(primitive: Any) -> None:
    """Register `vectorized(primitive)`, and the elementwise sharding rule if there is no sharding rule.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.extend.core import Primitive
      >>> from primax.extend.interpreters import batching
      >>> twice_p = Primitive("twice")
      >>> _ = twice_p.def_impl(lambda x: 2 * x)
      >>> batching.defvectorized(twice_p)
      >>> px.vmap(twice_p.bind)(pnp.arange(3))
      Array([0, 2, 4], dtype=int32)
    """
    primitive_batchers[primitive] = vectorized(primitive)
    _divide_elementwise(primitive)


def defbroadcasting(primitive: Any) -> None:
    """Register `broadcasting(primitive)`, and the elementwise sharding rule if there is no sharding rule.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.extend.core import Primitive
      >>> from primax.extend.interpreters import batching
      >>> plus_p = Primitive("plus")
      >>> _ = plus_p.def_impl(pnp.add)
      >>> batching.defbroadcasting(plus_p)
      >>> px.vmap(plus_p.bind, in_axes=(1, None))(pnp.ones((2, 3)), pnp.ones(2)).shape
      (3, 2)
    """
    primitive_batchers[primitive] = broadcasting(primitive)
    _divide_elementwise(primitive)


def _divide_elementwise(primitive: Any) -> None:
    if primitive not in sharding_rules.functions:
        sharding_rules[primitive] = implied_by_elementwise


def defreducer(primitive: Any) -> None:
    """Register `reducer(primitive)`.

    Examples:
      >>> import primax as px
      >>> import primax.numpy as pnp
      >>> from primax.extend.core import Primitive
      >>> from primax.extend.interpreters import batching
      >>> total_p = Primitive("total")
      >>> _ = total_p.def_impl(lambda x, axes: pnp.sum(x, axes))
      >>> batching.defreducer(total_p)
      >>> px.vmap(lambda x: total_p.bind(x, axes=(0,)))(pnp.ones((2, 3)))
      Array([3., 3.], dtype=float32)
    """
    primitive_batchers[primitive] = reducer(primitive)
