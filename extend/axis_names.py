"""Primitives that communicate along named axes, and the refusal of derived batch rules for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primax.core.avals import get_aval
from primax.core.cache import Cache
from primax.core.cache_keys import is_hashable, params_key
from primax.core.errors import RuleError
from primax.core.jaxpr import named_axes
from primax.core.rules import named_axes_rules
from primax.core.trace_state import thread
from primax.extend.provisional.mesh_context import get_abstract_mesh
from primax.extend.stablehlo.rules import operations_of
from primax.interpreters.staging import trace_to_jaxpr

__all__ = ["axes_used", "for_unnamed_axes"]

Rule = Callable[..., Any]

_used = Cache(1024)


def for_unnamed_axes(primitive: Any, derivation: str, rule: Rule, operations: Rule | None = None) -> Rule:
    """A derived batch rule that refuses to batch along an axis without knowing it.

    Args:
      primitive: the primitive.
      derivation: how the rule is derived, for messages.
      rule: the rule.
      operations: the function of the primitive, in primax operations on arrays; by default that of its lowering, if
        the lowering is made of a function.

    Returns:
      The rule. It raises a RuleError if an axis named by `vmap` is in scope and the primitive communicates along it:
      the mapped axis may be this one.
    """

    def checked(args: Sequence[Any], dims: Sequence[Any], /, **params: Any) -> Any:
        if thread.axes:
            mapped = thread.axes.keys() - set(get_abstract_mesh().manual_axes)
            avals = [
                aval if d is None else aval.mapped(aval.shape[d], d)
                for aval, d in zip(map(get_aval, args), dims, strict=True)
            ]
            names = mapped and mapped & axes_used(primitive, operations or operations_of(primitive), avals, params)
            if names:
                axes = ", ".join(map(repr, sorted(names, key=str)))
                raise RuleError(
                    f"{primitive}: the batch rule {derivation} does not know which axis is mapped, but {primitive} "
                    f"communicates along {axes}; give axis_batch=derive.from_impl in place of batch={derivation}"
                )
        return rule(args, dims, **params)

    return checked


def axes_used(
    primitive: Any, operations: Rule | None, avals: Sequence[Any], params: Mapping[str, Any]
) -> frozenset[Any]:
    """The names of axes in scope along which an application of a primitive communicates.

    Args:
      primitive: the primitive.
      operations: its function, in primax operations on arrays; None if it is unknown.
      avals: the types of its operands.
      params: its parameters.
    """
    rule = named_axes_rules.functions.get(primitive)
    if rule is not None:
        return frozenset(rule(**params))
    if operations is None:
        return frozenset()

    def make() -> frozenset[Any]:
        return named_axes(trace_to_jaxpr(lambda *xs: _listed(operations(*xs, **params)), avals))

    key = (operations, tuple(avals), params_key(dict(params)), thread.config, tuple(thread.axes.items()))
    return _used.get_or_make(key, make) if is_hashable(key) else make()


def _listed(out: Any) -> list[Any]:
    return list(out) if isinstance(out, list | tuple) else [out]
