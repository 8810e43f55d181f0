"""Ordinary differential equations."""

from __future__ import annotations

from primax.plugins.ode import odeint

__all__ = ["odeint"]
