"""Distributions and bijectors."""

import json

import distrax
import jax
import jax.numpy as jnp

mixture = distrax.MixtureSameFamily(
    distrax.Categorical(logits=jnp.zeros(2)), distrax.Normal(jnp.array([-1.0, 1.0]), jnp.array([0.5, 0.7]))
)
flow = distrax.Transformed(distrax.Normal(0.0, 1.0), distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(0.5, 2.0)]))
print(
    json.dumps(
        {
            "mixture": float(mixture.log_prob(0.3)),
            "sample": jax.jit(lambda key: flow.sample(seed=key, sample_shape=3))(jax.random.PRNGKey(0)).tolist(),
            "divergence": float(distrax.Normal(0.0, 1.0).kl_divergence(distrax.Normal(1.0, 2.0))),
        }
    )
)
