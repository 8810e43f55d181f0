"""Modules: whole programs in StableHLO, with attributes of their arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from primax.core import _jaxlib
from primax.core.caller import warn_caller
from primax.core.config import check_rules
from primax.core.diagnostics import encodable
from primax.core.dimensions import dimension_kinds, dynamic_kind, has_dynamic
from primax.core.effects import ordered_effects
from primax.core.errors import XlaError
from primax.core.jaxpr import ClosedJaxpr
from primax.interpreters.runtime.ir_types import cached_ir_type, ir_constant
from primax.interpreters.runtime.lowering import ModuleContext, jaxpr_subcomp
from primax.interpreters.runtime.mlir_context import shared_context
from primax.interpreters.runtime.sharding.shardy import SpmdShardings
from primax.interpreters.runtime.sharding.spmd import Spmd
from primax.interpreters.runtime.sharding.spmd_module import boundary_of


class StablehloModule:
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
        self.partitions = 1 if module.spmd is None else module.spmd.partitions
        self.host_callbacks = module.host_callbacks
        self.failures = module.failures
        self.keepalives = module.keepalives
        self.calls_foreign = module.calls_foreign
        self.dynamic = module.dynamic
        self.options = module.options
        self.before_compile = module.before_compile
        self.parts = () if module.spmd is None else module.spmd.parts
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
) -> StablehloModule:
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
    if not isinstance(name, str):
        raise TypeError(f"lower: name must be a str, got {name!r}")
    if not name.isascii():
        name = encodable(name)
    donated = list(donated) or [False] * len(closed.jaxpr.invars)
    kept = list(kept) or [True] * len(closed.jaxpr.invars)
    shared = shared_context()
    ordered = ordered_effects(closed.effects) if closed.effects else []
    if spread is not None and spread.mesh.size > 1 and ordered:
        raise ValueError(
            f"{name}: a program with ordered effects ({', '.join(sorted(map(str, ordered)))}) must run on one "
            f"device, got {spread.mesh.size}; make the effects unordered, or use one device"
        )
    with shared, shared.unknown:
        module = ModuleContext(shared, _new_module(name, spread), platform, closed.jaxpr)
        module.path = f"jit({name.removeprefix('jit_')})/"
        module.checked = checked or check_rules.value
        if spread is not None:
            # Divided parts call Python while XLA compiles, which artifacts (with embedded constants) must not do.
            module.spmd = Spmd(spread.mesh, divides=not embed)
        _build_main(module, closed, name, ordered, donated, kept, embed, spread)
        try:
            module.module.operation.verify()
        except _jaxlib.ir.MLIRError as error:
            if not checked:  # build it again, with checks of the results of each rule
                lower_to_module(closed, name, platform, donated, kept, embed, checked=True, spread=spread)
            wrong = "a lowering rule is wrong"
            if module.dynamic:
                wrong += (
                    ", or does not support unknown sizes (see broadcast_in_dim, reshape, iota, slice_op, pad and "
                    "dynamic_slice in primax.extend.interpreters.mlir)"
                )
            raise XlaError(f"the module of {name} is not valid StableHLO; {wrong}:\n{error}") from error
    return StablehloModule(module, ordered, kept)


def _new_module(name: str, spread: SpmdShardings | None) -> Any:
    """An empty MLIR module."""
    ir = _jaxlib.ir
    module = ir.Module.create()
    attributes = module.operation.attributes
    attributes["sym_name"] = ir.StringAttr.get(name)
    i32 = ir.IntegerType.get_signless(32)
    attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(i32, 1 if spread is None else spread.mesh.size)
    attributes["mhlo.num_replicas"] = ir.IntegerAttr.get(i32, 1)
    return module


def _build_main(
    module: ModuleContext,
    closed: ClosedJaxpr,
    name: str,
    ordered: Sequence[Any],
    donated: Sequence[bool],
    kept: Sequence[bool],
    embed: bool,
    spread: SpmdShardings | None,
) -> None:
    """Build the function `main` of a module; the arguments are those of `lower_to_module`."""
    jaxpr = closed.jaxpr
    constvars = [] if embed else jaxpr.constvars
    in_avals = [v.aval for v in (*constvars, *(v for v, k in zip(jaxpr.invars, kept, strict=True) if k))]
    out_avals = [v.aval for v in jaxpr.outvars]
    boundary = boundary_of(spread, kept, in_avals, out_avals)
    taken, returned = (in_avals, out_avals) if boundary is None else boundary.outer_avals()
    tokens = [_jaxlib.hlo_ext.TokenType.get()] * len(ordered)
    in_types, out_types = (
        [*tokens, *(cached_ir_type(module.shared, aval) for aval in avals)] for avals in (taken, returned)
    )
    main = _jaxlib.func.FuncOp("main", (in_types, out_types), visibility="public", ip=module.body)
    module.symbols.insert(main)
    flags = [flag for flag, is_kept in zip(donated, kept, strict=True) if is_kept]
    _mark_arguments(module, main, [*[False] * len(constvars), *flags], in_avals, out_avals, len(ordered), name)
    if spread is not None and boundary is not None:
        boundary.set_shardings(module, main, len(ordered))
    with _jaxlib.ir.InsertionPoint(main.add_entry_block()):
        arguments = list(main.arguments)
        tokens_in, values = dict(zip(ordered, arguments, strict=False)), arguments[len(ordered) :]
        module.dynamic = bool(dimension_kinds) and has_dynamic(in_avals)
        if boundary is not None:
            values = boundary.enter(module, values)
        if embed:
            consts = [ir_constant(x, v.aval) for v, x in zip(jaxpr.constvars, closed.consts, strict=True)]
        else:
            consts = values[: len(constvars)]
        remaining = iter(values[len(constvars) :])
        args = [next(remaining) if is_kept else None for is_kept in kept]
        with _known_sizes(in_avals, arguments[len(ordered) :]) if module.dynamic else nullcontext():
            outs, tokens_out = jaxpr_subcomp(module, jaxpr, tokens_in, consts, args)
        if boundary is not None:
            outs = boundary.leave(module, outs)
        _jaxlib.func.return_([*(tokens_out[effect] for effect in ordered), *outs])


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
    if module.spmd is None or module.spmd.partitions == 1:
        _mark_donated(attributes, in_avals, out_avals, donated, tokens, name)
    else:  # XLA matches donated arguments with results, since it may choose the shardings of results
        for of_argument, is_donated in zip(attributes, donated, strict=True):
            if is_donated:
                of_argument["jax.buffer_donor"] = ir.BoolAttr.get(True)
    main.arg_attrs = ir.ArrayAttr.get([ir.DictAttr.get(of_argument) for of_argument in [*[{}] * tokens, *attributes]])


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
    for of_argument, aval, is_donated in zip(attributes, in_avals, donated, strict=True):
        if not is_donated:
            continue
        targets = free.get((aval.shape, aval.dtype))
        if targets:
            output = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), tokens + targets.pop(0))
            of_argument["tf.aliasing_output"] = output
        else:
            useless.append(aval.str_short())
    if useless:
        warn_caller(
            f"Some donated buffers were not usable: arguments of {name} of types [{', '.join(useless)}] match no "
            "result in shape and dtype"
        )


def _known_sizes(avals: Sequence[Any], arguments: Sequence[Any]) -> AbstractContextManager[None]:
    """A `with` block in which the sizes in the types of a module's arguments have IR values."""
    kind = dynamic_kind([size for aval in avals for size in getattr(aval, "shape", ())])
    return nullcontext() if kind is None else kind.lowering.known_sizes(avals, arguments)
