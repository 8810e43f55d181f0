"""The contexts that lowering rules get."""

from __future__ import annotations

from primax.extend.interpreters.mlir import LoweringRuleContext, ModuleContext
from primax.extend.lazy_names import explain_absent

__all__ = ["LoweringRuleContext", "ModuleContext"]
__dir__ = __all__.copy
explain_absent(__name__)
