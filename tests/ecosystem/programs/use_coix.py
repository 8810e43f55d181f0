"""Inference by combinators: a proposal for a small model of NumPyro's, and the density of its traces."""

import json

import coix
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

coix.set_backend("coix.numpyro")


def target():
    z = numpyro.sample("z", dist.Normal(0.0, 1.0))
    numpyro.sample("x", dist.Normal(z, 0.5), obs=0.3)
    return z


def proposal():
    return numpyro.sample("z", dist.Normal(0.2, 0.7))


def weigh(key):
    with numpyro.handlers.seed(rng_seed=key):
        _, _, metrics = coix.traced_evaluate(coix.propose(target, proposal))()
    return metrics["log_weight"], metrics["log_density"]


weights, densities = jax.vmap(weigh)(jax.random.split(jax.random.PRNGKey(0), 4))
print(json.dumps({"weights": jnp.asarray(weights).tolist(), "densities": jnp.asarray(densities).tolist()}))
