"""Modules: whole programs in StableHLO, with attributes of their arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from primax.core import _jaxlib
from primax.core.caller import warn_caller
from primax.core.config import check_rules
from primax.core.diagnostics import encodable
from primax.core.effects import ordered_effects
from primax.core.errors import XlaError
from primax.core.jaxpr import ClosedJaxpr
from primax.core.mesh import meshes_exist
from primax.core.symbolic_dims import has_symbolic
from primax.interpreters.runtime.dynamic_ops import known_sizes, sizes_of_arguments
from primax.interpreters.runtime.extended_array import physical_aval
from primax.interpreters.runtime.ir_types import cached_ir_type, ir_constant, stack_axes
from primax.interpreters.runtime.lowering import ModuleContext, jaxpr_subcomp
from primax.interpreters.runtime.mlir_context import shared_context
from primax.interpreters.runtime.sharding.shardy import SpmdShardings, sharding_attributes

__all__ = ["Lowered", "lower_to_module"]


class Lowered:
    """A finished module.

    Attributes:
      module: the MLIR module.
      kept: for each input of the program whether the module takes it.
      keepalives: objects that must live as long as the executable.
      parts: the operations that sharding rules divide when XLA compiles the module.
    """

    def __init__(self, module: ModuleContext, ordered: list[Any], kept: list[bool]) -> None:
        self.module = module.module
        self.shared = module.shared
        self.platform = module.platform
        self.partitions = module.partitions
        self.host_callbacks = module.host_callbacks
        self.failures = module.failures
        self.keepalives = module.keepalives
        self.calls_foreign = module.calls_foreign
        self.multiplies = module.multiplies
        self.parts = module.parts
        self.ordered_effects = ordered
        self.kept = kept
        self.result_count = len(module.root.outvars)


def lower_to_module(
    closed: ClosedJaxpr,
    name: str,
    platform: str,
    donated: Sequence[bool] = (),
    kept: Sequence[bool] = (),
    embed: bool = False,
    checked: bool = False,
    spread: SpmdShardings | None = None,
) -> Lowered:
    """The StableHLO module of a program; its `main` takes the constants, then the kept inputs.

    Args:
      closed: the program.
      name: the name of the module.
      platform: its platform.
      donated: for each input whether its buffer may be reused for an output.
      kept: for each input whether `main` takes it; all if empty.
      embed: whether the constants are part of the module, instead of arguments.
      checked: whether to compare the results of each rule with the types of its equation.
      spread: the distribution over several devices; None for one device.

    Raises:
      ValueError: a program for several devices has ordered effects.
    """
    ir = _jaxlib.ir
    jaxpr = closed.jaxpr
    donated = list(donated) or [False] * len(jaxpr.invars)
    kept = list(kept) or [True] * len(jaxpr.invars)
    shared = shared_context()
    ordered = ordered_effects(closed.effects)
    with shared, shared.unknown:
        op = ir.Module.create()
        attributes = op.operation.attributes
        if not isinstance(name, str):
            raise TypeError(f"lower: name must be a str, got {name!r}")
        attributes["sym_name"] = ir.StringAttr.get(encodable(name))
        partitions = 1 if spread is None else spread.mesh.size
        if partitions > 1 and ordered:
            raise ValueError(
                f"{name}: a program with ordered effects ({', '.join(sorted(map(str, ordered)))}) must run on one "
                f"device, got {partitions}; make the effects unordered, or use one device"
            )
        i32 = ir.IntegerType.get_signless(32)
        attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(i32, partitions)
        attributes["mhlo.num_replicas"] = ir.IntegerAttr.get(i32, 1)
        module = ModuleContext(shared, op, platform, jaxpr, partitions)
        module.path = f"jit({encodable(name).removeprefix('jit_')})/"
        module.mesh = None if spread is None else spread.mesh
        # Divided parts call Python while XLA compiles, which artifacts (with embedded constants) must not do.
        if partitions > 1 and not embed:
            parts = import_module(
                "primax.interpreters.runtime.sharding.custom_partitioning"
            )  # programs for one device save 5 ms
            module.divide = parts.divided_call
        module.typed = partitions > 1
        module.checked = checked or check_rules.value
        invars = [v for v, k in zip(jaxpr.invars, kept, strict=True) if k]
        constvars = [] if embed else jaxpr.constvars
        in_avals = [v.aval for v in (*constvars, *invars)]
        out_avals = [v.aval for v in jaxpr.outvars]
        token_types = [_jaxlib.hlo_ext.TokenType.get()] * len(ordered)
        summing = meshes_exist() and any(map(stack_axes, (*in_avals, *out_avals)))
        taken, returned = (in_avals, out_avals)
        if summing:  # each device has its summand, an array of the shape of the whole
            taken, returned = (
                [a.update(division=None) if stack_axes(a) else a for a in avals] for avals in (taken, returned)
            )
        in_types = [*token_types, *(cached_ir_type(shared, aval) for aval in taken)]
        out_types = [*token_types, *(cached_ir_type(shared, aval) for aval in returned)]
        main = _jaxlib.func.FuncOp("main", (in_types, out_types), visibility="public", ip=module.body)
        module.symbols.insert(main)
        gives = [d for d, k in zip(donated, kept, strict=True) if k]
        _mark_arguments(module, main, [*[False] * len(constvars), *gives], in_avals, out_avals, len(ordered), name)
        if spread is not None:
            _lay_out(module, main, spread, kept, in_avals, out_avals, len(ordered))
        with ir.InsertionPoint(main.add_entry_block()):
            arguments = list(main.arguments)
            tokens = dict(zip(ordered, arguments, strict=False))
            values = arguments[len(ordered) :]
            if summing:
                values = _crossing(module, values, in_avals, _ins_of(spread, kept, len(values)), "entered")
            consts, given = values[: len(constvars)], iter(values[len(constvars) :])
            if embed:
                consts = [ir_constant(x, v.aval) for v, x in zip(jaxpr.constvars, closed.consts, strict=True)]
            args = [next(given) if k else None for k in kept]
            module.symbolic = has_symbolic(in_avals)
            sizes = sizes_of_arguments(in_avals, arguments[len(ordered) :]) if module.symbolic else {}
            with known_sizes(sizes):
                outs, tokens = jaxpr_subcomp(module, jaxpr, tokens, consts, args)
            if summing:
                outs = _crossing(
                    module, outs, out_avals, (None,) * len(outs) if spread is None else spread.outs, "left"
                )
            _jaxlib.func.return_([*(tokens[effect] for effect in ordered), *outs])
        try:
            op.operation.verify()
        except ir.MLIRError as error:
            if not checked:  # build it again, with checks of the results of each rule
                lower_to_module(closed, name, platform, donated, kept, embed, checked=True, spread=spread)
            wrong = "a lowering rule is wrong"
            if module.symbolic:
                wrong += (
                    ", or does not support symbolic dimensions (see broadcast_in_dim, reshape, iota, slice_op, pad and "
                    "dynamic_slice in primax.extend.interpreters.mlir)"
                )
            raise XlaError(f"the module of {name} is not valid StableHLO; {wrong}:\n{error}") from error
    return Lowered(module, ordered, kept)


def _ins_of(spread: SpmdShardings | None, kept: Sequence[bool], count: int) -> Sequence[Any]:
    """The shardings of the constants and of the kept arguments; None for each without a sharding."""
    if spread is None:
        return (None,) * count
    return [*spread.consts, *(s for s, k in zip(spread.ins, kept, strict=True) if k)]


def _crossing(
    module: ModuleContext, values: Sequence[Any], avals: Sequence[Any], shardings: Sequence[Any], way: str
) -> list[Any]:
    """The arguments or results of the program; unreduced ones are converted to or from their form inside the module."""
    cross = getattr(import_module("primax.interpreters.runtime.sharding.unreduced_lowering"), way)
    return [
        cross(module, x, aval, sharding) if stack_axes(aval) else x
        for x, aval, sharding in zip(values, avals, shardings, strict=True)
    ]


def _lay_out(
    module: ModuleContext,
    main: Any,
    spread: SpmdShardings,
    kept: Sequence[bool],
    in_avals: Sequence[Any],
    out_avals: Sequence[Any],
    tokens: int,
) -> None:
    """Set the shardings of the arguments and results of `main`."""
    ir = _jaxlib.ir
    ins = _ins_of(spread, kept, len(in_avals))
    for given, avals, which in ((ins, in_avals, "arg_attrs"), (spread.outs, out_avals, "res_attrs")):
        ranks = [len(physical_aval(aval).shape) for aval in avals]
        told = [dict[str, Any]()] * tokens + sharding_attributes(module, given, ranks)
        before = main.attributes[which] if which in main.attributes else [{}] * len(told)
        both = [{**{a.name: a.attr for a in old}, **new} for old, new in zip(before, told, strict=True)]
        main.attributes[which] = ir.ArrayAttr.get([ir.DictAttr.get(found) for found in both])


def _mark_arguments(
    module: ModuleContext,
    main: Any,
    donated: Sequence[bool],
    in_avals: Sequence[Any],
    out_avals: Sequence[Any],
    tokens: int,
    name: str,
) -> None:
    """Mark the donated arguments of `main`."""
    if not any(donated):
        return
    ir = _jaxlib.ir
    attributes: list[dict[str, Any]] = [{} for _ in donated]
    if module.partitions == 1:
        _mark_donated(attributes, in_avals, out_avals, donated, tokens, name)
    else:  # XLA matches donated arguments with results, since it may choose the shardings of results
        for found, gives in zip(attributes, donated, strict=True):
            if gives:
                found["jax.buffer_donor"] = ir.BoolAttr.get(True)
    main.arg_attrs = ir.ArrayAttr.get([ir.DictAttr.get(found) for found in [*[{}] * tokens, *attributes]])


def _mark_donated(
    attributes: Sequence[dict[str, Any]],
    in_avals: Sequence[Any],
    out_avals: Sequence[Any],
    donated: Sequence[bool],
    tokens: int,
    name: str,
) -> None:
    """Set for each donated input the output that reuses its buffer; warn about inputs that match no output."""
    ir = _jaxlib.ir
    free: dict[Any, list[int]] = {}
    for i, aval in enumerate(out_avals):
        free.setdefault((aval.shape, aval.dtype), []).append(i)
    useless = []
    for found, aval, donate in zip(attributes, in_avals, donated, strict=True):
        if not donate:
            continue
        targets = free.get((aval.shape, aval.dtype))
        if targets:
            found["tf.aliasing_output"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), tokens + targets.pop(0))
        else:
            useless.append(aval.str_short())
    if useless:
        warn_caller(
            f"Some donated buffers were not usable: arguments of {name} of types [{', '.join(useless)}] match no "
            "result in shape and dtype"
        )
