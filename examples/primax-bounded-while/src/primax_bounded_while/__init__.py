"""A while loop with a maximal number of steps, as a primitive of primax that is differentiable in every mode."""

from __future__ import annotations

from primax_bounded_while.loop import bounded_while
from primax_bounded_while.plugin import primax_register
from primax_bounded_while.primitive import bounded_while_p

__all__ = ["bounded_while", "bounded_while_p", "primax_register"]
