"""A pendulum on a cart, by three ways to do its physics, and the gradient of a reward by a control."""

import json

import jax
import jax.numpy as jnp
from brax import envs

found = {}
for backend in ("generalized", "positional", "spring"):
    env = envs.get_environment("inverted_pendulum", backend=backend)
    step = jax.jit(env.step)
    state = jax.jit(env.reset)(jax.random.PRNGKey(0))
    for i in range(5):
        state = step(state, jnp.array([0.2 * i - 0.3]))
    found[backend] = state.obs.tolist()

env = envs.get_environment("inverted_pendulum", backend="spring")
start = jax.jit(env.reset)(jax.random.PRNGKey(1))


def distance(actions):
    state, _ = jax.lax.scan(lambda state, action: (env.step(state, action), None), start, actions)
    return jnp.sum(state.obs**2)


found["gradient"] = jax.jit(jax.grad(distance))(jnp.full((3, 1), 0.1)).tolist()
print(json.dumps(found))
