"""How arrays lie in memory: within programs as one says, and row by row in what programs take and return."""

from __future__ import annotations

from primax.core.layout import Format, Layout
from primax.plugins.devices import with_layout_constraint

__all__ = ["Format", "Layout", "with_layout_constraint"]
