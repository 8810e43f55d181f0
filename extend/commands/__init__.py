"""The commands of `python -m primax`: plugins, rules, why, check, devices, cache, draw, new and metadata."""

from __future__ import annotations

from primax.extend.commands.dispatch import main

__all__ = ["main"]
