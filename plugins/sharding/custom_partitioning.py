"""`custom_partitioning`: functions with their own partitioning among devices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import tree
from primax.extend.interpreters import mlir
from primax.extend.programs import stage
from primax.extend.provisional.arguments import (
    STATIC,
    avals_of,
    check_function,
    check_hashable,
    integers,
    listed,
    name_of,
    wraps,
)
from primax.extend.provisional.lowering import spmd_of
from primax.extend.provisional.programs import new_programs, programs_of, remember, surroundings
from primax.extend.rule_types import Table
from primax.extend.sharding import NamedSharding, PartitionSpec
from primax.plugins.control_flow import run_compiled
from primax.plugins.custom_derivatives import resolve
from primax.plugins.sharding.notation import SdyShardingRule, parse_rule, rule_attribute
from primax.plugins.sharding.types.custom_parts import partitioned_call

custom_partitioning_p = core.Primitive("custom_partitioning", multiple_results=True)


class custom_partitioning:
    """A function with its own partitioning, for operations that XLA divides badly or not, such as foreign functions.

    `def_partition` sets the partitioning. On one device, inside `shard_map`, and on platforms other than CPUs, the
    function runs without it. It has no derivative or batch rules; for these, wrap it in `custom_vjp` and
    `custom_vmap`.

    Args:
      fun: a function of pytrees of arrays.
      static_argnums: positions of arguments that are part of the program; hashable. An argument given by its name, or
        by its default, has a position, too.

    Raises:
      TypeError: `fun` is not callable.

    >>> import primax as px, primax.numpy as pnp
    >>> from primax.experimental.custom_partitioning import custom_partitioning
    >>> @custom_partitioning
    ... def double(x):
    ...     return 2 * x
    >>> def partition(mesh, arg_shapes, result_shape):
    ...     sharding = arg_shapes[0].sharding
    ...     return mesh, lambda x: 2 * x, sharding, (sharding,)
    >>> _ = double.def_partition(partition, sharding_rule="i -> i")
    >>> double(pnp.arange(3.0))
    Array([0., 2., 4.], dtype=float32)
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: Sequence[int] = ()) -> None:
        check_function("custom_partitioning", "fun", fun)
        self.fun = fun
        self.static_argnums = integers(listed(static_argnums), "custom_partitioning", "static_argnums")
        self._rules: dict[str, Any] | None = None
        shared = programs_of(fun)
        self._programs = new_programs() if shared is None else shared
        wraps(fun)(self)

    def def_partition(
        self,
        partition: Callable[..., Any],
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: str | SdyShardingRule | Callable[..., Any] | None = None,
        *,
        reduction_factors: Sequence[str] = (),
        need_replication_factors: Sequence[str] = (),
        permutation_factors: Sequence[str] = (),
        **factor_sizes: int,
    ) -> Callable[..., Any]:
        """Set the partitioning.

        Args:
          partition: `(*static_args, mesh, arg_shapes, result_shape) -> (mesh, fun, result_shardings, arg_shardings)`.
            The shapes are `ShapeDtypeStruct`s with the shardings that XLA has found, in the structure of the arguments
            and of the result; `fun` computes one device's parts of the results from its parts of the arguments, and may
            communicate along the axes of the mesh.
          infer_sharding_from_operands: ignored: shardings follow from `sharding_rule`.
          propagate_user_sharding: ignored, too.
          decode_shardings: True; shardings are over the mesh.
          sharding_rule: the correspondence of dimensions: a text such as `"i k, k j -> i j"`, an `SdyShardingRule`, or
            a function `(*static_args, mesh, operand_types, result_types)` that returns one of these.
          reduction_factors: as for `SdyShardingRule`, if the rule is a text; the same holds for the following ones.
          need_replication_factors: the factors that must not be divided.
          permutation_factors: the factors along which devices exchange values.
          factor_sizes: the lengths of factors in parentheses.

        Returns:
          `partition`.

        Raises:
          TypeError: `partition` is not callable, or `sharding_rule` has another type.
          ValueError: `sharding_rule` is not a rule, or `decode_shardings` is not True.
        """
        check_function("def_partition", "partition", partition)
        if decode_shardings is not True:
            raise ValueError(f"def_partition: decode_shardings must be True, got {decode_shardings!r}")
        options = {
            "reduction_factors": reduction_factors,
            "need_replication_factors": need_replication_factors,
            "permutation_factors": permutation_factors,
            **factor_sizes,
        }
        if isinstance(sharding_rule, str):
            sharding_rule = parse_rule(sharding_rule, **options)
        elif not (sharding_rule is None or isinstance(sharding_rule, SdyShardingRule) or callable(sharding_rule)):
            raise TypeError(
                "def_partition: sharding_rule must be a str, an SdyShardingRule, a function or None, got "
                f"{sharding_rule!r}"
            )
        self._rules = {
            "partition": partition,
            "propagate_user_sharding": propagate_user_sharding,
            "infer_sharding_from_operands": infer_sharding_from_operands,
            "decode_shardings": decode_shardings,
            "sharding_rule": sharding_rule,
        }
        return partition

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        name = name_of(self.fun)
        if self._rules is None:
            raise TypeError(f"custom_partitioning: {name} must have a partition, by def_partition, before it is called")
        args = resolve(self.fun, args, kwargs, f"custom_partitioning of {name}")
        static = tuple(i + len(args) if i < 0 else i for i in self.static_argnums)
        if not all(0 <= i < len(args) for i in static):
            raise ValueError(
                f"custom_partitioning of {name}: static_argnums must be positions of {len(args)} arguments, got "
                f"{self.static_argnums}"
            )
        static_args = tuple(args[i] for i in static)
        dynamic = tuple(x for i, x in enumerate(args) if i not in static)

        def call(positional: Any, _: Any) -> Any:
            rest, fixed = iter(positional), dict(zip(static, static_args, strict=True))
            return self.fun(*(fixed[i] if i in fixed else next(rest) for i in range(len(args))))

        leaves, in_tree = tree.flatten((dynamic, {}))
        avals = avals_of(leaves, (dynamic, {}), f"custom_partitioning of {name}", call=True, hint=STATIC)
        check_hashable(f"custom_partitioning of {name}", "static arguments", static_args)
        variant = (static, static_args, len(args))
        key = ("custom_partitioning", in_tree, tuple(avals), variant, surroundings())

        def make() -> Any:
            return stage(self.fun, in_tree, avals, name, "custom_partitioning", call, variant)

        program = remember(self._programs, key, make)
        consts = program.closed.consts
        if any(isinstance(x, core.Tracer) for x in consts):
            raise TypeError(f"custom_partitioning: {name} must not close over traced values; pass them as arguments")
        outs = custom_partitioning_p.bind(
            *leaves,
            call=program.closed,
            in_tree=in_tree,
            out_tree=program.out_tree,
            static_args=static_args,
            **self._rules,
        )
        return tree.unflatten(program.out_tree, outs)


