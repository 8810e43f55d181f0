"""Variance: the manual mesh axes along which values differ, and the insertion of `pvary`.

Inside `shard_map` the type of a value has the axes along which it may vary (`vma`). All operands of a primitive that
does not communicate must vary along the same axes. `pvary`, whose transpose is a sum, converts operands. It is inserted
when a primitive is bound, before transformations see it, so transformations handle it like any other primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.core import rules
from primax.core.avals import ShapedArray, get_aval
from primax.core.divided import divided_results
from primax.core.jaxpr import holds_program
from primax.core.trace import Tracer
from primax.core.trace_state import thread

__all__ = [
    "axes_of",
    "cotangent_aval",
    "cotangent_like",
    "join_operands",
    "own_axes",
    "settle_results",
    "unvaried",
    "vary",
    "vary_like",
]

_NOTHING: frozenset[Any] = frozenset()


class _Hooks:
    """Functions that the families of collectives and of resharding set.

    Attributes:
      divided: `(value, division) -> value` with that division along explicit axes; None for a whole value.
      forgotten: `(value) -> value` of a type without a division.
      pvary: `(value, axes) -> value` that may vary along these axes, too.
      pvary_p: the primitive of `pvary`.
      recast: `(value, unreduced, reduced) -> value` with these pending sums along mapped axes.
      lay_out: `(function, bind, args, out_sharding) -> result` of `extend.sharding.with_out_sharding`.
      reductions: by name, such as `sum`, `(value, axes) -> value`, reduced over all devices along the axes.
    """

    divided: Callable[[Any, Any], Any]
    forgotten: Callable[[Any], Any]
    pvary: Callable[[Any, frozenset[Any]], Any]
    pvary_p: Any
    recast: Callable[[Any, frozenset[Any], frozenset[Any]], Any]
    lay_out: Callable[[str, Callable[..., Any], Sequence[Any], Any], Any]
    reductions: dict[str, Callable[[Any, Any], Any]]


hooks = _Hooks()


def axes_of(x: Any) -> frozenset[Any]:
    """The axes along which a value may vary."""
    return getattr(get_aval(x), "vma", _NOTHING)


def vary(x: Any, axes: frozenset[Any]) -> Any:
    """A value, converted to vary along these axes, too."""
    if not axes:
        return x
    missing = axes - axes_of(x)
    return _varied(x, missing) if missing else x


def _varied(x: Any, axes: frozenset[Any]) -> Any:
    """The value, made varying along more axes. All uses in a trace share it, so its transpose is one sum."""
    trace = thread.trace
    if not isinstance(x, Tracer) or not trace.joins:
        return hooks.pvary(x, axes)
    if trace.varied is None:
        trace.varied = {}
    found = trace.varied.get((id(x), axes))
    if found is None:
        found = trace.varied[id(x), axes] = x, hooks.pvary(x, axes)
    return found[1]


def vary_like(x: Any, aval: Any) -> Any:
    """A value that may vary along the axes of a type, with the type's division if it has its shape."""
    x = vary(x, getattr(aval, "vma", _NOTHING))
    division = getattr(aval, "division", None)
    if division is not None and getattr(get_aval(x), "shape", None) == aval.shape:
        x = hooks.divided(x, division)
    return x


def cotangent_aval(aval: Any) -> Any:
    """The type of cotangents for values of a type: reduced where the values are unreduced, and vice versa."""
    division = getattr(aval, "division", None)
    return aval.update(division=division.of_cotangents) if division is not None and division.is_pending else aval


def cotangent_like(ct: Any, aval: Any) -> Any:
    """A cotangent for values of a type: summed along the axes along which only the cotangent varies."""
    wanted = getattr(aval, "vma", _NOTHING)
    division = getattr(aval, "division", None)
    if division is not None and division.is_pending:
        ct = hooks.divided(ct, division.of_cotangents)
    further = axes_of(ct) - wanted
    if further:
        ct = hooks.reductions["sum"](ct, tuple(sorted(further, key=str)))
    return vary(ct, wanted)


def own_axes(*avals: Any, **params: Any) -> list[frozenset[Any]]:
    """The variance rule of a primitive whose operands keep their own axes, such as a call of a user's function."""
    return [getattr(aval, "vma", _NOTHING) for aval in avals]


def unvaried(aval: Any) -> Any:
    """A type without mesh axes, for programs inside lowerings: there XLA knows the divisions of values."""
    if getattr(aval, "division", None) is None and not getattr(aval, "vma", _NOTHING):
        return aval
    return aval.update(vma=_NOTHING, division=None)


def join_operands(primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
    """The operands of a primitive, converted to vary along the axes that its rule requires, or else along the same.

    Scalars are not converted, nor operands of primitives with inner programs, whose arguments have their own types.
    """
    rule = rules.variance_rules.functions.get(primitive)
    if rule is not None:
        avals = [x.aval if isinstance(x, Tracer) else get_aval(x) for x in args]
        return [vary(x, axes) for x, axes in zip(args, rule(*avals, **params), strict=True)]
    first = None
    for x in args:  # values without a type are not tracers
        axes = getattr(getattr(x, "aval", None), "vma", _NOTHING)
        if first is None:
            first = axes
        elif axes is not first and axes != first:
            break
    else:
        return args
    if any(map(holds_program, params.values())):
        return args
    found = [axes_of(x) for x in args]
    joined = _NOTHING.union(*found)
    return [
        x if axes == joined or (not axes and _is_scalar(x)) else _varied(x, joined - axes)
        for x, axes in zip(args, found, strict=True)
    ]


def settle_results(primitive: Any, avals: Sequence[Any], outs: list[Any], params: dict[str, Any]) -> list[Any]:
    """The types of results: they vary along all axes along which an operand varies, unless the primitive adds more.

    If operands are divided, the sharding rule defines the divisions of results. The type rules of primitives with inner
    programs return both.
    """
    if any(type(aval) is ShapedArray and aval.division is not None for aval in avals) and (
        primitive in rules.sharding_rules.functions or not any(map(holds_program, params.values()))
    ):
        outs = divided_results(primitive, avals, outs, params)
    joined = _NOTHING.union(*[aval.vma for aval in avals if type(aval) is ShapedArray])
    if not joined or primitive in rules.variance_rules.functions or any(map(holds_program, params.values())):
        return outs
    return [out.update(vma=joined) if type(out) is ShapedArray and out.vma != joined else out for out in outs]


def _is_scalar(x: Any) -> bool:
    """Whether a value becomes a literal of a program. Tracers never do, since they may have derivatives."""
    if isinstance(x, Tracer):
        return False
    return type(x) in (bool, int, float, complex) or (hasattr(x, "item") and not getattr(x, "shape", (0,)))
