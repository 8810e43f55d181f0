"""Custom derivatives: functions with their own derivative rules."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.rule_types import Table
from primax.plugins.custom_derivatives import jvp_rules, linear, vjp_rules
from primax.plugins.custom_derivatives.arguments import Forwarding, resolve, typed
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
    "typed",
]


RULES: Table = jvp_rules.RULES | vjp_rules.RULES | linear.RULES


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.custom_derivatives:SAMPLES"], **rules)
