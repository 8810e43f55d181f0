"""Batches computed one element after the other, for branches and loops with effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from primax.extend import core
from primax.extend.core import named_axes
from primax.extend.effects import OperandEffect
from primax.extend.interpreters import batching
from primax.plugins.control_flow.scan import scan


def one_by_one(
    what: str,
    axis: batching.AxisData,
    args: Sequence[Any],
    dims: Sequence[Any],
    programs: Iterable[core.ClosedJaxpr],
    compute: Callable[..., Any],
) -> tuple[Any, Any]:
    """Results and their batch axes, with separate effects for each element.

    Args:
      what: the name of the mapped function, for messages.
      axis: the mapped axis.
      args: the operands.
      dims: for each operand its batch axis, or None.
      programs: the programs with the effects.
      compute: takes the operands of one element.

    Raises:
      NotImplementedError: the programs exchange values along the mapped axis, or write to their operands.
    """
    bodies = list(programs)
    effects = core.no_effects.union(*(program.effects for program in bodies))
    if axis.name is not None and any(axis.name in named_axes(program) for program in bodies):
        raise NotImplementedError(
            f"vmap of {what}: functions with effects must not communicate along the mapped axis {axis.name!r} if "
            f"elements choose differently, since each is then computed alone, got {sorted(map(repr, effects))}"
        )
    on_operands = [effect for effect in effects if isinstance(effect, OperandEffect)]
    if on_operands:
        raise NotImplementedError(
            f"vmap of {what}: functions must have no effects on operands where elements choose differently, got "
            f"{sorted(map(repr, on_operands))}"
        )

    def element(_: None, mapped: list[Any]) -> tuple[None, list[Any]]:
        rest = iter(mapped)
        return None, list(compute(*(x if d is None else next(rest) for x, d in zip(args, dims, strict=True))))

    mapped = [batching.moveaxis(x, d, 0) for x, d in zip(args, dims, strict=True) if d is not None]
    _, outs = scan(element, None, mapped, length=axis.size)
    return outs, [0] * len(outs)
