"""Least squares by Adam with a schedule and clipping, and by L-BFGS."""

import json

import jax
import jax.numpy as jnp
import optax

x = jnp.linspace(-1.0, 1.0, 20)
data = jnp.stack([x**i for i in range(4)], axis=1)
target = jnp.sin(3 * x)


def loss(w):
    return jnp.mean(optax.l2_loss(data @ w, target))


schedule = optax.warmup_cosine_decay_schedule(0.0, 0.3, 10, 100)
adam = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))
w = jnp.zeros(4)
state = adam.init(w)


@jax.jit
def step(w, state):
    value, gradient = jax.value_and_grad(loss)(w)
    updates, state = adam.update(gradient, state, w)
    return optax.apply_updates(w, updates), state, value


for _ in range(100):
    w, state, value = step(w, state)

lbfgs = optax.lbfgs()
v = jnp.zeros(4)
kept = lbfgs.init(v)
value_and_grad = optax.value_and_grad_from_state(loss)
for _ in range(5):
    found, gradient = value_and_grad(v, state=kept)
    updates, kept = lbfgs.update(gradient, kept, v, value=found, grad=gradient, value_fn=loss)
    v = optax.apply_updates(v, updates)

print(json.dumps({"adam": w.tolist(), "loss": float(value), "lbfgs": float(loss(v))}))
