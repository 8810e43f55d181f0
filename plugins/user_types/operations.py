"""Operations of interpreters on values of users' types: zeros, sums, and moving, taking and stacking elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import UserType, get_aval, protocol_of
from primax.extend.interpreters import ad, batching
from primax.extend.provisional.user_types import ArrayProtocol, choose
from primax.extend.rule_types import Table

zeros_of_type_p = core.Primitive("zeros_of_type")
add_of_type_p = core.Primitive("add_of_type")
select_of_type_p = core.Primitive("select_of_type")
# By parts: the operation of the array protocol with this name, applied to each part of the values.
by_parts_p = core.Primitive("by_parts")


def zeros(aval: UserType) -> Any:
    return zeros_of_type_p.bind(aval=aval)


def add(x: Any, y: Any) -> Any:
    return add_of_type_p.bind(x, y)


def broadcast(x: Any, size: int, dim: int) -> Any:
    aval = get_aval(x)
    return by_parts_p.bind(x, operation="broadcast", at=(size, dim), aval=aval.unmapped(size, dim))


def moveaxis(x: Any, source: int, destination: int) -> Any:
    aval = get_aval(x)
    source, destination = (axis % len(aval.shape) for axis in (source, destination))
    size = aval.shape[source]
    moved = aval.mapped(size, source).unmapped(size, destination)
    return by_parts_p.bind(x, operation="moveaxis", at=(source, destination), aval=moved)


def index(x: Any, i: int, dim: int) -> Any:
    aval = get_aval(x)
    return by_parts_p.bind(x, operation="index", at=(i, dim), aval=aval.mapped(aval.shape[dim], dim))


def stack(xs: Sequence[Any], dim: int) -> Any:
    aval = get_aval(xs[0]).unmapped(len(xs), dim)
    return by_parts_p.bind(*xs, operation="stack", at=(len(xs), dim), aval=aval)


def convert(x: Any, aval: UserType) -> Any:
    if get_aval(x) != aval:
        raise TypeError(f"a value of type {get_aval(x).str_short()} cannot be converted to type {aval.str_short()}")
    return x


def select(which: Any, xs: Sequence[Any]) -> Any:
    return select_of_type_p.bind(which, *xs)


PROTOCOL = ArrayProtocol(zeros, add, broadcast, moveaxis, convert, index, stack, select)


def _apply(operation: str, at: tuple[int, int], xs: Sequence[Any]) -> Any:
    """An operation of the array protocol on values of any type."""
    protocol = protocol_of(get_aval(xs[0]))
    if operation == "stack":
        return protocol.stack(xs, at[1])
    return getattr(protocol, operation)(xs[0], *at)


def _by_parts(*xs: Any, operation: str, at: tuple[int, int], aval: UserType) -> Any:
    kind = get_aval(xs[0])
    # Only the value with the axis knows where its parts have it.
    whole = aval if operation in ("broadcast", "stack") else kind
    rows = [kind.to_parts(x) for x in xs]
    parts = []
    for number, row in enumerate(zip(*rows, strict=True)):
        axes = [whole.part_axis(number, at[1])]
        if operation == "moveaxis":
            axes = [kind.part_axis(number, at[0]), aval.part_axis(number, at[1])]
        if None in axes:
            parts.append(row[0])
        elif operation == "moveaxis":
            parts.append(_apply(operation, (axes[0], axes[1]), row))  # type: ignore[arg-type]
        else:
            parts.append(_apply(operation, (at[0], axes[0]), row))  # type: ignore[arg-type]
    return aval.from_parts(parts)


def _by_parts_jvp(primals: Any, tangents: Any, *, operation: str, at: tuple[int, int], aval: UserType) -> Any:
    out = by_parts_p.bind(*primals, operation=operation, at=at, aval=aval)
    if all(type(t) is ad.Zero for t in tangents):
        return out, ad.Zero.from_primal_value(out)
    return out, _apply(operation, at, [ad.instantiate_zeros(t) for t in tangents])


def _by_parts_transpose(ct: Any, *xs: Any, operation: str, at: tuple[int, int], aval: UserType) -> list[Any]:
    if type(ct) is ad.Zero:
        return [ad.Zero(x.aval) for x in xs]
    protocol = protocol_of(get_aval(ct))
    if operation == "moveaxis":
        return [protocol.moveaxis(ct, at[1], at[0])]
    count, dim = at
    if operation == "stack":
        return [protocol.index(ct, i, dim) for i in range(count)]
    if operation == "broadcast":
        total = protocol.index(ct, 0, dim)
        for i in range(1, count):
            total = protocol.add(total, protocol.index(ct, i, dim))
        return [total]
    whole = xs[0].aval
    zero = ad.instantiate_zeros(ad.Zero(get_aval(ct)))
    return [protocol.stack([ct if i == count else zero for i in range(whole.shape[dim])], dim)]


def _by_parts_batch(
    axis: batching.AxisData, xs: Any, dims: Any, *, operation: str, at: tuple[int, int], aval: UserType
) -> Any:
    xs = [batching.bdim_at_front(x, d, axis.size) for x, d in zip(xs, dims, strict=True)]
    at = (at[0] + 1, at[1] + 1) if operation == "moveaxis" else (at[0], at[1] + 1)
    return by_parts_p.bind(*xs, operation=operation, at=at, aval=aval.unmapped(axis.size, 0)), 0


def _zeros_batch(axis: batching.AxisData, xs: Any, dims: Any, *, aval: UserType) -> Any:
    return zeros(aval), None


def _add_jvp(primals: Any, tangents: Any) -> Any:
    x, y = tangents
    out = add(*primals)
    if type(x) is ad.Zero and type(y) is ad.Zero:
        return out, ad.Zero.from_primal_value(out)
    return out, y if type(x) is ad.Zero else x if type(y) is ad.Zero else ad.add_tangents(x, y)


def _add_batch(axis: batching.AxisData, xs: Any, dims: Any) -> Any:
    return add(*[batching.bdim_at_front(x, d, axis.size) for x, d in zip(xs, dims, strict=True)]), 0


def _add_type(x: Any, y: Any) -> Any:
    if x != y:
        raise TypeError(f"add_of_type: operands must be of the same type, got {x.str_short()} and {y.str_short()}")
    return x


def _select(which: Any, *xs: Any) -> Any:
    kind = get_aval(xs[0])
    parts = []
    for number, row in enumerate(zip(*map(kind.to_parts, xs), strict=True)):
        axis = kind.part_axis(number, 0)
        if axis is None:
            parts.append(row[0])
            continue
        protocol = protocol_of(get_aval(row[0]))
        chosen = choose(which, [protocol.moveaxis(x, axis, 0) for x in row])
        parts.append(protocol.moveaxis(chosen, 0, axis))
    return kind.from_parts(parts)


def _select_jvp(primals: Any, tangents: Any) -> Any:
    which, *xs = primals
    out = select(which, xs)
    moving = tangents[1:]
    if all(type(t) is ad.Zero for t in moving):
        return out, ad.Zero.from_primal_value(out)
    return out, choose(which, [ad.instantiate_zeros(t) for t in moving])


def _select_transpose(ct: Any, which: Any, *xs: Any) -> list[Any]:
    if type(ct) is ad.Zero:
        return [None, *[ad.Zero(x.aval) if ad.is_undefined_primal(x) else None for x in xs]]
    zero = ad.instantiate_zeros(ad.Zero(get_aval(ct)))
    cts = [
        choose(which, [ct if i == k else zero for i in range(len(xs))]) if ad.is_undefined_primal(x) else None
        for k, x in enumerate(xs)
    ]
    return [None, *cts]


def _select_batch(axis: batching.AxisData, args: Any, dims: Any) -> Any:
    """One element of the batch after the other, since the axes of parts are known only for axis 0."""
    which, *xs = [batching.bdim_at_front(x, d, axis.size) for x, d in zip(args, dims, strict=True)]
    rows = [
        select(protocol_of(get_aval(which)).index(which, i, 0), [index(x, i, 0) for x in xs]) for i in range(axis.size)
    ]
    return stack(rows, 0), 0


for _primitive in (zeros_of_type_p, add_of_type_p, by_parts_p, select_of_type_p):
    _primitive.takes_types = True

RULES: Table = {
    select_of_type_p: {
        "impl": _select,
        "abstract_eval": lambda which, *xs: xs[0],
        "jvp": _select_jvp,
        "transpose": _select_transpose,
        "axis_batch": _select_batch,
    },
    zeros_of_type_p: {
        "impl": lambda *, aval: aval.zeros(),
        "abstract_eval": lambda *, aval: aval,
        "axis_batch": _zeros_batch,
    },
    add_of_type_p: {
        "impl": lambda x, y: get_aval(x).add(x, y),
        "abstract_eval": _add_type,
        "jvp": _add_jvp,
        "transpose": lambda ct, x, y: [ct, ct],
        "axis_batch": _add_batch,
    },
    by_parts_p: {
        "impl": _by_parts,
        "abstract_eval": lambda *xs, operation, at, aval: aval,
        "jvp": _by_parts_jvp,
        "transpose": _by_parts_transpose,
        "axis_batch": _by_parts_batch,
    },
}
