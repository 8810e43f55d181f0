"""The methods by which `vmap` maps functions outside of primax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from primax.extend import backend
from primax.extend.interpreters import batching
from primax.extend.provisional.arguments import among
from primax.extend.provisional.ffi import vmap_methods
from primax.extend.sharding import PartitionSpec, SingleDeviceSharding
from primax.plugins.callbacks.flat import mapped_in_front


def check_vmap_method(user: str, method: Any) -> None:
    """Check the name of a method.

    Raises:
      ValueError: there is no such method.
    """
    if method is not None and not among(method, vmap_methods):
        raise ValueError(f"{user}: vmap_method must be one of {', '.join(vmap_methods)} or None, got {method!r}")


def check_sharding(user: str, sharding: Any) -> None:
    """Check the sharding of a callback.

    Raises:
      TypeError: `sharding` is not on one device.
    """
    if not (sharding is None or isinstance(sharding, SingleDeviceSharding | backend.Device)):
        raise TypeError(f"{user}: sharding must be that of one device, or None, got {sharding!r}")


def vmap_at_once(
    user: str, method: str | None, args: Sequence[Any], dims: Sequence[Any], result_avals: Sequence[Any]
) -> tuple[list[Any], tuple[Any, ...]]:
    """The arguments and result types of the single call for a batch.

    Raises:
      NotImplementedError: no method is given.
    """
    if method is None:
        raise NotImplementedError(
            f"{user}: vmap_method must be given where the call is mapped over an axis, one of {', '.join(vmap_methods)}"
        )
    size, moved = mapped_in_front(args, dims)
    if method != "legacy_vectorized":
        length = size if method == "broadcast_all" else 1
        moved = [batching.broadcast(x, length, 0) if dim is None else x for x, dim in zip(moved, dims, strict=True)]
    return moved, tuple(aval.unmapped(size, 0) for aval in result_avals)


def results_are_whole(*avals: Any, result_avals: Any, **params: Any) -> list[Any]:
    """The sharding rule of callbacks: one device passes each whole operand to Python, and sends the results to all."""
    return [PartitionSpec()] * len(result_avals)
