"""Loops in batches with elements that take no part: other elements replace them.

Under `vmap`, branches and steps are computed for all elements of a batch, and results of those that take no part are
dropped. A loop inside might not end for their operands, so they get the operands of the first element that takes part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from primax.extend import core
from primax.extend.core import get_aval, named_axes
from primax.extend.interpreters import batching
from primax.plugins.reductions import argmax
from primax.plugins.structural import broadcast_in_dim, convert_element_type, select_n, stop_gradient


def may_not_end(axis: batching.AxisData, program: core.ClosedJaxpr) -> bool:
    """Whether a program has a loop of unknown length, whose operands others may replace.

    They may not if elements communicate along the mapped axis, or are divided among devices by explicit axes.
    """
    if not _has_while(program.jaxpr) or axis.placement is not None or axis.size == 0:
        return False
    return axis.name is None or axis.name not in named_axes(program)


def _has_while(jaxpr: core.Jaxpr) -> bool:
    def search() -> bool:
        return any(
            eqn.primitive.name == "while" or any(map(_has_while, core.jaxprs_in_params(eqn.params)))
            for eqn in jaxpr.eqns
        )

    return bool(core.cached(jaxpr, "has while", search))


def with_stand_ins(takes_part: Any, values: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """Values of a batch, where elements that take no part have those of the first that does.

    Args:
      takes_part: a boolean for each element; if none is true, the first element replaces the others.
      values: arrays.
      dims: for each of them its batch axis, or None.
    """
    first = argmax(convert_element_type(takes_part, np.int32), 0, np.int32)
    out = []
    for x, d in zip(values, dims, strict=True):
        if d is not None and not get_aval(x).composite:
            shape = get_aval(x).shape
            starts = [first if axis == d else np.int32(0) for axis in range(len(shape))]
            sizes = (*shape[:d], 1, *shape[d + 1 :])
            other = core.primitives.dynamic_slice_p.bind(stop_gradient(x), *starts, slice_sizes=sizes)
            other = broadcast_in_dim(other, shape, range(len(shape)))
            x = select_n(broadcast_in_dim(takes_part, shape, (d,)), other, x)
        out.append(x)
    return out
