"""Kepler's equation as a primitive of primax, and orbits built on it."""

from __future__ import annotations

from primax_kepler.equation import kepler, kepler_p, primax_register
from primax_kepler.orbits import Orbit, mean_motion, orbit_position, true_anomaly

__all__ = [
    "Orbit",
    "kepler",
    "kepler_p",
    "mean_motion",
    "orbit_position",
    "primax_register",
    "true_anomaly",
]
