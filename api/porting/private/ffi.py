"""`jax.ffi`: names besides those of `primax.extend.ffi`."""

from __future__ import annotations

from primax.core import _jaxlib

__all__ = ["register_ffi_target_as_batch_partitionable"]


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Tell XLA's partitioner that a foreign function computes each position of leading axes by itself.

    A `sharding` rule of the primitive says the same, and which axes these are.

    Args:
      name: the name under which the function is registered.

    Raises:
      TypeError: `name` is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"register_ffi_target_as_batch_partitionable: name must be a string, got {name!r}")
    _jaxlib.register_custom_call_as_batch_partitionable(name)
