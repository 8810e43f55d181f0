"""Positions on elliptic orbits about the Sun."""

from __future__ import annotations

from typing import Any, NamedTuple

import primax.numpy as pnp
from primax_kepler.equation import kepler

__all__ = ["GAUSS", "Orbit", "mean_motion", "orbit_position", "true_anomaly"]

GAUSS = 0.01720209895
"""The Gaussian gravitational constant: the square root of the Sun's GM, in au^(3/2) per day."""


class Orbit(NamedTuple):
    """The elements of an elliptic orbit; angles in radians. A pytree; its leaves may be arrays of the same shape.

    Attributes:
      semi_major_axis: in au.
      eccentricity: at least 0 and less than 1.
      inclination: to the ecliptic.
      node: the longitude of the ascending node.
      periapsis: the argument of periapsis, from the node.
      mean_anomaly: at time 0.
    """

    semi_major_axis: Any
    eccentricity: Any
    inclination: Any
    node: Any
    periapsis: Any
    mean_anomaly: Any


def true_anomaly(E: Any, e: Any) -> Any:
    """The angle at the focus, from periapsis, for an eccentric anomaly.

    Args:
      E: the eccentric anomaly in radians; real.
      e: the eccentricity, at least 0 and less than 1.

    Returns:
      The angle in radians, between -pi and pi.
    """
    return 2 * pnp.arctan2(pnp.sqrt(1 + e) * pnp.sin(E / 2), pnp.sqrt(1 - e) * pnp.cos(E / 2))


def mean_motion(orbit: Orbit) -> Any:
    """The rate of the mean anomaly in radians a day, by Kepler's third law."""
    return GAUSS / (orbit.semi_major_axis * pnp.sqrt(orbit.semi_major_axis))


def orbit_position(t: Any, orbit: Orbit) -> Any:
    """The position of a body of negligible mass on its orbit.

    Args:
      t: the time in days since the time of `orbit.mean_anomaly`.
      orbit: the orbit.

    Returns:
      Heliocentric ecliptic x, y and z in au along a new last axis.
    """
    a, e = orbit.semi_major_axis, orbit.eccentricity
    E = kepler(orbit.mean_anomaly + mean_motion(orbit) * t, e)
    along = a * (pnp.cos(E) - e)  # in the plane of the orbit, towards periapsis
    across = a * pnp.sqrt((1 - e) * (1 + e)) * pnp.sin(E)
    cos_i, sin_i = pnp.cos(orbit.inclination), pnp.sin(orbit.inclination)
    cos_n, sin_n = pnp.cos(orbit.node), pnp.sin(orbit.node)
    cos_p, sin_p = pnp.cos(orbit.periapsis), pnp.sin(orbit.periapsis)
    from_node = along * cos_p - across * sin_p
    abreast = along * sin_p + across * cos_p
    return pnp.stack(
        [
            cos_n * from_node - sin_n * cos_i * abreast,
            sin_n * from_node + cos_n * cos_i * abreast,
            sin_i * abreast,
        ],
        axis=-1,
    )
