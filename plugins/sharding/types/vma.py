"""The mapped axes along which values vary (`vma`), and the insertion of `pvary`.

Inside `shard_map` the type of a value has the axes along which it may vary. All operands of a primitive that does not
communicate must vary along the same axes. `pvary`, whose transpose is a sum, converts operands. It is inserted when a
primitive is bound, before transformations see it, so transformations handle it like any other primitive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend.core import ShapedArray, Tracer, get_aval, rule_tables
from primax.extend.provisional.sharding import aval_sharding, vma_of
from primax.extend.provisional.tracing import holds_program, thread
from primax.plugins.collectives import pvary_along
from primax.plugins.resharding import with_aval_sharding
from primax.plugins.sharding.types.propagation import propagate_shardings

_NONE: frozenset[Any] = frozenset()
_UNSEEN = object()
_vma_rules = rule_tables["variance"].functions
_sharding_rules = rule_tables["sharding"].functions


def vary(x: Any, axes: frozenset[Any]) -> Any:
    """A value, converted to vary along these axes, too."""
    if not axes:
        return x
    missing = axes - vma_of(x)
    return _varied(x, missing) if missing else x


def _varied(x: Any, axes: frozenset[Any]) -> Any:
    """The value, made varying along more axes. All uses in a trace share it, so its transpose is one sum."""
    trace = thread.trace
    if not isinstance(x, Tracer) or not trace.converts_operands:
        return pvary_along(x, axes)
    if trace.conversions is None:
        trace.conversions = {}
    conversion = trace.conversions.get((id(x), axes))
    if conversion is None:
        conversion = trace.conversions[id(x), axes] = x, pvary_along(x, axes)
    return conversion[1]


def match_placement(x: Any, aval: Any) -> Any:
    """A value that may vary along the axes of a type, with the type's sharding if it has its shape."""
    x = vary(x, getattr(aval, "vma", _NONE))
    explicit = aval_sharding(aval)
    if explicit is not None and getattr(get_aval(x), "shape", None) == aval.shape:
        x = with_aval_sharding(x, explicit)
    return x


def insert_pvary(primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
    """The operands of a primitive, converted to vary along the axes that its rule requires, or else the same axes.

    Scalars are not converted, nor operands of primitives with inner programs, whose arguments have their own types.
    """
    rule = _vma_rules.get(primitive)
    if rule is not None:
        avals = [x.aval if isinstance(x, Tracer) else get_aval(x) for x in args]
        return [vary(x, axes) for x, axes in zip(args, rule(*avals, **params), strict=True)]
    first: Any = _UNSEEN
    for x in args:  # values without a type are not tracers
        placed = getattr(getattr(x, "aval", None), "placement", None)
        if first is _UNSEEN:
            first = placed
        elif placed is not first:
            break
    else:
        return args
    if _holds_programs(params):
        return args
    axes_of_args = [vma_of(x) for x in args]
    joined = _NONE.union(*axes_of_args)
    return [
        x if axes == joined or (not axes and _is_scalar(x)) else _varied(x, joined - axes)
        for x, axes in zip(args, axes_of_args, strict=True)
    ]


def result_placements(primitive: Any, avals: Sequence[Any], outs: list[Any], params: dict[str, Any]) -> list[Any]:
    """The types of results: they vary along all axes along which an operand varies, unless the primitive adds more.

    If types of operands record a sharding, the sharding rule defines that of results. The type rules of primitives with
    inner programs return both.
    """
    if any(aval_sharding(aval) is not None for aval in avals) and (
        primitive in _sharding_rules or not _holds_programs(params)
    ):
        outs = propagate_shardings(primitive, avals, outs, params)
    joined = _NONE.union(*[aval.vma for aval in avals if type(aval) is ShapedArray])
    if not joined or primitive in _vma_rules or _holds_programs(params):
        return outs
    return [out.update(vma=joined) if type(out) is ShapedArray and out.vma != joined else out for out in outs]


def _is_scalar(x: Any) -> bool:
    """Whether a value becomes a literal of a program. Tracers never do, since they may have derivatives."""
    if isinstance(x, Tracer):
        return False
    return type(x) in (bool, int, float, complex) or (hasattr(x, "item") and not getattr(x, "shape", (0,)))


def _holds_programs(params: dict[str, Any]) -> bool:
    return any(map(holds_program, params.values()))
