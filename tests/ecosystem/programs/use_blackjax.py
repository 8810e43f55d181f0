"""A few steps of NUTS with warmup on a normal distribution."""

import json

import blackjax
import jax
import jax.numpy as jnp

data = jnp.array([1.1, 0.9, 1.3, 0.7])


def log_density(p):
    return jnp.sum(jax.scipy.stats.norm.logpdf(data, p["mean"], jnp.exp(p["log_scale"]))) - 0.5 * p["log_scale"] ** 2


start = {"mean": jnp.array(0.5), "log_scale": jnp.array(0.0)}
nuts = blackjax.nuts(log_density, step_size=0.3, inverse_mass_matrix=jnp.ones(2))
state = nuts.init(start)
step = jax.jit(nuts.step)
places = []
for i in range(4):
    state, info = step(jax.random.key(i), state)
    places.append(float(state.position["mean"]))
warmup = blackjax.window_adaptation(blackjax.nuts, log_density)
(last, parameters), _ = warmup.run(jax.random.key(9), start, num_steps=20)
print(
    json.dumps(
        {"places": places, "accepted": float(info.acceptance_rate), "adapted": last.position["mean"].shape == ()}
    )
)
