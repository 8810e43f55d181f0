"""Linear programs, and marks of rules that are linear in tangents."""

from __future__ import annotations

from typing import Any

from primax.extend.linearity import Linearity, linearity_of
from primax.extend.provisional.aval_sharding import aval_sharding
from primax.interpreters.jvp import primals_only
from primax.interpreters.linear_trace import LinearTrace, LinearTracer
from primax.interpreters.linearize import linear_tape
from primax.interpreters.tangents import as_leaf, from_leaf

__all__ = [
    "LinearTrace",
    "LinearTracer",
    "Linearity",
    "as_leaf",
    "from_leaf",
    "linear_tape",
    "linearity_of",
    "primals_only",
    "unreduced_axes",
]


def unreduced_axes(aval: Any) -> dict[str, Any]:
    """The parameter with which a sum in a transpose rule stays unreduced, along the unreduced axes of a type.

    If such axes divide a dimension that is summed over, each device returns its own sum; the sums are added later.
    """
    explicit = aval_sharding(aval)
    if explicit is None or not explicit.unreduced:
        return {}
    return {"unreduced_axes": tuple([name for name in explicit.mesh.axis_names if name in explicit.unreduced])}
