"""The stages of a jitted function: traced, lowered and compiled."""

from __future__ import annotations

from primax.plugins.calls.stages import ArgInfo, Compiled, CompilerOptions, Lowered, Traced, Wrapped

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]
__dir__ = __all__.copy
