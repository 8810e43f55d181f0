"""The contexts that lowering rules get."""

from __future__ import annotations

from primax.extend.interpreters.mlir import LoweringRuleContext, ModuleContext

__all__ = ["LoweringRuleContext", "ModuleContext"]
__dir__ = __all__.copy
