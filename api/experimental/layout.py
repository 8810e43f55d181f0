"""Layouts of arrays in memory: any layout within programs, and row-major arguments and results."""

from __future__ import annotations

from primax.extend.lazy_names import explain_absent
from primax.interpreters.runtime.sharding.layout import Format, Layout
from primax.plugins.devices import with_layout_constraint

__all__ = ["Format", "Layout", "with_layout_constraint"]
__dir__ = __all__.copy
explain_absent(__name__)
