"""Functions with their own rules for derivatives, and tools for such rules."""

from __future__ import annotations

from primax.extend.lazy_names import explain_absent
from primax.interpreters.tangents import SymbolicZero, zero_from_primal
from primax.plugins.custom_derivatives import (
    CustomVJPPrimal,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_jvp_call_p,
    custom_transpose,
    custom_vjp,
    custom_vjp_call_p,
    custom_vjp_primal_tree_values,
    linear_call,
)

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_transpose",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]
__dir__ = __all__.copy
explain_absent(__name__)
