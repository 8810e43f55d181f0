"""Philox4x32-10, a generator of random bits for primax: `primax.random.key(seed, impl="philox")`."""

from __future__ import annotations

from primax_philox.generator import philox, primax_register
from primax_philox.rounds import philox4x32

__all__ = ["philox", "philox4x32", "primax_register"]
