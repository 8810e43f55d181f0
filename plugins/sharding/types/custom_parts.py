"""Operations that a user's function divides among devices when XLA partitions the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from primax.extend.core import RuleError, config, trace_to_jaxpr
from primax.extend.interpreters.mlir import LoweringRuleContext
from primax.extend.provisional.lowering import spmd_of
from primax.extend.provisional.sharding import manual_scope, named_from_hlo
from primax.extend.sharding import Mesh, NamedSharding
from primax.plugins.sharding.types.custom_partitioning import call_of, module_of_part


class _CustomPart:
    """An operation that a user's function divides.

    Attributes:
      error: the error of the function, if it raised one.
    """

    def __init__(self, primitive: Any, label: str, divide: Callable[..., Any], avals: Any, outs: Any, mesh: Mesh):
        self.primitive = primitive
        self.label = label
        self.divide = divide
        self.avals = tuple(avals)
        self.outs = tuple(outs)
        self.mesh = mesh
        self.wide = config.enable_x64.value
        self.error: BaseException | None = None

    def fingerprint(self) -> tuple[Any, ...]:
        """An identifier, the same in all processes."""
        return self.label, str(self.avals), str(self.outs), str(self.mesh), self.wide

    def divided(self, operands: Sequence[Any], results: Sequence[Any]) -> tuple[bytes, list[Any], list[Any]]:
        """The program of one device, and the shardings of its arguments and results over the mesh."""
        ins, outs = (
            [named_from_hlo(s, self.mesh, len(aval.shape)) for s, aval in zip(shardings, avals, strict=True)]
            for shardings, avals in ((operands, self.avals), (results, self.outs))
        )
        with config.enable_x64(self.wide):
            run, ins, outs = self.divide(self.mesh, ins, outs)
            mesh = next((s.mesh for s in (*ins, *outs)), self.mesh)
            parts = [_local(s, aval) for s, aval in zip(ins, self.avals, strict=True)]
            with manual_scope(mesh, mesh.axis_names, False):
                closed = trace_to_jaxpr(run, parts, self.label)
            self._check(closed.out_avals, [_local(s, aval) for s, aval in zip(outs, self.outs, strict=True)])
            return module_of_part(closed, self), ins, outs

    def _check(self, actual: Sequence[Any], expected: Sequence[Any]) -> None:
        if [(aval.shape, aval.dtype) for aval in actual] != [(aval.shape, aval.dtype) for aval in expected]:
            got, needed = (", ".join(aval.str_short() for aval in avals) for avals in (actual, expected))
            raise RuleError(
                f"{self.label}: by the shardings of the results, the function of one device must return [{needed}], "
                f"got [{got}]"
            )


def _local(sharding: NamedSharding, aval: Any) -> Any:
    return aval.update(shape=sharding.shard_shape(aval.shape), sharding=None)


def partitioned_call(
    ctx: LoweringRuleContext, label: str, args: Sequence[Any], rule: Any, divide: Callable[..., Any]
) -> list[Any] | None:
    """The results of an operation that a function divides among the devices of a mesh; None if it is not divided.

    Args:
      ctx: the lowering context of the operation.
      label: its name, for messages.
      args: the operands.
      rule: the correspondence of dimensions, in Shardy's notation; None if there is none.
      divide: called when XLA partitions the program, as `divide(mesh, operands, results)` with a `NamedSharding` for
        each, or None if XLA's sharding is not over the mesh; returns a function of flat parts, and the shardings of
        operands and of results.
    """
    spmd = spmd_of(ctx.module_context)
    if not spmd.divides or ctx.tokens_in or spmd.manual is not None or ctx.module_context.platform != "cpu":
        return None
    part = _CustomPart(ctx.primitive, label, divide, ctx.avals_in, ctx.avals_out, spmd.mesh)
    return call_of(ctx, part, args, rule)
