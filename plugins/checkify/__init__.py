"""Checks in programs, whose failures are values."""

from __future__ import annotations

from typing import Any

from primax.extend import hookimpl
from primax.plugins.checkify import check as checks
from primax.plugins.checkify.check import CheckEffect, check_p

__all__ = ["check_p"]


@hookimpl
def primax_register(registry: Any) -> None:
    registry.effect(CheckEffect, control_flow=True, custom_derivatives=True)
    registry.define(check_p, **checks.rules)
