"""Samples of dimensions as numbers."""

from __future__ import annotations

from primax.extend.provisional.sampling import samples
from primax.plugins.symbolic_shapes import dim_as_value_p

SAMPLES = {dim_as_value_p: samples([], {"dim": 3})}
