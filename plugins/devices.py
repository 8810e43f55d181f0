"""Placing values on devices and bringing them back."""

from __future__ import annotations

from typing import Any

import numpy as np

from primax.extend import backend, core, hookimpl
from primax.extend.core import tree
from primax.extend.interpreters import ad, batching

__all__ = ["block_until_ready", "copy_to_host_async", "device_get", "device_put", "device_put_p"]

device_put_p = core.Primitive("device_put")


def device_put(x: Any, device: Any = None) -> Any:
    """Place the arrays of a tree on a device.

    Args:
      x: arrays, NumPy arrays and numbers in any containers.
      device: where to, a device or a sharding; None leaves arrays where they are, and puts the rest uncommitted
        on the default device.

    Returns:
      The same structure, with an `Array` for each leaf.

    Raises:
      TypeError: `device` is neither, or a leaf is not an array.

    >>> import primax as px
    >>> px.device_put([1.0, 2])
    [Array(1., dtype=float32, weak_type=True), Array(2, dtype=int32, weak_type=True)]
    """
    device = backend.device_of(device, "device_put")

    def put(leaf: Any) -> Any:
        aval = core.get_aval(leaf)
        if aval.dtype == core.dtypes.float0:
            return leaf
        return device_put_p.bind(leaf, device=device)

    return tree.tree_map(put, x)


def _device_put_impl(x: Any, *, device: Any) -> Any:
    if isinstance(x, core.Tracer):
        raise core.escaped(x)
    with backend.asked_transfer("put"):
        return backend.put_value(x, core.get_aval(x).weak_type, device)


def device_get(x: Any) -> Any:
    """The values of the arrays of a tree, as NumPy arrays.

    Args:
      x: arrays in any containers; other leaves are kept.

    Returns:
      The same structure, with a NumPy array for each array; those of extended dtypes, such as keys, are kept too.
    """
    with backend.asked_transfer("get"):
        return tree.tree_map(lambda leaf: np.asarray(leaf) if _has_numbers(leaf) else leaf, x)


def _has_numbers(leaf: Any) -> bool:
    return hasattr(leaf, "__array__") and type(leaf) is not core.ExtendedArray


def block_until_ready(x: Any) -> Any:
    """Wait until all arrays of a tree have been computed; returns the tree.

    Args:
      x: arrays in any containers; other leaves are ignored.

    >>> import primax as px
    >>> px.block_until_ready(px.jit(lambda x: x + 1.0)(1.0))
    Array(2., dtype=float32, weak_type=True)
    """
    for leaf in tree.tree_leaves(x):
        if type(leaf) is core.Array or type(leaf) is core.ExtendedArray:
            leaf.block_until_ready()
    return x


def copy_to_host_async(x: Any) -> Any:
    """Start bringing the arrays of a tree to the host, where they are not there already; returns the tree."""
    for leaf in tree.tree_leaves(x):
        if type(leaf) is core.Array:
            leaf.copy_to_host_async()
    return x


def _device_put_samples() -> list[core.Sample]:
    return [
        core.Sample([np.float32([[0.3, -1.2], [2.6, 1.7]])], {"device": None}, reference=lambda x, device: x),
        core.Sample([np.int32([7, -3, 4])], {"device": backend.default_device()}, reference=lambda x, device: x),
    ]


@hookimpl
def primax_register(registry: Any) -> None:
    registry.define(
        device_put_p,
        impl=_device_put_impl,
        abstract_eval=lambda x, *, device: x,
        jvp=ad.linear_jvp(device_put_p),
        transpose=ad.linear_transpose(device_put_p, lambda ct, *, device: [device_put_p.bind(ct, device=None)]),
        batch=batching.vectorized(device_put_p),
        lowering=lambda ctx, x, *, device: [x],
        samples=[_device_put_samples],
    )
