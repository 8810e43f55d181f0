"""Unreduced values, which are sums over devices: the types of results, derived from those of operands.

A value `f32[4]{U:x}` (unreduced) is the sum of the values on the devices along `x`. A value `f32[4]{R:x}` (reduced) is
the same on all of them, and its cotangent is unreduced. A primitive accepts unreduced operands only where it is linear,
since it is then applied to each summand separately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from primax.extend import dtypes
from primax.extend.core import ShardingTypeError
from primax.extend.provisional.aval_sharding import Axes, aval_sharding
from primax.extend.provisional.derivatives import linearity_of
from primax.extend.provisional.sharding_rule import Factors
from primax.extend.sharding import PartitionSpec

Names = frozenset[Any]
_NONE: Names = frozenset()


def _unreduced(aval: Any) -> Names:
    explicit = aval_sharding(aval)
    return _NONE if explicit is None else explicit.unreduced


def _reduced(aval: Any) -> Names:
    explicit = aval_sharding(aval)
    return _NONE if explicit is None else explicit.reduced


def unreduced_axes_of_sum(result: Any, avals: Sequence[Any], names: Names) -> Names:
    """The axes, among those in `names`, that divide dimensions over which the primitive sums.

    Args:
      result: the result of the sharding rule.
      avals: the types of the operands.
      names: the axes along which the sum stays pending.

    Raises:
      ShardingTypeError: an axis divides a dimension of the sum only in some of the operands that have it.
    """
    if not isinstance(result, Factors):
        return _NONE
    by_factor: dict[int, Names] = {}
    for dims, aval in zip(result.operands, avals, strict=True):
        for factor, axes in zip(dims, _axes(aval) or ((),) * len(dims), strict=False):
            if result.mark(factor) == "sum" and not any(factor in dims for dims in result.results):
                along = names & set(axes)
                if by_factor.setdefault(factor, along) != along:
                    raise ShardingTypeError(
                        "unreduced must name axes of the mesh that divide the dimensions of the sum in all operands, "
                        f"got {sorted(names, key=str)} for operands of types "
                        f"{' and '.join(aval.str_short() for aval in avals)}; change one with primax.reshard"
                    )
    return _NONE.union(*by_factor.values())


def unreduced_results(
    primitive: Any,
    avals: Sequence[Any],
    outs: Sequence[Any],
    params: Mapping[str, Any],
    result: Any,
    axes: Sequence[Axes],
    unreduced_axes: Names,
) -> tuple[Names, Names]:
    """The axes along which the results are unreduced, and those along which they are reduced.

    Args:
      primitive: the primitive.
      avals: the types of the operands; one has a pending sum, or `unreduced_axes` is not empty.
      outs: the types of the results.
      params: the parameters of the primitive.
      result: the result of the sharding rule; None if no dimension is divided.
      axes: for each result the axes that divide its dimensions.
      unreduced_axes: the axes along which this operation leaves its sum pending.

    Raises:
      ShardingTypeError: the primitive is not linear in its unreduced operands, or the operands do not match.
    """
    summed: Names = _NONE.union(*map(_unreduced, avals))
    same: Names = _NONE.union(*map(_reduced, avals))
    if summed:
        _check_summands(primitive, avals, outs, params, summed)
    dividing = {name for aval in avals for along in _axes(aval) for name in along}
    if same:
        _check_same(primitive, avals, params, result, same)
    unreduced = summed | unreduced_axes
    for name in sorted(unreduced, key=str):
        if any(name in along for dims in axes for along in dims) or (name in summed and name in dividing):
            raise ShardingTypeError(
                f"{primitive}: the mesh axis {name!r} must not divide one operand if another is unreduced along it, "
                f"got {_shown(avals)}; {_remedy(avals, summed)}"
            )
    return unreduced, same - unreduced - dividing


def _axes(aval: Any) -> Axes:
    explicit = aval_sharding(aval)
    return () if explicit is None else explicit.axes


def _check_summands(
    primitive: Any, avals: Sequence[Any], outs: Sequence[Any], params: Mapping[str, Any], summed: Names
) -> None:
    linearity = linearity_of(primitive, params)
    named = _named(summed)
    remedy = _remedy(avals, summed)
    lost = any(dtypes.is_inexact(a.dtype) for a in avals if _unreduced(a)) and any(
        not _is_number(aval) or not dtypes.is_inexact(aval.dtype) for aval in outs
    )
    if linearity is None or lost:
        raise ShardingTypeError(
            f"{primitive}: operands of types {_shown(avals)} are unreduced along {named}, and {primitive} is "
            f"not linear in them; {remedy}"
        )
    for i, aval in enumerate(avals):
        if _unreduced(aval) and not linearity.holds(i):
            raise ShardingTypeError(
                f"{primitive}: operand {i} of type {aval.str_short()} is unreduced along {named}, and "
                f"{primitive} is not linear in it; {remedy}"
            )
    for name in sorted(summed, key=str):
        holds = [name in _unreduced(aval) for aval in avals]
        if not linearity.together:
            if sum(holds) > 1:
                raise ShardingTypeError(
                    f"{primitive}: only one operand may be unreduced along {name!r}, since a product of sums is not "
                    f"the sum of the products, got {_shown(avals)}; {remedy} for all but one"
                )
            for flag, aval in zip(holds, avals, strict=True):
                if not flag and name not in _reduced(aval) and aval.shape and dtypes.is_inexact(aval.dtype):
                    raise ShardingTypeError(
                        f"{primitive}: operands must be reduced along {name!r} if another is unreduced, since their "
                        f"cotangents are unreduced, got {_shown(avals)}; convert the others with "
                        f"{_remedy_call(avals, name, 'reduced')}, or {remedy}"
                    )
            continue
        for i, (flag, aval) in enumerate(zip(holds, avals, strict=True)):
            if not flag and linearity.holds(i) and not (linearity.scalars and not aval.shape):
                raise ShardingTypeError(
                    f"{primitive}: either all operands or none must be unreduced along {name!r}, got "
                    f"{_shown(avals)}; {remedy}, or convert the others with {_remedy_call(avals, name, 'unreduced')}"
                )


def _check_same(primitive: Any, avals: Sequence[Any], params: Mapping[str, Any], result: Any, same: Names) -> None:
    """Raise an error for operands that are not reduced, but must be because others are."""
    linearity = linearity_of(primitive, params)
    for name in sorted(same, key=str):
        for i, aval in enumerate(avals):
            if name in _reduced(aval):
                _check_undivided(primitive, avals, result, i, name)
                continue
            if name in _unreduced(aval) or not aval.shape or not _is_number(aval):
                continue
            if any(name in along for along in _axes(aval)) or not dtypes.is_inexact(aval.dtype):
                continue
            if name in getattr(aval, "vma", _NONE) or (linearity is not None and not linearity.holds(i)):
                continue
            raise ShardingTypeError(
                f"{primitive}: operands must be reduced along {name!r} if one is, got {_shown(avals)}; convert the "
                f"others with {_remedy_call(avals, name, 'reduced')}, or divide them along {name!r}"
            )


def _check_undivided(primitive: Any, avals: Sequence[Any], result: Any, position: int, name: Any) -> None:
    """Raise an error for a reduced operand if the same mesh axis divides one of its dimensions in another operand."""
    for i, aval in enumerate(avals):
        if i == position:
            continue
        for dim, along in enumerate(_axes(aval)):
            if name not in along:
                continue
            apart = isinstance(result, Factors) and result.operands[i][dim] not in result.operands[position]
            if not apart:
                raise ShardingTypeError(
                    f"{primitive}: operand {position} must be divided along {name!r}, as operand {i} is in the same "
                    f"dimension, not reduced along it, got {_shown(avals)}; divide it with primax.reshard"
                )


def _is_number(aval: Any) -> bool:
    return not isinstance(getattr(aval, "dtype", None), dtypes.ExtendedDType) and hasattr(aval, "dtype")


def _remedy(avals: Sequence[Any], names: Names) -> str:
    """The remedy for unreduced operands: the text of the call that sums the first of them along these axes."""
    for aval in avals:
        explicit = aval_sharding(aval)
        if explicit is not None and explicit.unreduced & names:
            mapped = [name for name in explicit.mesh.manual_axes if name in explicit.unreduced & names]
            if mapped:
                return f"sum first, with lax.psum(x, {mapped[0]!r})"
            rest = explicit.with_pending(explicit.unreduced - names, explicit.reduced)
            return f"sum first, with primax.reshard(x, primax.{PartitionSpec() if rest is None else rest.spec})"
    return "sum first, with primax.reshard"


def _remedy_call(avals: Sequence[Any], name: Any, to: str) -> str:
    """The text of the call that makes an operand unreduced or reduced along an axis."""
    mapped = any(name in explicit.mesh.manual_axes for explicit in map(aval_sharding, avals) if explicit is not None)
    if not mapped:
        return f"primax.reshard(x, primax.P(..., {to}={{{name!r}}}))"
    first = f"lax.pcast(x, {name!r}, to='varying')"
    return f"lax.pcast(x, {name!r}, to='reduced')" if to == "reduced" else f"{first} and lax.pcast(..., to='unreduced')"


def _shown(avals: Sequence[Any]) -> str:
    return " and ".join(aval.str_short() for aval in avals)


def _named(names: Names) -> str:
    return " and ".join(sorted(map(repr, names)))
