"""Distributions and bijectors: samples, densities, divergences, and the same by TensorFlow Probability."""

import json

import distrax
import jax
import jax.numpy as jnp
from tensorflow_probability.substrates import jax as tfp

key = jax.random.PRNGKey(1234)
mu, sigma = jnp.array([-1.0, 0.0, 1.0]), jnp.array([0.1, 0.2, 0.3])
normal = distrax.MultivariateNormalDiag(mu, sigma)
samples, densities = normal.sample_and_log_prob(seed=key, sample_shape=(4,))
divergence = normal.kl_divergence(distrax.MultivariateNormalDiag(mu + 1, sigma + 0.1))
wrapped = tfp.distributions.Sample(distrax.to_tfp(distrax.Normal(0.0, 1.0)), sample_shape=[3])
squashed = distrax.Transformed(distrax.Normal(mu, sigma), distrax.Tanh())
points = jnp.array([-0.5, 0.1, 0.9])
slopes = jax.grad(lambda mu: distrax.Transformed(distrax.Normal(mu, sigma), distrax.Tanh()).log_prob(points).sum())(mu)
print(
    json.dumps(
        {
            "samples": samples.tolist(),
            "densities": densities.tolist(),
            "divergence": float(divergence),
            "wrapped": wrapped.sample(seed=key).tolist(),
            "squashed": squashed.log_prob(points).tolist(),
            "slopes": slopes.tolist(),
        }
    )
)
