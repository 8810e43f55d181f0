"""Low-rank adaptation of a layer, and a type of array of one's own that is multiplied."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import quax
from quax.examples import lora, unitful

linear = eqx.nn.Linear(10, 12, key=jax.random.key(0))
adapted = lora.loraify(linear, rank=2, scale=0.01, key=jax.random.key(1))
x = jax.random.normal(jax.random.key(2), (10,))
both = jax.jit(lambda model, x: quax.quaxify(model)(x))(adapted, x)
speed = unitful.Unitful(jnp.array(3.0), {unitful.meters: 1, unitful.seconds: -1})
time = unitful.Unitful(jnp.array(2.0), {unitful.seconds: 1})
way = quax.quaxify(jnp.multiply)(speed, time)
print(json.dumps({"adapted": both.tolist(), "way": float(way.array), "units": str(sorted(map(str, way.units)))}))
