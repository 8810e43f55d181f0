"""Values of users' types and their parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from primax.extend import core, dtypes
from primax.extend.core import RuleError, UserType, get_aval, tree
from primax.extend.interpreters import ad, batching
from primax.extend.provisional.avals import ALL_BUT_SHAPE_AND_DTYPE, same_type
from primax.extend.rule_types import Table


def types_of_parts(aval: Any) -> list[Any]:
    """The types of the arrays in a value of a type; the type itself if it is not a user's."""
    if not aval.composite:
        return [aval]
    return [kind for part in aval.part_types() for kind in types_of_parts(part)]


def to_arrays(aval: Any, value: Any) -> list[Any]:
    """The arrays in a value of a type, checked against the type.

    Raises:
      RuleError: `to_parts` returned other parts than `part_types` says.
    """
    if not aval.composite:
        return [value]
    name = f"{type(aval).__name__}.to_parts"
    types, parts = aval.part_types(), aval.to_parts(value)
    if len(parts) != len(types):
        raise RuleError(f"{name}: it must return {len(types)} parts, as part_types says, got {len(parts)}")
    arrays: list[Any] = []
    for i, (part, want) in enumerate(zip(parts, types, strict=True)):
        have = get_aval(part)
        if not same_type(have, want, ALL_BUT_SHAPE_AND_DTYPE):
            raise RuleError(
                f"{name}: part {i} of a value of type {aval.str_short()} must be of type {want.str_short()}, as "
                f"part_types says, got {have.str_short()}"
            )
        if have.weak_type and not want.weak_type:
            part = core.protocol_of(want).convert(part, want)
        arrays += to_arrays(want, part)
    return arrays


def from_arrays(aval: Any, arrays: Iterator[Any]) -> Any:
    """The value of a type from the next arrays of an iterator."""
    if not aval.composite:
        return next(arrays)
    return aval.from_parts([from_arrays(part, arrays) for part in aval.part_types()])


def axes_of_arrays(aval: Any, dim: int) -> list[int | None]:
    """For each array in a value the axis that is axis `dim` of the value; None if there is none."""
    if not aval.composite:
        return [dim]
    axes: list[int | None] = []
    for i, part in enumerate(aval.part_types()):
        axis = aval.part_axis(i, dim)
        axes += [None] * len(types_of_parts(part)) if axis is None else axes_of_arrays(part, axis)
    return axes


class Unpacked:
    """A value of a user's type as a container of its arrays. Restoring the container gives the value itself."""

    __slots__ = ("arrays", "aval")

    def __init__(self, aval: Any, arrays: Sequence[Any]) -> None:
        self.aval = aval
        self.arrays = arrays


tree.register_pytree_node(
    Unpacked, lambda x: (tuple(x.arrays), x.aval), lambda aval, arrays: from_arrays(aval, iter(arrays))
)


def tree_of_parts(structure: Any, avals: Sequence[Any]) -> Any:
    leaves = [Unpacked(aval, types_of_parts(aval)) if aval.composite else aval for aval in avals]
    return tree.flatten(tree.unflatten(structure, leaves))[1]


def unpacked(values: Any) -> Any:
    """A tree whose values of users' types are containers of their arrays.

    Args:
      values: a tree.
    """

    def unpack(x: Any) -> Any:
        try:
            aval = get_aval(x)
        except (TypeError, ValueError, OverflowError):
            return x
        return Unpacked(aval, arrays_of(aval, x)) if aval.composite else x

    return tree.tree_map(unpack, values)


def arrays_of(aval: Any, x: Any) -> list[Any]:
    """The arrays in a value, which may be a tracer."""
    if not isinstance(x, core.Tracer):
        return to_arrays(aval, x)
    return [array for part in unpack_p.bind(x) for array in arrays_of(get_aval(part), part)] if aval.composite else [x]


def map_parts(function: Callable[[int, Any], Any], x: Any) -> Any:
    """A value of the same type, whose parts a function returns.

    Args:
      function: called with the number of a part and the part, an array or a value of a user's type.
      x: a value of a user's type.
    """
    aval = get_aval(x)
    if isinstance(x, core.Tracer):
        return pack_p.bind(*map(function, count(), unpack_p.bind(x)), aval=aval)
    return aval.from_parts(list(map(function, count(), aval.to_parts(x))))


