"""Operations that are divided among devices while a module is built, or while XLA partitions it."""

from __future__ import annotations

from typing import Any

from primax.core import _jaxlib
from primax.interpreters.runtime.lowering import Lower, ir_constants_of, rule_of
from primax.interpreters.runtime.sharding.spmd import Spmd, divides_all
from primax.interpreters.runtime.sharding.spmd_module import spmd_lowerings

__all__ = [
    "Lower",
    "Spmd",
    "divides_all",
    "ir_constants_of",
    "register_partitioner",
    "rule_of",
    "spmd_lowerings",
    "tuple_sharding",
]


def register_partitioner(target: str, of_user: Any, partition: Any, of_operands: Any) -> None:
    """Register the functions that XLA calls to partition calls of foreign functions; see jaxlib's function.

    Args:
      target: the name of the function.
      of_user: `(sharding, shape, config) -> sharding` of the result, from that of its use.
      partition: `(operand shapes, operand shardings, shape, sharding, config) -> (module, operand shardings,
        sharding)`.
      of_operands: `(operand shapes, operand shardings, shape, config) -> sharding`.
    """
    _jaxlib.register_custom_call_partitioner(target, of_user, partition, of_operands, True)


def tuple_sharding(shardings: list[Any]) -> Any:
    """The sharding of several results, from XLA's `HloSharding` of each."""
    xla_client = _jaxlib.xla_client
    proto = xla_client.OpSharding()
    proto.type = xla_client.OpSharding.Type.TUPLE
    proto.tuple_shardings = [sharding.to_proto() for sharding in shardings]
    return xla_client.HloSharding.from_proto(proto)
