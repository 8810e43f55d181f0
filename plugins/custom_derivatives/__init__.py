"""Custom derivatives: functions that say themselves how they are differentiated."""

from __future__ import annotations

from typing import Any

from primax.extend import hookimpl
from primax.plugins.custom_derivatives import jvp_rules, linear, samples, vjp_rules
from primax.plugins.custom_derivatives.arguments import Forwarding, resolve
from primax.plugins.custom_derivatives.closures import closure_convert, custom_gradient
from primax.plugins.custom_derivatives.custom_jvp import custom_jvp
from primax.plugins.custom_derivatives.custom_vjp import CustomVJPPrimal, custom_vjp, custom_vjp_primal_tree_values
from primax.plugins.custom_derivatives.implicit import custom_linear_solve, custom_root
from primax.plugins.custom_derivatives.jvp_rules import custom_jvp_call_p
from primax.plugins.custom_derivatives.linear import custom_transpose, linear_call, linear_call_p
from primax.plugins.custom_derivatives.vjp_rules import custom_lin_p, custom_vjp_call_p

__all__ = [
    "CustomVJPPrimal",
    "Forwarding",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_lin_p",
    "custom_linear_solve",
    "custom_root",
    "custom_transpose",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "linear_call_p",
    "resolve",
]


@hookimpl
def primax_register(registry: Any) -> None:
    registry.define(custom_jvp_call_p, **jvp_rules.rules, samples=[samples.jvp_samples])
    registry.define(custom_vjp_call_p, **vjp_rules.rules, samples=[samples.vjp_samples])
    registry.define(custom_lin_p, **vjp_rules.lin_rules, samples=[samples.lin_samples])
    registry.define(linear_call_p, **linear.rules, samples=[samples.linear_samples])
