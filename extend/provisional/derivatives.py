"""Linear programs, and marks of rules that are linear in tangents."""

from __future__ import annotations

from typing import Any

from primax.core.linearity import Linearity
from primax.interpreters.jvp import primals_only
from primax.interpreters.linear_trace import LinearTrace, LinearTracer
from primax.interpreters.linearize import Tape, linear_tape

__all__ = [
    "LinearTrace",
    "LinearTracer",
    "Linearity",
    "Tape",
    "linear_tape",
    "open_axes",
    "primals_only",
]


def open_axes(aval: Any) -> dict[str, Any]:
    """The parameter with which a sum in a transpose rule stays unreduced, along the unreduced axes of a type.

    If such axes divide a dimension that is summed over, each device returns its own sum; the sums are added later.
    """
    division = getattr(aval, "division", None)
    if division is None or not division.unreduced:
        return {}
    return {"open_axes": tuple([name for name in division.mesh.axis_names if name in division.unreduced])}
