"""The likelihood of a Gaussian process, its gradient, and a prediction."""

import json

import jax
import jax.numpy as jnp
from tinygp import GaussianProcess, kernels

x = jnp.linspace(0.0, 5.0, 15)
y = jnp.sin(x)


def build(theta):
    kernel = jnp.exp(theta["amplitude"]) * kernels.Matern32(jnp.exp(theta["scale"])) + 0.1 * kernels.ExpSquared(2.0)
    return GaussianProcess(kernel, x, diag=0.01)


@jax.jit
@jax.value_and_grad
def loss(theta):
    return -build(theta).log_probability(y)


theta = {"amplitude": jnp.array(0.1), "scale": jnp.array(0.3)}
value, gradient = loss(theta)
_, posterior = build(theta).condition(y, jnp.array([0.5, 1.7]))
print(
    json.dumps(
        {
            "loss": float(value),
            "gradient": {name: float(g) for name, g in gradient.items()},
            "mean": posterior.loc.tolist(),
            "variance": posterior.variance.tolist(),
        }
    )
)
