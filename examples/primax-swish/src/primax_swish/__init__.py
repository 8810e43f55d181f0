"""The swish activation, with a learned slope, as a primitive of primax."""

from __future__ import annotations

from primax_swish.activation import primax_register, swish, swish_p, swish_slope_p

__all__ = ["primax_register", "swish", "swish_p", "swish_slope_p"]
