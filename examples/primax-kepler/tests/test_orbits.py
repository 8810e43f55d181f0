"""Orbits: Kepler's laws hold."""

from __future__ import annotations

import numpy as np
import pytest
from primax_kepler import Orbit, kepler, mean_motion, orbit_position, true_anomaly

import primax as px
import primax.numpy as pnp

COMET = Orbit(17.93, 0.967, 2.83, 1.03, 1.95, 0.2)


def norm(x: px.Array) -> px.Array:
    return pnp.sqrt(pnp.sum(pnp.square(x), axis=-1))


def test_true_anomaly_agrees_with_the_polar_equation_of_the_ellipse() -> None:
    E = pnp.linspace(-3.0, 3.0, 13)
    cosine = (pnp.cos(E) - 0.6) / (1 - 0.6 * pnp.cos(E))
    np.testing.assert_allclose(pnp.cos(true_anomaly(E, 0.6)), cosine, atol=1e-6)
    np.testing.assert_array_equal(pnp.sign(true_anomaly(E, 0.6)), pnp.sign(E))


def test_a_year_is_a_year() -> None:
    earth = Orbit(1.0, 0.0167, 0.0, 0.0, 1.8, 0.0)
    assert float(2 * np.pi / mean_motion(earth)) == pytest.approx(365.2569, rel=1e-6)


def test_first_law_the_sun_is_at_a_focus() -> None:
    with px.enable_x64(True):
        at_periapsis = orbit_position(0.0, COMET._replace(mean_anomaly=0.0))
        at_apoapsis = orbit_position(0.0, COMET._replace(mean_anomaly=np.pi))
        assert float(norm(at_periapsis)) == pytest.approx(17.93 * (1 - 0.967))
        assert float(norm(at_apoapsis)) == pytest.approx(17.93 * (1 + 0.967))


def test_second_law_areas_grow_evenly() -> None:
    with px.enable_x64(True):
        times = pnp.linspace(-9000.0, 20000.0, 40)
        moving = px.vmap(lambda t: px.jvp(lambda s: orbit_position(s, COMET), (t,), (1.0,)))
        place, velocity = moving(times)
        momentum = np.cross(np.asarray(place), np.asarray(velocity))
        np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), rtol=1e-9)


def test_newtons_law_follows_from_two_derivatives() -> None:
    with px.enable_x64(True):
        place = orbit_position(100.0, COMET)
        pull = px.jacfwd(px.jacfwd(lambda t: orbit_position(t, COMET)))(100.0)
        np.testing.assert_allclose(pull, -(0.01720209895**2) * place / norm(place) ** 3, rtol=1e-9)


def test_bodies_and_times_are_mapped_over() -> None:
    bodies = Orbit(*(pnp.stack([x, 0.5 * x]) for x in map(pnp.asarray, COMET)))
    times = pnp.linspace(0.0, 1000.0, 5)
    places = px.jit(px.vmap(px.vmap(orbit_position, in_axes=(None, 0)), in_axes=(0, None)))(times, bodies)
    assert places.shape == (5, 2, 3)
    np.testing.assert_allclose(places[:, 0], orbit_position(times, COMET), rtol=1e-4, atol=1e-5)


def test_the_anomaly_solves_the_equation() -> None:
    M = pnp.linspace(-20.0, 20.0, 101)
    E = kepler(M, 0.967)
    np.testing.assert_allclose(E - 0.967 * pnp.sin(E), M, atol=5e-6)
