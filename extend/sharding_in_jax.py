"""Sharding rules of primax in jax, whose custom partitioning divides foreign operations by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.core import _jaxlib
from primax.core.rules import sharding_rules
from primax.extend.provisional.sharding_rule import WHOLE, Factors, apply_sharding_rule, as_sharding_rule

__all__ = ["calls_foreign", "factors_of", "is_divided", "partitioned", "tell_devices"]


def factors_of(primitive: Any, avals: Sequence[Any], outs: Sequence[Any], params: dict[str, Any]) -> Factors | None:
    """The dimensions of operands and results by which a primitive's sharding rule divides it; None if it does not."""
    rule = sharding_rules.functions.get(primitive)
    if rule is None or as_sharding_rule(rule).types_only:
        return None
    factors = apply_sharding_rule(primitive, avals, outs, params)
    return factors if isinstance(factors, Factors) else None


def tell_devices(modules: Any, primitive: Any) -> None:
    """Let jax give the devices of a program to the lowering of a primitive of jax, as custom partitioning needs.

    jax has no public name for this, in releases up to 0.12. Without it, every device computes the whole.
    """
    getattr(modules.dispatch, "prim_requires_devices_during_lowering", set()).add(primitive)


def is_divided(module: Any) -> bool:
    """Whether XLA divides the program that jax is building among several devices."""
    context = module.axis_context
    mesh = getattr(context, "mesh", None)
    if mesh is not None:  # of a `shard_map`
        return bool(set(mesh.axis_names) - set(context.manual_axes))
    return len(getattr(context, "device_assignment", None) or ()) > 1


def calls_foreign(module: Any, types: Sequence[Any], lower: Callable[[Sequence[Any]], Any]) -> bool:
    """Whether a lowering builds foreign calls that XLA cannot divide, other than calls of Python.

    The lowering runs once, in a function that is discarded.

    Args:
      module: the context of the module.
      types: the MLIR types of the operands.
      lower: takes the operands.
    """
    ir, func = _jaxlib.ir, _jaxlib.func
    callbacks, keepalives = len(module.host_callbacks), len(module.keepalives)
    trial = func.FuncOp("trial", (list(types), []), visibility="private", ip=module.body)
    try:
        with ir.InsertionPoint(trial.add_entry_block()):
            lower(list(trial.arguments))
            func.return_([])
        return len(module.host_callbacks) == callbacks and _has_foreign_call(trial.operation)
    finally:
        trial.operation.erase()
        del module.host_callbacks[callbacks:], module.keepalives[keepalives:]


def _has_foreign_call(operation: Any) -> bool:
    found = []

    def visit(op: Any) -> Any:
        if op.name == "stablehlo.custom_call" and "sdy.sharding_rule" not in op.attributes:
            found.append(op.name)
        return _jaxlib.ir.WalkResult.ADVANCE

    operation.walk(visit, _jaxlib.ir.WalkOrder.PRE_ORDER)
    return bool(found)


def partitioned(modules: Any, function: Callable[..., Sequence[Any]], factors: Factors) -> Callable[..., Any]:
    """A function of jax that XLA divides by a sharding rule: each device computes it for its parts of the operands.

    Args:
      modules: the modules of jax.
      function: takes the operands, or parts of them; returns the list of results.
      factors: the dimensions of operands and results.
    """
    jax, module = modules.jax, modules.custom_partitioning
    call = module.custom_partitioning(lambda *args: tuple(function(*args)))

    def partition(mesh: Any, arg_shapes: Any, result_shapes: Any) -> Any:
        axes = _axes_of_factors(mesh, factors, arg_shapes, jax.tree.leaves(result_shapes))

        def shardings(terms: Sequence[Sequence[int]]) -> tuple[Any, ...]:
            specs = [jax.sharding.PartitionSpec(*[axes.get(i) or None for i in dims]) for dims in terms]
            return tuple([jax.sharding.NamedSharding(mesh, spec) for spec in specs])

        def part(*args: Any) -> tuple[Any, ...]:
            outs = function(*args)
            return tuple([_reduced(jax, x, dims, factors, axes) for x, dims in zip(outs, factors.results, strict=True)])

        return mesh, part, shardings(factors.results), shardings(factors.operands)

    call.def_partition(partition, sharding_rule=_rule_in_jax(module, factors))
    return call  # type: ignore[no-any-return]


def _rule_in_jax(module: Any, factors: Factors) -> Any:
    """The rule in the form of jax, by which Shardy propagates shardings."""
    names = [f"f{i}" for i in range(len(factors.names))]
    marks = [factors.mark(i) for i in range(len(names))]

    def mappings(terms: Sequence[Sequence[int]]) -> tuple[Any, ...]:
        return tuple([module.ArrayMapping(*(names[i] for i in dims)) for dims in terms])

    return module.SdyShardingRule(
        mappings(factors.operands),
        mappings(factors.results),
        reduction_factors=tuple([n for n, mark in zip(names, marks, strict=True) if mark not in ("", WHOLE)]),
        need_replication_factors=tuple([n for n, mark in zip(names, marks, strict=True) if mark == WHOLE]),
    )


def _axes_of_factors(
    mesh: Any, factors: Factors, arg_shapes: Sequence[Any], result_shapes: Sequence[Any]
) -> dict[int, tuple[Any, ...]]:
    """For each dimension the mesh axes that divide it.

    The shardings of results take precedence over those of operands; an axis divides only one dimension.
    """
    by_factor: dict[int, tuple[Any, ...]] = {}
    used: set[Any] = set()
    values = [*zip(factors.results, result_shapes, strict=True), *zip(factors.operands, arg_shapes, strict=True)]
    for dims, shape in values:
        spec = getattr(shape.sharding, "spec", None) or ()
        for i, entry in zip(dims, spec, strict=False):
            axes = () if entry is None else entry if isinstance(entry, tuple) else (entry,)
            if not axes or i in by_factor or factors.mark(i) == WHOLE or used & set(axes):
                continue
            count = 1
            for name in axes:
                count *= mesh.shape[name]
            if factors.sizes[i] % count == 0:
                by_factor[i] = axes
                used |= set(axes)
    return by_factor


def _reduced(jax: Any, x: Any, dims: Sequence[int], factors: Factors, axes: dict[int, tuple[Any, ...]]) -> Any:
    """A result of one device, reduced over the devices along the axes that divide the reduced dimensions."""
    reductions = {"sum": jax.lax.psum, "max": jax.lax.pmax, "min": jax.lax.pmin}
    for i, names in axes.items():
        if i not in dims and any(i in operand for operand in factors.operands) and factors.mark(i) in reductions:
            x = reductions[factors.mark(i)](x, names)
    return x
