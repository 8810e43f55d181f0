"""Foreign operations on each device's part: XLA's partitioner cannot divide them, so a sharding rule does.

Such an operation is one call of `primax_parts` in the module, with its rule in Shardy's notation. When XLA divides the
program, it calls Python for the shardings of the call and the program of one device.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from primax.extend.core import ClosedJaxpr, RuleError, ShapedArray, config, rule_tables, trace_to_jaxpr
from primax.extend.interpreters import mlir
from primax.extend.interpreters.mlir import LoweringRuleContext, ModuleContext, aval_to_ir_type, jaxpr_subcomp
from primax.extend.provisional.avals import has_extended_dtype
from primax.extend.provisional.ffi import ffi_targets
from primax.extend.provisional.lowering import cached_ir_type, shared_context, spmd_of
from primax.extend.provisional.partitioning import (
    Lower,
    Spmd,
    divides_all,
    ir_constants_of,
    register_partitioner,
    rule_of,
    tuple_sharding,
)
from primax.extend.provisional.sharding import manual_scope, named_from_hlo, required_placement_rules
from primax.extend.provisional.sharding_rule import WHOLE, Factors, apply_sharding_rule, as_sharding_rule, shardy_rule
from primax.extend.sharding import Mesh, NamedSharding, PartitionSpec
from primax.extend.stablehlo.custom_calls import record_foreign_call

_TARGET = "primax_parts"
_parts: WeakValueDictionary[str, Any] = WeakValueDictionary()


class _Part:
    """An operation that is divided, with its rule.

    Attributes:
      error: the error of its partitioning, if there was one.
    """

    def __init__(self, primitive: Any, params: dict[str, Any], avals: Any, outs: Any, factors: Factors, mesh: Mesh):
        self.primitive = primitive
        self.params = params
        self.avals = tuple(avals)
        self.outs = tuple(outs)
        self.factors = factors
        self.mesh = mesh
        self.wide = config.enable_x64.value
        self.error: BaseException | None = None

    def fingerprint(self) -> tuple[Any, ...]:
        """An identifier, the same in all processes."""
        return str(self.params), str(self.avals), str(self.outs), str(self.mesh), self.wide, self.factors

    def divided(self, operands: Sequence[Any], results: Sequence[Any]) -> tuple[bytes, list[Any], list[Any]]:
        """The program of one device, and the shardings of its arguments and results over the mesh.

        Args:
          operands: XLA's shardings of the operands.
          results: XLA's shardings of the results.
        """
        axes = _axes_of_factors(self, operands, results)
        ins, outs = (
            [NamedSharding(self.mesh, _spec(dims, axes)) for dims in terms]
            for terms in (self.factors.operands, self.factors.results)
        )
        return _program_of_part(self, axes), ins, outs


def _key(part: Any) -> str:
    """The unique name of this part in modules, the same in all processes."""
    name = str(part.primitive)
    digest = hashlib.sha256(repr((name, *part.fingerprint())).encode()).hexdigest()[:16]
    key = f"{name}-{digest}"
    count = 0
    while key in _parts:
        count += 1
        key = f"{name}-{digest}-{count}"
    return key


def _divides(ctx: LoweringRuleContext, args: Sequence[Any], params: dict[str, Any], lower: Lower) -> bool:
    """Whether the sharding rule of an operation divides it among devices. Otherwise XLA divides it, or nothing does."""
    module = ctx.module_context
    rule = rule_tables["sharding"].functions.get(ctx.primitive)
    if (
        rule is None
        or (properties := as_sharding_rule(rule)).types_only
        or spmd_of(module).manual is not None
        or ctx.tokens_in
    ):
        return False
    if module.platform != "cpu":  # other clients have their own partitioners
        return False
    return divides_all() or properties.replaces_xla or bool(_calls_foreign(ctx, args, params, lower))


_foreign: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def _calls_foreign(ctx: LoweringRuleContext, args: Sequence[Any], params: dict[str, Any], lower: Lower) -> str:
    """The foreign function that a lowering rule calls without information for XLA about its sharding; empty if none.

    The rule runs once, in a function that is discarded.
    """
    _, rule = rule_of(ctx)
    foreign = _foreign.get(rule)
    if foreign is None:
        ir, module = mlir.ir, ctx.module_context
        callbacks, keepalives, before = len(module.host_callbacks), len(module.keepalives), module.calls_foreign
        kinds = [x.type for x in args]
        trial = mlir.func.FuncOp("trial", (kinds, []), visibility="private", ip=module.body)
        try:
            with ir.InsertionPoint(trial.add_entry_block()):
                lower(ctx, list(trial.arguments), params)
                mlir.func.return_([])
            foreign = _foreign_call(trial.operation) if len(module.host_callbacks) == callbacks else ""
        finally:
            trial.operation.erase()
            del module.host_callbacks[callbacks:], module.keepalives[keepalives:]
            module.calls_foreign = before
        _foreign[rule] = foreign
    if foreign in ffi_targets:
        record_foreign_call(ctx.module_context, foreign, str(ctx.primitive))
    return foreign


def _foreign_call(operation: Any) -> str:
    ir = mlir.ir
    foreign = ""

    def visit(op: Any) -> Any:
        nonlocal foreign
        if op.name == "stablehlo.custom_call" and "sdy.sharding_rule" not in op.attributes:
            foreign = ir.StringAttr(op.attributes["call_target_name"]).value
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return foreign


def lower_by_sharding_rule(
    ctx: LoweringRuleContext, args: Sequence[Any], params: dict[str, Any], lower: Lower
) -> list[Any]:
    """Lower an operation that its sharding rule divides, by a call which is replaced when XLA divides the program."""
    avals = (*ctx.avals_in, *ctx.avals_out)
    if not _divides(ctx, args, params, lower) or any(
        type(aval) is not ShapedArray or has_extended_dtype(aval) for aval in avals
    ):
        return lower(ctx, args, params)
    factors = apply_sharding_rule(ctx.primitive, ctx.avals_in, ctx.avals_out, params)
    if not isinstance(factors, Factors):
        return lower(ctx, args, params)
    part = _Part(ctx.primitive, params, ctx.avals_in, ctx.avals_out, factors, ctx.module_context.spmd.mesh)
    return call_of(ctx, part, args, shardy_rule(factors))


def call_of(ctx: LoweringRuleContext, part: Any, args: Sequence[Any], rule: Any) -> list[Any]:
    """The results of a call that a part divides when XLA divides the program.

    Args:
      ctx: the lowering context of the operation.
      part: an object with the methods of `_Part`.
      args: the operands.
      rule: the rule in Shardy's notation, or None.
    """
    module = ctx.module_context
    key = _key(part)
    _parts[key] = part
    module.keepalives.append(part)
    module.spmd.parts.append(part)
    module.calls_foreign = True
    _register()
    ir = mlir.ir
    attributes = {
        "call_target_name": ir.StringAttr.get(_TARGET),
        "has_side_effect": ir.BoolAttr.get(False),
        "api_version": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 2),
        "backend_config": ir.StringAttr.get(key),
    }
    if rule is not None:
        attributes["sdy.sharding_rule"] = rule
    types = [aval_to_ir_type(aval) for aval in ctx.avals_out]
    return list(ir.Operation.create("stablehlo.custom_call", types, list(args), attributes).results)


@cache
def _register() -> None:
    register_partitioner(_TARGET, _keep_user_sharding, _partition, _infer_nothing)


def _keep_user_sharding(sharding: Any, shape: Any, key: bytes) -> Any:
    return sharding


def _infer_nothing(arg_shapes: Any, arg_shardings: Any, shape: Any, key: bytes) -> None:
    return None


@cache
def _builder() -> ThreadPoolExecutor:
    """A Python thread that builds modules: a thread of XLA may end while the context of a module it built is in use."""
    return ThreadPoolExecutor(1, "primax_parts")


def _partition(arg_shapes: Any, arg_shardings: Any, shape: Any, sharding: Any, key: bytes) -> Any:
    """The program of one device, and the shardings of its arguments and results, for XLA."""
    part = _parts[key.decode()]
    try:
        several = len(part.outs) != 1
        results = sharding.tuple_elements() if several else [sharding]
        module, ins, outs = _builder().submit(part.divided, arg_shardings, results).result()
        taken, returned = (
            [named._to_xla_hlo_sharding(len(aval.shape)) for named, aval in zip(shardings, avals, strict=True)]
            for shardings, avals in ((ins, part.avals), (outs, part.outs))
        )
        return module, taken, tuple_sharding(returned) if several else returned[0]
    except BaseException as error:
        part.error = error
        raise


def _spec(dims: Sequence[int], axes: dict[int, tuple[Any, ...]]) -> PartitionSpec:
    return PartitionSpec(*[axes.get(i) or None for i in dims])


def _axes_of_factors(part: _Part, arg_shardings: Sequence[Any], results: Sequence[Any]) -> dict[int, tuple[Any, ...]]:
    """For each dimension the mesh axes that divide it.

    The shardings of results take precedence over those of operands; an axis divides only one dimension.
    """
    mesh, factors = part.mesh, part.factors
    placements: list[tuple[int, tuple[Any, ...]]] = []
    for dims, sharding in [
        *zip(factors.results, results, strict=True),
        *zip(factors.operands, arg_shardings, strict=True),
    ]:
        named = named_from_hlo(sharding, mesh, len(dims))
        if named is not None:
            placements += [(i, named.spec.along(place)) for place, i in enumerate(dims)]
    by_factor: dict[int, tuple[Any, ...]] = {}
    used: set[Any] = set()
    for i, axes in placements:
        if not axes or i in by_factor or factors.mark(i) == WHOLE or used & set(axes):
            continue
        if factors.sizes[i] % mesh.size_along(axes) == 0:
            by_factor[i] = axes
            used |= set(axes)
    return by_factor


def _program_of_part(part: _Part, axes: dict[int, tuple[Any, ...]]) -> bytes:
    """The module of one device's part of an operation."""
    mesh, factors = part.mesh, part.factors

    def local(aval: ShapedArray, dims: Sequence[int]) -> ShapedArray:
        shape = [n // mesh.size_along(axes.get(i, ())) for n, i in zip(aval.shape, dims, strict=True)]
        return aval.update(shape=tuple(shape))

    ins = [local(aval, dims) for aval, dims in zip(part.avals, factors.operands, strict=True)]
    outs = [local(aval, dims) for aval, dims in zip(part.outs, factors.results, strict=True)]

    def run(*xs: Any) -> list[Any]:
        result = part.primitive.bind(*xs, **part.params)
        values = list(result) if part.primitive.multiple_results else [result]
        return [_reduced(x, dims, factors, axes) for x, dims in zip(values, factors.results, strict=True)]

    with config.enable_x64(part.wide), manual_scope(mesh, mesh.axis_names, False):
        closed = trace_to_jaxpr(run, ins, str(part.primitive))
        for got, needed, whole in zip(closed.out_avals, outs, part.outs, strict=True):
            if got.shape != needed.shape or got.dtype != needed.dtype:
                raise RuleError(
                    f"the sharding rule of {part.primitive} divides a result of type {whole.str_short()} into parts of "
                    f"type {needed.str_short()}, but the primitive returns {got.str_short()} for operands of types "
                    f"[{', '.join(aval.str_short() for aval in ins)}]; mark dimensions that must not be divided with "
                    "'!', and take sizes from operands rather than from parameters"
                )
        return module_of_part(closed, part)


def _reduced(x: Any, dims: Sequence[int], factors: Factors, axes: dict[int, tuple[Any, ...]]) -> Any:
    """A result of one device, reduced over the devices along the axes that divide the reduced dimensions."""
    for i, names in axes.items():
        if i not in dims and any(i in operand for operand in factors.operands) and factors.mark(i) != "":
            x = required_placement_rules().reductions[factors.mark(i)](x, names)
    return x


def module_of_part(closed: ClosedJaxpr, part: Any) -> bytes:
    """The bytecode of a program for one device of the mesh of a part."""
    ir = mlir.ir
    shared = shared_context()
    with shared, shared.unknown:
        op = ir.Module.create()
        module = ModuleContext(shared, op, "cpu", closed.jaxpr)
        module.spmd = Spmd(part.mesh)
        module.spmd.manual = part.mesh, frozenset(part.mesh.axis_names)
        types = [[cached_ir_type(shared, aval) for aval in avals] for avals in (closed.in_avals, closed.out_avals)]
        main = mlir.func.FuncOp("main", tuple(types), visibility="public", ip=module.body)
        module.symbols.insert(main)
        with ir.InsertionPoint(main.add_entry_block()):
            consts = ir_constants_of(closed)
            outs, _ = jaxpr_subcomp(module, closed.jaxpr, {}, consts, list(main.arguments))
            mlir.func.return_(outs)
        if module.host_callbacks:
            raise RuleError(
                f"{part.primitive}: a primitive that calls Python must have no sharding rule; without it every device "
                "computes the whole"
            )
        op.operation.verify()
        written = io.BytesIO()
        op.operation.write_bytecode(written)
        return written.getvalue()
