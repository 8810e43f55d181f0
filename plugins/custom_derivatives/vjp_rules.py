"""`custom_vjp_call_p`: a call of a function with a custom VJP rule.

Differentiation has two steps. Linearization runs the forward rule, and records `custom_lin_p` as the derivative;
it has no forward evaluation. Transposition replaces it by the backward rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, NoReturn

from primax.extend import core
from primax.extend.held_programs import checked_types
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.provisional.avals import is_void
from primax.extend.provisional.sharding import axes_of_dims, cotangent_like, keep_vma
from primax.extend.provisional.tracing import user_line
from primax.extend.rule_types import Table
from primax.plugins.custom_derivatives.calls import (
    Batch,
    as_operands,
    call_abstract_eval,
    call_close_over,
    call_impl,
    call_lowering,
    call_transpose,
    in_place,
    interpret_call,
    is_forwarded,
    refuse_closed_over,
    staging_rule,
)
from primax.plugins.reductions import reduce_sum

custom_vjp_call_p = core.Primitive("custom_vjp_call", multiple_results=True)
custom_lin_p = core.Primitive("custom_lin", multiple_results=True)


def _jvp(
    primals: Any, tangents: Any, *, fwd: Any, bwd: Any, name: str, num_consts: int, **params: Any
) -> tuple[Any, Any]:
    refuse_closed_over(name, primals[:num_consts], tangents[:num_consts])
    args, own = primals[num_consts:], tangents[num_consts:]
    nonzero = tuple(type(t) is not ad.Zero for t in own)
    outs, residuals = fwd(as_operands(args), nonzero)
    out_avals = tuple(core.get_aval(x).to_tangent_aval() for x in outs)
    moving = [t for t in own if type(t) is not ad.Zero]
    results = iter(
        custom_lin_p.bind(
            *residuals, *moving, name=name, num_residuals=len(residuals), nonzero=nonzero, bwd=bwd, out_avals=out_avals
        )
    )
    out_tangents = [ad.Zero(aval) if is_void(aval) else next(results) for aval in out_avals]
    return outs, [ad.Zero(t.aval) if is_forwarded(x) else t for x, t in zip(outs, out_tangents, strict=True)]


def _batch(
    axis: batching.AxisData,
    args: Any,
    dims: Any,
    *,
    call_jaxpr: Any,
    fwd: Any,
    bwd: Any,
    num_consts: int,
    **params: Any,
) -> tuple[Any, Any]:
    batch = Batch(axis, call_jaxpr, dims)
    if not batch.is_needed:
        outs = custom_vjp_call_p.bind(*args, call_jaxpr=call_jaxpr, fwd=fwd, bwd=bwd, num_consts=num_consts, **params)
        return outs, [None] * len(outs)
    own = list(dims[num_consts:])
    residual_dims: list[Any] = []

    def batched_fwd(primals: Sequence[Any], nonzero: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        counts: list[int] = []

        def run(*xs: Any) -> list[Any]:
            outs, residuals = fwd(xs, nonzero)
            counts.append(len(outs))
            return [*outs, *residuals]

        outs, out_dims = batch.run(run, primals, own)
        count = counts[0]
        residual_dims[:] = out_dims[count:]
        batch.forwarded = list(map(is_forwarded, outs[:count]))
        return batch.placed(outs[:count], out_dims[:count], residual_dims), outs[count:]

    outs = custom_vjp_call_p.bind(
        *args,
        call_jaxpr=batch.function,
        fwd=batched_fwd,
        bwd=batched_bwd(batch, bwd, residual_dims, own),
        num_consts=num_consts,
        **params,
    )
    return outs, batch.out_dims(outs)


def batched_bwd(batch: Batch, bwd: Any, residual_dims: list[Any], dims: Sequence[Any]) -> Callable[..., Any]:
    """A backward rule for a batch: cotangents have the batch axes of the results, and results those of the arguments.

    The cotangent of an argument without a batch axis is the sum over all elements.
    """
    axis = batch.axis

    def run(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        nonzero = [type(ct) is not ad.Zero for ct in cts]
        ct_dims = batch.ct_dims(cts)
        kept: list[bool] = []
        n = len(residuals)

        def one(*xs: Any) -> list[Any]:
            remaining = iter(xs[n:])
            own = [
                next(remaining) if nz else ad.Zero(ct.aval if d is None else ct.aval.mapped(axis.size, d))
                for ct, d, nz in zip(cts, ct_dims, nonzero, strict=True)
            ]
            in_cts = bwd(xs[:n], own)
            kept.extend(type(ct) is not ad.Zero for ct in in_cts)
            return [ct for ct in in_cts if type(ct) is not ad.Zero]

        values = [*residuals, *(ct for ct in cts if type(ct) is not ad.Zero)]
        outs, out_dims = batch.run(one, values, [*residual_dims, *compress(ct_dims, nonzero)])
        if not batch.batched:
            shared = iter(batch.placed(outs, out_dims))
            return [next(shared) if keep else ad.Zero(None) for keep in kept]
        pairs = iter(zip(outs, out_dims, strict=True))
        return [_to_axis(axis, *next(pairs), dim) if k else ad.Zero(None) for k, dim in zip(kept, dims, strict=True)]

    return run


def _to_axis(axis: batching.AxisData, ct: Any, dim: Any, target: Any) -> Any:
    """A cotangent with the batch axis `target` of its argument, or summed for an argument that all elements share."""
    if target is not None:
        return batching.to_dim(ct, axis.size, dim, target)
    front = batching.bdim_at_front(ct, dim, axis.size)
    return reduce_sum(front, (0,))


def _narrowed(params: dict[str, Any], kept: Sequence[bool], out_avals: Sequence[Any]) -> dict[str, Any]:
    """The parameters of a call after some of its results were removed; the cotangents of these are zero."""
    fwd, bwd = params["fwd"], params["bwd"]

    def forward(primals: Sequence[Any], nonzero: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        outs, residuals = fwd(primals, nonzero)
        return list(compress(outs, kept)), residuals

    def backward(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        remaining = iter(cts)
        pairs = zip(kept, out_avals, strict=True)
        return bwd(residuals, [next(remaining) if k else ad.Zero(aval.to_tangent_aval()) for k, aval in pairs])

    return {**params, "fwd": forward, "bwd": backward}


def _refuse(name: str, source: Any = None) -> TypeError:
    return TypeError(
        f"can't apply forward-mode autodiff (jvp) to a custom_vjp function: {name} has a backward rule (custom_vjp), "
        "but no forward-mode derivative (jvp, jacfwd, linearize); use reverse mode (grad, vjp, jacrev), or custom_jvp, "
        f"which gives both modes; {name} is called at {user_line(source)}"
    )


def _lin_abstract_eval(*avals: Any, out_avals: Any, **params: Any) -> list[Any]:
    return [aval for aval in out_avals if not is_void(aval)]


def _lin_transpose(
    cts: Any, *args: Any, name: str, num_residuals: int, nonzero: Any, bwd: Any, out_avals: Any
) -> list[Any]:
    residuals, tangents = args[:num_residuals], args[num_residuals:]
    remaining = iter(cts)
    all_cts = [ad.Zero(aval) if is_void(aval) else next(remaining) for aval in out_avals]
    pulled = bwd(residuals, all_cts)
    own = list(compress(pulled, nonzero))
    return [
        *[None] * num_residuals,
        *(
            ad.Zero(x.aval) if type(ct) is ad.Zero else cotangent_like(ct, x.aval)
            for x, ct in zip(tangents, own, strict=True)
        ),
    ]


def _lin_jvp(primals: Any, tangents: Any, *, name: str, num_residuals: int, **params: Any) -> tuple[Any, Any]:
    if any(type(t) is not ad.Zero for t in tangents[:num_residuals]):
        raise _refuse(name)
    bind = {"name": name, "num_residuals": num_residuals, **params}
    outs = custom_lin_p.bind(*primals, **bind)
    moving = map(ad.instantiate_zeros, tangents[num_residuals:])
    return outs, custom_lin_p.bind(*primals[:num_residuals], *moving, **bind)


def _lin_batch(
    axis: batching.AxisData,
    args: Any,
    dims: Any,
    *,
    num_residuals: int,
    nonzero: Any,
    bwd: Any,
    out_avals: Any,
    **params: Any,
) -> tuple[Any, Any]:
    remaining = iter(dims[num_residuals:])
    own = [next(remaining) if nz else None for nz in nonzero]
    outs = custom_lin_p.bind(
        *args,
        num_residuals=num_residuals,
        nonzero=nonzero,
        bwd=batched_bwd(Batch(axis, None, [0]), bwd, list(dims[:num_residuals]), own),
        out_avals=tuple(aval.unmapped(axis.size, 0) for aval in out_avals),
        **params,
    )
    return outs, [0] * len(outs)


@mlir.physical_lowering
def _lin_lowering(ctx: mlir.LoweringRuleContext, *args: Any, name: str, **params: Any) -> NoReturn:
    raise _refuse(name, ctx.source_info)


RULES: Table = {
    custom_vjp_call_p: {
        "impl": call_impl,
        "effectful_abstract_eval": call_abstract_eval,
        "jvp": _jvp,
        "transpose": call_transpose,
        "axis_batch": _batch,
        "lowering": call_lowering,
        "partial_eval": in_place,
        "staging": staging_rule(custom_vjp_call_p, _narrowed),
        "check": checked_types("call_jaxpr"),
        "close_over": call_close_over,
        "interpret": interpret_call,
        "print": lambda params: {name: params[name] for name in ("name", "call_jaxpr")},
        "variance": keep_vma,
    },
    custom_lin_p: {
        "abstract_eval": _lin_abstract_eval,
        "jvp": _lin_jvp,
        "transpose": _lin_transpose,
        "axis_batch": _lin_batch,
        "lowering": _lin_lowering,
        "print": lambda params: {name: params[name] for name in ("name", "num_residuals")},
        "sharding": lambda *avals, out_avals, **params: list(map(axes_of_dims, out_avals)),
        "variance": keep_vma,
    },
}
