"""`composite`: an operation that compilers may recognize by its name, with a decomposition for other compilers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from primax.extend import core, derive, hookimpl
from primax.extend.core import Array, tree
from primax.extend.held_programs import closes_over, held_types
from primax.extend.interpreters import mlir
from primax.extend.provisional.arguments import avals_of, check_function, integer, name_of
from primax.extend.rule_types import Rules, Table

__all__ = ["call_p", "closed_call_p", "composite", "composite_p"]

composite_p = core.Primitive("composite", multiple_results=True)

# The names in JAX for calls, for code that makes them or looks for them. Calls of `jit` are calls of `jit_p`.
call_p = core.Primitive("core_call", multiple_results=True)
closed_call_p = core.Primitive("core_closed_call", multiple_results=True)

_NO_RULE = "a compiler may replace a composite by other code; put custom_jvp or custom_vmap around it"


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A function as one StableHLO operation, `stablehlo.composite`, which compilers may replace by their own.

    Args:
      decomposition: the function of arrays in any containers; keyword arguments are attributes of the operation.
      name: the name of the operation, such as `my_library.gelu`.
      version: the version of the operation.

    Returns:
      A function of the same arguments. It is compiled and evaluated, but neither differentiated nor mapped.

    Raises:
      TypeError: `decomposition` is not callable, `name` is not a string or `version` is not an integer.
      UnexpectedTracerError: when called, if the decomposition closes over traced values.

    >>> import primax as px
    >>> scaled = px.lax.composite(lambda x, *, by: x * by, name="example.scaled")
    >>> float(scaled(2.0, by=3.0))
    6.0
    """
    check_function("composite", "decomposition", decomposition)
    if not isinstance(name, str) or not name:
        raise TypeError(f"composite: name must be a string that is not empty, got {name!r}")
    version = integer("composite", "version", version)

    def call(*args: Any, **attributes: Any) -> Any:
        leaves, in_tree = tree.flatten(args)
        out_trees: list[Any] = []

        def run(*xs: Any) -> list[Any]:
            outs, out_tree = tree.flatten(decomposition(*tree.unflatten(in_tree, xs), **attributes))
            out_trees.append(out_tree)
            return outs

        closed = core.trace_to_jaxpr(run, avals_of(leaves, args, "composite"), name, "composite")
        if any(isinstance(x, core.Tracer) for x in closed.consts):
            raise core.UnexpectedTracerError(
                f"composite: decomposition {name_of(decomposition)} must not close over values that are traced; pass "
                "them as arguments"
            )
        outs = composite_p.bind(
            *leaves,
            jaxpr=closed,
            name=name,
            version=version,
            attributes=tuple(sorted((key, _attribute(key, x)) for key, x in attributes.items())),
        )
        return tree.unflatten(out_trees[0], outs)

    return call


def _attribute(key: str, value: Any) -> Any:
    """An attribute as a hashable parameter.

    Raises:
      TypeError: it is neither a number, a string, a sequence of these, nor a concrete array.
    """
    if isinstance(value, core.Tracer):
        raise core.UnexpectedTracerError(f"composite: attribute {key} must be a known value, got a traced one")
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, np.ndarray | np.generic | core.Array):
        array = np.asarray(value)
        return (str(array.dtype), array.shape, tuple(array.ravel().tolist()))
    if isinstance(value, bool | int | float | str | tuple):
        return value
    raise TypeError(f"composite: attribute {key} must be a number, a string, an array or a sequence, got {value!r}")


def _impl(*args: Any, jaxpr: core.ClosedJaxpr, **params: Any) -> list[Any]:
    return core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)


def _lowering(
    ctx: mlir.LoweringRuleContext, *args: Any, jaxpr: core.ClosedJaxpr, name: str, version: int, attributes: Any
) -> list[Any]:
    if ctx.module_context.dynamic:  # sizes are values of `main`, so the decomposition stands in place of the operation
        return mlir.inline_jaxpr(ctx, jaxpr, args)
    ir = mlir.ir
    function = mlir.lower_jaxpr_to_fun(ctx.module_context, name, jaxpr)
    operation = ir.Operation.create(
        "stablehlo.composite",
        results=[mlir.aval_to_ir_type(aval) for aval in ctx.avals_out],
        operands=list(args),
        attributes={
            "name": ir.StringAttr.get(name),
            "decomposition": ir.FlatSymbolRefAttr.get(function.name.value),
            "version": mlir.i32_attr(version),
            "composite_attributes": ir.DictAttr.get({key: _ir(value) for key, value in attributes}),
        },
    )
    return list(operation.results)


def _interpret(interpreter: Any, eqn: core.JaxprEqn, *values: Any) -> Any:
    def bind(closed: core.ClosedJaxpr, args: Any) -> list[Array]:
        return composite_p.bind(*args, **{**eqn.params, "jaxpr": closed})

    return interpreter.call(eqn.params["jaxpr"], values, bind)


def _ir(value: Any) -> mlir.ir.Attribute:
    """An attribute in MLIR."""
    ir = mlir.ir
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return mlir.i64_attr(value)
    if isinstance(value, float):
        return ir.FloatAttr.get_f32(value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    return ir.ArrayAttr.get([_ir(x) for x in value])


def _call(*args: Any, call_jaxpr: Any, **params: Any) -> list[Any]:
    """The results of the program in a call, with or without constants."""
    consts = getattr(call_jaxpr, "consts", ())
    return core.eval_jaxpr(getattr(call_jaxpr, "jaxpr", call_jaxpr), consts, *args)


_CALL: Rules = {
    "impl": _call,
    "effectful_abstract_eval": held_types("call_jaxpr"),
    "jvp": derive.from_impl,
    "transpose": derive.from_impl,
    "batch": derive.from_impl,
    "lowering": derive.from_impl,
    "interpret": derive.from_impl,
}

RULES: Table = {
    composite_p: {
        "impl": _impl,
        "effectful_abstract_eval": held_types("jaxpr"),
        "lowering": _lowering,
        "close_over": closes_over("jaxpr"),
        "interpret": _interpret,
        "unsupported": {"jvp": _NO_RULE, "batch": _NO_RULE, "transpose": _NO_RULE},
    },
    call_p: _CALL,
    closed_call_p: _CALL,
}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.composite:SAMPLES"], **rules)
