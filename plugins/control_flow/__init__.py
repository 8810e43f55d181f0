"""Control flow: branches and loops of programs."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.interpreter import constructs
from primax.extend.rule_types import Table
from primax.plugins.control_flow import cond_rules, platforms, scan_rules, while_rules
from primax.plugins.control_flow.compiled import run_compiled
from primax.plugins.control_flow.cond import cond, switch
from primax.plugins.control_flow.cond_rules import cond_p, shared_slots, with_slots
from primax.plugins.control_flow.interpretation import interpret_cond, interpret_scan, interpret_while
from primax.plugins.control_flow.key_use import cond_key_use, scan_key_use, while_key_use
from primax.plugins.control_flow.loops import associative_scan, fori_loop, map
from primax.plugins.control_flow.platforms import platform_dependent, platform_index_p
from primax.plugins.control_flow.references import discharge_cond, discharge_scan, discharge_while
from primax.plugins.control_flow.scan import scan
from primax.plugins.control_flow.scan_rules import scan_p
from primax.plugins.control_flow.staging import flatten_operands
from primax.plugins.control_flow.while_loop import while_loop
from primax.plugins.control_flow.while_rules import while_p

__all__ = [
    "associative_scan",
    "cond",
    "cond_p",
    "flatten_operands",
    "fori_loop",
    "map",
    "platform_dependent",
    "platform_index_p",
    "run_compiled",
    "scan",
    "scan_p",
    "shared_slots",
    "switch",
    "while_loop",
    "while_p",
    "with_slots",
]


RULES: Table = {
    cond_p: {
        **cond_rules.RULES[cond_p],
        "interpret": interpret_cond,
        "key_use": cond_key_use,
        "discharge": discharge_cond,
    },
    while_p: {
        **while_rules.RULES[while_p],
        "interpret": interpret_while,
        "key_use": while_key_use,
        "discharge": discharge_while,
    },
    scan_p: {
        **scan_rules.RULES[scan_p],
        "interpret": interpret_scan,
        "key_use": scan_key_use,
        "discharge": discharge_scan,
    },
    **platforms.RULES,
}


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.control_flow:SAMPLES"], **rules)
    for construct in (switch, while_loop, scan):
        registry.enter("construct", constructs, construct.__name__, construct)
