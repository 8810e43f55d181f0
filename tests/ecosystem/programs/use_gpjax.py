"""A Gaussian process: its marginal likelihood, the slopes of it, and its kernel."""

import json

import equinox as eqx
import gpjax as gpx
import jax
import jax.numpy as jnp

x = jnp.linspace(-2.0, 2.0, 12).reshape(-1, 1)
data = gpx.Dataset(X=x, y=jnp.sin(2 * x))
kernel = gpx.kernels.RBF()
prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=kernel)
model = prior * gpx.likelihoods.Gaussian()


def loss(model, data):
    return -gpx.objectives.conjugate_mll(model, data)


value, slopes = eqx.filter_value_and_grad(loss)(model, data)
print(
    json.dumps(
        {
            "loss": float(value),
            "slopes": [float(x) for x in jax.tree.leaves(eqx.filter(slopes, eqx.is_inexact_array)) if x.ndim == 0],
            "kernel": float(kernel(x[0], x[1])),
        }
    )
)