# Between a value and its parts in programs. Tangents of a value may be of any type. There are derivatives if its parts
# are the tangents of the parts that move.
unpack_p = core.Primitive("unpack", multiple_results=True)
pack_p = core.Primitive("pack")


def _moving(aval: UserType) -> list[bool]:
    """For each part of a value whether it has tangents, if these are the parts of the value's tangent.

    Raises:
      UnsupportedError: they are not.
    """
    types: list[Any] = [part.to_tangent_aval() for part in aval.part_types()]
    flags = [kind.composite or kind.dtype != dtypes.float0 for kind in types]
    tangent: Any = aval.to_tangent_aval()
    parts = list(tangent.part_types()) if tangent.composite else [tangent]
    if parts != [kind for kind, moves in zip(types, flags, strict=True) if moves]:
        raise core.UnsupportedError(
            f"a value of type {aval.str_short()} is taken apart, as for a callback or device_put, where it is "
            f"differentiated: tangents of type {tangent.str_short()} are not those of its parts; use stop_gradient"
        )
    return flags


def _unpack_jvp(primals: Any, tangents: Any) -> Any:
    outs, (t,) = unpack_p.bind(*primals), tangents
    zeros = [ad.Zero.from_primal_value(x) for x in outs]
    if type(t) is ad.Zero:
        return outs, zeros
    flags = _moving(get_aval(primals[0]))
    moving = iter(unpack_p.bind(t) if get_aval(t).composite else [t])
    return outs, [next(moving) if moves else zero for moves, zero in zip(flags, zeros, strict=True)]


def _unpack_transpose(cts: Any, x: Any) -> list[Any]:
    if all(type(ct) is ad.Zero for ct in cts):
        return [ad.Zero(x.aval)]
    return [pack_p.bind(*map(ad.instantiate_zeros, cts), aval=x.aval)]


def _pack_jvp(primals: Any, tangents: Any, *, aval: UserType) -> Any:
    out = pack_p.bind(*primals, aval=aval)
    if all(type(t) is ad.Zero for t in tangents):
        return out, ad.Zero.from_primal_value(out)
    flags = _moving(aval)
    moving = [ad.instantiate_zeros(t) for t, moves in zip(tangents, flags, strict=True) if moves]
    tangent = aval.to_tangent_aval()
    return out, pack_p.bind(*moving, aval=tangent) if tangent.composite else moving[0]


def _pack_transpose(ct: Any, *parts: Any, aval: UserType) -> list[Any]:
    return [ad.Zero(x.aval) for x in parts] if type(ct) is ad.Zero else unpack_p.bind(ct)


def _unpack_batch(axis: batching.AxisData, args: Any, dims: Any) -> Any:
    (x,), (dim,) = args, dims
    aval = get_aval(x)
    return unpack_p.bind(x), [aval.part_axis(i, dim) for i in range(len(aval.part_types()))]


def _pack_batch(axis: batching.AxisData, parts: Any, dims: Any, *, aval: UserType) -> Any:
    whole = aval.unmapped(axis.size, 0)
    moved = [batching.bdim_at_front(x, d, axis.size) for x, d in zip(parts, dims, strict=True)]
    placed = []
    for i, x in enumerate(moved):
        where = whole.part_axis(i, 0)  # type: ignore[attr-defined]
        protocol = core.protocol_of(get_aval(x))
        placed.append(protocol.index(x, 0, 0) if where is None else protocol.moveaxis(x, 0, where))
    return pack_p.bind(*placed, aval=whole), 0


for _primitive in (unpack_p, pack_p):
    _primitive.takes_types = True

RULES: Table = {
    unpack_p: {
        "impl": lambda x: list(get_aval(x).to_parts(x)),
        "abstract_eval": lambda aval: list(aval.part_types()),
        "jvp": _unpack_jvp,
        "transpose": _unpack_transpose,
        "axis_batch": _unpack_batch,
    },
    pack_p: {
        "impl": lambda *parts, aval: aval.from_parts(list(parts)),
        "abstract_eval": lambda *parts, aval: aval,
        "jvp": _pack_jvp,
        "transpose": _pack_transpose,
        "axis_batch": _pack_batch,
    },
}