def _impl(*args: Any, **params: Any) -> Any:
    return run_compiled(custom_partitioning_p, params["call"], args, params)


def _abstract_eval(*avals: Any, call: core.ClosedJaxpr, **params: Any) -> tuple[Any, Any]:
    return call.out_avals, call.effects


def _lowering(
    ctx: mlir.LoweringRuleContext, *args: Any, call: core.ClosedJaxpr, **params: Any
) -> Sequence[mlir.ir.Value]:
    name = call.jaxpr.debug_info or "a function"
    rule, mesh = params["sharding_rule"], spmd_of(ctx.module_context).mesh
    if mesh is not None and callable(rule):
        rule = rule(*params["static_args"], mesh, ctx.avals_in, ctx.avals_out)
        rule = parse_rule(rule) if isinstance(rule, str) else rule
    attribute = None
    if mesh is not None and rule is not None:
        attribute = rule_attribute(rule, [aval.shape for aval in ctx.avals_in], [aval.shape for aval in ctx.avals_out])
    divide = functools.partial(_divided, name, call, params)
    outs = partitioned_call(ctx, f"custom_partitioning of {name}", args, attribute, divide)
    return mlir.inline_jaxpr(ctx, call, args) if outs is None else outs


def _divided(
    name: str,
    call: core.ClosedJaxpr,
    params: dict[str, Any],
    mesh: Any,
    operands: Sequence[Any],
    results: Sequence[Any],
) -> tuple[Callable[..., Any], list[Any], list[Any]]:
    """The result of the user's partition, flat."""
    whole = NamedSharding(mesh, PartitionSpec())

    def shapes(structure: Any, avals: Sequence[Any], shardings: Sequence[Any]) -> Any:
        return tree.unflatten(
            structure,
            [
                core.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding or whole)
                for aval, sharding in zip(avals, shardings, strict=True)
            ],
        )

    args, _ = shapes(params["in_tree"], call.in_avals, operands)
    result = shapes(params["out_tree"], call.out_avals, results)
    returned = params["partition"](*params["static_args"], mesh, args, result)
    if not isinstance(returned, tuple) or len(returned) != 4:
        raise TypeError(
            f"custom_partitioning of {name}: partition must return (mesh, fun, result_shardings, arg_shardings), got "
            f"{returned!r}"
        )
    _, fun, result_shardings, arg_shardings = returned
    positions = tree.tree_unflatten(params["in_tree"], range(len(operands)))
    flat_ins = tree.flatten_axes(
        f"custom_partitioning of {name}: arg_shardings", tree.flatten(positions[0])[1], arg_shardings
    )
    flat_outs = tree.flatten_axes(
        f"custom_partitioning of {name}: result_shardings", params["out_tree"], result_shardings
    )
    for sharding in (*flat_ins, *flat_outs):
        if not isinstance(sharding, NamedSharding):
            raise TypeError(f"custom_partitioning of {name}: partition must return NamedShardings, got {sharding!r}")

    def run(*flat: Any) -> list[Any]:
        positional, _ = tree.unflatten(params["in_tree"], flat)
        return list(tree.flatten(fun(*positional))[0])

    return run, list(flat_ins), list(flat_outs)


def _interpret(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
    return interpreter.interpret(eqn.params["call"], *values)  # the partition is valid only for the unchanged function


_NONE = "wrap the function in custom_vjp or custom_jvp, outside of custom_partitioning"

RULES: Table = {
    custom_partitioning_p: {
        "impl": _impl,
        "effectful_abstract_eval": _abstract_eval,
        "interpret": _interpret,
        "lowering": _lowering,
        "unsupported": {
            "jvp": _NONE,
            "batch": "wrap it in custom_vmap, outside of custom_partitioning",
        },
    },
}
