"""The index of an element along mapped axes, and the sizes of these axes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from primax.extend.core import Array, ShapedArray
from primax.extend.interpreters import ad
from primax.extend.provisional.typing import AxisNames
from primax.extend.rule_types import Table
from primax.plugins.collectives.lowerings import lower_axis_index
from primax.plugins.collectives.mapped import axis_index_batch, axis_index_p, index_along
from primax.plugins.collectives.names import axis_sizes, names_in_scope
from primax.plugins.collectives.vma import split_names

__all__ = ["axis_index", "axis_index_p", "axis_size"]


def axis_index(axis_name: AxisNames) -> Array:
    """The index of an element along a mapped axis.

    Args:
      axis_name: the name of the axis, or several names; the last axis varies fastest.

    Returns:
      An array i32[].

    Raises:
      NameError: no axis of that name is being mapped over.

    >>> import primax as px
    >>> px.vmap(lambda x: x * px.lax.axis_index("i"), axis_name="i")(px.numpy.ones(3))
    Array([0., 1., 2.], dtype=float32)
    """
    return index_along(names_in_scope(axis_name, "axis_index"))


def axis_size(axis_name: AxisNames) -> int:
    """The size of a mapped axis.

    Args:
      axis_name: the name of the axis, or several, whose sizes are multiplied.

    Returns:
      An integer of Python.

    Raises:
      NameError: no axis of that name is being mapped over.

    Examples:
      >>> from primax import lax
      >>> import primax as px
      >>> import numpy as np
      >>> px.vmap(lambda x: x * lax.axis_size("i"), axis_name="i")(np.arange(3))
      Array([0, 3, 6], dtype=int32)
    """
    return prod(axis_sizes(names_in_scope(axis_name, "axis_size")))


def _abstract_eval(*, axis_name: Any) -> ShapedArray:
    return ShapedArray((), np.int32, vma=frozenset(split_names((axis_name,))[0]))


def _named(*, axis_name: Any) -> tuple[Any]:
    return (axis_name,)


RULES: Table = {
    axis_index_p: {
        "abstract_eval": _abstract_eval,
        "jvp": ad.zero_jvp(axis_index_p),
        "axis_batch": axis_index_batch,
        "named_axes": _named,
        "lowering": lower_axis_index,
        "variance": lambda *, axis_name: [],
    }
}
