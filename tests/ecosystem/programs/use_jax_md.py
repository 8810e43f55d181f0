"""Lennard-Jones particles in a periodic box: energy, forces, a thermostat, and lists of neighbours."""

import json

import jax
import jax.numpy as jnp
from jax_md import energy, partition, quantity, simulate, space

displacement, shift = space.periodic(10.0)
grid = jnp.stack(jnp.meshgrid(*[jnp.arange(5.0)] * 2), -1).reshape(-1, 2)
positions = 2 * grid + 0.1 * jax.random.normal(jax.random.PRNGKey(0), grid.shape)
potential = energy.lennard_jones_pair(displacement)
forces = quantity.force(potential)(positions)
init, update = simulate.nvt_nose_hoover(potential, shift, 1e-3, 0.5)
state = init(jax.random.PRNGKey(1), positions)
step = jax.jit(update)
for _ in range(10):
    state = step(state)
neighbours = partition.neighbor_list(displacement, 10.0, 2.5)
found = neighbours.allocate(positions)
print(
    json.dumps(
        {
            "energy": float(potential(positions)),
            "force": float(jnp.sum(forces**2)),
            "later": state.position[:3].tolist(),
            "neighbours": int((found.idx < len(positions)).sum()),
        }
    )
)
