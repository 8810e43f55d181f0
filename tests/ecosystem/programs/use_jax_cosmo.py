"""Distances, growth and power spectra in a cosmology, and their derivatives by its parameters."""

import json

import jax
import jax.numpy as jnp
import jax_cosmo

cosmology = jax_cosmo.Planck15()
scale = jnp.array([0.5, 0.8, 1.0])


def distances(parameters):
    changed = jax_cosmo.Planck15(Omega_c=parameters[0], h=parameters[1])
    return jax_cosmo.background.radial_comoving_distance(changed, scale[:2])


def growth(cold_matter):
    return jax_cosmo.background.growth_factor(jax_cosmo.Planck15(Omega_c=cold_matter), scale)[0]


print(
    json.dumps(
        {
            "distance": jax_cosmo.background.angular_diameter_distance(cosmology, scale).tolist(),
            "growth": jax_cosmo.background.growth_factor(cosmology, scale).tolist(),
            "power": jax_cosmo.power.nonlinear_matter_power(cosmology, jnp.array([0.1, 1.0]), 1.0).tolist(),
            "by parameters": jax.jit(jax.jacfwd(distances))(jnp.array([0.26, 0.68])).tolist(),
            "growth by matter": float(jax.grad(growth)(0.26)),
        }
    )
)
