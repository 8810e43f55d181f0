"""The rules of `shard_map_p`: a call of a per-device program, transformed with the mesh in scope."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import ShapedArray, named_axes
from primax.extend.held_programs import (
    SplitEquation,
    cotangents,
    cut,
    given,
    linear_flags,
    nonzero_flags,
    partition,
    sections,
    tangents_of,
    trimmed,
)
from primax.extend.interpreters import ad, batching, mlir
from primax.extend.interpreters import partial_eval as pe
from primax.extend.provisional.avals import ALL_BUT_SHAPE_AND_DTYPE, same_type
from primax.extend.provisional.lowering import array_in_module, sharding_attribute, spmd_of, stack_axes
from primax.extend.provisional.references import Outcome, Refs, discharge, split_outcome
from primax.extend.provisional.sharding import aval_sharding, manual_scope
from primax.extend.rule_types import Table
from primax.extend.sharding import Mesh, PartitionSpec
from primax.plugins.collectives import psum
from primax.plugins.control_flow import run_compiled
from primax.plugins.devices import require_free
from primax.plugins.sharding.parts import of_cotangents, residual_spec, whole_aval, with_axis
from primax.plugins.sharding.shard_map import shard_map_p
from primax.plugins.structural import broadcast_in_dim_p, squeeze_p

Closed = core.ClosedJaxpr


def _scope(params: dict[str, Any]) -> Any:
    return manual_scope(params["mesh"], params["manual_axes"], params["check_vma"])


def _changed(
    params: dict[str, Any], jaxpr: Closed, ins: Sequence[PartitionSpec], outs: Sequence[Any]
) -> dict[str, Any]:
    """Parameters with a new program and new specifications."""
    return {**params, "jaxpr": jaxpr, "in_specs": tuple(ins), "out_specs": tuple(outs)}


def _whole(params: dict[str, Any], spec: PartitionSpec, aval: Any) -> ShapedArray:
    return whole_aval(params["mesh"], spec, aval, params["manual_axes"])


def _impl(*args: Any, **params: Any) -> list[Any]:
    return run_compiled(shard_map_p, params["jaxpr"], args, params)


def _abstract_eval(*avals: Any, jaxpr: Closed, **params: Any) -> tuple[Any, Any]:
    outs = [_whole(params, spec, aval) for spec, aval in zip(params["out_specs"], jaxpr.out_avals, strict=True)]
    return outs, jaxpr.effects


def _check(context: Any, *atoms: Any, jaxpr: Closed, **params: Any) -> tuple[Any, Any]:
    for i, (x, spec, aval) in enumerate(zip(atoms, params["in_specs"], jaxpr.in_avals, strict=True)):
        whole = _whole(params, spec, aval)
        if not same_type(x.aval, whole, ALL_BUT_SHAPE_AND_DTYPE):
            raise core.JaxprTypeError(
                f"operand {i} is {x.aval.str_short()}, but parts of type {aval.str_short()} divided as {spec} make "
                f"{whole.str_short()}"
            )
    with _scope(params):
        context.check(jaxpr)
    return _abstract_eval(jaxpr=jaxpr, **params)


def _jvp(primals: Any, tangents: Any, *, jaxpr: Closed, **params: Any) -> tuple[Any, Any]:
    nonzero = nonzero_flags(tangents)
    with _scope(params):
        program, nonzero_out = ad.jvp_jaxpr(jaxpr, nonzero)
    ins, outs = params["in_specs"], params["out_specs"]
    changed = _changed(params, program, [*ins, *compress(ins, nonzero)], [*outs, *compress(outs, nonzero_out)])
    primals_out, out_tangents = sections(shard_map_p.bind(*primals, *given(tangents), **changed), len(outs))
    return primals_out, tangents_of(primals_out, nonzero_out, out_tangents)


def _discharge(refs: Refs, *args: Any, jaxpr: Closed, **params: Any) -> Outcome:
    """The contents of a reference are divided as those of an array; new contents as the earlier ones."""
    with _scope(params):
        program, written = discharge(jaxpr)
    ins, outs = params["in_specs"], params["out_specs"]
    return split_outcome(
        shard_map_p.bind(*args, **_changed(params, program, ins, [*outs, *(ins[i] for i in written)])), written
    )


def _batch(axis: batching.AxisData, args: Any, dims: Any, *, jaxpr: Closed, **params: Any) -> tuple[Any, Any]:
    if all(d is None for d in dims) and axis.name not in named_axes(jaxpr):
        outs = shard_map_p.bind(*args, jaxpr=jaxpr, **params)
        return outs, [None] * len(outs)
    if axis.spmd:
        return _batch_along_mesh(axis, args, dims, jaxpr, params)
    with _scope(params):
        program, out_dims = batching.batch_jaxpr(jaxpr, axis, dims)
    in_specs = list(map(with_axis, params["in_specs"], dims))
    out_specs = list(map(with_axis, params["out_specs"], out_dims))
    return shard_map_p.bind(*args, **_changed(params, program, in_specs, out_specs)), out_dims


def _batch_along_mesh(
    axis: batching.AxisData, args: Any, dims: Any, jaxpr: Closed, params: dict[str, Any]
) -> tuple[Any, Any]:
    """The batch rule for a mapped axis that axes of the mesh divide: each device maps over its elements.

    Raises:
      ValueError: the axes divide values already, cannot divide the elements, or are axes of collectives.
    """
    mesh, checked = params["mesh"], params["check_vma"]
    require_free("the specifications of shard_map", axis.spmd, mesh, [*params["in_specs"], *params["out_specs"]])
    along = named_axes(jaxpr) & {axis.name, *axis.spmd}
    if along:
        raise ValueError(
            "vmap: spmd_axis_name must be None if a shard_map inside communicates along the mapped axis or along the "
            f"mesh axes that divide it, {', '.join(map(repr, along))}; got {axis.spmd}"
        )
    names = tuple(name for name in axis.spmd if name in params["manual_axes"])
    count = mesh.size_along(names)
    if axis.size % count:
        sizes = ", ".join(f"{name!r} of size {mesh.shape[name]}" for name in names)
        raise ValueError(
            f"vmap: the mapped axis must be a multiple of {count} to be divided along spmd_axis_name, {sizes}, got "
            f"{axis.size}"
        )
    own = batching.AxisData(axis.name, axis.size // count)
    divided = (names[0] if len(names) == 1 else names) if names else None

    def make() -> tuple[Closed, list[int | None]]:
        batched: list[int | None] = []

        def run(*parts: Any) -> list[Any]:
            outs, out_dims = batching.batch_flat(core.jaxpr_as_fun(jaxpr), own, parts, dims)
            batched.extend(out_dims)
            return outs

        avals = [
            aval if dim is None else aval.unmapped(own.size, dim)
            for aval, dim in zip(jaxpr.in_avals, dims, strict=True)
        ]
        if checked:
            avals = [
                aval if dim is None else aval.update(vma=aval.vma | frozenset(names))
                for aval, dim in zip(avals, dims, strict=True)
            ]
        return core.trace_to_jaxpr(run, avals, jaxpr.jaxpr.debug_info), batched

    with _scope(params):
        program, out_dims = core.cached(jaxpr, ("batch along a mesh", own, names, tuple(dims), checked), make)
    ins = [with_axis(spec, dim, divided) for spec, dim in zip(params["in_specs"], dims, strict=True)]
    outs = [with_axis(spec, dim, divided) for spec, dim in zip(params["out_specs"], out_dims, strict=True)]
    return shard_map_p.bind(*args, **_changed(params, program, ins, outs)), out_dims


def _stacked(closed: Closed, count: int, axes: Sequence[Any], checked: bool) -> tuple[Closed, list[Any]]:
    """A program whose results from `count` on, which are residuals, can be concatenated, and their specifications.

    Parts are concatenated along the first axis; a scalar gets one.
    """
    jaxpr = closed.jaxpr
    specs = [residual_spec(v.aval, axes, checked) for v in jaxpr.outvars[count:]]

    def make() -> Closed:
        eqns, outvars = list(jaxpr.eqns), list(jaxpr.outvars)
        for i, spec in enumerate(specs, count):
            if spec is not None and spec.axes and not outvars[i].aval.shape:
                params = {"shape": (1,), "broadcast_dimensions": ()}
                whole = core.Var(outvars[i].aval.update(shape=(1,)))
                eqns.append(core.new_jaxpr_eqn([outvars[i]], [whole], broadcast_in_dim_p, params))
                outvars[i] = whole
        return core.ClosedJaxpr(jaxpr.replace(eqns=eqns, outvars=outvars), closed.consts)

    return core.cached(closed, ("stacked residuals", count, tuple(axes)), make), specs


def _unstacked(closed: Closed, specs: Sequence[Any]) -> Closed:
    """A program that takes its first arguments, which are residuals, in the form of `_stacked`."""
    jaxpr = closed.jaxpr

    def make() -> Closed:
        eqns, invars = [], list(jaxpr.invars)
        for i, spec in enumerate(specs):
            if spec is not None and spec.axes and not invars[i].aval.shape:
                part = invars[i]
                invars[i] = core.Var(part.aval.update(shape=(1,)))
                eqns.append(core.new_jaxpr_eqn([invars[i]], [part], squeeze_p, {"dimensions": (0,)}))
        return core.ClosedJaxpr(jaxpr.replace(eqns=[*eqns, *jaxpr.eqns], invars=invars), closed.consts)

    return core.cached(closed, ("unstacked residuals", tuple(specs)), make)


def _partial_eval_jaxpr(unknown_in: Sequence[bool], eqn: core.JaxprEqn) -> tuple[Any, Any, Any]:
    params = eqn.params
    axes, checked = params["manual_axes"], params["check_vma"]
    with _scope(params):
        split = pe.partial_eval_jaxpr(params["jaxpr"], unknown_in)
        if split.unknown is params["jaxpr"]:
            return None, eqn, split.unknown_out
        known_specs, rest_specs = partition(params["in_specs"], unknown_in)
        known_out_specs, unknown_out_specs = partition(params["out_specs"], split.unknown_out)
        known, stacked = _stacked(split.known, len(known_out_specs), axes, checked)
        # A residual is an input, a known output, or one of the concatenated ones.
        first_extra = len(known_specs) + len(known_out_specs)
        of_residuals = [stacked[i - first_extra] if i >= first_extra else None for i in split.residuals]
        unknown = _unstacked(split.unknown, of_residuals)
    extra_specs = [spec or PartitionSpec() for spec in stacked]
    extras = zip(extra_specs, known.out_avals[len(known_out_specs) :], strict=True)
    halves = SplitEquation(eqn, unknown_in, split.unknown_out, [_whole(params, spec, aval) for spec, aval in extras])
    specs = [*known_specs, *known_out_specs, *extra_specs]
    rest_specs = [*(specs[i] for i in split.residuals), *rest_specs]
    operands = [*(halves.available[i] for i in split.residuals), *halves.unknown_in]
    known_params = _changed(params, known, known_specs, [*known_out_specs, *extra_specs])
    rest_params = _changed(params, unknown, rest_specs, unknown_out_specs)
    return (
        halves.known(known_params, known.effects),
        halves.rest(operands, rest_params, unknown.effects),
        split.unknown_out,
    )


def _transpose(cts: Any, *args: Any, jaxpr: Closed, **params: Any) -> list[Any]:
    linear, nonzero = linear_flags(args), nonzero_flags(cts)
    residual_specs, linear_specs = partition(params["in_specs"], linear)
    linear_specs = list(map(of_cotangents, linear_specs))
    ct_specs = list(map(of_cotangents, compress(params["out_specs"], nonzero)))
    with _scope(params):
        program, nonzero_in = ad.transpose_jaxpr(jaxpr, linear, nonzero)
        in_specs = list(compress(linear_specs, nonzero_in))
        if not params["check_vma"]:
            program = _summed(program, len(residual_specs), ct_specs, in_specs, params["mesh"], params["manual_axes"])
    changed = _changed(params, program, [*residual_specs, *ct_specs], in_specs)
    return cotangents(args, nonzero_in, shard_map_p.bind(*given(args), *given(cts), **changed))


def _summed(
    closed: Closed, rest: int, ct_specs: Sequence[Any], in_specs: Sequence[Any], mesh: Mesh, axes: Sequence[Any]
) -> Closed:
    """The transposed program if types record no variance.

    The cotangent of a replicated result is divided by the number of devices, and that of a replicated argument is the
    sum over devices.
    """

    def left_out(spec: PartitionSpec) -> tuple[Any, ...]:
        return tuple(name for name in axes if name not in spec.axes)

    def run(*args: Any) -> list[Any]:
        shares = []
        for ct, spec in zip(args[rest:], ct_specs, strict=True):
            count = mesh.size_along(left_out(spec))
            shares.append(ct / core.get_aval(ct).dtype.type(count) if count > 1 else ct)
        outs = core.eval_jaxpr(closed.jaxpr, closed.consts, *args[:rest], *shares)
        return [psum(x, left_out(spec)) if left_out(spec) else x for x, spec in zip(outs, in_specs, strict=True)]

    key = ("summed", rest, tuple(ct_specs), tuple(in_specs), mesh, tuple(axes))
    return core.cached(closed, key, lambda: core.trace_to_jaxpr(run, closed.in_avals, closed.jaxpr.debug_info))


def _dce(used_outputs: Sequence[bool], eqn: core.JaxprEqn) -> tuple[Any, Any]:
    params = eqn.params
    closed = params["jaxpr"]
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    program, used_inputs = trimmed(closed, used_outputs)
    if program is closed:
        return used_inputs, eqn
    ins, outs = (
        compress(params[name], used) for name, used in (("in_specs", used_inputs), ("out_specs", used_outputs))
    )
    changed = _changed(params, program, list(ins), list(outs))
    return used_inputs, cut(eqn, used_inputs, used_outputs, changed, program.effects)


def _named_axes(*, jaxpr: Closed, manual_axes: Any, **params: Any) -> frozenset[Any]:
    return named_axes(jaxpr) - frozenset(manual_axes)


def _lowering(ctx: mlir.LoweringRuleContext, *args: Any, jaxpr: Closed, mesh: Mesh, **params: Any) -> list[Any]:
    module = ctx.module_context
    spmd = spmd_of(module)
    axes = params["manual_axes"]
    outer = spmd.manual
    spmd.manual = mesh, frozenset(axes) if outer is None else outer[1] | frozenset(axes)
    try:
        if mesh.size_along(axes) == 1:
            return mlir.inline_jaxpr(ctx, jaxpr, args, "shard_map")
        if spmd.partitions == 1:
            raise ValueError(
                f"shard_map: the program must be built for {mesh.size} devices, as {mesh!r} has, got one device"
            )
        ir, sdy = mlir.ir, mlir.sdy
        partly = any(name not in spmd.manual[1] and mesh.shape[name] > 1 for name in mesh.axis_names)

        def per_value(specs: Sequence[PartitionSpec], avals: Sequence[Any]) -> mlir.ir.Attribute:
            return sdy.TensorShardingPerValueAttr.get(
                [_sdy_sharding(module, mesh, spec, aval, partly, axes) for spec, aval in zip(specs, avals, strict=True)]
            )

        # Shardy ignores that a program without inputs is per-device: calls of Python take this number.
        number = np.int32(0)
        op = sdy.ManualComputationOp(
            list(map(mlir.aval_to_ir_type, ctx.avals_out)),
            [*args, mlir.ir_constant(number)],
            per_value([*params["in_specs"], PartitionSpec()], [*ctx.avals_in, core.get_aval(number)]),
            per_value(params["out_specs"], ctx.avals_out),
            sdy.ManualAxesAttr.get([ir.StringAttr.get(str(name)) for name in axes]),
        )
        parts = [_as_divided(part, whole, axes) for part, whole in zip(jaxpr.in_avals, ctx.avals_in, strict=True)]
        block = op.body.blocks.append(*map(mlir.aval_to_ir_type, [*parts, core.get_aval(number)]))
        anchor = spmd.anchor
        *operands, spmd.anchor = block.arguments
        with ir.InsertionPoint(block):
            operands = [_reshaped(x, aval) for x, aval in zip(operands, jaxpr.in_avals, strict=True)]
            outs = mlir.inline_jaxpr(ctx, jaxpr, operands, "shard_map")
            pairs = zip(jaxpr.out_avals, ctx.avals_out, strict=True)
            outs = [_reshaped(x, _as_divided(*pair, axes)) for x, pair in zip(outs, pairs, strict=True)]
            sdy.return_(outs)
        spmd.anchor = anchor
        return list(op.results)
    finally:
        spmd.manual = outer


def _sdy_sharding(module: Any, mesh: Mesh, spec: PartitionSpec, aval: Any, partly: bool, axes: Sequence[Any]) -> Any:
    """The sharding of a value around the program; summands along the mapped axes belong to the devices."""
    names = stack_axes(aval)
    ndim = len(array_in_module(aval).shape)
    if names or spec.unreduced:
        parts = [spec.along(i) for i in range(ndim - len(names))]
        spec = PartitionSpec(*parts, *(name if name in axes else None for name in names))
    return sharding_attribute(module, mesh, spec, ndim, open_axes=partly)


def _as_divided(part: Any, whole: Any, axes: Sequence[Any]) -> Any:
    """The type of a part in the partitioner's form: with an axis of length 1 for each summand."""
    names, explicit = stack_axes(whole), aval_sharding(whole)
    if not names or explicit is None:
        return part
    sizes = [1 if name in axes else explicit.mesh.shape[name] for name in names]
    return ShapedArray((*part.shape, *sizes), part.dtype)


def _reshaped(x: Any, aval: Any) -> Any:
    kind = mlir.aval_to_ir_type(aval)
    return x if x.type == kind else mlir.hlo.reshape(kind, x)


def _printed(params: dict[str, Any]) -> dict[Any, Any]:
    order = ("jaxpr", "mesh", "in_specs", "out_specs", "manual_axes", "check_vma")
    return {name: params[name] for name in order}


RULES: Table = {
    shard_map_p: {
        "impl": _impl,
        "effectful_abstract_eval": _abstract_eval,
        "jvp": _jvp,
        "transpose": _transpose,
        "axis_batch": _batch,
        "lowering": _lowering,
        "partial_eval_jaxpr": _partial_eval_jaxpr,
        "dce": _dce,
        "discharge": _discharge,
        "check": _check,
        "print": _printed,
        "named_axes": _named_axes,
        "unsupported": {
            "interpret": "its inner program is for one device and takes parts of the values that an interpreter has"
        },
    },
}
