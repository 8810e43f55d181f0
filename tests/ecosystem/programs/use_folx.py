"""The Laplacian of a network, by one pass forward."""

import json

import folx
import jax
import jax.numpy as jnp

x = jnp.arange(6.0) / 5
w = jax.random.normal(jax.random.key(0), (6, 4))


def f(x):
    return jnp.sum(jnp.tanh(jnp.tanh(x @ w) ** 2))


found = jax.jit(folx.forward_laplacian(f))(x)
print(
    json.dumps(
        {"value": float(found.x), "gradient": found.jacobian.dense_array.tolist(), "laplacian": float(found.laplacian)}
    )
)
