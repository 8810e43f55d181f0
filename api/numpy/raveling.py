"""Conversion of a pytree of arrays to one vector, and back."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from primax.extend import dtypes
from primax.extend.core import Array, get_aval, tree
from primax.numpy.conversion import asarray
from primax.numpy.joining import concatenate
from primax.numpy.promotion import aval_of, cast
from primax.numpy.shaping import ravel
from primax.plugins.structural import reshape, split


class Unravel:
    """The function from a vector to a pytree; it equals others for the same structure, shapes and dtypes."""

    __slots__ = ("_key",)

    def __init__(self, structure: Any, dtype: Any, parts: tuple[tuple[tuple[int, ...], Any], ...]) -> None:
        self._key = structure, dtype, parts

    def __call__(self, flat: Any) -> Any:
        """Convert a vector to a tree whose leaves hold its elements in order.

        Args:
          flat: a vector with as many elements as the leaves together. If the leaves had several dtypes, it must have
            their common dtype; otherwise the leaves get its dtype.

        Raises:
          TypeError: `flat` has another dtype.
          ValueError: `flat` has another shape.
        """
        structure, dtype, parts = self._key
        aval = aval_of("unravel", flat, "flat")
        sizes = tuple(prod(shape) for shape, _ in parts)
        if aval.shape != (sum(sizes),):
            raise ValueError(f"unravel: flat must have the shape {(sum(sizes),)}, got {aval.shape}")
        mixed = any(own != dtype for _, own in parts)
        if mixed and aval.dtype != dtype:
            raise TypeError(f"unravel: flat must have the dtype {dtype}, got {aval.dtype}")
        leaves = []
        for part, (shape, own) in zip(split(flat, sizes) if sizes else [], parts, strict=True):
            leaf = reshape(part, shape)
            if mixed:
                leaf = cast(leaf.real if _narrows(dtype, own) else leaf, own)
            leaves.append(leaf)
        return tree.tree_unflatten(structure, leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unravel) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _narrows(dtype: Any, own: Any) -> bool:
    """Whether complex elements are converted back to real numbers."""
    return dtypes.is_complex(dtype) and not dtypes.is_complex(own)


def ravel_pytree(pytree: object) -> tuple[Array, Any]:
    """Concatenate the elements of all arrays of a pytree, and return the inverse function too.

    Args:
      pytree: arrays and numbers in any containers.

    Returns:
      The elements in the order of the leaves, in their common dtype; and a function from such a vector to a tree of the
      same structure, shapes and dtypes. If all leaves have the same dtype, the function also takes vectors of other
      dtypes, which the leaves then have.

    Raises:
      TypeError: a leaf is neither an array nor a number.

    >>> from primax.flatten_util import ravel_pytree
    >>> flat, unravel = ravel_pytree({"a": 1.0, "b": [2.0, 3.0]})
    >>> flat.tolist(), unravel(flat * 2.0)["a"].tolist()
    ([1.0, 2.0, 3.0], 2.0)
    """
    leaves, structure = tree.tree_flatten(pytree)
    if not leaves:
        return asarray(np.zeros(0, np.float32)), Unravel(structure, None, ())
    avals = [aval_of("ravel_pytree", x, f"leaf {i}") for i, x in enumerate(leaves)]
    dtype = dtypes.result_type(*(aval.dtype for aval in avals))
    parts = tuple((aval.shape, aval.dtype) for aval in avals)
    flat = concatenate([ravel(cast(asarray(x), dtype)) for x in leaves])
    return flat, Unravel(structure, get_aval(flat).dtype, parts)
