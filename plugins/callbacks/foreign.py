"""The rules of `ffi_call`: a foreign function as an operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from primax.extend import core, ffi
from primax.extend.dimensions import is_symbolic_dim
from primax.extend.interpreters import mlir
from primax.extend.provisional.ffi import ffi_call_p
from primax.extend.rule_types import Table
from primax.plugins.callbacks.flat import mapped_in_front
from primax.plugins.callbacks.mapping import vmap_at_once
from primax.plugins.control_flow import scan


@dataclass(frozen=True, slots=True, repr=False)
class FfiEffect(core.Effect):
    """A program calls foreign functions with side effects."""

    def __repr__(self) -> str:
        return "FFI"


def _ffi_call_abstract_eval(*avals: Any, result_avals: Any, has_side_effect: bool, **params: Any) -> tuple[Any, Any]:
    return list(result_avals), {FfiEffect()} if has_side_effect else core.no_effects


def _ffi_call_batch(args: Any, dims: Any, *, vmap_method: Any, **params: Any) -> tuple[Any, Any]:
    if vmap_method in ("sequential", "sequential_unrolled"):
        return _one_by_one(args, dims, vmap_method=vmap_method, **params)
    moved, result_avals = vmap_at_once("ffi_call", vmap_method, args, dims, params["result_avals"])
    ranks = [len(core.get_aval(x).shape) for x in moved]
    layouts = params["input_layouts"]
    params["input_layouts"] = tuple(
        _with_batch(layout) if len(layout) < rank else layout for layout, rank in zip(layouts, ranks, strict=True)
    )
    params["output_layouts"] = tuple(map(_with_batch, params["output_layouts"]))
    outs = ffi_call_p.bind(*moved, **{**params, "vmap_method": vmap_method, "result_avals": result_avals})
    return outs, [0] * len(outs)


def _with_batch(layout: tuple[int, ...]) -> tuple[int, ...]:
    """The layout of values stacked along a new first axis, which is the slowest in memory."""
    return (*(axis + 1 for axis in layout), 0)


def _one_by_one(args: Any, dims: Any, *, vmap_method: str, **params: Any) -> tuple[Any, Any]:
    """One call for each element, in a loop or unrolled."""
    size, moved = mapped_in_front(args, dims)
    if vmap_method == "sequential_unrolled" and is_symbolic_dim(size):
        raise ValueError(
            f"ffi_call: vmap_method must not be 'sequential_unrolled' for {size} elements, a symbolic number, in the "
            f"call of {params['target_name']}; use 'sequential'"
        )
    stacks = [x for x, dim in zip(moved, dims, strict=True) if dim is not None]

    def call(carry: Any, elements: Any) -> tuple[Any, Any]:
        mapped = iter(elements)
        row = [x if dim is None else next(mapped) for x, dim in zip(moved, dims, strict=True)]
        return carry, ffi_call_p.bind(*row, vmap_method=vmap_method, **params)

    unroll = size if vmap_method == "sequential_unrolled" else 1
    _, outs = scan(call, (), stacks, length=size, unroll=max(unroll, 1))
    return outs, [0] * len(outs)


def _ffi_call_lowering(
    ctx: mlir.LoweringRuleContext,
    *args: Any,
    target_name: str,
    has_side_effect: bool,
    input_layouts: Any,
    output_layouts: Any,
    input_output_aliases: Any,
    custom_call_api_version: int,
    legacy_backend_config: Any,
    attributes: Any,
    **params: Any,
) -> Sequence[mlir.ir.Value]:
    rule = ffi.ffi_lowering(
        target_name,
        operand_layouts=input_layouts,
        result_layouts=output_layouts,
        has_side_effect=has_side_effect,
        operand_output_aliases=dict(input_output_aliases),
        api_version=custom_call_api_version,
        backend_config=legacy_backend_config,
    )
    return rule(ctx, *args, **dict(attributes))


_REASON = (
    "the derivative of a foreign function is unknown; make a primitive of it, "
    "define_primitive(..., lowering=ffi_lowering(target), jvp=rule), or call it in a function with custom derivatives, "
    "primax.custom_jvp or primax.custom_vjp"
)


RULES: Table = {
    ffi_call_p: {
        "effectful_abstract_eval": _ffi_call_abstract_eval,
        "batch": _ffi_call_batch,
        "lowering": _ffi_call_lowering,
        "unsupported": {"jvp": _REASON, "transpose": _REASON},
    },
}
