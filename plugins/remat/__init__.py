"""Rematerialization: computing again on the way back what was not saved on the way there."""

from __future__ import annotations

from typing import Any

from primax.extend import hookimpl
from primax.plugins.remat import names, primitive, samples
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


@hookimpl
def primax_register(registry: Any) -> None:
    registry.define(checkpoint_p, **primitive.rules, samples=[samples.checkpoint_samples])
    registry.define(name_p, **names.rules, samples=[samples.name_samples])
