"""Rematerialization: residuals that were not saved in the forward pass are recomputed in the backward pass."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.rule_types import Table
from primax.plugins.remat import names as _names
from primax.plugins.remat import primitive as _primitive
from primax.plugins.remat.checkpoint import checkpoint
from primax.plugins.remat.names import checkpoint_name, name_p
from primax.plugins.remat.residuals import print_saved_residuals, saved_residuals
from primax.plugins.remat.splitting import checkpoint_p

__all__ = [
    "checkpoint",
    "checkpoint_name",
    "checkpoint_p",
    "name_p",
    "print_saved_residuals",
    "remat",
    "saved_residuals",
]

remat = checkpoint


RULES: Table = _primitive.RULES | _names.RULES


@hookimpl
def primax_register(registry: core.Registry) -> None:
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.remat:SAMPLES"], **rules)
