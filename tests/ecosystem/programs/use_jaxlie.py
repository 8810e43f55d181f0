"""Rotations and rigid motions, their logarithms and derivatives."""

import json

import jax
import jax.numpy as jnp
import jaxlie

turn = jaxlie.SO3.exp(jnp.array([0.1, 0.2, 0.3]))
motion = jaxlie.SE3.from_rotation_and_translation(turn, jnp.array([1.0, 2.0, 3.0]))
moved = motion @ jnp.array([1.0, 0.0, 0.0])
slope = jaxlie.manifold.grad(lambda pose: jnp.sum(pose.log() ** 2))(motion)
many = jax.vmap(jaxlie.SO2.from_radians)(jnp.linspace(0.0, 1.0, 3))
print(
    json.dumps(
        {
            "moved": moved.tolist(),
            "log": motion.inverse().log().tolist(),
            "slope": slope.tolist(),
            "many": many.as_radians().tolist(),
        }
    )
)
