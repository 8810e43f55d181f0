"""Mutable references: `new_ref`, its primitives, and the discharge of references before programs are lowered."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.rule_types import Table
from primax.plugins.state import primitives as _primitives
from primax.plugins.state.calls import bind_with_refs
from primax.plugins.state.discharge import discharge, has_refs
from primax.plugins.state.primitives import addupdate_p, empty2_p, free_p, freeze_p, get_p, ref_p, swap_p
from primax.plugins.state.ref import Ref, View, addupdate, empty_ref, free_ref, freeze, get, new_ref, set, swap
from primax.plugins.state.types import REFUSALS, AbstractRef, AccumEffect, ReadEffect, WriteEffect

__all__ = [
    "AbstractRef",
    "AccumEffect",
    "ReadEffect",
    "Ref",
    "View",
    "WriteEffect",
    "addupdate",
    "addupdate_p",
    "bind_with_refs",
    "discharge",
    "empty2_p",
    "empty_ref",
    "free_p",
    "free_ref",
    "freeze",
    "freeze_p",
    "get",
    "get_p",
    "has_refs",
    "new_ref",
    "ref_p",
    "set",
    "swap",
    "swap_p",
]


RULES: Table = _primitives.RULES


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.state:SAMPLES"], **rules)
    registry.array_protocol(AbstractRef, experimental=True, **REFUSALS)
