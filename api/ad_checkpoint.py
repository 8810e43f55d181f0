"""Names for values in `checkpoint`, and lists of its saved residuals."""

from __future__ import annotations

from primax import checkpoint_policies
from primax.extend.lazy_names import explain_absent
from primax.plugins.remat import checkpoint_name, name_p, print_saved_residuals
from primax.plugins.remat.policies import Recompute, Saveable

__all__ = ["Recompute", "Saveable", "checkpoint_name", "checkpoint_policies", "name_p", "print_saved_residuals"]
__dir__ = __all__.copy
explain_absent(__name__)
