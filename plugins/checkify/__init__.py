"""Checks in programs, whose failures are returned as values."""

from __future__ import annotations

from primax.extend import core, hookimpl
from primax.extend.rule_types import Table
from primax.plugins.checkify import check as checks
from primax.plugins.checkify.check import CheckEffect, check_p

__all__ = ["check_p"]


RULES: Table = checks.RULES


@hookimpl
def primax_register(registry: core.Registry) -> None:
    registry.effect(CheckEffect, control_flow=True, custom_derivatives=True)
    for primitive, rules in RULES.items():
        registry.define(primitive, samples=["primax.plugins.samples.checkify:SAMPLES"], **rules)
